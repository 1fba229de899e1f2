"""The command line, built only as far as the command that was typed needs it.

Most of what a short command takes is its start. Of some sixty commands one is called, so one is
built; a word that is typed as a text is taken as it is, without the library that checks types.
Promise: what a command does and says is the same as of ``holdfast.cli.app`` built whole; where
the typed words or the installed Typer are not as expected, it is built whole
(``tests/doors/test_cli_starting.py``, ``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

import atexit
import copy
import gc
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import typer
from typer.main import get_command

from holdfast.cli.app import app

__all__ = ["start"]

_WITH_VALUE: Final = frozenset({"--home", "--agent", "--user", "--chat", "--chat-type"})
"""The options before a command. With any other one the command line is built whole."""
_SHORT: Final = frozenset({"search"})
"""Commands that are over before a search for garbage pays, or tidying up at the end."""


def start(arguments: Sequence[str]) -> None:
    """Run the command that these words call. Ends as a command ends: with ``SystemExit``."""
    # What is imported stays: looking for garbage in it takes a tenth of a short command.
    is_collecting = gc.isenabled()
    gc.disable()
    called = _called(arguments)
    try:
        command = get_command(_only(called))
        _take_as_given(command, again=gc.enable if is_collecting else _nothing)
        command(list(arguments), prog_name="holdfast")
    except SystemExit as end:
        if called in _SHORT and _is_own_process():
            _leave(end.code)
        raise
    finally:
        if is_collecting:
            gc.enable()


def _nothing() -> None: ...


def _is_own_process() -> bool:
    """Whether this process is the command, and nothing else comes after it."""
    begun = Path(getattr(sys.modules["__main__"], "__file__", None) or "")
    return begun.name == "holdfast" or begun.parts[-2:] == ("holdfast", "__main__.py")


def _leave(code: object) -> None:
    """End at once: taking every module apart takes longer than many a search. Everything is
    closed and written by now; whoever asked to be called at the end is called."""
    if isinstance(code, str) or any(not each.daemon for each in threading.enumerate()[1:]):
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return  # nobody reads it any more: Python's own way to end knows what to do
    atexit._run_exitfuncs()
    os._exit(code if isinstance(code, int) else 0)


def _called(arguments: Sequence[str]) -> str | None:
    """The name of the command, or None if that takes more than a look to tell."""
    words = iter(arguments)
    for word in words:
        if word in _WITH_VALUE:
            next(words, None)
        else:
            return None if word.startswith("-") else word
    return None


def _only(name: str | None) -> typer.Typer:
    """The application with no other command than this one, if it has it."""
    commands = [each for each in app.registered_commands if _name_of(each) == name]
    groups = [each for each in app.registered_groups if each.name == name]
    if len(commands) + len(groups) != 1 or "_HOLDFAST_COMPLETE" in os.environ:
        return app
    small = copy.copy(app)
    small.registered_commands, small.registered_groups = commands, groups
    return small


def _name_of(command: Any) -> str:
    return str(command.name or command.callback.__name__.replace("_", "-"))


def _take_as_given(command: Any, *, again: Callable[[], None]) -> None:
    """Let the parameters of a command, and of those in it, take plain words as they are."""
    known = command.get_params

    def get_params(context: Any) -> Any:
        found = known(context)  # with --help, which is made when it is asked for
        for parameter in found:
            if getattr(parameter, "_runtime_param", command) is None:
                parameter._runtime_param = _AsGiven(parameter)
        return found

    command.get_params = get_params
    within = getattr(command, "commands", None)
    if within is None and command.name not in _SHORT:
        command.callback = _collecting(command.callback, again)
    for each in (within or {}).values():
        _take_as_given(each, again=again)


def _collecting(callback: Callable[..., Any], again: Callable[[], None]) -> Callable[..., Any]:
    def called(*given: Any, **named: Any) -> Any:
        again()
        return callback(*given, **named)

    return called


class _AsGiven:
    """Stands where Typer keeps what checks a value, until there is a value to check."""

    def __init__(self, parameter: Any) -> None:
        described = parameter.type_descriptor
        is_one = not parameter.multiple and parameter.nargs == 1
        is_plain = is_one and described.parameter_info.parser is None and not described.is_choice
        self._is_one = is_one
        self._annotation = described.annotation if is_plain else None

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None and self._is_one:
            return None
        if self._annotation is str and isinstance(value, str):
            return value
        if self._annotation is int and type(value) is int and value == param.default:
            return value  # no word was typed: what stands in the source is in its bounds
        if self._annotation is Path and isinstance(value, str):
            found = _path(value, param, ctx)
            if found is not None:
                return found
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _path(value: str, param: Any, ctx: Any) -> Path | None:
    """The path, checked as the option asks; None if this Typer checks paths elsewhere."""
    try:
        from typer._param_types import coerce_cli_path
    except ImportError:
        return None
    info = param.type_descriptor.parameter_info
    checked: Any = coerce_cli_path(Path(value), info, path_type=Path, param=param, ctx=ctx)
    return Path(checked)
