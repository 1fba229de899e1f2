"""The prompt: a line one writes, with the status line below it.

The only module that knows prompt_toolkit.

Ctrl-C is a key here; where it is a signal (before the terminal is ours, or sent by a program), it
comes through the feed, like everything else that happens meanwhile. Behind the Enter that ends a
line it is for the answer.

Promise: what happens meanwhile is shown above the prompt, and what is being typed stays; Ctrl-C
clears the line, at an empty one it is told to the caller; whenever it comes, it never breaks
anything off in the midst (``tests/doors/test_chat_terminal.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import History, InMemoryHistory, ThreadedHistory
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style

from holdfast.cli.chat.feed import Stop
from holdfast.cli.chat.history import said_before
from holdfast.cli.gauge import can_print
from holdfast.cli.speech import AGREED, filled

if TYPE_CHECKING:
    from holdfast.cli.chat.talk import Talk

__all__ = ["TerminalConsole"]

_NOT_TYPED: Final = (Keys.ControlC, Keys.CPRResponse)
_STYLE: Final = Style.from_dict({"bottom-toolbar": "noreverse", "bottom-toolbar.text": "noreverse"})


class TerminalConsole:
    """Reads from the person at the terminal."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._mark = "› " if can_print("›") else "> "
        history: History = InMemoryHistory()
        if not talk.opening.incognito:
            history = ThreadedHistory(_SaidBefore(talk))
        self._prompt: PromptSession[str] = PromptSession(
            history=history,
            completer=_Slashes(talk.words.helps),
            complete_while_typing=Condition(_is_command),
            multiline=True,
            key_bindings=_keys(),
            bottom_toolbar=self._toolbar,
            prompt_continuation=FormattedText([("", "  ")]),
            style=_STYLE,
            reserve_space_for_menu=5,
            enable_suspend=True,
        )

    def read(self) -> str:
        """What the person said.

        Raises:
            EOFError: Ctrl-D.
            KeyboardInterrupt: Ctrl-C at an empty line.
        """
        said = self._asked(self._prompt, ("bold", self._mark), _interrupt)
        self._sort_keys()
        return said

    def _sort_keys(self) -> None:
        """What was pressed behind the Enter: Ctrl-C is for the answer, the rest for the next
        prompt. The prompt may not have read all of it before it gave the terminal back."""
        keyboard = self._prompt.input
        pressed = [*get_typeahead(keyboard), *keyboard.read_keys()]
        if any(each.key == Keys.ControlC for each in pressed):
            self._talk.feed.put(Stop())
        store_typeahead(keyboard, [each for each in pressed if each.key not in _NOT_TYPED])

    def _asked(
        self,
        prompt: PromptSession[str],
        mark: tuple[str, str],
        interrupt: Callable[[Application[Any]], None],
    ) -> str:
        try:
            with patch_stdout(raw=True):
                watch = partial(self._watch, interrupt)
                return prompt.prompt(FormattedText([mark]), pre_run=watch, handle_sigint=False)
        finally:
            self._talk.feed.wake = None

    def _watch(self, interrupt: Callable[[Application[Any]], None]) -> None:
        """Show what happens while nobody types."""
        app, loop = get_app(), asyncio.get_running_loop()

        def show() -> None:
            if app.is_done or not app.is_running:
                return  # what comes now is for whoever reads the feed next
            if self._talk.show_news():
                interrupt(app)
            app.invalidate()

        self._talk.feed.wake = lambda: _void(loop.call_soon_threadsafe(show))
        loop.call_soon(show)

    def _toolbar(self) -> FormattedText:
        width = get_app().output.get_size().columns
        return FormattedText([("", self._talk.meter.line(width - 1))])

    def confirm(self, question: str) -> bool | None:
        """Whether the person agrees."""
        asked = filled(self._talk.words.ask_yes, question=question)
        try:
            said = self._asked(PromptSession[str](), ("", asked), _leave)
            return said.strip().casefold() in AGREED
        except (EOFError, KeyboardInterrupt):
            return False


def _void(value: object) -> None:
    del value


class _SaidBefore(History):
    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        super().__init__()

    def load_history_strings(self) -> Iterable[str]:
        name = self._talk.session.name if self._talk.is_open else None
        return said_before(self._talk.engine, name)

    def store_string(self, string: str) -> None:
        pass  # it is in the transcript


class _Slashes(Completer):
    """Completes the names of commands, with what they do."""

    def __init__(self, helps: Sequence[tuple[str, str]]) -> None:
        self._helps = helps

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        del complete_event
        typed = document.text_before_cursor
        if not typed.startswith("/") or " " in typed or "\n" in typed:
            return
        for usage, what in self._helps:
            name = usage.split()[0]
            if name.startswith(typed.lower()):
                tail = " " if name != usage else ""
                yield Completion(
                    name + tail, start_position=-len(typed), display=usage, display_meta=what
                )


def _is_command() -> bool:
    return get_app().current_buffer.text.startswith("/")


def _interrupt(app: Application[Any]) -> None:
    """Clear the line; at an empty one, tell the caller."""
    buffer = app.current_buffer
    if buffer.text:
        buffer.append_to_history()  # Ctrl-C by mistake: the arrow brings it back
        buffer.reset()
    else:
        _leave(app)


def _leave(app: Application[Any]) -> None:
    app.exit(exception=KeyboardInterrupt)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        elif buffer.text.strip():
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        _interrupt(event.app)

    @keys.add("c-d", filter=Condition(lambda: not get_app().current_buffer.text))
    def _(event: KeyPressEvent) -> None:
        event.app.exit(exception=EOFError)

    return keys
