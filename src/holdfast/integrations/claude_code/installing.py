"""Our hooks in a settings file of Claude Code: planned, shown as a diff, written, taken back.

Promise: the file is replaced whole or not at all, with the mode it had, and only if it is still
what the diff was made of; what it was is kept in the home and put back byte for byte, unless it
was changed since, and a change that fails leaves the one before it to be taken back; lists that
were there empty stay when our hooks leave them; installing twice is installing once
(``tests/doors/test_hooks_install.py``).
"""

from __future__ import annotations

import difflib
import json
import os
import shlex
import stat
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from holdfast.disk import Directory
from holdfast.errors import NotFound, PolicyRefused, StorageError, UsageError, did_you_mean
from holdfast.integrations.claude_code.calls import Hook
from holdfast.integrations.claude_code.editing import Part, add, parse, parts_of, remove
from holdfast.integrations.claude_code.logs import claude_folder
from holdfast.integrations.claude_code.programs import hook_command
from holdfast.types import Json

__all__ = [
    "Change",
    "Scope",
    "changed_since",
    "commands_in",
    "diff",
    "forget_change",
    "plan_install",
    "plan_undo",
    "plan_uninstall",
    "read_settings",
    "settings_file",
    "write",
]

Scope: TypeAlias = Literal["user", "project", "local"]

_EVENTS: Final[Mapping[str, tuple[Hook, str | None, int]]] = {
    # The hook, which occasions (all, if none are named), and after how many seconds Claude Code
    # may go on without it. A session that ends is given a second and a half otherwise.
    "PreCompact": ("pre-compact", None, 60),
    "SessionStart": ("session-start", "startup|clear|compact", 30),
    "SessionEnd": ("session-end", None, 60),
}
_MOST_BYTES: Final = 8 << 20
_KEPT_IN: Final = "claude-code-hooks"
_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A settings file before and after; None is no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def is_nothing(self) -> bool:
        return self.before == self.after


def settings_file(scope: str, environ: Mapping[str, str], project: Path) -> Path:
    """
    Raises:
        UsageError: there is no such scope.
    """
    if scope not in get_args(Scope):
        near = did_you_mean(scope, get_args(Scope)) or f"One of: {', '.join(get_args(Scope))}."
        raise UsageError(f"There is no scope {scope!r}.", hint=near)
    if scope == "user":
        return claude_folder(environ) / "settings.json"
    name = "settings.json" if scope == "project" else "settings.local.json"
    return project / ".claude" / name


def read_settings(path: Path) -> bytes | None:
    """
    Raises:
        UsageError, StorageError: it is no file of settings, or cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{str(path)!r} is not a regular file.")
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{str(path)!r} is larger than any settings: {len(data)} bytes.")
    return data


# ── plans ───────────────────────────────────────────────────────────────────────────────────


def plan_install(path: Path, *, home: Path | None, agent: str | None) -> Change:
    """The file with our hooks in it, and no others of ours."""
    before = read_settings(path)
    mark, text = _text(before, path)
    wanted = _entries(home=home, agent=agent)
    settings = _settings(text, path)
    if not _has_exactly(settings, wanted):
        text = _without(text, stays={"hooks", *wanted})
        for event, entry in wanted.items():
            text = _with(text, event, entry)
        _settings(text, path)  # what was written can be read
        if _is_blank(before):
            text += "\n"
        return Change(path=path, before=before, after=(mark + text).encode("utf-8"))
    return Change(path=path, before=before, after=before)


def plan_uninstall(path: Path, home: Path) -> Change:
    """The file without our hooks; ``home`` knows what was empty before they came."""
    before = read_settings(path)
    mark, text = _text(before, path)
    if not any(_ours_in(_settings(text, path))):
        return Change(path=path, before=before, after=before)
    text = _without(text, stays=_empty_before(path, home))
    _settings(text, path)
    return Change(path=path, before=before, after=(mark + text).encode("utf-8"))


def commands_in(path: Path) -> dict[str, str]:
    """Which of our hooks a file has: the command by its event."""
    found = read_settings(path)
    if found is None:
        return {}
    settings = _settings(_text(found, path)[1], path)
    return {event: str(hook["command"]) for event, _, hook in _ours_in(settings)}


def _entries(*, home: Path | None, agent: str | None) -> dict[str, dict[str, Json]]:
    entries: dict[str, dict[str, Json]] = {}
    for event, (hook, matcher, seconds) in _EVENTS.items():
        command = hook_command(hook, home=home, agent=agent)
        ours: Json = {"type": "command", "command": command, "timeout": seconds}
        entries[event] = ({} if matcher is None else {"matcher": matcher}) | {"hooks": [ours]}
    return entries


def _text(data: bytes | None, path: Path) -> tuple[str, str]:
    """The mark that some editors put in front, and the rest; a blank file says nothing yet."""
    if data is None:
        return "", "{}"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{str(path)!r} is not text in UTF-8 (byte {error.start}). Nothing was changed."
        ) from None
    mark, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    return mark, "{}" if _is_blank(data) else text


def _is_blank(data: bytes | None) -> bool:
    return not (data or b"").removeprefix(_BOM.encode()).strip()


def _settings(text: str, path: Path) -> Mapping[str, Any]:
    """What the file says, if its hooks are where hooks are."""
    settings = parse(text, repr(str(path)))
    wrong = None
    if not isinstance(settings, Mapping):
        wrong = "is a JSON value, but no object"
    elif not isinstance(hooks := settings.get("hooks", {}), Mapping):
        wrong = 'has something under "hooks" that is no object'
    else:
        odd = [name for name in _EVENTS if not isinstance(hooks.get(name, []), list)]
        wrong = f'has something under "hooks" → "{odd[0]}" that is no list' if odd else None
    if wrong is not None:
        raise UsageError(f"{str(path)!r} {wrong}. Nothing was changed.")
    return cast("Mapping[str, Any]", settings)


def _ours_in(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Our hooks, each with its event and the entry it stands in."""
    for event, entries in settings.get("hooks", {}).items():
        for entry in entries if isinstance(entries, list) else ():
            for hook in _hooks_of(entry):
                if _is_ours(hook):
                    yield event, entry, hook


