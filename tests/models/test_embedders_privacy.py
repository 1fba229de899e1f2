"""Encoders keep to themselves: nothing is reported to anybody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, socket, sys
from holdfast.models.embedders import bundled
for encoder in bundled(None):
    encoder.embed(["where is the office?"])
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""


def test_loading_the_encoders_reports_to_nobody(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "CI": ""},
        check=True,
    )
    assert run.stdout.strip() == "1"
    assert list(tmp_path.iterdir()) == []  # its reporter leaves the id of its session there
