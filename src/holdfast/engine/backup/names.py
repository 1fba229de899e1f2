"""Which files a backup holds: asked when one is made, and again when one is restored.

Promise: what a backup never holds is refused in one, so a forged backup brings no token, no
program that git would run, and no name that shows as another; and what is refused in one is left
out of one, so that every backup can be restored (``tests/engine/test_backup.py``). Pure.
"""

from __future__ import annotations

import re
from typing import Final

from holdfast.text import strip_hidden

__all__ = ["LEFT_OUT", "git_settings", "is_git_config", "is_left_out", "odd_name"]

LEFT_OUT: Final = (
    "server.token",
    ".index/",
    "locks",
    "temporary files",
    "hooks and programs set up for git",
)

_PLACE: Final = r"agents/[^/]+(?:/(?:users|chats)/[^/]+)?"
_LEFT_OUT: Final = re.compile(
    rf"server\.(?:token|json)|{_PLACE}/\.index(?:/.*)?|{_PLACE}/\.journal/locks(?:/.*)?"
    r"|(?:.*/)?\.tmp-[^/]*"
    # Git runs hooks, and follows these to settings and objects elsewhere.
    r"|(?:.*/)?(?i:\.git)(?:/(?:hooks|modules|worktrees)(?:/.*)?|/config\.worktree|/commondir"
    r"|/objects/info/(?:http-)?alternates|/(?:.*/)?[^/]*\.lock)",
    re.DOTALL,
)
_BREAKS: Final = re.compile("[\x09-\x0d\x85\u2028\u2029]")
_GIT_FILE: Final = re.compile(r"(?:.*/)?(?i:\.git)", re.DOTALL)
_GIT_CONFIG: Final = re.compile(r"(?:.*/)?(?i:\.git/config)", re.DOTALL)


def is_left_out(path: str) -> bool:
    """Whether no backup has such a file: it can be made again, or belongs to one machine."""
    return _LEFT_OUT.fullmatch(path) is not None


def odd_name(path: str) -> str | None:
    """Why no file in a backup may have this name, if so."""
    if any(part in ("", ".", "..") for part in path.split("/")) or "\\" in path:
        return "is no name inside of a home"
    try:
        if len(path.encode()) > 4000:
            return "is too long a name"
    except UnicodeEncodeError:
        return "is no name in Unicode"
    if strip_hidden(path)[0] != path or _BREAKS.search(path) is not None:
        return "has characters in its name that nobody sees"
    if _GIT_FILE.fullmatch(path) is not None:
        return "would lead git elsewhere"
    return None


# ── the settings of git ─────────────────────────────────────────────────────────────────────

# Many of git's settings are programs to run: filters, monitors, editors, aliases, helpers, and
# files that hold more settings. These are not, and are what a repository needs.
_SECTION: Final = re.compile(rb'\[(core|extensions|user|receive|remote|branch)(?: "[^"\\\n]*")?\]')
_SETTINGS: Final = {
    b"core": rb"repositoryformatversion|filemode|bare|logallrefupdates|sharedrepository|ignorecase"
    rb"|precomposeunicode|symlinks",
    b"extensions": rb"objectformat|refstorage|compatobjectformat",
    b"user": rb"name|email",
    b"receive": rb"denynonfastforwards",
    b"remote": rb"url|pushurl|fetch",
    b"branch": rb"remote|merge|rebase",
}


def is_git_config(path: str) -> bool:
    return _GIT_CONFIG.fullmatch(path) is not None


def git_settings(data: bytes) -> bytes:
    """The settings of a repository without those that could run a program."""
    kept: list[bytes] = []
    section: bytes | None = None
    for line in data.splitlines(keepends=True):
        bare = line.strip()
        if bare.startswith(b"["):
            found = _SECTION.fullmatch(bare)
            section = found[1] if found is not None else None
            kept += [line] if found is not None else []
        elif section is not None and _is_plain(bare, _SETTINGS[section]):
            kept.append(line)
    return b"".join(kept)


def _is_plain(line: bytes, names: bytes) -> bool:
    """One setting in one line: nothing that goes on in the next, no transport by a program."""
    found = re.fullmatch(rb"(?i:" + names + rb")[ \t]*=[ \t]*([ !#-\[\]-~\x80-\xff]*)", line)
    return found is not None and b"::" not in found[1]