def _hooks_of(entry: Any) -> Sequence[Any]:
    hooks = entry.get("hooks") if isinstance(entry, Mapping) else None
    return hooks if isinstance(hooks, list) else ()


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, Mapping) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    is_holdfast = any(PurePath(word).name == "holdfast" for word in words[:3])
    pairs = pairwise(words)
    return is_holdfast and any(one == "hook" and two in get_args(Hook) for one, two in pairs)


def _has_exactly(settings: Mapping[str, Any], wanted: Mapping[str, Json]) -> bool:
    there = [(event, entry) for event, entry, _ in _ours_in(settings)]
    return len(there) == len(wanted) and all(wanted.get(event) == entry for event, entry in there)


def _place(text: str, *keys: str) -> int | None:
    """Where the value under these keys begins; the last of those of one name counts."""
    at = text.index("{")
    for key in keys:
        found = [part for part in parts_of(text, at) if part.key == key]
        if not found:
            return None
        at = found[-1].at
    return at


def _with(text: str, event: str, entry: Json) -> str:
    hooks = _place(text, "hooks")
    if hooks is None:
        return add(text, text.index("{"), {event: [entry]}, key="hooks")
    entries = _place(text, "hooks", event)
    if entries is None:
        return add(text, hooks, [entry], key=event)
    return add(text, entries, entry)


def _without(text: str, *, stays: Collection[str]) -> str:
    """Without our hooks, the entries that held nothing else, and lists that are empty now,
    but for those that stay."""
    hooks = _place(text, "hooks")
    if hooks is None:
        return text
    for event in [str(part.key) for part in parts_of(text, hooks) if _holds_ours(part)]:
        text = _without_in(text, event, is_list_kept=event in stays)
    if "hooks" not in stays and not parts_of(text, cast(int, _place(text, "hooks"))):
        text = remove(text, text.index("{"), lambda part: part.key == "hooks")
    return text


def _without_in(text: str, event: str, *, is_list_kept: bool) -> str:
    at = cast(int, _place(text, "hooks", event))
    for number in range(len(parts_of(text, at)) - 1, -1, -1):
        entry = parts_of(text, at)[number]
        ours = [hook for hook in _hooks_of(entry.value) if _is_ours(hook)]
        if not ours:
            continue
        if len(ours) == len(_hooks_of(entry.value)):
            text = remove(text, at, lambda part, start=entry.start: part.start == start)  # type: ignore[misc]
        else:
            inner = next(part.at for part in parts_of(text, entry.at) if part.key == "hooks")
            text = remove(text, inner, lambda part: _is_ours(part.value))
    if not is_list_kept and not parts_of(text, at):
        hooks = cast(int, _place(text, "hooks"))
        text = remove(text, hooks, lambda part: part.key == event)
    return text


