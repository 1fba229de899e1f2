"""The real command, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from holdfast.types import Json


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Json]]:
        """stdout as JSON lines; fails if there is anything else on it."""
        return [json.loads(line) for line in self.out.splitlines()]


def holdfast(
    home: Path, *arguments: str, environ: dict[str, str] | None = None, stdin: str = ""
) -> Run:
    run = subprocess.run(
        [sys.executable, "-m", "holdfast", "--home", str(home), *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "120", **(environ or {})},
        input=stdin,
        check=False,
    )
    return Run(run.returncode, run.stdout, run.stderr)
