"""``holdfast chat``: what is said, stopped, saved, restored and refused, without a terminal."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.cli.chat.feed import Feed, Stop
from holdfast.cli.chat.history import said_before
from holdfast.cli.chat.loop import Bare, converse, stops
from holdfast.cli.chat.opening import plan_opening
from holdfast.cli.chat.screen import Tone
from holdfast.cli.chat.talk import Talk
from holdfast.cli.chat.wish import Wish
from holdfast.cli.chat.words import CHINESE, ENGLISH, Words
from holdfast.cli.options import Door
from holdfast.engine.facade import Engine
from holdfast.errors import ModelUnavailable
from holdfast.models.keys import keyed_providers
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.types import Json, Message, ToolCall, Usage
from tests.doors.inside import inside

Answer = str | Message | Exception | list[str]


@dataclass
class Speaker:
    """Answers from a script, word by word; then repeats the last. A list is spoken and then
    kept open until it is cancelled; an exception behind words breaks them off."""

    answers: list[Answer]
    name: str = "test:speaker"
    traits: Traits = field(default_factory=lambda: Traits(window=100_000))
    usage: Usage | None = None
    requests: list[ModelRequest] = field(default_factory=list)

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise TimeoutError("only speaks")  # so that rules flush

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Message):
            yield ModelReply(message=answer)
            return
        words = answer if isinstance(answer, list) else [f"{w} " for w in answer.split(" ")]
        for word in words:
            yield word
            await asyncio.sleep(0)
        if isinstance(answer, list):
            await asyncio.sleep(60)
        reply = Message.of("assistant", "".join(words).strip())
        yield ModelReply(message=reply, usage=self.usage)


@dataclass
class Recorder:
    """A screen that remembers. ``at`` does something when a text is about to be shown."""

    shown: list[str] = field(default_factory=list)
    facts: list[tuple[str, Mapping[str, Json]]] = field(default_factory=list)
    at: dict[str, Callable[[], None]] = field(default_factory=dict)

    def _note(self, text: str) -> None:
        self.shown.append(text)
        for each in [each for each in self.at if each in text]:
            self.at.pop(each)()

    def speak(self, piece: str) -> None:
        self._note(piece)

    def pause(self) -> None:
        pass

    def line(self, text: str, tone: Tone = "plain", *, indent: str = "") -> None:
        self._note(f"{text}\n")

    def answer(self, text: str, tone: Tone = "plain", *, indent: str = "") -> None:
        self._note(f"{text}\n")

    def wait(self, text: str) -> None:
        if text:
            self._note(f"({text})")

    def fact(self, kind: str, told: Mapping[str, Json]) -> None:
        self.facts.append((kind, told))

    @property
    def text(self) -> str:
        return "".join(self.shown)


@dataclass
class Typist:
    """Types these lines; a callable is done at the prompt, then the next is typed."""

    lines: list[str | Callable[[], None]]
    agrees: bool = True
    asked: list[str] = field(default_factory=list)

    def read(self) -> str:
        while self.lines:
            line = self.lines.pop(0)
            if isinstance(line, str):
                return line
            line()
        raise EOFError

    def confirm(self, question: str) -> bool | None:
        self.asked.append(question)
        return self.agrees


@dataclass
class Chat:
    home: Path
    engine: Engine
    talk: Talk
    screen: Recorder

    def type(self, *lines: str | Callable[[], None], agrees: bool = True) -> Typist:
        """Type these, and leave."""
        typist = Typist([*lines], agrees)
        assert converse(self.talk, typist) == 0
        return typist

    def stop(self) -> None:
        self.talk.feed.put(Stop())


@contextmanager
def chatting(
    home: Path,
    model: Speaker,
    *,
    config: Mapping[str, Any] | None = None,
    words: Words = ENGLISH,
    **wish: Any,
) -> Iterator[Chat]:
    engine = holdfast.open(home, config={"recall.timeout_ms": 5000, **(config or {})})
    screen = Recorder()
    opening = plan_opening(engine, Wish(**wish), model, "", system=words.system)
    talk = Talk(Door(home=home, agent="main"), engine, opening, words, screen, Feed())
    if opening.exists:
        _ = talk.session
    with talk.feed.logging():
        yield Chat(home, engine, talk, screen)
    engine.close()


def said(home: Path, name: str) -> list[tuple[str, str]]:
    """What the transcript has, in order."""
    with holdfast.open(home, background=False) as engine:
        entries = engine.existing_session(name).entries()
    found = [Message.from_json(each.data) for each in entries if each.type == "message"]
    return [(each.role, each.text) for each in found]


def memory_of(home: Path) -> str:
    return "".join(file.read_text() for file in home.glob("agents/main/memory/*.md"))


# ── a turn, and leaving it ──────────────────────────────────────────────────────────────────


def test_what_is_said_is_answered_kept_and_saved_at_the_end(home: Path) -> None:
    with chatting(home, Speaker(["Noted, Ada."])) as chat:
        chat.type("I am Ada and our deadline is 2026-12-01.")
        name = chat.talk.meter.session
        text = chat.screen.text
    assert name == f"chat-{chat.engine.today()}-1"
    assert "Noted, Ada. " in text
    assert "saved 1 memory to memory/" in text
    assert "deadline is 2026-12-01" in text.split("saved 1 memory", 1)[1], "and is quoted"
    assert f"{name} is saved. Go on with: holdfast --home" in text
    assert said(home, name) == [
        ("user", "I am Ada and our deadline is 2026-12-01."),
        ("assistant", "Noted, Ada."),
    ]
    assert "2026-12-01" in memory_of(home)


def test_a_chat_in_which_nothing_is_said_leaves_no_session(home: Path) -> None:
    with chatting(home, Speaker(["never"])) as chat:
        chat.type("/status", "/new", "   ")
    assert not list(home.glob("agents/main/sessions/*.jsonl"))


@pytest.mark.parametrize("word", range(4))
def test_a_stopped_answer_is_kept_once_as_what_it_is(home: Path, word: int) -> None:
    """Stopped at any of its words, also the last: while the whole answer is being kept."""
    model = Speaker([["one ", "two ", "three "], "yes"] if word < 3 else ["one two three", "yes"])
    with chatting(home, model, session="s") as chat:
        stop_at = ("one", "two", "three", "three")[word]
        chat.screen.at[stop_at] = chat.stop
        chat.type("count", "go on")
    messages = said(home, "s")
    assert [role for role, _ in messages] == ["user", "assistant", "user", "assistant"]
    kept = messages[1][1]
    assert kept.startswith("one")
    if word < 3:
        assert kept.endswith(ENGLISH.stopped_mark)
        assert "stopped; what came is kept" in chat.screen.text
    sent = [(each.role, each.text) for each in model.requests[-1].messages if "⟦" not in each.text]
    assert sent[:3] == messages[:3], "and the model is shown it as it was"


def test_stopped_before_its_first_word_it_can_be_asked_again(home: Path) -> None:
    model = Speaker([[], "now"])
    with chatting(home, model, session="s") as chat:
        chat.screen.at["thinking"] = chat.stop
        chat.type("a question", "/retry", "/retry")
    assert said(home, "s") == [("user", "a question"), ("assistant", "now")]
    assert "your message is kept, /retry asks again" in chat.screen.text
    assert ENGLISH.again_nothing in chat.screen.text
    assert len(model.requests) == 2


def test_a_stop_is_for_the_line_before_it_and_never_for_the_next(home: Path) -> None:
    with chatting(home, Speaker(["first", "second"]), session="s") as chat:
        chat.screen.at["/quit  "] = chat.stop  # while nothing is done that could be stopped
        # The last: Ctrl-C right behind Enter. What was sent is kept, and the answer is stopped.
        chat.type("/help", "a", chat.stop, "b", "/retry")
        assert ENGLISH.work_wait not in chat.screen.text
    assert [text for _, text in said(home, "s")] == ["a", "first", "b", "second"]
    assert chat.screen.text.count(ENGLISH.nothing_came) == 1


def test_on_a_bare_terminal_the_key_interrupts_a_prompt_says_no_and_stops_an_answer(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press() -> None:
        signal.raise_signal(signal.SIGINT)

    lines: list[str | Callable[[], None]] = ["count", press, press, "/remember a plover"]
    typed = iter([*lines, "/forget plover", press, "go on"])

    def answered(asked: str) -> str:
        line = next(typed, None)
        if line is None:
            raise EOFError
        if isinstance(line, str):
            return line
        line()
        return "y"  # as if nothing had been pressed

    monkeypatch.setattr("builtins.input", answered)
    with chatting(home, Speaker([["one ", "two "], "yes"]), session="s") as chat, stops(chat.talk):
        chat.screen.at["two"] = press
        assert converse(chat.talk, Bare(chat.talk)) == 0
    text = chat.screen.text
    assert "stopped; what came is kept" in text
    assert text.count(ENGLISH.use_ctrl_d) == 1
    assert ENGLISH.forget_kept in text
    assert "plover" in memory_of(home)
    assert len(said(home, "s")) == 4


def test_a_model_that_fails_is_told_with_what_to_do_and_nothing_typed_is_lost(home: Path) -> None:
    error = ModelUnavailable("The key \x1b[2J is refused.", hint="export ANTHROPIC_API_KEY=…")
    with chatting(home, Speaker([error, ValueError("odd"), "fine"]), session="s") as chat:
        chat.type("one", "two", "three")
    text = chat.screen.text
    assert "The key \\x1b[2J is refused.\n→ export ANTHROPIC_API_KEY=…\n" in text
    assert "ValueError: odd\n" in text
    assert [text for _, text in said(home, "s")] == ["one", "two", "three", "fine"]
    assert chat.talk.errors == 2


def test_an_answer_that_breaks_off_keeps_what_came(home: Path) -> None:
    class Breaking(Speaker):
        async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
            yield "Half of "
            raise ConnectionError("gone")

    with chatting(home, Breaking([""]), session="s") as chat:
        chat.type("tell me")
    assert said(home, "s")[1] == ("assistant", f"Half of\n\n{ENGLISH.broke_off_mark}")
    assert "ConnectionError: gone" in chat.screen.text


def test_tools_are_shown_as_they_are_used(home: Path) -> None:
    call = ToolCall(id="c1", name="memory_write", arguments={"text": "Ada likes\x1b tea"})
    model = Speaker([Message(role="assistant", parts=(call,)), "Kept."])
    with chatting(home, model, session="s") as chat:
        chat.type("remember that I like tea")
    text = chat.screen.text
    assert '· memory_write {"text": "Ada likes\\u001b tea"}' in text
    assert "  → " in text
    assert [kind for kind, _ in chat.screen.facts if "tool" in kind] == ["tool_call", "tool_result"]


def test_a_model_that_calls_no_tools_is_not_made_to_read_about_them(home: Path) -> None:
    model = Speaker(["ok"], traits=Traits(window=8_000, tool_calls=False))
    with chatting(home, model, session="s") as chat:
        chat.type("hello")
        assert chat.talk.meter.used < 500
    assert not model.requests[0].tools


# ── the window ──────────────────────────────────────────────────────────────────────────────


def test_in_a_small_window_what_is_saved_and_what_leaves_is_told_with_numbers(home: Path) -> None:
    model = Speaker([f"Answer {n}: " + "lorem ipsum dolor " * 60 for n in range(8)])
    with chatting(home, model, session="s", window=6_000) as chat:
        chat.type("We decided to move the gateway to port 8443.", *(f"more {n}" for n in range(7)))
        events = [told for kind, told in chat.screen.facts if kind == "event"]
    text = chat.screen.text
    (first, *_) = [told for told in events if told["event"] == "compaction_end"]
    before, after = first["tokens_before"], first["tokens_after"]
    assert f"left the view, {before:,} → {after:,} tokens" in text
    assert "sessions show s" in text
    assert before > 3_000, "the tools are counted"
    assert text.count("⚠ nearly full") == len({told["cycle"] for told in events if "cycle" in told})
    assert " of 6,000 tokens." in text
    flushes = [told for told in events if told["event"] == "memory_flush_end" and told["saved"]]
    assert f"saved {flushes[0]['saved']} memor" in text
    assert "port 8443" in text.split("saved", 1)[1]
    assert chat.talk.meter.budget is not None
    assert chat.talk.meter.used > 2_000


def test_ctrl_c_while_memories_are_saved_stops_the_turn_and_not_the_saving(home: Path) -> None:
    class Slow(Speaker):
        async def complete(self, request: ModelRequest) -> ModelReply:
            await asyncio.sleep(1.0)
            raise TimeoutError

    lorem = "lorem ipsum dolor " * 60
    model = Slow(["Sure.", *(f"{n} {lorem}" for n in range(6)), "still here"])
    config = {"flush.mode": "extract", "compaction.strategy": "selective"}
    with chatting(home, model, config=config, session="s", window=6_000) as chat:
        chat.screen.at["saving memories…"] = chat.stop  # a request waits for it
        chat.type(
            "We decided to move the gateway to port 8443.",
            *(f"more {n}" for n in range(6)),
            "/compact",
            "are you there?",
        )
        events = [told["event"] for kind, told in chat.screen.facts if kind == "event"]
    assert "saving memories…" not in chat.screen.at, "it was seen, and stopped"
    assert "compaction_end" in events
    assert "8443" in memory_of(home)
    assert said(home, "s")[-1] == ("assistant", "still here")
    with holdfast.open(home, background=False) as engine:
        assert engine.existing_session("s").verify().is_intact


def test_new_saves_closes_and_says_what_is_brought_back(home: Path) -> None:
    model = Speaker(["Sure.", "Port 8443."])
    with chatting(home, model, session="plan") as chat:
        chat.type("We decided to move the gateway to port 8443.", "/new", "which port was it?")
        text = chat.screen.text
    assert "session plan is closed; this is plan-2" in text
    restored = text.split("this is plan-2", 1)[1]
    assert "brought back" in restored.split("Port 8443.")[0]
    assert "memory/" in restored
    assert model.requests[-1].system is not None
    assert "8443" in model.requests[-1].system, "the model is shown it"


def test_whoever_does_not_wait_for_new_comes_to_it_when_it_is_there(home: Path) -> None:
    class Slow(Speaker):
        async def complete(self, request: ModelRequest) -> ModelReply:
            await asyncio.sleep(0.3)
            raise TimeoutError

    with chatting(home, Slow(["Sure."]), config={"flush.mode": "extract"}, session="plan") as chat:

        def until_it_is_there() -> None:
            assert ENGLISH.new_later in chat.screen.text
            deadline = time.monotonic() + 20
            while chat.talk.meter.session == "plan" and time.monotonic() < deadline:
                chat.talk.show_news()  # as a prompt does whenever something has come
                time.sleep(0.01)

        chat.screen.at["saving what was said"] = chat.stop
        chat.screen.at["still saving"] = chat.stop
        chat.type("We decided on port 8443.", "/new", until_it_is_there, "hello", "/status")
        text = chat.screen.text
    assert "session plan is closed; this is plan-2" in text
    assert said(home, "plan-2")[0] == ("user", "hello")
    assert len(list(home.glob("agents/main/sessions/*.jsonl"))) == 2


def test_only_what_is_saved_is_said_to_be_saved_and_a_compaction_has_one_reason(
    home: Path,
) -> None:
    with chatting(home, Speaker(["yes"]), words=CHINESE, session="s") as chat:
        chat.screen.at["(…)"] = chat.stop
        chat.type("hi", "/status", "/compact")
        text = chat.screen.text
    assert CHINESE.work_wait in text
    assert CHINESE.closing_wait[:4] not in text
    (why,) = re.findall(r"没有压缩：(.*)", text)
    assert not re.search("[a-z]", why), "in the language of the chat"
    assert CHINESE.compact_nothing not in text


def test_what_is_recalled_is_quoted_with_its_source(home: Path) -> None:
    with holdfast.open(home, background=False) as engine:
        engine.remember("The gateway listens on port 8443 since the migration.")
        engine.search("warm up")
    config = {"restore.max_tokens": 0}
    with chatting(home, Speaker(["8443"]), config=config, session="s") as chat:
        chat.type("On which port does the gateway listen?")
        text = chat.screen.text
    assert "recalled 1 passage:" in text
    assert "#L" in text
    assert ": The gateway listens on port 8443 since the migration." in text


# ── commands ────────────────────────────────────────────────────────────────────────────────


def test_memory_is_written_searched_expanded_and_forgotten_after_asking(home: Path) -> None:
    with chatting(home, Speaker(["ok"]), session="s") as chat:
        typist = Typist(
            ["/remember Ada drinks oolong tea", "/search oolong", "/forget oolong"], agrees=False
        )
        converse(chat.talk, typist)
        kept = memory_of(home)
    assert "oolong" in kept
    text = chat.screen.text
    assert "remembered in memory/" in text
    assert "1. memory/" in text
    assert typist.asked == ["Forget 1 memory?"]
    assert ENGLISH.forget_kept in text
    with chatting(home, Speaker(["ok"]), session="s") as chat:
        chat.type("/forget oolong", "/search oolong", "/forget oolong")
        text = chat.screen.text
    assert "1 memory is in the archive now; back with: holdfast" in text
    assert ENGLISH.forget_nothing in text
    assert "oolong" not in memory_of(home)


def test_status_expand_help_and_what_is_no_command(home: Path) -> None:
    usage = Usage(input_tokens=3_000, output_tokens=10)
    with chatting(home, Speaker(["the \x1b[31manswer"], usage=usage), session="s") as chat:
        chat.type("hello", "//etc/hosts is a file", "/stauts", "/status", "/help", "/search")
        text = chat.screen.text
    assert ("user", "/etc/hosts is a file") in said(home, "s")
    assert "There is no command /stauts. Did you mean '/status'?" in text
    assert "s: 4 messages in view, reads and writes memory" in text
    assert "p prune " in text
    (used,) = re.findall(r" ([\d,]+) of 100,000 ", text)
    (parts,) = re.findall("spent on (.*)", text)
    spent = [int(each.replace(",", "")) for each in re.findall(r" ([\d,]*\d)(?:, |$)", parts)]
    assert len(spent) == 3
    assert sum(spent) == int(used.replace(",", "")) > 3_000
    assert "/compact [FOCUS]  make room now" in text
    assert "/search needs WORDS: /search WORDS" in text
    with chatting(home, Speaker(["x"]), session="s") as chat:
        (entry,) = [e.id for e in chat.talk.session.entries() if "answer" in json.dumps(e.data)][:1]
        chat.type(f"/expand {entry}", "/expand nothing-of-that-id")
        text = chat.screen.text
    assert "the \\x1b[31manswer" in text
    assert chat.talk.errors == 1


@pytest.mark.parametrize(
    ("wish", "refused", "why"),
    [
        ({"incognito": True}, ("search x", "remember x", "forget x"), "is incognito"),
        ({"memory": "off"}, ("search x", "remember x", "forget x"), "Memory is off"),
        ({"memory": "read"}, ("remember x", "forget x"), "Memory is only read"),
    ],
)
def test_what_cannot_work_says_why(
    home: Path, wish: dict[str, Any], refused: tuple[str, ...], why: str
) -> None:
    with chatting(home, Speaker(["ok"]), **wish) as chat:
        chat.type("my secret is plover", *(f"/{each}" for each in refused), "/status")
        text = chat.screen.text
    assert text.count(why) == len(refused)
    assert chat.talk.errors == 0
    assert memory_of(home) == ""
    assert "nothing new to save" not in text
    if wish.get("incognito"):
        assert "Nothing of this conversation is kept but what it cost." in text
        assert "saved yet" not in text
        files = [file for file in home.rglob("*") if file.is_file()]
        assert not [file for file in files if b"plover" in file.read_bytes()]


# ── the end ─────────────────────────────────────────────────────────────────────────────────


def test_ctrl_c_while_saving_at_the_end_does_not_lose_it(home: Path) -> None:
    with chatting(home, Speaker(["ok"]), session="s") as chat:
        chat.screen.at["saving what was said"] = chat.stop
        chat.type("Our deadline is 2026-12-01.")
        text = chat.screen.text
    assert "2026-12-01" in memory_of(home)
    assert "s is saved." in text


def test_whoever_will_not_wait_is_told_how_to_save_later(home: Path) -> None:
    class Stuck(Speaker):
        async def complete(self, request: ModelRequest) -> ModelReply:
            await asyncio.sleep(3)
            raise TimeoutError

    with chatting(home, Stuck(["ok"]), session="s") as chat:
        chat.screen.at["saving what was said"] = chat.stop
        chat.screen.at["still saving"] = chat.stop
        chat.type("Our deadline is 2026-12-01.")
        assert "save it later with: holdfast" in chat.screen.text
        assert "flush s" in chat.screen.text


# ── from a pipe ─────────────────────────────────────────────────────────────────────────────


def test_without_a_model_the_places_and_the_ways_on_are_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for keyed in keyed_providers(dict.fromkeys(os.environ, "x")):
        monkeypatch.delenv(keyed.variable, raising=False)
    run = inside(home, "chat", "-m", "hi", environ={"HOLDFAST_MODEL_LOOK_FOR_SERVERS": "false"})
    assert run.code == 7
    assert run.out == ""
    assert "There is no model to talk to" in run.err
    assert "a key in the environment: " in run.err
    for way in (
        "export ANTHROPIC_API_KEY",
        "ollama serve",
        "holdfast model get qwen2.5-coder-1.5b",
    ):
        assert f"  → {way}" in run.err or way in run.err
    assert not list(home.glob("agents/main/sessions/*.jsonl"))


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch, home: Path) -> Callable[..., Any]:
    """The real command, with this model in place of the one that would be chosen."""

    def run(model: Speaker, *arguments: str, stdin: str = "") -> Any:
        monkeypatch.setattr("holdfast.cli.chat.loop.choose", lambda engine, name: (model, ""))
        return inside(home, "chat", *arguments, stdin=stdin)

    return run


def test_lines_of_a_pipe_are_messages_and_the_last_error_is_the_exit_code(
    home: Path, piped: Callable[..., Any]
) -> None:
    refused = ModelUnavailable("No.", hint="Try another.")
    run = piped(Speaker(["one", refused, "three"]), stdin="a\n\n/nonsense\nb\nc\n/quit\nnever\n")
    assert run.out == "one \nthree \n"
    assert "error: There is no command /nonsense." in run.err
    assert "error: No.\n→ Try another." in run.err
    assert run.code == 7
    (name,) = [file.stem for file in home.glob("agents/main/sessions/*.jsonl")]
    assert [text for role, text in said(home, name) if role == "user"] == ["a", "b", "c"]


def test_json_has_every_step_on_a_line_and_the_summary_last(piped: Callable[..., Any]) -> None:
    model = Speaker(["An \x1b answer"], usage=Usage(input_tokens=1000, output_tokens=10))
    run = piped(model, "--json", stdin="We decided on port 8443.\n/status\n")
    *steps, summary = run.lines
    assert [each["text"] for each in steps if each["step"] == "text"] == ["An ", "\x1b ", "answer "]
    assert {"text", "end", "status", "event"} <= {each["step"] for each in steps}
    assert summary["summary"] is True
    assert summary["turns"] == 1
    assert summary["output_tokens"] == 10
    assert run.code == 0


def test_one_question_and_going_on_with_the_last_session(
    home: Path, piped: Callable[..., Any]
) -> None:
    assert piped(Speaker(["first"]), "trip", "-m", "hello").out == "first \n"
    model = Speaker(["second"])
    assert piped(model, "--continue", "-m", "-", stdin="and now?").out == "second \n"
    assert [text for _, text in said(home, "trip")] == ["hello", "first", "and now?", "second"]
    assert piped(Speaker(["x"]), "--incognito", "--memory", "read", "-m", "x").code == 2
    assert piped(Speaker(["x"]), "--memory", "raed", "-m", "x").code == 2


def test_a_name_beside_continue_is_refused_before_anything_is_opened(home: Path) -> None:
    run = inside(home, "chat", "-c", "other")
    assert run.code == 2
    assert "takes no name" in run.err
    assert not home.exists()


def test_one_question_that_is_stopped_ends_as_stopped(
    home: Path, piped: Callable[..., Any]
) -> None:
    class Stopped(Speaker):
        async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
            yield "Half of "
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)

    run = piped(Stopped([""]), "trip", "-m", "tell me")
    assert run.code == 130
    assert run.out == "Half of \n"
    assert said(home, "trip")[1][1].endswith(ENGLISH.stopped_mark)


def test_the_history_is_what_was_said_and_nothing_erased(home: Path) -> None:
    with chatting(home, Speaker(["ok"])) as chat:
        chat.type("first", "the word is plover", "first", "/help")
    with chatting(home, Speaker(["ok"])) as chat:
        chat.type("newest")
    with holdfast.open(home, background=False) as engine:
        assert list(said_before(engine, None)) == ["newest", "first", "the word is plover", "first"]
        engine.forget("plover", erase=True)
        assert not [text for text in said_before(engine, None) if "plover" in text]
