"""What a tool answered, in one line for a person.

Promise: an answer of any shape gives a line; those of the memory tools are told by what they
found or wrote, and where (``tests/doors/test_chat.py``). Pure.
"""

from __future__ import annotations

import json

from holdfast.cli.chat.words import Words
from holdfast.cli.speech import filled
from holdfast.text import one_line
from holdfast.types import Json

__all__ = ["in_short"]


def in_short(result: str, words: Words, width: int) -> str:
    """The answer, as far as one line goes."""
    match _read(result):
        case {"passages": [_, *_] as passages}:
            found = [str(each.get("citation", "")) for each in passages if isinstance(each, dict)]
            where = ", ".join(filter(None, found))
            said = filled(words.tool_found, passages=len(passages), where=where)
        case {"passages": [], "why_empty": str(why)}:
            said = filled(words.found_nothing, why=why)
        case {"added": [_, *_] as added, "path": str(path)}:
            texts = [str(each.get("text", "")) for each in added if isinstance(each, dict)]
            said = filled(words.saved, saved=len(added), file=path) + ": " + "; ".join(texts)
        case _:
            said = result
    return one_line(said, width)


def _read(result: str) -> Json:
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return None
