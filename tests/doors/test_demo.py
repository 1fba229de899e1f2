"""The tour that ``make run`` opens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path


def test_the_tour_runs_offline_and_loses_nothing(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "holdfast", "demo"],
        capture_output=True,
        text=True,
        env={"TMPDIR": str(tmp_path), "PATH": "", "HOLDFAST_MODELS": os.environ["HOLDFAST_MODELS"]},
        check=True,
    )
    told = re.search(r"(\d+) messages were acknowledged, (\d+) of them are lost", run.stdout)
    assert told is not None
    assert int(told[1]) > 10
    assert int(told[2]) == 0
    assert "1 damaged region" in run.stdout
    full = re.search(
        r"(\d+) times it was full: (\d+) messages left the view, all read for memory first",
        run.stdout,
    )
    assert full is not None
    assert int(full[1]) >= 2
    assert int(full[2]) > 20
    assert "the task is in the last one" in run.stdout
    assert re.search(r"[1-9]\d* lines of Markdown", run.stdout)
    (home,) = tmp_path.iterdir()  # and nothing else was left anywhere near
    assert f"holdfast --home {home} sessions list" in run.stdout
    assert "1 contradiction found and shown" in run.stdout
    assert "1 repeat not written again" in run.stdout
    assert re.search(r"still in\s+0 of \d+ files", run.stdout)
    assert re.search(r"the daughter's birthday\?\n\s+→ 女儿的生日", run.stdout)
    assert re.search(r"安娜住在哪里？\n\s+→ Ana moved", run.stdout)
