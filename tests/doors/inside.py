"""The command in this process: most of the time of a new one is spent on its start."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from holdfast.cli import main
from tests.doors.command import Run


def inside(
    home: Path, *arguments: str, stdin: str = "", environ: dict[str, str] | None = None
) -> Run:
    out, err, code = StringIO(), StringIO(), 0
    with ExitStack() as stack:
        line = ["holdfast", "--home", str(home), *arguments]
        stack.enter_context(patch.object(sys, "argv", line))
        stack.enter_context(patch.object(sys, "stdin", StringIO(stdin)))
        stack.enter_context(patch.dict(os.environ, {"COLUMNS": "120", **(environ or {})}))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0
    return Run(code, out.getvalue(), err.getvalue())
