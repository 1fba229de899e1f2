"""What a turn costs, in counts: as much as is new in it, however long the conversation is.

Never in seconds (those are in ``benchmarks/turn.py``): bytes read, entries parsed, messages
weighed, repaired and rendered, files of task records looked at.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.context.assembly import Desk
from holdfast.context.blocks import PricedBlocks
from holdfast.disk import Directory, GrowingFile
from holdfast.engine.erase import forget
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.session import Session
from holdfast.engine.tasking import News, keep_tasks
from holdfast.memory.tasks import Task, Tasks
from holdfast.sessions.shapes import message_of
from holdfast.sessions.transcript import Draft
from holdfast.sessions.view import GrowingView
from holdfast.testing.corpus import conversation
from holdfast.types import Entry, Message
from tests.engine.test_tasking import CHINESE, FIX, agent, records, run, said, user
from tests.scale import scaled


class Work(NamedTuple):
    """What has been done for a session so far."""

    parsed: int
    weighed: int
    repaired: int
    rendered: int

    @classmethod
    def on(cls, session: Session) -> Work:
        kept = session._transcript.window().kept
        desk = kept.get(Desk)
        return cls(
            kept.get(GrowingView).parsed,
            kept.get(PricedBlocks).weighed + desk.weighed,
            desk.taken,
            desk.rendered,
        )

    def since(self, before: Work) -> Work:
        return Work(*(new - old for new, old in zip(self, before, strict=True)))


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Bytes read from files since it was last asked."""
    total = 0
    read, read_whole = GrowingFile.read, Directory.read

    def reading(self: GrowingFile, offset: int, length: int) -> bytes:
        nonlocal total
        data = read(self, offset, length)
        total += len(data)
        return data

    def reading_whole(self: Directory, name: str) -> bytes | None:
        nonlocal total
        data = read_whole(self, name)
        total += len(data or b"")
        return data

    monkeypatch.setattr(GrowingFile, "read", reading)
    monkeypatch.setattr(Directory, "read", reading_whole)

    def ask() -> int:
        nonlocal total
        before, total = total, 0
        return before

    return ask


def talked(engine: Engine, seeds: int, *, behind: int = 0, language: str = "en") -> Session:
    """A session of so many conversations, with others behind a compaction."""
    session = engine.session(f"s{seeds}-{behind}-{language}")
    said = [m for seed in range(20) for m in conversation(seed, 6, language=language)[1:]]
    for _ in range(behind):
        session.append_all(said)
    if behind:
        last = session.entries(last=1)[-1]
        data = {"summary": [{"text": "so far", "sources": []}], "watermark": last.seq}
        session._transcript.append([Draft(type="compaction", data=data)])
    for seed in range(seeds):
        session.append_all(conversation(seed, 6, language=language)[1:])
    return session


def turn(session: Session, number: int) -> Work:
    session.append(Message.of("user", f"And what about number {number}?"))
    session.prepare(window=200_000)
    before = Work.on(session)
    session.append(Message.of("assistant", f"Number {number} is fine, too."))
    session.append(Message.of("user", f"Good. 那么第 {number} 个呢？"))
    session.prepare(window=200_000)
    return Work.on(session).since(before)


@pytest.mark.parametrize(("seeds", "behind"), [(2, 0), (20, 0), (20, 10)])
def test_a_turn_works_on_what_is_new_however_much_was_said_before(
    fast_path: Path, taken: Callable[[], int], seeds: int, behind: int
) -> None:
    with open_engine(fast_path) as engine:
        session = talked(engine, seeds, behind=behind)
        session.prepare(window=200_000)
        whole = Work.on(session)
        shown = len(session.view())
        assert shown > seeds * 10
        assert min(whole) >= shown - 1  # all of it, once; a summary needs no parsing
        turn(session, 0)
        for number in range(1, 6):
            taken()
            done = turn(session, number)
            assert done.parsed == 2
            assert done.weighed == 4  # once for the view, once for the request
            assert done.repaired <= 4
            assert done.rendered <= 8
            assert taken() < 20_000


def test_a_request_can_be_changed_by_the_host_and_the_next_one_is_right(fast_path: Path) -> None:
    with open_engine(fast_path) as engine:
        session = talked(engine, 3)
        for format in ("openai", "anthropic"):
            first = session.prepare(window=200_000, format=format)
            sent = json.dumps(first.messages)
            for message in first.messages:
                message["content"] = "changed"
                message.pop("tool_calls", None)
            assert json.dumps(session.prepare(window=200_000, format=format).messages) == sent


