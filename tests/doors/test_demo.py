"""The tour: what it tells is what the engine wrote, in both languages, on any terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, fields, replace
from pathlib import Path
from string import Formatter
from typing import Any, get_args

import pytest

import holdfast as library
from holdfast.cli.speech import Language
from holdfast.cli.tour import showing
from holdfast.cli.tour.facts import (
    Answered,
    Began,
    Closed,
    Compacted,
    Ended,
    Fact,
    Flushed,
    Problem,
    Restored,
    Said,
    Trouble,
    Written,
    quotations_in,
)
from holdfast.cli.tour.journey import Journey, journey
from holdfast.cli.tour.page import Ink, Page
from holdfast.cli.tour.script import WINDOW, script
from holdfast.cli.tour.words import CHINESE, ENGLISH, words_in
from holdfast.engine.turn import CompactionDone
from holdfast.fencing import Quoted, fence
from holdfast.testing import ScriptedModel
from holdfast.text import columns
from tests.doors.inside import inside

LANGUAGES: tuple[Language, ...] = ("en", "zh")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def scratch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where a tour makes its folder; it stays, so that people can look around in it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@dataclass(frozen=True)
class Tour:
    language: Language
    home: Path
    facts: list[Fact]

    def of(self, kind: type[Fact]) -> list[Any]:
        return [each for each in self.facts if isinstance(each, kind)]

    @property
    def ended(self) -> Ended:
        last = self.facts[-1]
        assert isinstance(last, Ended)
        return last

    @property
    def agent(self) -> Path:
        return self.home / "agents" / "main"

    def entries(self, session: str) -> list[dict[str, Any]]:
        """The transcript, as anybody can read it."""
        file = self.agent / "sessions" / f"{session}.jsonl"
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module", params=LANGUAGES)
def tour(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tour:
    home = tmp_path_factory.mktemp(f"tour-{request.param}")
    return Tour(language=request.param, home=home, facts=list(journey(home, request.param)))


def shown(tour: Tour, capsys: pytest.CaptureFixture[str], **page: Any) -> str:
    drawn = Page(language=tour.language, **page)
    for fact in tour.facts:
        drawn.show(fact)
    return capsys.readouterr().out


# ── what is told ────────────────────────────────────────────────────────────────────────────


def test_every_number_is_that_of_the_files(tour: Tour) -> None:
    ended, entries = tour.ended, tour.entries(script(tour.language).session)
    said = [each["id"] for each in entries if each["type"] == "message"]
    records = [
        each
        for each in entries
        if each["type"] == "flush" and each["data"]["outcome"] in ("flushed", "empty")
    ]
    assert ended.problems == ()
    assert len(said) == ended.messages == ended.on_disk >= 80
    assert sum(each["type"] == "prune" for each in entries) == ended.prunes >= 2
    assert sum(each["type"] == "compaction" for each in entries) == ended.compactions >= 2
    assert len(records) == ended.flushes == len(tour.of(Flushed))
    assert sum(each["data"]["saved"] for each in records) == sum(f.saved for f in tour.of(Flushed))
    memory = "\n".join(each.read_text("utf-8") for each in tour.agent.glob("memory/*.md"))
    assert len(re.findall(r"^- [WBOS]", memory, re.MULTILINE)) == ended.lines
    for flushed in tour.of(Flushed):
        assert all(f"- {line}"[:60] in memory for line in flushed.lines)
    for written in tour.of(Written):
        assert (tour.home / written.path).stat().st_size == written.bytes
    assert len(tour.of(Written)) == ended.files
    sessions = [each.name for each in tour.agent.glob("sessions/*.jsonl")]
    assert all(map(str.isascii, sessions)), "a file system may know nothing else"


def test_what_left_the_view_was_read_before_it_left(tour: Tour) -> None:
    with library.open(tour.home, background=False) as engine:
        session = engine.existing_session(script(tour.language).session)
        view, entries = session.view(), session.entries()
    said = [each.id for each in entries if each.type == "message"]
    kinds = ("message", "pin")
    seen = {id for each in view.items if each.kind in kinds for id in each.stands_for}
    assert len(set(said) - seen) == tour.ended.dropped == tour.ended.read > 50
    # By the order of the transcript itself: first the record of who was read, then the cut.
    read: set[str] = set()
    for entry in entries:
        if entry.type == "flush" and entry.data["outcome"] in ("flushed", "empty"):
            read |= set(entry.data["covers"])
        if entry.type == "compaction":
            cut = said.index(entry.data["first_kept"])
            stayed = {*entry.data["pins"], *entry.data["kept"]}
            assert set(said[:cut]) - stayed <= read


def test_the_gauge_follows_the_window_and_no_request_is_above_it(tour: Tour) -> None:
    said = tour.of(Said)
    assert [each.number for each in said] == list(range(1, len(said) + 1))
    assert sum(len(each.calls) for each in script(tour.language).exchanges()) > len(said)
    assert max(each.tokens for each in said) >= said[0].budget.compact_at
    assert tour.ended.largest < said[0].budget.compact_at < WINDOW
    (began,), (closed,) = tour.of(Began), tour.of(Closed)
    assert began.budget.window == WINDOW
    assert closed.is_pinned
    assert all(each.unread == 0 for each in tour.of(Compacted))


def test_a_new_session_begins_with_memory_and_answers_with_citations(tour: Tour) -> None:
    told = script(tour.language)
    (restored,) = tour.of(Restored)
    assert 0 < restored.tokens <= 2 * WINDOW // 10
    sources = {each.citation.split("#")[0] for each in restored.parts}
    assert {"tasks", told.session} <= sources
    assert any(each.startswith("memory/") for each in sources)
    with library.open(tour.home, background=False) as engine:
        for question, answered in zip(told.questions, tour.of(Answered), strict=True):
            assert answered.found
            assert answered.answer is None
            best = " ".join(line for each in answered.passages[:2] for line in each.lines)
            assert question.found_if in best, "it is among the two that are shown"
            quoted = answered.passages[0].lines[-1].split(": ", 1)[-1]
            assert quoted[:20] in engine.get(answered.passages[0].citation).text


def test_both_languages_tell_a_story_of_the_same_parts() -> None:
    english, chinese = script("en"), script("zh")
    assert [each["role"] for each in english.messages] == [
        each["role"] for each in chinese.messages
    ]
    assert len(list(english.exchanges())) == len(list(chinese.exchanges()))
    for told in (english, chinese):
        calls = [call["id"] for each in told.messages for call in each.get("tool_calls") or ()]
        results = [each["tool_call_id"] for each in told.messages if each["role"] == "tool"]
        assert calls == results
        assert len(set(calls)) == len(calls)


# ── what is shown ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", [40, 80, 160])
def test_no_line_is_wider_than_the_terminal_but_what_is_to_be_copied(
    tour: Tour, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    out = shown(tour, capsys, width=width)
    is_to_copy = re.compile(r"\s*(?:holdfast |agents/main/)|.*" + re.escape(str(tour.home)))
    for line in out.splitlines():
        assert columns(line) <= width or is_to_copy.match(line), line
    assert "\x1b" not in out
    for each in tour.of(Said):
        assert f"{each.tokens:,}" in out
    for each in tour.of(Written):
        assert each.path in out


def test_colour_adds_colour_and_nothing_else(
    tour: Tour, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = shown(tour, capsys, width=80)
    coloured = shown(tour, capsys, width=80, ink=Ink(is_on=True))
    assert coloured != plain
    assert ESCAPE.sub("", coloured) == plain


def test_the_pauses_leave_time_to_read_and_are_below_a_minute(
    tour: Tour, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses: list[float] = []
    shown(tour, capsys, width=80, pause=pauses.append)
    assert 25 < sum(pauses) < 55
    assert max(pauses) < 3


def test_what_a_conversation_holds_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    evil = "\x1b]0;x\x07\u202e\n\x1b[2J"
    fenced = fence([Quoted(text=evil, citation=evil, label=evil)], nonce="0123456789")
    asked = Answered(
        question=evil,
        passages=quotations_in(fenced),
        found=True,
        answer=evil,
        model=evil,
        reason=evil,
    )
    page = Page(language="en", width=60)
    page.show(asked)
    page.show(replace(asked, answer=None))
    page.show(Flushed(read=1, saved=1, file=evil, lines=(evil,)))
    page.show(Written(path=evil, bytes=1, lines=(evil,)))
    out = capsys.readouterr().out
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", out)


def test_both_languages_say_everything_with_the_same_values() -> None:
    for each in fields(ENGLISH):
        english, chinese = (_texts(getattr(words, each.name)) for words in (ENGLISH, CHINESE))
        assert english.keys() == chinese.keys(), each.name
        for name, text in english.items():
            assert _values(text) == _values(chinese[name]), f"{each.name} {name}"
            assert chinese[name]
    assert set(ENGLISH.troubles) == set(get_args(Trouble))


def _texts(held: Any) -> dict[str, str]:
    if isinstance(held, str):
        return {"": held}
    pairs = held.items() if hasattr(held, "items") else enumerate(held)
    return {str(name): text for name, text in pairs}


def _values(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


# ── what went wrong ─────────────────────────────────────────────────────────────────────────


def test_a_message_that_leaves_unread_is_a_problem_and_the_exit_code_says_so(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with library.open(home, background=False) as engine:
        way = Journey(engine=engine, script=script("en"), language="en", model=None)
        way.covered = {"read"}
        done = CompactionDone(
            entry="c", strategy="layered", dropped=("read", "a"), tokens_before=9, tokens_after=1
        )
        assert way.compacted(done).unread == 1
        way.largest = WINDOW + 1
        ended = way.ended(Closed(said=3, on_disk=1, lines=0, is_pinned=False))
    kinds = [each.kind for each in ended.problems]
    assert kinds == ["unread", "lost", "too_large", "unpinned"]
    assert (ended.dropped, ended.read) == (2, 1)
    monkeypatch.setattr(showing, "journey", lambda *_, **__: iter([ended]))
    run = inside(home, "demo")
    assert run.code == 1
    assert "1 messages left the view without" in run.out
    whole = replace(ended, problems=())
    monkeypatch.setattr(showing, "journey", lambda *_, **__: iter([whole]))
    assert inside(home, "demo").code == 0


def test_every_trouble_is_said_in_both_languages(
    tour: Tour, capsys: pytest.CaptureFixture[str]
) -> None:
    troubles = tuple(Problem(kind=each, what="7") for each in get_args(Trouble))
    Page(language=tour.language, width=100).show(replace(tour.ended, problems=troubles))
    out = capsys.readouterr().out
    assert words_in(tour.language).problems in out
    assert out.count("\n- ") == len(troubles)


# ── the command ─────────────────────────────────────────────────────────────────────────────


def test_with_json_each_fact_is_a_line_and_the_summary_the_last(
    tour: Tour, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setattr(showing, "journey", lambda *_, **__: iter(tour.facts))
    run = inside(home, "demo", "--json")
    assert run.code == 0
    assert len(run.lines) == len(tour.facts)
    assert run.lines[-1]["summary"] is True
    assert all("summary" not in each for each in run.lines[:-1])
    assert run.lines[-1]["dropped"] == tour.ended.dropped
    names = [each["fact"] for each in run.lines]
    assert names[0] == "began"
    assert {"said", "pruned", "flushed", "compacted", "restored", "answered"} <= set(names)
    assert not home.exists()


# ── with a model ────────────────────────────────────────────────────────────────────────────


def test_a_model_is_given_the_passages_and_answers_in_its_own_words(
    tour: Tour, capsys: pytest.CaptureFixture[str]
) -> None:
    told = replace(script(tour.language), next_session="asked")
    answers: list[str | Exception] = ["It is so.", TimeoutError("too slow"), "Yes.", "No."]
    model = ScriptedModel(answers)
    with library.open(tour.home, background=False) as engine:
        way = Journey(engine=engine, script=told, language=tour.language, model=model)
        answered = [each for each in way.next_session() if isinstance(each, Answered)]
    assert len(model.requests) == len(told.questions)
    assert [each.answer for each in answered] == ["It is so.", None, "Yes.", "No."]
    assert answered[1].reason is not None
    assert "too slow" in answered[1].reason
    first = model.requests[0]
    assert "⟦recalled:" in (first.system or ""), "what was restored"
    assert told.questions[0].found_if in str(first.messages), "what was recalled"
    page = Page(language=tour.language, width=80)
    page.show(replace(tour.of(Began)[0], model=model.name))
    for each in answered:
        page.show(each)
    out = capsys.readouterr().out
    assert "It is so." in out
    assert words_in(tour.language).alone.strip(":： ") not in out.replace("\n", " ")


def test_without_a_model_to_ask_the_tour_says_how_to_get_one(home: Path) -> None:
    run = inside(home, "demo", "--with-model", environ={"HOLDFAST_MODEL_LOOK_FOR_SERVERS": "false"})
    assert run.code == 7
    assert run.out == ""
    assert "→" in run.err or "holdfast" in run.err


# ── the proofs ──────────────────────────────────────────────────────────────────────────────


def test_the_proofs_run_offline_and_lose_nothing(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "holdfast", "demo", "--proofs"],
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
