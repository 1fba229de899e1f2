"""What the engine spends by itself: added up over processes and crashes, and limited by the day."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.engine.aio import aopen_engine
from holdfast.engine.driving import drive
from holdfast.engine.facade import open_engine
from holdfast.engine.spending import SPENDING, Metered, Spent
from holdfast.errors import StorageError
from holdfast.events import Event
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.testing import FixedClock
from holdfast.types import Message, Usage


class Refused(Exception):
    status_code = 429


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
            file.write(torn)  # and no end of line: that is where it was cut
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
        *("at", "day", "what", "model", "calls", "input_tokens", "output_tokens", "usd"),
        *("cache_read_tokens", "cache_write_tokens"),
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
    assert metered.spent == Spent(calls=1, input_tokens=7, output_tokens=7, unpriced=1)


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


# ── replies ─────────────────────────────────────────────────────────────────────────────────


class Cached:
    """A hosted model with prices that reports what it read from its cache."""

    name = "anthropic:claude-sonnet-5"
    traits = Traits(input_price=3.0, output_price=15.0, window=32_000)

    async def complete(self, request: ModelRequest) -> ModelReply:
        usage = Usage(input_tokens=600, cache_read_tokens=400, output_tokens=100)
        return ModelReply(message=Message.of("assistant", "ok"), usage=usage)


def test_every_reply_is_booked_with_its_session_and_what_the_cache_gave(home: Path) -> None:
    with open_engine(home, clock=FixedClock(), background=False) as engine:
        for name in ("a", "b", "a"):
            list(engine.session(name, model=Cached()).run("hi"))
        by_session = engine.costs("session")
        assert {name: each.calls for name, each in by_session.items()} == {"a": 2, "b": 1}
        (day,) = engine.costs().values()
        assert (day.input_tokens, day.cache_read_tokens) == (3_000, 1_200)
        assert day.dollars == pytest.approx(
            3
            * Cached.traits.cost(Usage(input_tokens=600, output_tokens=100, cache_read_tokens=400))
        )
        assert set(engine.costs("what")) == {"reply"}
        assert engine.spent() == {}, "the limit is about what the engine asks by itself"


def test_a_reply_of_the_host_s_own_client_is_priced_by_its_name(home: Path) -> None:
    reply = {
        "role": "assistant",
        "content": [{"type": "text", "text": "ok"}],
        "usage": {"input_tokens": 1_000_000, "output_tokens": 0},
    }
    with open_engine(home, clock=FixedClock(), background=False) as engine:
        for model in ("anthropic:claude-sonnet-4-5", "acme:unheard-of"):
            session = engine.session(model.partition(":")[0], model=model)
            session.prepare("hi")
            session.commit(reply)
        known, unknown = engine.costs("session")["anthropic"], engine.costs("session")["acme"]
    assert known.dollars > 0.5
    assert known.unpriced == 0
    assert (unknown.dollars, unknown.unpriced) == (0.0, 1)


def test_an_incognito_reply_counts_for_the_day_and_names_no_session(home: Path) -> None:
    with open_engine(home, clock=FixedClock(), background=False) as engine:
        list(engine.session("nobody-knows", model=Cached(), incognito=True).run("hi"))
        assert list(engine.costs("session")) == [""]
    assert "nobody-knows" not in (home / SPENDING).read_text()


def test_a_limit_never_stops_a_reply(home: Path) -> None:
    with open_engine(home, background=False, config={"cost.daily_limit": 0}) as engine:
        steps = list(engine.session("s", model=Cached()).run("hi"))
    assert steps[-1].kind == "end"


def test_a_flush_by_a_model_without_a_price_is_not_booked_as_free(home: Path) -> None:
    with open_engine(home, clock=FixedClock(), background=False) as engine:
        spending = engine._rooms.spending
        metered = spending.metered(Silent(ODD), len_of)
        with suppress(Exception):
            asyncio.run(metered.complete(ModelRequest(messages=[Message.of("user", "hi")])))
        spending.note("flush", "server:mine", metered.spent)
        assert engine.costs("what")["flush"].unpriced == 1


@pytest.mark.parametrize(
    ("error", "calls"),
    [
        (TimeoutError("silent"), 1),
        (Refused("rate limited"), 0),
    ],
)
def test_a_reply_that_broke_off_is_booked_unless_it_was_refused(
    home: Path, error: Exception, calls: int
) -> None:
    class Breaking(Cached):
        async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
            raise error
            yield ""

    with open_engine(home, clock=FixedClock(), background=False) as engine:
        with pytest.raises(type(error)):
            list(engine.session("s", model=Breaking()).run("hi"))
        assert sum(each.calls for each in engine.costs("session").values()) == calls


def test_a_reply_that_is_left_in_its_midst_is_booked_with_what_was_said(home: Path) -> None:
    class Long(Cached):
        async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
            while True:
                yield "one word and another "
                await asyncio.sleep(0)

    async def leave() -> None:
        async with aopen_engine(home, clock=FixedClock()) as engine:
            session = await engine.session("s", model=Long())
            async with aclosing(session.run("hi")) as steps:
                await anext(steps)

    asyncio.run(leave())
    with open_engine(home) as engine:
        spent = engine.costs("session")["s"]
    assert spent.calls == 1
    assert spent.input_tokens > 0
    assert spent.output_tokens > 0


def test_a_model_that_is_named_for_one_turn_answers_it_and_is_the_one_that_is_booked(
    home: Path,
) -> None:
    class Named(Cached):
        def __init__(self, name: str) -> None:
            self.name = name

        async def complete(self, request: ModelRequest) -> ModelReply:
            said = Message.of("assistant", f"I am {self.name}")
            return ModelReply(message=said, usage=Usage(input_tokens=50, output_tokens=5))

    models = {name: Named(name) for name in ("openai:a", "openai:b")}
    with open_engine(home, background=False, models=models.__getitem__) as engine:
        session = engine.session("s")
        for name in ("openai:a", "openai:b", "openai:a"):
            said = "".join(step.text for step in session.run("hi", model=name))
            assert said == f"I am {name}"
        calls = {name: each.calls for name, each in engine.costs("model").items()}
    assert calls == {"openai:a": 2, "openai:b": 1}


def test_a_count_far_beyond_what_was_sent_is_not_believed(home: Path) -> None:
    class Boasting(Cached):
        async def complete(self, request: ModelRequest) -> ModelReply:
            usage = Usage(input_tokens=1_000_000, output_tokens=10)
            return ModelReply(message=Message.of("assistant", "ok"), usage=usage)

    with open_engine(home, background=False) as engine:
        session = engine.session("s", model=Boasting())
        for _ in range(3):
            assert list(session.run("hi"))[-1].kind == "end"
        assert session.compact().projected < 32_000
