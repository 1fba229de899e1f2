"""``holdfast start``: the console, on one's own memory if there is a model, else on the tour.

In the terminal (``--terminal``, or where the console is not installed): the chat if there is a
model, else the tour and three ways to one:

    1  a key of a provider, given here for as long as this program runs
    2  a server on this machine, looked for again
    3  the embedded model, fetched now

Whichever is chosen, the chat opens in the same program. A key that is typed is written nowhere.

Promise: nothing is fetched and nothing is sent before somebody said yes; without a terminal
nothing is asked, and the offer is text (``tests/doors/test_start.py``).
"""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from holdfast.cli.render import json_line, note, say, size
from holdfast.cli.speech import AGREED, filled, spoken
from holdfast.cli.terminal import folded, has_colour
from holdfast.cli.tour.choosing import choose
from holdfast.cli.tour.page import Ink, how_to_call, width_of_terminal
from holdfast.cli.tour.words import Words, words_in
from holdfast.text import display

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.models.registry import Choice
    from holdfast.models.weights import Weights

__all__ = ["MODEL", "Hands", "begin", "hands_of", "offer", "open_console", "run"]

MODEL: Final = "qwen2.5-coder-1.5b"
_SERVERS: Final = (
    ("Ollama", "ollama serve   # then: ollama pull qwen3"),
    ("llama.cpp", "llama-server -m model.gguf --port 8080"),
    ("LM Studio", "lms server start"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """Everything that is done besides speaking."""

    choose: Callable[[], Choice]
    """Which model there is now: asked anew each time."""
    console: Callable[[bool], None] | None
    """Serves until somebody ends it, with the tour or without. None: it is not installed."""
    link: Callable[[], bool]
    """Prints a link to a console that runs already; False: none does."""
    tour: Callable[[], int]
    chat: Callable[[], int]
    fetch: Callable[[], None]
    ask: Callable[[str], str]
    ask_hidden: Callable[[str], str]
    environ: MutableMapping[str, str]
    folder: str
    """Where a model is fetched to."""


def hands_of(door: Door, *, is_fast: bool) -> Hands:
    """The real ones."""
    from holdfast.models.folder import models_folder

    return Hands(
        choose=partial(choose, door),
        console=_console_of(door),
        link=partial(_link, door),
        tour=partial(_tour, door, is_fast),
        chat=partial(_chat, door),
        fetch=partial(_fetch, door),
        ask=input,
        ask_hidden=getpass.getpass,
        environ=os.environ,
        folder=str(models_folder(os.environ)),
    )


def run(
    door: Door, *, is_fast: bool = False, in_terminal: bool = False, as_json: bool = False
) -> int:
    """Open what can be opened here; the exit code."""
    hands = hands_of(door, is_fast=is_fast)
    if as_json:
        json_line(_as_json(hands.choose(), in_terminal or hands.console is None))
        return 0
    if not in_terminal and hands.console is not None:
        return open_console(hands)
    if not in_terminal:
        missing = words_in(spoken(hands.environ)).no_console
        note(filled(missing, command="pip install 'holdfast[server]'"))
    return begin(hands, is_terminal=sys.stdin.isatty() and sys.stdout.isatty())


def open_console(hands: Hands) -> int:
    """Say which model answers there, or how to get one, and serve. Beside the answer, which is
    the link: a program that reads that has nothing else to read."""
    assert hands.console is not None
    if hands.link():
        return 0
    choice = hands.choose()
    desk = _Desk(words=words_in(spoken(hands.environ)), hands=hands, speak=note)
    if choice.model is None:
        desk.say(desk.words.offer)
        desk.list_commands("start")
        desk.say(desk.words.tour_console)
    else:
        desk.say(filled(desk.words.chosen, model=choice.model, why=choice.why))
        desk.say(desk.words.own_console)
    desk.say()
    hands.console(choice.model is None)
    return 0


def begin(hands: Hands, *, is_terminal: bool) -> int:
    """The chat, or the tour and the offer."""
    choice = hands.choose()
    if choice.model is not None and is_terminal:
        return hands.chat()
    code = hands.tour()
    desk = _Desk(words=words_in(spoken(hands.environ)), hands=hands)
    if not is_terminal:
        desk.as_text(choice)
        return code
    return offer(desk) or (1 if code == 1 else 0)


def offer(desk: _Desk) -> int:
    """Ask until there is a model, or nobody wants one; the exit code."""
    desk.show_ways()
    while True:
        way = desk.asked(desk.words.choose)
        if way is None or way.casefold() in ("q", "quit", "exit"):
            desk.say(filled(desk.words.goodbye, call=how_to_call()))
            return 0
        act = desk.ways.get(way)
        if act is None:
            desk.say(desk.words.not_a_way)
            continue
        if not act():
            desk.show_ways()
            continue
        choice = desk.hands.choose()
        if choice.model is not None:
            desk.say(filled(desk.words.chosen, model=choice.model, why=choice.why))
            return desk.hands.chat()
        desk.say_why_not(choice)
        desk.show_ways()


class _Desk:
    """Where the offer is made: what is said, and what is answered."""

    def __init__(self, *, words: Words, hands: Hands, speak: Callable[[str], None] = say) -> None:
        self.words = words
        self.hands = hands
        self._speak = speak
        self.ways: Mapping[str, Callable[[], bool]] = {
            "1": self._use_key,
            "2": self._use_server,
            "3": self._fetch,
        }
        """Each: whether there may be a model now."""
        self._ink = Ink(is_on=sys.stdout.isatty() and has_colour(hands.environ))

    # ── the three ways ──────────────────────────────────────────────────────────────────────

    def _use_key(self) -> bool:
        self.say(self.words.keys)
        known = dict(_variables())
        for provider, variable in known.items():
            self.say(f"{provider:<12} {variable}", indent=2)
        while True:
            name = self.asked(self.words.which_key)
            if not name:
                return False
            variable = known.get(name.casefold(), name.upper())
            if variable in known.values():
                return self._take_key(variable)
            self.say(filled(self.words.no_key, name=name))

    def _take_key(self, variable: str) -> bool:
        key = self.asked(self.words.paste_key, is_hidden=True)
        if not key:
            return False
        self.hands.environ[variable] = key
        self.say(filled(self.words.key_kept, variable=variable))
        return True

    def _use_server(self) -> bool:
        self.say(self.words.server)
        for name, command in _SERVERS:
            self.say(f"{name:<10} {command}", indent=2)
        while True:
            said = self.asked(self.words.look_again)
            if said is None or said.casefold() == "b":
                return False
            choice = self.hands.choose()
            if choice.model is not None:
                return True
            self.say_why_not(choice)

    def _fetch(self) -> bool:
        weights = _weights()
        told = {"title": weights.title, "size": size(weights.bytes), "licence": weights.licence}
        self.say(filled(self.words.fetch, folder=self.hands.folder, **told))
        said = self.asked(filled(self.words.sure, size=size(weights.bytes)))
        if said is None or said.casefold() not in AGREED:
            return False
        return self._fetched()

    def _fetched(self) -> bool:
        from holdfast.errors import HoldfastError

        try:
            self.hands.fetch()
        except (HoldfastError, OSError) as error:  # said as by a command, and the offer stands
            self.say(display(str(error)))
            return False
        except KeyboardInterrupt:
            self.say()
            return False
        return True

    # ── speaking ────────────────────────────────────────────────────────────────────────────

    def show_ways(self) -> None:
        self.say()
        self.say(self.words.offer)
        self._list_ways()
        self.say()

    def _list_ways(self) -> None:
        weights = _weights()
        for key, way in zip("123q", self.words.ways, strict=True):
            told = filled(way, title=weights.title, size=size(weights.bytes))
            self.say(f"{key}  {told}", indent=2)

    def as_text(self, choice: Choice) -> None:
        """The offer for a log: what to type, nothing asked."""
        words, call = self.words, how_to_call()
        self.say()
        self.say(words.as_text)
        if choice.model is not None:
            self.say(filled(words.chosen, model=choice.model, why=choice.why))
            self._command(f"{call} chat")
            return
        self.list_commands("chat")

    def list_commands(self, then: str) -> None:
        """The three ways, each as what to type, and what to type then."""
        weights = _weights()
        for way, command in zip(self.words.ways, self._commands(), strict=False):
            told = filled(way, title=weights.title, size=size(weights.bytes))
            self.say(told, indent=2)
            self._command(f"{command} && {how_to_call()} {then}")

    def _commands(self) -> Iterator[str]:
        """What to type before. No comment: it would swallow what comes after it."""
        yield f"export {next(iter(dict(_variables()).values()))}=…"
        yield "ollama serve & sleep 2; ollama pull qwen3"
        yield f"{how_to_call()} model get {MODEL}"

    def _command(self, text: str) -> None:
        self._speak("    " + self._ink.bold(text))  # never cut: it is to be copied

    def say_why_not(self, choice: Choice) -> None:
        self.say(self.words.still_none)
        for reason in [f"{each.place}: {each.why}" for each in choice.considered] or [choice.why]:
            self.say(display(f"- {reason}"), indent=2)

    def say(self, text: str = "", *, indent: int = 0) -> None:
        for line in folded(text, width_of_terminal() - indent):
            self._speak((" " * indent + line).rstrip())

    def asked(self, question: str, *, is_hidden: bool = False) -> str | None:
        """What was answered; None: the terminal was closed, or Ctrl-C."""
        sys.stdout.flush()
        try:
            said = self.hands.ask_hidden(question) if is_hidden else self.hands.ask(question)
        except (EOFError, KeyboardInterrupt):
            self.say()
            return None
        return said.strip()


def _variables() -> Iterator[tuple[str, str]]:
    """Who has a key and a model to begin with, and where the key is looked for."""
    from holdfast.models.keys import HOSTED

    for each in HOSTED.values():
        if each.variables and each.model is not None:
            yield each.provider, each.variables[0]


def _weights() -> Weights:
    from holdfast.models.weights import CATALOGUE

    return CATALOGUE[MODEL]


def _as_json(choice: Choice, in_terminal: bool) -> dict[str, object]:
    has_model = choice.model is not None
    if in_terminal:
        opened: dict[str, object] = {"next": "chat" if has_model else "demo"}
    else:
        opened = {"next": "console", "place": "own" if has_model else "tour"}
    return {
        "model": choice.model,
        "why": choice.why,
        "considered": [
            {"place": each.place, "model": each.model, "why": each.why}
            for each in choice.considered
        ],
        **opened,
    }


# ── the real hands ──────────────────────────────────────────────────────────────────────────


def _console_of(door: Door) -> Callable[[bool], None] | None:
    from holdfast.cli import hosting

    return partial(_console, door) if hosting.is_installed() else None


def _console(door: Door, has_tour: bool) -> None:
    from holdfast.cli import hosting
    from holdfast.cli.tour.playing import tour_place

    wish = hosting.Wish(tour=tour_place if has_tour else None, port=_port(hosting.Wish().port))
    hosting.host(door, wish, own_first=not has_tour)


def _link(door: Door) -> bool:
    from holdfast.cli import hosting
    from holdfast.config import default_home
    from holdfast.disk import Directory
    from holdfast.server.presence import find

    home = door.home_path() or default_home(os.environ)
    if not home.is_dir() or find(Directory.open(home)) is None:
        return False
    note(words_in(spoken(os.environ)).is_running)
    hosting.link(door, as_json=False)
    return True


def _port(usual: int) -> int:
    """The usual one, or any if something else is there: nobody was asked which they want."""
    from holdfast.errors import UsageError
    from holdfast.gatehouse.listening import listening

    try:
        listening("127.0.0.1", usual).close()
    except UsageError:
        return 0
    return usual


def _tour(door: Door, is_fast: bool) -> int:
    from holdfast.cli.tour import showing

    return showing.run(door, is_fast=is_fast)


def _chat(door: Door) -> int:
    from holdfast.cli.chat import Wish, run

    return run(door, Wish())


def _fetch(door: Door) -> None:
    import typer

    from holdfast.cli import shelf

    try:
        shelf.get(door, MODEL, given=None, via=None, as_json=False)
    except typer.Exit:  # stopped by hand: it has said what is kept, and how to go on
        raise KeyboardInterrupt from None
