"""From the first prompt to the end: a terminal, a pipe, or one question.

Promise: stdin that is no terminal gives one message per line and the exit code of the last error;
a terminal gives a prompt that nothing but Ctrl-D or ``/quit`` ends, and saving is finished before
the program is (``tests/doors/test_chat.py``, ``tests/doors/test_chat_terminal.py``).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol

from holdfast.cli.chat.commands import Quit, perform
from holdfast.cli.chat.feed import Stop
from holdfast.cli.chat.keys import quiet_keys
from holdfast.cli.chat.opening import check, choose, plan_opening
from holdfast.cli.chat.screen import JsonScreen, PlainScreen, Screen, TerminalScreen
from holdfast.cli.chat.talk import Talk
from holdfast.cli.chat.wish import Wish
from holdfast.cli.chat.words import Words, words_in
from holdfast.cli.render import json_line
from holdfast.cli.speech import AGREED, filled, spoken
from holdfast.cli.terminal import has_colour
from holdfast.errors import UsageError
from holdfast.sessions.shapes import message_of
from holdfast.text import one_line

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.engine.facade import Engine
    from holdfast.ports import Model

__all__ = ["Bare", "Console", "converse", "run", "stops"]

_LAST_SAID: Final = 300
_STOPPED: Final = 128 + signal.SIGINT


class Console(Protocol):
    """Whoever types."""

    def read(self) -> str: ...

    def confirm(self, question: str) -> bool | None: ...


def run(door: Door, wish: Wish, *, model: Model | None = None) -> int:
    """Lead the conversation; the exit code. ``model`` stands in for the one that is chosen."""
    check(wish)
    words = words_in(spoken(os.environ))
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    is_prompt = is_terminal and wish.message is None and not wish.as_json
    is_smart = os.environ.get("TERM", "dumb") not in ("", "dumb")
    is_one_question = is_terminal and wish.message not in (None, "-")
    # From the start: loading a model takes a moment, and people begin to type.
    with quiet_keys() if is_one_question or (is_prompt and is_smart) else nullcontext():
        engine = door.open(background=True)
        screen = _screen(wish, is_terminal=is_terminal, is_smart=is_smart)
        try:
            talk = _opened(door, engine, wish, words, model, screen)
        except BaseException:
            engine.close()
            raise
        with talk.feed.logging(), stops(talk):
            if is_prompt:
                return _at_a_terminal(talk, is_smart=is_smart)
            return _from_a_pipe(talk, wish)


def _opened(
    door: Door, engine: Engine, wish: Wish, words: Words, model: Model | None, screen: Screen
) -> Talk:
    chosen, why = (model, "") if model is not None else choose(engine, wish.model)
    opening = plan_opening(engine, wish, chosen, why, system=words.system)
    talk = Talk(door, engine, opening, words, screen)
    if opening.exists:
        _ = talk.session
    return talk


def _screen(wish: Wish, *, is_terminal: bool, is_smart: bool) -> Screen:
    if wish.as_json:
        return JsonScreen()
    if not is_terminal:
        return PlainScreen()
    return TerminalScreen(colour=has_colour(os.environ), can_redraw=is_smart)


@contextmanager
def stops(talk: Talk) -> Iterator[None]:
    """Ctrl-C is an item of the feed, not an exception in the midst of something; but where a line
    is read without a prompt that hears the feed, it is one."""

    def heard(*_: object) -> None:
        if talk.is_reading:
            raise KeyboardInterrupt
        talk.feed.put(Stop())

    before: Any = None
    try:
        before = signal.signal(signal.SIGINT, heard)
    except ValueError:  # not the main thread: whoever runs us there has the signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# ── a terminal ──────────────────────────────────────────────────────────────────────────────


def _at_a_terminal(talk: Talk, *, is_smart: bool) -> int:
    if not is_smart:
        return converse(talk, Bare(talk))
    from holdfast.cli.chat.console import TerminalConsole

    return converse(talk, TerminalConsole(talk))


class Bare:
    """A terminal that can only write lines."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def read(self) -> str:
        try:
            with _reading(self._talk):
                return input("> ")
        except (EOFError, KeyboardInterrupt):
            self._talk.screen.line("")  # the prompt stands there without an end
            raise

    def confirm(self, question: str) -> bool | None:
        asked = filled(self._talk.words.ask_yes, question=question)
        try:
            with _reading(self._talk):
                return input(asked).strip().casefold() in AGREED
        except (EOFError, KeyboardInterrupt):
            self._talk.screen.line("")
            return False


