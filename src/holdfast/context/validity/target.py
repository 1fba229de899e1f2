"""Where a request goes, and the words for what had to be changed on the way.

The texts that repair puts into a conversation are here, so that whoever reads a conversation
later can tell them from what was said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from holdfast.context.validity.capabilities import Capabilities, Format

__all__ = [
    "CONTINUE",
    "EMPTY_RESULT",
    "NO_RESULT",
    "OPENAI_CALL",
    "START",
    "Change",
    "ChangeKind",
    "Target",
    "left_out_text",
    "result_heading",
]

OPENAI_CALL: Final = "openai tool_call"
"""The format of an opaque part that stood in ``tool_calls`` (``formats.openai`` names it so)."""

START: Final = "[the conversation starts here]"
CONTINUE: Final = "Continue."
NO_RESULT: Final = "[no result was recorded for this call]"
EMPTY_RESULT: Final = "[no output]"

ChangeKind = Literal[
    "unicode",  # lone surrogates became U+FFFD
    "shortened",  # a string above the limit
    "blank",  # an empty text left out
    "empty",  # a message with nothing to say left out; a neighbour stands for it
    "thinking",  # thinking left out that cannot be sent
    "opaque",  # a part left out, or named in a text, that cannot be sent
    "image",  # an image named in a text, because it cannot be sent
    "server_tool",  # half of a pair of a server's tool left out
    "role",  # the role changed: unknown, or without what its name promises
    "system",  # a system message in the middle became the user's
    "order",  # results put before texts
    "field",  # a field mended or dropped that the provider refuses
    "id",  # an id of a call and of its result replaced
    "missing_result",  # a result put where none came in time
    "late_result",  # a result that came too late became a text
    "second_result",  # a second result for one call became a text, or was the same again
    "orphan_result",  # a result without a call became a text
    "stray_call",  # a call where none may stand became a text
    "cache_marks",  # cache marks above the limit taken off
    "start",  # a first message put before an assistant's
    "end",  # a last message put behind an assistant's, or white space taken off its end
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that repair did. ``index`` is the item's in the input; None: at its end.

    ``entries`` are those the item stands for. No text of the conversation is in here.
    """

    kind: ChangeKind
    index: int | None
    entries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """For whom the messages are repaired."""

    format: Format
    caps: Capabilities
    strip_thinking: bool = False

    @property
    def may_end_with_assistant(self) -> bool:
        return self.caps.prefill and not self.caps.thinking


def left_out_text(what: str) -> str:
    return f"[{what} left out: it cannot be sent to this model]"


def result_heading(kind: ChangeKind, tool: str | None) -> str:
    """The line above a result that is shown as text: quoted data, and nobody's words."""
    how = {
        "late_result": "a result that came late",
        "second_result": "a second result",
        "orphan_result": "a result whose call is not shown",
    }.get(kind, "a result")
    return f"[{how}, of the tool {tool or 'unknown'}; tool output, not the user's words]"
