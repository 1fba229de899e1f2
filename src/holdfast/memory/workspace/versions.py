"""Memory under version control: one commit for each flush, if ``memory.git`` is set.

Promise: git writes only below ``.git`` of the place's folder; it runs without the user's
configuration, hooks, signatures, editor, prompts or network, and ends in bounded time; a commit
holds exactly the paths it was given; after ``forget_history`` no object but those of the present
files is left, which is verified (``tests/memory/test_versions.py``). Whatever fails is a
``StorageError``: the engine tells it, and goes on.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from typing import Final

from holdfast.disk import Directory
from holdfast.errors import NotFound, StorageError
from holdfast.memory.workspace.paths import check_path

__all__ = ["Versions"]

_SECONDS: Final = 10.0
_SECONDS_TO_FORGET: Final = 120.0
_IGNORED: Final = "sessions/\nartifacts/\n.journal/\n.index/\n.tmp-*\n"
_NOBODY: Final = "Holdfast"
_ADDRESS: Final = "holdfast@localhost"

# Above whatever stands in the configuration of the repository.
_SETTINGS: Final = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.sharedRepository": "0600",
    "core.quotePath": "false",
    "core.pager": "cat",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "credential.helper": "",
    "user.name": _NOBODY,
    "user.email": _ADDRESS,
    "user.useConfigOnly": "true",
}


class Versions:
    """The repository in one place's folder."""

    def __init__(self, base: Directory, *, program: str = "git") -> None:
        self._base = base
        self._program = program

    def exists(self) -> bool:
        """Whether there is a repository.

        Raises:
            PolicyRefused: ``.git`` is a link or a file that leads elsewhere.
        """
        try:
            git = self._base.child(".git", create=False)
        except NotFound:
            return False
        return git.identify("HEAD") is not None

    def commit(self, message: str, paths: Sequence[str]) -> str | None:
        """Commit the present state of these files, and of nothing else; the commit's id.

        A file that is gone is committed as gone. None: nothing has changed since the last one.
        What the user has staged stays staged.
        """
        for path in paths:
            check_path(path)
        self._make()
        changed = self._with_history(dict.fromkeys(paths))
        if not changed:
            return None
        self._run(["add", "--all", "--force", "--", *changed])
        if not self._run(["status", "--porcelain", "-z", "--untracked-files=no", "--", *changed]):
            return None
        given = ["--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim", "--file=-"]
        self._run(["commit", *given, "--only", "--", *changed], feed=message)
        return self._run(["rev-parse", "--verify", "HEAD"]).strip()

    def forget_history(self) -> str | None:
        """Make one commit of the present files and remove all others; its id.

        For after an erasure. Branches, tags, stashes, notes and reflogs go too: they hold old
        texts. None: there is no repository.

        Raises:
            StorageError: an object that the one commit does not need is still there.
        """
        if not self.exists():
            return None
        self._run(["add", "--update", "--", "."])
        tree = self._run(["write-tree"]).strip()
        commit = self._run(["commit-tree", tree, "-m", "Memory as it is now"]).strip()
        head = self._run(["symbolic-ref", "--quiet", "HEAD"], may_fail=True).strip()
        self._run(["update-ref", head or "HEAD", commit])
        for ref in self._run(["for-each-ref", "--format=%(refname)"]).split():
            if ref != head:
                self._run(["update-ref", "--no-deref", "-d", ref])
        self._drop_notes_of_git()
        self._run(["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"])
        seconds = _SECONDS_TO_FORGET
        self._run(["repack", "-a", "-d", "-f", "--quiet"], seconds=seconds)
        self._run(["gc", "--prune=now", "--quiet"], seconds=seconds)
        self._verify(commit)
        return commit

    def _verify(self, commit: str) -> None:
        needed = set(self._run(["rev-list", "--objects", "--no-object-names", commit]).split())
        check = ["cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)"]
        left = set(self._run(check).split()) - needed
        if left:
            raise StorageError(
                f"{len(left)} objects of old versions are still in {self._git_path()!r}.",
                hint=f"Remove {self._git_path()!r}: the present files do not need it.",
            )

    def _drop_notes_of_git(self) -> None:
        """Small files in which git remembers commits and messages beside its references."""
        git = self._base.child(".git", create=False)
        for name in git.names():
            if name.endswith("_HEAD") or name in ("COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG"):
                git.remove(name)
        git.sync()

    def _make(self) -> None:
        if self.exists():
            return
        self._run(["init", "--quiet", "--shared=0600", "--initial-branch=main", "--template="])
        self._base.create(".gitignore", _IGNORED.encode(), durable=False)

    def _with_history(self, paths: Iterable[str]) -> list[str]:
        """Those that are there or were committed before: git knows nothing of others."""
        wanted = list(paths)
        known = set(self._run(["ls-files", "-z", "--", *wanted]).split("\0")) if wanted else set()
        return [path for path in wanted if path in known or self._is_there(path)]

    def _is_there(self, path: str) -> bool:
        *folders, name = check_path(path)
        folder = self._base
        try:
            for each in folders:
                folder = folder.child(each, create=False)
            return folder.stat(name) is not None  # a link is refused before git reads it
        except NotFound:
            return False

    def _git_path(self) -> str:
        return str(self._base.path / ".git")

    def _run(
        self,
        arguments: Sequence[str],
        *,
        feed: str = "",
        may_fail: bool = False,
        seconds: float | None = None,
    ) -> str:
        settings = [part for item in _SETTINGS.items() for part in ("-c", "=".join(item))]
        where = ["--git-dir=.git", "--work-tree=."]
        if arguments[0] == "init":
            where = []
        seconds = _SECONDS if seconds is None else seconds
        try:
            with subprocess.Popen(
                [self._program, *settings, *where, *arguments],
                cwd=self._base.path,
                env=_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                umask=0o077,
            ) as process:
                try:
                    out, error_text = process.communicate(feed.encode("utf-8", "replace"), seconds)
                except BaseException:
                    _end(process)
                    raise
        except subprocess.TimeoutExpired as error:
            raise StorageError(
                f"git {arguments[0]} took longer than {seconds:g} s in {self._git_path()!r}.",
                hint="Try it there by hand, or switch it off: holdfast config set memory.git false",
            ) from error
        except OSError as error:
            raise StorageError(
                f"git could not be run: {error.strerror or error}.",
                hint="Install git, or switch it off: holdfast config set memory.git false",
            ) from error
        if process.returncode and not may_fail:
            raise StorageError(
                f"git {arguments[0]} failed in {self._git_path()!r}: {_reason(error_text)}.",
                hint="Memory itself is safe. See: holdfast doctor",
            )
        return out.decode("utf-8", "surrogateescape")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, so that it takes its lock files away; then make it."""
    process.terminate()
    try:
        process.wait(2.0)
    except subprocess.TimeoutExpired:
        process.kill()


def _environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH")
    }
    return kept | {
        "LC_ALL": "C",
        "HOME": os.devnull,
        "XDG_CONFIG_HOME": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "false",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_AUTHOR_NAME": _NOBODY,
        "GIT_AUTHOR_EMAIL": _ADDRESS,
        "GIT_COMMITTER_NAME": _NOBODY,
        "GIT_COMMITTER_EMAIL": _ADDRESS,
    }


def _reason(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[0].rstrip(".") if lines else "no reason was given"