def converse(talk: Talk, console: Console) -> int:
    """Until the person leaves."""
    _greet(talk)
    interrupts = 0
    while True:
        talk.show_news()  # also: a Ctrl-C that came too late for the last turn is not for the next
        try:
            line = console.read()
        except EOFError:
            break
        except KeyboardInterrupt:
            interrupts += 1
            if interrupts > 1:
                talk.screen.line(talk.words.use_ctrl_d, "dim")
            continue
        interrupts = 0
        try:
            handle(talk, line, console.confirm)
            talk.screen.line("")
        except Quit:
            break
    _take_leave(talk)
    return 0


@contextmanager
def _reading(talk: Talk) -> Iterator[None]:
    talk.is_reading = True
    try:
        yield
    finally:
        talk.is_reading = False


def handle(talk: Talk, line: str, ask: Callable[[str], bool | None]) -> None:
    """A command, or something to say."""
    if not line.strip():
        return
    if line.startswith("//"):
        talk.say(line[1:])
    elif line.startswith("/"):
        perform(talk, line, ask)
    else:
        talk.say(line)


def _greet(talk: Talk) -> None:
    words, screen, opening = talk.words, talk.screen, talk.opening
    name = opening.model.name
    if talk.is_open:
        messages = talk.session.state()["messages"]
        told = filled(words.opened_again, model=name, session=talk.session.name, messages=messages)
        screen.line(told, "strong")
        if last := _last_said(talk):
            screen.line(filled(words.last_said, text=last), "dim", indent="  ")
    else:
        screen.line(one_line(name, 200), "strong")
    if opening.why:
        screen.line(one_line(opening.why, 200), "dim")
    if opening.incognito:
        screen.line(words.incognito, "dim")
    elif talk.memory_mode != "read-write":
        told = words.memory_off if talk.memory_mode == "off" else words.memory_read
        screen.line(told, "dim")
    screen.line(words.how, "dim")
    screen.line("")


def _last_said(talk: Talk) -> str:
    for entry in reversed(talk.session.entries(last=20)):
        message = message_of(entry) if entry.type == "message" else None
        if message is not None and message.role in ("user", "assistant") and message.text:
            return one_line(message.text, _LAST_SAID)
    return ""


def _take_leave(talk: Talk) -> None:
    was_open = talk.is_open
    name = talk.session.name if was_open else ""
    if not talk.close() or not was_open:
        return
    if talk.opening.incognito:
        talk.screen.line(talk.words.gone, "dim")
        return
    back = talk.door.command("chat", name)
    talk.screen.line(filled(talk.words.bye, session=name, command=back), "dim")


# ── a pipe ──────────────────────────────────────────────────────────────────────────────────


def _from_a_pipe(talk: Talk, wish: Wish) -> int:
    """One message, or one per line; what was named stays open for the next call."""
    is_over = not (wish.message is not None and talk.opening.name is not None)
    try:
        if wish.message is not None:
            _say_once(talk, wish.message)
        else:
            _say_all(talk)
    finally:
        name = talk.session.name if talk.is_open else None
        talk.close(is_over=is_over)
    if wish.as_json:
        json_line(
            {
                "summary": True,
                "session": None if talk.opening.incognito else name,
                "model": talk.opening.model.name,
                "turns": talk.turns,
                "errors": talk.errors,
                "input_tokens": talk.meter.input_tokens,
                "output_tokens": talk.meter.output_tokens,
                "cost": round(talk.meter.cost, 6),
            }
        )
    return talk.code


def _say_once(talk: Talk, message: str) -> None:
    try:
        with _reading(talk):
            text = sys.stdin.read() if message == "-" else message
    except KeyboardInterrupt:
        talk.code = _STOPPED
        return
    if not text.strip():
        raise UsageError("There is nothing to say.", hint='holdfast chat -m "a question"')
    talk.say(text)
    if talk.was_stopped:
        talk.code = _STOPPED


def _say_all(talk: Talk) -> None:
    """Until the input ends; Ctrl-C ends it as well: nobody is there to go on."""
    try:
        while not talk.was_stopped:
            with _reading(talk):
                line = sys.stdin.readline()
            if not line:
                return
            handle(talk, line.rstrip("\r\n"), lambda _: None)
    except Quit:
        return
    except KeyboardInterrupt:
        pass
    talk.code = _STOPPED