def _holds_ours(part: Part) -> bool:
    entries = part.value if isinstance(part.value, list) else []
    return any(_is_ours(hook) for entry in entries for hook in _hooks_of(entry))


def diff(change: Change) -> str:
    """The change as a unified diff."""
    before, after = (
        (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
        for data in (change.before, change.after)
    )
    name = str(change.path)
    old = name if change.before is not None else os.devnull
    new = name if change.after is not None else os.devnull
    lines = difflib.unified_diff(before, after, old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


# ── the file ────────────────────────────────────────────────────────────────────────────────


def write(change: Change, home: Path) -> None:
    """Put the file as it is after the change; what it was can be had back.

    Raises:
        PolicyRefused: it is not what the change was made of any more.
        StorageError: the disk refuses.
    """
    _check_unchanged(change)
    records, name = _records(home), _record_name(change.path)
    earlier = records.read(name)
    kept = {
        "path": str(change.path),
        "before": None if change.before is None else b64encode(change.before).decode("ascii"),
        "after": None if change.after is None else b64encode(change.after).decode("ascii"),
    }
    _remember_empty(change, records)
    records.replace(name, json.dumps(kept).encode())
    try:
        _put(change)
    except BaseException:
        if changed_since(change) is None:  # then the change before is still the last one
            records.remove(name) if earlier is None else records.replace(name, earlier)
        raise


def plan_undo(path: Path, home: Path) -> Change:
    """The file as it was before the last change of ours.

    Raises:
        NotFound: we changed nothing there, or it was taken back already.
    """
    kept = _kept(path, home)
    return Change(path=path, before=kept.after, after=kept.before)


def changed_since(change: Change) -> Change | None:
    """What others did to the file since ours; None if nothing."""
    now = read_settings(change.path)
    if now == change.before:
        return None
    return Change(path=change.path, before=change.before, after=now)


def forget_change(change: Change, home: Path) -> None:
    """Put the file as it was, and keep nothing of it."""
    _check_unchanged(change)
    _put(change)
    _records(home).remove(_record_name(change.path))


def _check_unchanged(change: Change) -> None:
    if changed_since(change) is not None:
        raise PolicyRefused(
            f"{str(change.path)!r} was changed in the meantime. Nothing was written.",
            hint="Run the command again.",
        )


def _put(change: Change) -> None:
    real = Path(os.path.realpath(change.path))  # a link to where somebody keeps their dotfiles
    try:
        mode = stat.S_IMODE(real.stat().st_mode)
    except FileNotFoundError:
        mode = None
    with suppress(OSError):
        real.parent.mkdir(parents=True, exist_ok=True)
    folder = Directory.open(real.parent)
    try:
        if change.after is None:
            folder.remove(real.name)
        else:
            folder.replace(real.name, change.after)
            if mode is not None:
                real.chmod(mode)
    finally:
        folder.close()


def _records(home: Path) -> Directory:
    return Directory.open(home).child(_KEPT_IN)


def _record_name(path: Path) -> str:
    digest = sha256(os.path.realpath(path).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{digest[:16]}.json"


def _remember_empty(change: Change, records: Directory) -> None:
    """Which lists were there with nothing in them, before ours came: without that, nobody could
    tell them from lists that were made for ours."""
    settings = _settings(_text(change.before, change.path)[1], change.path)
    if any(_ours_in(settings)):
        return  # it was remembered when they came
    hooks = settings.get("hooks")
    empty = [event for event, entries in (hooks or {}).items() if entries == []]
    empty += ["hooks"] if hooks == {} else []
    name = _empty_name(change.path)
    if empty:
        records.replace(name, json.dumps(empty).encode())
    else:
        records.remove(name)


def _empty_before(path: Path, home: Path) -> frozenset[str]:
    data = _records(home).read(_empty_name(path)) if home.is_dir() else None
    return frozenset() if data is None else frozenset(json.loads(data))


def _empty_name(path: Path) -> str:
    return f"empty-{_record_name(path)}"


def _kept(path: Path, home: Path) -> Change:
    data = _records(home).read(_record_name(path)) if home.is_dir() else None
    if data is None:
        raise NotFound(
            f"Nothing of ours in {str(path)!r} can be taken back.",
            hint="holdfast hook uninstall takes the hooks out, whatever else changed.",
        )
    kept = json.loads(data)
    before, after = (
        None if kept[name] is None else b64decode(kept[name]) for name in ("before", "after")
    )
    return Change(path=path, before=before, after=after)
