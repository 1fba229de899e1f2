"""A program that ends while encoders work: it ends as it should, whenever that is."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import holdfast
from holdfast.engine.searching.room import SearchRoom
from holdfast.models.embedders import bundled
from holdfast.ports import Embedded
from tests.scale import scaled

HAS_ENCODER = any("MiniLM" in encoder.name for encoder in bundled())
LOADING = """
import sys, time, holdfast
engine = holdfast.open(sys.argv[1])
room = engine._rooms.search
room.embedding.load(room.embedders[0])
while not hasattr(sys.modules.get("onnxruntime"), "InferenceSession"):
    time.sleep(0.001)
time.sleep(0.02)  # now it is inside
"""


@pytest.mark.skipif(not HAS_ENCODER, reason="no encoder is installed")
@pytest.mark.parametrize("ending", ["engine.close()", ""], ids=["closed", "left open"])
def test_a_program_may_end_while_an_encoder_is_being_loaded(
    home: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setenv("HOLDFAST_SEARCH_EMBEDDER", "minilm")
    command = [sys.executable, "-c", LOADING + ending, str(home)]
    for _ in range(scaled(2)):
        done = subprocess.run(command, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b""), "it was cut off inside the encoder"


class Slow:
    """An encoder that is loaded when the test says so."""

    name, dimensions, script, has_tokens, is_loaded = "slow", 2, "any", False, False

    def __init__(self) -> None:
        self.calls = 0
        self.begun, self.may_end, self.ended = (threading.Event() for _ in range(3))

    def embed(self, texts: object, *, tokens: bool = False) -> Embedded:
        self.calls += 1
        self.begun.set()
        self.may_end.wait(30)
        self.ended.set()
        raise OSError


def test_closing_waits_for_an_encoder_that_is_being_loaded_and_begins_no_other(home: Path) -> None:
    with holdfast.open(home) as engine:
        slow, late = Slow(), Slow()
        room = SearchRoom(engine._rooms, [slow])  # type: ignore[list-item]
        room.embedding.load(slow)  # type: ignore[arg-type]
        room.embedding.load(slow)  # type: ignore[arg-type]
        assert slow.begun.wait(10)
        closing = threading.Thread(target=room.close)
        closing.start()
        closing.join(0.1)
        assert closing.is_alive()
        slow.may_end.set()
        closing.join()
        assert slow.ended.is_set()
        late.may_end.set()
        room.embedding.load(late)  # type: ignore[arg-type]
        assert (slow.calls, late.calls) == (1, 0)


def test_an_encoder_that_never_comes_back_is_not_waited_for_without_end(home: Path) -> None:
    with holdfast.open(home) as engine:
        slow = Slow()
        room = SearchRoom(engine._rooms, [slow])  # type: ignore[list-item]
        room.embedding.load(slow)  # type: ignore[arg-type]
        assert slow.begun.wait(10)
        room.embedding.close(0.05)
        assert not slow.ended.is_set()
        slow.may_end.set()
