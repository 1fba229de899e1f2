"""The index follows the files while a program runs."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import holdfast
from holdfast.engine.facade import Engine
from holdfast.engine.searching import SearchRoom
from holdfast.testing.embedders import HashingEmbedder


def eventually(is_true: Callable[[], bool], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_true():
            return True
        time.sleep(0.02)
    return False


def with_encoder(engine: Engine, encoder: HashingEmbedder) -> None:
    engine._rooms._search = SearchRoom(engine._rooms, [encoder])


def test_what_is_searched_is_embedded_without_anybody_asking(home: Path) -> None:
    with holdfast.open(home) as engine:
        with_encoder(engine, HashingEmbedder())
        engine.remember("The tram to the harbour leaves at nine.")
        assert engine.search("tram").passages
        assert eventually(lambda: not engine.search("tram").degraded)


def test_a_file_that_another_program_saves_is_indexed_without_a_search(home: Path) -> None:
    settings = {"index.debounce_ms": 50, "index.update_interval": "0s"}
    with holdfast.open(home, config=settings) as engine:
        engine.search("anything")
        upkeep = engine.index._upkeep
        assert upkeep is not None
        assert eventually(lambda: upkeep.rounds > 0 and upkeep.is_watching)
        file = home / "agents" / "main" / "MEMORY.md"
        file.write_text("- W: The observatory opens at dusk.\n", "utf-8")
        assert eventually(lambda: "MEMORY.md" in engine.index.index.known())


def test_closing_ends_the_threads(home: Path) -> None:
    before = set(threading.enumerate())
    with holdfast.open(home) as engine:
        engine.remember("x marks the spot")
        engine.search("spot")
    assert eventually(
        lambda: (
            not [
                each
                for each in set(threading.enumerate()) - before
                if each.name.startswith("holdfast-")
            ]
        )
    )


def test_of_two_engines_one_indexes_and_the_other_takes_over(home: Path) -> None:
    first, second = holdfast.open(home), holdfast.open(home)
    first.search("a")
    assert eventually(lambda: first.index._upkeep is not None and first.index._upkeep.rounds > 0)
    second.search("a")
    upkeep = second.index._upkeep
    assert upkeep is not None
    assert upkeep.rounds == 0
    first.close()
    assert eventually(lambda: upkeep.rounds > 0)
    second.close()


def test_a_program_that_ends_without_closing_ends(home: Path) -> None:
    program = (
        "import holdfast, sys\n"
        "engine = holdfast.open(sys.argv[1])\n"
        "engine.remember('The kettle is on.')\n"
        "print(len(engine.search('kettle').passages))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(home)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.strip()) == (0, "1"), done.stderr


def test_a_round_that_fails_costs_that_round_only(home: Path) -> None:
    class Fails(HashingEmbedder):
        def embed(self, texts, *, tokens=False):  # type: ignore[no-untyped-def]
            if self.calls < 2:
                self.calls += 1
                raise RuntimeError("not yet")
            return super().embed(texts, tokens=tokens)

    with holdfast.open(home) as engine:
        with_encoder(engine, Fails())
        engine.remember("The kettle is on.")

        def is_embedded() -> bool:
            engine.search("kettle")
            engine.index.wake()
            return engine.index.index.missing(engine.index.embedders[0].name) == 0

        assert eventually(is_embedded)
