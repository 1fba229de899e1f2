"""An acknowledged append survives ``kill -9``."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import holdfast
from tests.scale import SCALE, scaled


def test_no_acknowledged_append_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    kills = 20_000 if SCALE >= 20 else scaled(320)
    per_home = 80  # so that reading a home back stays short
    acknowledged_in_all = 0
    for start in range(0, kills, per_home):
        home = tmp_path / str(start)
        acknowledged_in_all += _kill_and_check(home, min(per_home, kills - start), seed=start)
    assert acknowledged_in_all >= kills, "most writers must get something done before they die"


def _kill_and_check(home: Path, kills: int, *, seed: int) -> int:
    run = subprocess.run(
        [sys.executable, "-m", "tests.sessions.kill_worker", str(home), str(kills), str(seed)],
        capture_output=True,
        text=True,
        check=True,
    )
    acknowledged = [line.split() for line in run.stdout.splitlines()]
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        said = {}
        order: dict[str, list[int]] = defaultdict(list)
        for entry in session.entries():
            if entry.message is None:
                continue
            assert entry.id not in said, "an entry is there twice"
            turn, name = session.expand(entry.id).text.split()[:2]
            said[entry.id] = (turn, name)
            thread, number = name.split("-")
            order[f"{turn}-{thread}"].append(int(number))
        lost = [line for line in acknowledged if said.get(line[2]) != (line[0], line[1])]
        assert lost == []
        for numbers in order.values():
            assert numbers == list(range(len(numbers))), "a writer's entries are out of order"
        verified = session.verify()
        assert verified.missing == 0
        assert verified.missing_artifacts == ()
        assert verified.damaged_regions == 0, "the last torn line was cut off when we opened it"
    return len(acknowledged)
