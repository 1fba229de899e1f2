"""The command in this process: most of the time of a new one is spent on its start.

It gets what a process would have: a line of arguments, an environment, and three byte streams
with an encoding. A terminal, where a test asks for one, is a real one. What only a process has
(signals, a reader that goes away, its start) is tested with ``tests.doors.command``.
"""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TextIO
from unittest.mock import patch

from holdfast.cli import main
from tests.doors.command import Run


def inside(
    home: Path | str,
    *arguments: str,
    stdin: str = "",
    environ: dict[str, str] | None = None,
    encoding: str = "utf-8",
    is_asked: bool = False,
) -> Run:
    """What the command says and its exit code; with ``is_asked``, stdin is typed at a terminal.

    An error that the command does not expect is raised here, where a process would show it.
    """
    out, err = _stream(encoding=encoding), _stream(encoding=encoding, errors="backslashreplace")
    with ExitStack() as stack:
        line = ["holdfast", "--home", str(home), *arguments]
        stack.enter_context(patch.object(sys, "argv", line))
        given = stack.enter_context(_typed(stdin)) if is_asked else _stream(stdin)
        stack.enter_context(patch.object(sys, "stdin", given))
        stack.enter_context(patch.dict(os.environ, {"COLUMNS": "120", **(environ or {})}))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        code = _code()
    return Run(code, _said(out), _said(err))


def _code() -> int:
    try:
        main()
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)  # as Python does when it ends so
        return 1
    return 0


def _stream(
    text: str = "", *, encoding: str = "utf-8", errors: str = "strict"
) -> TextIOWrapper[BytesIO]:
    return TextIOWrapper(BytesIO(text.encode(encoding)), encoding=encoding, errors=errors)


def _said(stream: TextIOWrapper[BytesIO]) -> str:
    """What arrived, as bytes of that encoding."""
    stream.flush()
    return stream.buffer.getvalue().decode(stream.encoding)


@contextmanager
def _typed(text: str) -> Iterator[TextIO]:
    ours, theirs = pty.openpty()
    try:
        os.write(ours, text.encode())
        with open(theirs, encoding="utf-8", closefd=False) as terminal:
            yield terminal
    finally:
        os.close(ours)
        os.close(theirs)
