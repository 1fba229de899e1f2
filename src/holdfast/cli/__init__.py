"""How a person reaches the engine: arguments in, answers out, no decisions of its own."""

from __future__ import annotations

import io
import os
import sys

__all__ = ["main"]


def main() -> None:
    """The command ``holdfast``: stdout is the answer, stderr is everything else."""
    from holdfast.cli.starting import start
    from holdfast.errors import HoldfastError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a character
            stream.reconfigure(errors="backslashreplace")  # gets its escape
    try:
        start(sys.argv[1:])
        sys.stdout.flush()
    except SystemExit:
        _flush_or_give_up()
        raise
    except HoldfastError as error:
        _fail(str(error), error.exit_code)
    except BrokenPipeError:  # `holdfast … | head`: the reader has had enough
        _give_up_stdout()
    except OSError as error:
        _fail(f"{error.strerror or error}{f': {error.filename!r}' if error.filename else ''}.", 1)


def _fail(text: str, code: int) -> None:
    print(f"error: {text}", file=sys.stderr)  # noqa: T201
    _flush_or_give_up()
    sys.exit(code)


def _flush_or_give_up() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _give_up_stdout()


def _give_up_stdout() -> None:
    """Nobody reads it any more; Python must not try to write the rest when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
