"""``holdfast hook``: what Claude Code calls, and how it comes to call it.

Promise: a hook ends with 0 within its seconds, whatever happens; what went wrong is on stderr and
in a message that Claude Code shows (``tests/doors/test_hooks.py``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

import typer

from holdfast.cli.render import json_line, say
from holdfast.errors import HoldfastError, UsageError
from holdfast.text import display, one_line

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.integrations.claude_code.answering import Answer
    from holdfast.integrations.claude_code.calls import Hook
    from holdfast.integrations.claude_code.installing import Change

__all__ = ["install", "run", "status", "undo", "uninstall"]

_SCOPES: Final = ("user", "project", "local")


# ── what Claude Code calls ──────────────────────────────────────────────────────────────────


def run(door: Door, hook: Hook, *, agent: str | None, seconds: float) -> None:
    """Answer a call within ``seconds``; after them the process ends, done or not."""
    answers: list[Answer] = []
    work = Thread(
        target=lambda: answers.append(_answered(door, hook, agent)), daemon=True, name="hook"
    )
    work.start()
    work.join(seconds)
    if not answers:
        from holdfast.integrations.claude_code.answering import Answer

        trouble = f"Holdfast ({hook}) was not done after {seconds:g} s: the rest is done next time."
        answers.append(Answer(trouble=trouble))
    _tell(hook, answers[0])
    if work.is_alive():
        # What is written is whole at any moment; what is not written yet must not hold up others.
        os._exit(0)


def _answered(door: Door, hook: Hook, agent: str | None) -> Answer:
    from holdfast.integrations.claude_code.answering import Answer, answer
    from holdfast.integrations.claude_code.calls import MOST_BYTES, agent_of, read_call

    try:
        call = read_call(_stdin(MOST_BYTES + 1))
        place = replace(door, agent=agent or agent_of(call, os.environ))
        with place.open() as engine:
            return answer(engine, hook, call, os.environ)
    except HoldfastError as error:
        return Answer(trouble=f"Holdfast ({hook}): {one_line(str(error), 500)}")
    except Exception as error:  # noqa: BLE001 - whatever it is, Claude Code goes on
        told = one_line(f"{type(error).__name__}: {error}", 300)
        return Answer(trouble=f"Holdfast ({hook}) failed: {told}")


def _stdin(most: int) -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "A hook is called by Claude Code, with JSON on stdin.",
            hint="To have it called: holdfast hook install",
        )
    return sys.stdin.buffer.read(most)


def _tell(hook: Hook, found: Answer) -> None:
    lines = [f"holdfast ({hook}): {display(found.done)}"] if found.done else []
    lines += [display(found.trouble)] if found.trouble else []
    _write("stderr", lines)
    said = found.to_stdout()
    _write("stdout", [said] if said else [])


def _write(name: str, lines: Sequence[str]) -> None:
    """Write to a stream until it has arrived. Where that cannot be, nobody reads it, which is no
    failure of the hook: Python must not try again when it ends."""
    stream = getattr(sys, name)
    try:
        stream.write("".join(f"{line}\n" for line in lines))
        stream.flush()
    except (AttributeError, OSError, ValueError):  # it was never there, is full, or is closed
        nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end
        with suppress(AttributeError, OSError, ValueError):
            os.dup2(nowhere.fileno(), stream.fileno())
        setattr(sys, name, nowhere)


# ── how it comes to call it ─────────────────────────────────────────────────────────────────


def install(
    door: Door, scope: str, *, agent: str | None, dry_run: bool, yes: bool, as_json: bool
) -> None:
    from holdfast.integrations.claude_code import installing
    from holdfast.scope import check_name

    if agent is not None:
        check_name(agent)
    home = _home(door)
    path = installing.settings_file(scope, os.environ, Path.cwd())
    usual = Path.home() / ".holdfast"
    change = installing.plan_install(path, home=None if home == usual else home, agent=agent)
    _do(
        change,
        lambda: installing.write(change, home),
        done="The hooks are in {path}. Claude Code uses them from its next session on.\n"
        "To take them out: holdfast hook undo, or holdfast hook uninstall",
        nothing="The hooks are in {path} already.",
        dry_run=dry_run,
        yes=yes,
        as_json=as_json,
    )


def uninstall(door: Door, scope: str, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    from holdfast.integrations.claude_code import installing

    home = _home(door)
    path = installing.settings_file(scope, os.environ, Path.cwd())
    change = installing.plan_uninstall(path, home)
    _do(
        change,
        lambda: installing.write(change, home),
        done="The hooks are out of {path}. What they saved stays.",
        nothing="There is no hook of ours in {path}.",
        dry_run=dry_run,
        yes=yes,
        as_json=as_json,
    )


def undo(door: Door, scope: str, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    from holdfast.errors import PolicyRefused
    from holdfast.integrations.claude_code import installing

    home = _home(door)
    path = installing.settings_file(scope, os.environ, Path.cwd())
    change = installing.plan_undo(path, home)
    since = installing.changed_since(change)
    if since is not None:
        if not as_json:
            _say_diff(since)
        raise PolicyRefused(
            f"{str(path)!r} was changed since the hooks were put in; it stays as it is.",
            hint="To take out only the hooks: holdfast hook uninstall",
        )
    _do(
        change,
        lambda: installing.forget_change(change, home),
        done="{path} is as it was.",
        nothing="{path} is as it was.",
        dry_run=dry_run,
        yes=yes,
        as_json=as_json,
    )


def status(door: Door, *, as_json: bool) -> None:
    from holdfast.integrations.claude_code import installing

    del door
    lines = []
    for scope in _SCOPES:
        path = installing.settings_file(scope, os.environ, Path.cwd())
        try:
            found, problem = installing.commands_in(path), None
        except HoldfastError as error:
            found, problem = {}, error.message
        lines.append({"scope": scope, "path": str(path), "hooks": found, "problem": problem})
    if as_json:
        for line in lines:
            json_line(line)
        json_line({"installed": any(line["hooks"] for line in lines)})
        return
    for line in lines:
        _say_status(line)


def _say_status(line: Mapping[str, object]) -> None:
    hooks = line["hooks"]
    assert isinstance(hooks, dict)
    said = line["problem"] or ("no hooks of ours" if not hooks else "")
    say(f"{line['scope']}: {display(str(line['path']))}{f'  {display(str(said))}' if said else ''}")
    for event, command in hooks.items():
        is_there = Path(_program_of(command)).is_file()
        say(f"  {event}: {display(command)}{'' if is_there else '  ! no such program'}")


def _program_of(command: str) -> str:
    import shlex

    return shlex.split(command)[0]


def _do(
    change: Change,
    write: Callable[[], None],
    *,
    done: str,
    nothing: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Show a change, ask, and make it."""
    from holdfast.integrations.claude_code.installing import diff

    path = display(str(change.path))
    is_written = not (dry_run or change.is_nothing)
    if not as_json and not change.is_nothing:
        _say_diff(change)
    if is_written and not yes:
        _ask(as_json)
    if is_written:
        write()
    if as_json:
        shown = diff(change)
        json_line({"path": str(change.path), "changed": is_written, "diff": shown})
    elif change.is_nothing:
        say(nothing.format(path=path))
    elif is_written:
        say(done.format(path=path))


def _ask(as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise UsageError("Nobody can be asked here.", hint="Add --yes, or --dry-run to only look.")
    typer.confirm("Write this?", abort=True)


def _say_diff(change: Change) -> None:
    from holdfast.integrations.claude_code.installing import diff

    for line in diff(change).splitlines():
        say(display(line))


def _home(door: Door) -> Path:
    from holdfast.config import default_home

    home = door.home_path()
    return (default_home(os.environ) if home is None else home).expanduser().absolute()
