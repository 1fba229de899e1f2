"""What the engine spends by itself: added up over processes and crashes, and limited by the day."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.engine.driving import drive
from holdfast.engine.facade import open_engine
from holdfast.engine.spending import SPENDING, Metered, Spent
from holdfast.errors import StorageError
from holdfast.events import Event
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.testing import FixedClock
from holdfast.types import Message, Usage

ONE = Spent(dollars=0.25, calls=1, input_tokens=1_000, output_tokens=10)

spents = st.builds(
    Spent,
    dollars=st.floats(0, 1_000),
    calls=st.integers(0, 99),
    input_tokens=st.integers(0, 10**9),
    output_tokens=st.integers(0, 10**9),
)


@given(first=spents, second=spents)
def test_what_is_spent_adds_up(first: Spent, second: Spent) -> None:
    both = first + second
    assert both == second + first
    assert both.calls == first.calls + second.calls
    assert both.dollars == pytest.approx(first.dollars + second.dollars)
    assert first + Spent() == first


def test_days_are_the_user_s(home: Path) -> None:
    clock = FixedClock(at=datetime(2026, 3, 14, 23, 30, tzinfo=UTC))
    with open_engine(home, clock=clock, config={"memory.time_zone": "Asia/Shanghai"}) as engine:
        engine._rooms.spending.note("flush", "m", ONE)
        clock.advance(days=1)
        engine._rooms.spending.note("compaction", "m", ONE)
        engine._rooms.spending.note("flush", "m", ONE)
        assert engine.spent() == {"2026-03-15": ONE, "2026-03-16": ONE + ONE}


def test_what_other_processes_spent_counts(home: Path) -> None:
    program = (
        "import sys, holdfast\n"
        "from holdfast.engine.spending import Spent\n"
        "with holdfast.open(sys.argv[1]) as engine:\n"
        "    for _ in range(20):\n"
        "        engine._rooms.spending.note('flush', 'm', Spent(dollars=0.01, calls=1))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(home)]) for _ in range(3)]
    assert [each.wait(60) for each in running] == [0, 0, 0]
    with open_engine(home, config={"cost.daily_limit": 0.5}) as engine:
        (spent,) = engine.spent().values()
        assert spent.calls == 60
        assert spent.dollars == pytest.approx(0.6)
        assert engine._rooms.spending.refusal("flush") is not None


@pytest.mark.parametrize("torn", [b'{"day":"2026-03', b"\xff\xfe", b"[]", b"null", b"", b'{"a":1}'])
def test_a_torn_line_costs_only_itself(home: Path, torn: bytes) -> None:
    with open_engine(home, clock=FixedClock()) as engine:
        engine._rooms.spending.note("flush", "m", ONE)
        with (home / SPENDING).open("ab") as file:
            file.write(torn + b"\n")
        engine._rooms.spending.note("flush", "m", ONE)
        assert engine.spent() == {"2026-03-14": ONE + ONE}


@pytest.mark.parametrize("limit", [None, 0.0, 0.25, 0.5])
def test_the_limit_is_compared_with_the_day(home: Path, limit: float | None) -> None:
    told: list[Event] = []
    clock = FixedClock()
    with open_engine(home, clock=clock, config={"cost.daily_limit": limit}) as engine:
        engine.subscribe(told.append)
        spending = engine._rooms.spending
        before = spending.refusal("flush")
        assert (before is not None) == (limit == 0)
        spending.note("flush", "m", ONE)
        after = [spending.refusal("flush"), spending.refusal("compaction")]
        is_over = limit is not None and limit <= 0.25
        assert [each is not None for each in after] == [is_over] * 2
        reached = [each for each in told if each.name == "cost_limit_reached"]
        assert len(reached) == (1 if is_over else 0), "told once a day"
        if is_over:
            assert "cost.daily_limit" in (after[0] or "")
            clock.advance(days=1)
            assert (spending.refusal("flush") is not None) == (limit == 0)


def test_a_ledger_that_cannot_be_written_costs_no_reply(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StorageError("the disk is full")

    with open_engine(home) as engine:
        monkeypatch.setattr(type(engine._rooms.home), "open_growing", refuse)
        engine._rooms.spending.note("flush", "m", ONE)
        monkeypatch.undo()
        assert engine.spent() == {}


def test_the_ledger_is_private_and_holds_no_words(home: Path) -> None:
    with open_engine(home, clock=FixedClock()) as engine:
        engine._rooms.spending.note("flush", "anthropic:claude-sonnet-5", ONE)
    assert (home / SPENDING).stat().st_mode & 0o077 == 0
    (line,) = (home / SPENDING).read_text().splitlines()
    assert set(json.loads(line)) == {
        *("at", "day", "what", "model", "calls", "input_tokens", "output_tokens", "usd")
    }


def test_a_metered_model_counts_every_answer() -> None:
    class Priced:
        name = "priced"
        traits = Traits(input_price=3.0, output_price=15.0)

        async def complete(self, request: ModelRequest) -> ModelReply:
            usage = Usage(input_tokens=600, cache_read_tokens=400, output_tokens=100)
            return ModelReply(message=Message.of("assistant", "ok"), usage=usage)

    metered = Metered(Priced())
    request = ModelRequest(messages=[Message.of("user", "hi")])
    for _ in range(2):
        asyncio.run(metered.complete(request))
    assert (metered.name, metered.traits.input_price) == ("priced", 3.0)
    assert metered.spent.calls == 2
    assert metered.spent.input_tokens == 2_000
    assert metered.spent.dollars == pytest.approx(2 * (1_000 * 3 + 100 * 15) / 1e6)


class Silent:
    """Answers as the test says, if at all, and names no price."""

    name = "silent"

    def __init__(self, answer: ModelReply | BaseException | None) -> None:
        self._answer = answer

    async def complete(self, request: ModelRequest) -> ModelReply:
        if self._answer is None:
            await asyncio.sleep(60)
        if isinstance(self._answer, BaseException):
            raise self._answer
        assert self._answer is not None
        return self._answer


ODD = ModelReply(message=Message.of("assistant", "ok"), usage=Usage(input_tokens=-9))


@pytest.mark.parametrize("answer", [None, ValueError("no"), SystemExit(), ODD], ids=repr)
def test_a_call_without_a_usable_answer_is_booked_as_it_was_asked(
    answer: ModelReply | BaseException | None,
) -> None:
    metered = Metered(Silent(answer), price=lambda text: 1_000, guess=True)

    def work() -> Generator[ModelRequest, object, None]:
        yield ModelRequest(messages=[Message.of("user", "hi")], system="Be kind.")

    drive(work(), metered, seconds=0.1)
    assert metered.spent == Spent(dollars=2_000 * 3 / 1e6, calls=1, input_tokens=2_000)


def test_an_answer_that_counts_nothing_is_counted_here() -> None:
    metered = Metered(Silent(ModelReply(message=Message.of("assistant", "ok"))), price=len_of)
    asyncio.run(metered.complete(ModelRequest(messages=[Message.of("user", "hi")])))
    assert metered.spent == Spent(calls=1, input_tokens=7, output_tokens=7)


def len_of(text: Message | str) -> int:
    return 7 if isinstance(text, Message) else 0


def test_while_the_ledger_cannot_be_read_no_model_is_asked_and_it_is_told_once(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FixedClock()
    with open_engine(home, clock=clock, config={"cost.daily_limit": 5.0}) as engine:
        (home / SPENDING).mkdir()
        spending = engine._rooms.spending
        for what in ("flush", "compaction", "flush"):
            assert "not known" in (spending.refusal(what) or "")
        assert caplog.text.count("models are not asked") == 1
        (home / SPENDING).rmdir()
        assert spending.refusal("flush") is None


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity", "[" * 100_000, '{"a":' * 100_000])
def test_a_number_that_is_none_costs_only_its_line(home: Path, number: str) -> None:
    line = f'{{"day":"2026-03-14","calls":1,"input_tokens":1,"output_tokens":1,"usd":{number}}}'
    config = {"cost.daily_limit": 5.0}
    with open_engine(home, clock=FixedClock(), config=config) as engine:
        (home / SPENDING).write_text(line + "\n" + line.replace('"calls":1', '"calls":1e999'))
        assert engine._rooms.spending.refusal("flush") is None
        assert engine.spent() == {}