def test_what_was_forgotten_is_in_no_later_request(fast_path: Path) -> None:
    with open_engine(fast_path) as engine:
        session = talked(engine, 3)
        session.append(Message.of("user", "My door code is quokka-7731-zebra."))
        assert "quokka-7731-zebra" in json.dumps(session.prepare(window=200_000).messages)
        kept = session._transcript.window().kept
        forget(engine._rooms, ["quokka-7731-zebra"], erase=True)
        assert "quokka" not in json.dumps(session.prepare(window=200_000).messages)
        assert session._transcript.window().kept is not kept


# ── task records ────────────────────────────────────────────────────────────────────────────


def test_talk_without_tools_looks_at_no_task(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = records(home)
    entries, news = said(*FIX), News()
    assert keep_tasks(tasks, "s", entries, news=news)
    looked: list[str] = []
    of_session = Tasks.of_session

    def looking(self: Tasks, name: str) -> list[Task]:
        looked.append(name)
        return of_session(self, name)

    monkeypatch.setattr(Tasks, "of_session", looking)
    for number in range(20):
        more = (user(f"What is the colour of number {number}?"), agent("Blue, I think."))
        entries += said(*more, first=len(entries))
        assert keep_tasks(tasks, "s", entries, news=news) == []
    assert looked == []
    entries += said(user("Thanks, that's all!"), first=len(entries))
    assert [kept.what for kept in keep_tasks(tasks, "s", entries, news=news)] == ["closed"]
    assert looked == ["s"]


_SAID = (
    lambda n: [user(f"Please fix the crash of page {n}. It happens on Safari.")],
    lambda n: [user("Thanks, looks good!")],
    lambda n: [user("Thank you. Next, please write a report about the sales of last March.")],
    lambda n: [user("never mind")],
    lambda n: [user("谢谢，搞定了！")],
    lambda n: [user(f"And what about {n}?")],
    lambda n: [user("")],
    lambda n: [agent(f"It is done: {n} works again.")],
    lambda n: run(f"pytest tests/test_{n}.py", "E   ImportError: no module", failed=True),
    lambda n: run(f"pytest tests/test_{n}.py", "3 passed", failed=False, words="I try again."),
    lambda n: run(f"memory {n}", "found", tool="memory_search"),
    lambda n: run(f"pytest {n}", "", tool="bash")[:1],
    lambda n: CHINESE,
)


def test_records_kept_as_it_happens_are_those_kept_without_what_is_remembered(
    fast_path: Path,
) -> None:
    for seed in range(scaled(6)):
        chance, names = random.Random(seed), count()
        with_news, without = records(fast_path / f"a{seed}"), records(fast_path / f"b{seed}")
        entries, news = said(user("Hi there!")), News()
        for _ in range(14):
            more = chance.choice(_SAID)(next(names))
            entries = entries + said(*more, first=len(entries))
            if chance.random() < 0.1:
                news = News()  # the window was read anew
            final = chance.random() < 0.1
            keep_tasks(with_news, "s", entries, final=final, news=news)
            keep_tasks(without, "s", entries, final=final)
            assert with_news.list() == without.list(), seed


def test_what_is_added_to_an_answer_belongs_to_the_work_too(fast_path: Path) -> None:
    with_news, without = records(fast_path / "a"), records(fast_path / "b")
    entries, news = said(*FIX), News()
    for more in ([], [agent("One more thing: I also pinned its version.")], [user("ok, and?")]):
        entries = entries + said(*more, first=len(entries))
        keep_tasks(with_news, "s", entries, news=news)
        keep_tasks(without, "s", entries)
        assert with_news.list() == without.list()
    assert "One more thing" in with_news.list()[0].progress[0]


def test_an_entry_is_read_once_for_the_records(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counting(entry: Entry) -> Message | None:
        parsed.append(entry.id)
        return message_of(entry)

    monkeypatch.setattr("holdfast.engine.tasking.news.message_of", counting)
    tasks, entries, news = records(home), said(*FIX), News()
    for number in range(30):
        entries = entries + said(*run(f"make {number}", "ok"), first=len(entries))
        keep_tasks(tasks, "s", entries, news=news)
    assert parsed == [entry.id for entry in entries]
