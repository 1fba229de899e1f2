"""Meaning helps and never holds up: what an encoder did not give is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event

import pytest

from holdfast.errors import ModelUnavailable
from holdfast.ports import Embedded
from holdfast.search.query.meaning import NO_ENCODER, fitting
from holdfast.search.query.tuning import Tuning
from holdfast.testing.embedders import HashingEmbedder
from tests.search.small_index import Small, texts


@pytest.fixture
def small(fast_path: Path) -> Iterator[Small]:
    made = Small.at(fast_path / "index")
    made.write("MEMORY.md", "- the cat sleeps on the sofa\n- 那只猫很懒\n- the dog barks\n")
    yield made
    made.index.close()


class Failing(HashingEmbedder):
    """An encoder that embeds what is stored, and fails at queries."""

    error: Exception | None = None
    hold: Event | None = None

    def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
        if self.hold is not None:
            self.hold.wait(30)
        if self.error is not None:
            raise self.error
        return super().embed(texts, tokens=tokens)


def test_a_question_in_one_language_finds_a_note_in_the_other(small: Small) -> None:
    near = HashingEmbedder(same={"cat": "猫", "lazy": "懒"})
    small.embed(near)
    found = small.find("lazy kitten cat", embedders=[near])
    assert "那只猫很懒" in "".join(texts(found)[:2])
    assert found.degraded == ()
    assert "the cat sleeps" in "".join(texts(small.find("猫", embedders=[near]))[:2])


def test_the_query_is_encoded_once_in_one_call(small: Small) -> None:
    near = HashingEmbedder()
    small.embed(near)
    calls = near.calls
    small.find("Where is the cat? Also, who barks?", embedders=[near])
    assert near.calls == calls + 1


def test_an_encoder_that_takes_too_long_costs_only_its_own_results(small: Small) -> None:
    slow = Failing()
    small.embed(slow)
    slow.hold = Event()
    found = small.find("cat", embedders=[slow], timeout_ms=30)
    slow.hold.set()
    assert f"meaning: {slow.name} took longer than 30 ms" in found.degraded
    assert "the cat sleeps" in texts(found)[0]


def test_an_encoder_that_fails_is_named_with_its_reason_and_the_next_step(small: Small) -> None:
    broken = Failing()
    small.embed(broken)
    broken.error = ModelUnavailable("The weights are damaged.", hint="pip install again")
    found = small.find("cat", embedders=[broken])
    assert found.degraded == ("meaning: The weights are damaged. (pip install again)",)
    broken.error = RuntimeError("out of memory")
    found = small.find("cat", embedders=[broken])
    assert found.degraded == (f"meaning: {broken.name} failed: out of memory",)
    assert len(found.passages) == 1


def test_without_an_encoder_the_words_are_searched_and_it_is_said(small: Small) -> None:
    found = small.find("cat", embedders=[])
    assert found.degraded == (NO_ENCODER,)
    assert len(found.passages) == 1
    assert small.find("cat", vectors=False).degraded == ()


def test_what_is_not_embedded_yet_is_counted_and_still_found_by_its_words(small: Small) -> None:
    near = HashingEmbedder(same={"feline": "cat"})
    found = small.find("barks", embedders=[near])
    assert found.degraded == (
        f"meaning: nothing is embedded yet by {near.name} (holdfast index sync)",
    )
    small.embed(near, limit=2)
    found = small.find("barks", embedders=[near])
    assert found.degraded == (
        "meaning: 1 of 3 passages are not embedded yet (holdfast index sync)",
    )
    assert "the dog barks" in "".join(texts(found))


def test_an_encoder_gets_only_queries_of_its_script(small: Small) -> None:
    latin, cjk = HashingEmbedder(script="latin"), HashingEmbedder(script="cjk")
    every = HashingEmbedder(script="any")
    all_three = [latin, cjk, every]
    assert fitting(all_three, "cat") == [latin, every]
    assert fitting(all_three, "猫") == [cjk, every]
    assert fitting(all_three, "用Docker部署") == all_three
    assert fitting(all_three, "42") == [every]


def test_a_weight_of_zero_asks_no_encoder(small: Small) -> None:
    near = HashingEmbedder()
    small.embed(near)
    calls = near.calls
    assert small.find("cat", embedders=[near], tuning=Tuning(vector_weight=0)).degraded == ()
    assert near.calls == calls


# ── what is not embedded yet ────────────────────────────────────────────────────────────────


def test_what_was_written_a_moment_ago_does_not_stand_below_noise(fast_path: Path) -> None:
    small = Small.at(fast_path / "fresh")
    near = HashingEmbedder()
    log = [("tool", f"exit code {n} from step {n} of the build") for n in range(40)]
    talk = [("Ann", f"some talk about number {n}, the code, and lunch") for n in range(40)]
    small.say("s1", *log, *talk)
    small.embed(near)
    small.say("s2", ("Ann", "the garage code is 4711"))
    found = small.find("garage code", embedders=[near])
    assert texts(found)[0] == "the garage code is 4711"
    assert any("not embedded yet" in said for said in found.degraded)
    small.index.close()


def test_an_encoder_of_every_script_speaks_for_a_script_without_one_of_its_own(
    small: Small,
) -> None:
    every = HashingEmbedder(name="every", same={"dozing": "懒"})
    latin = HashingEmbedder(name="latin", script="latin")
    small.write("memory/topics/cats.md", "- a dozing cat\n")
    small.embed(every)
    small.embed(latin)
    found = small.find("那只很懒的 cat", embedders=[latin, every], explain=True)
    spoken = {name for one in found.passages for name in one.trace or {} if "meaning" in name}
    assert spoken == {"meaning every/64"}
    assert {"- 那只猫很懒", "- a dozing cat"} >= set(texts(found)[:1])
