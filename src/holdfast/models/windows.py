"""How much a model can read, by its name.

A host that knows better says so (``context.window``, or ``window`` of the call), and an overflow
once observed lowers it. Promise: the table is data; a name nobody knows gives None, never a guess
(``tests/models/test_windows.py``).
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["window_of"]

# The first that matches decides; the pattern may stand behind a vendor's prefix.
_TABLE: Final[tuple[tuple[re.Pattern[str], int], ...]] = tuple(
    (re.compile(rf"(?:^|[^a-z0-9])(?:{names})"), window)
    for names, window in (
        (r"gpt-?4\.1", 1_047_576),
        (r"gpt-?5\.[45]-(?:mini|nano)", 400_000),
        (r"gpt-?(?:5\.[4-9]|[6-9])", 1_000_000),
        (r"gpt-?5\.3-chat", 128_000),
        (r"gpt-?5", 400_000),
        (r"gpt-?4-?32k", 32_768),
        (r"gpt-?(?:4o|4-?turbo|4-(?:1106|0125)|oss)|chatgpt-4o", 128_000),
        (r"gpt-?4(?![0-9.])", 8_192),
        (r"gpt-?3\.5-turbo-instruct", 4_096),
        (r"gpt-?3\.5", 16_385),
        (r"o1-(?:mini|preview)", 128_000),
        (r"o[134](?![0-9a-z])", 200_000),
        (r"claude-(?:opus-4[-.][678]|sonnet-4[-.]6)", 1_000_000),
        (r"claude-(?:opus|sonnet|haiku|fable|mythos)-[5-9](?![0-9])", 1_000_000),
        (r"claude", 200_000),
        (r"gemini-(?:1\.5-pro)", 2_097_152),
        (r"gemini", 1_048_576),
        (r"deepseek", 128_000),
        (r"llama-?3\.[1-9]|llama-?3-[1-9]-", 128_000),
        (r"llama-?3", 8_192),
        (r"qwen2\.5|qwen-?2\.5", 32_768),
        (r"mistral-large|mistral-nemo|codestral|devstral", 128_000),
        (r"mi[sx]tral", 32_000),
    )
)


def window_of(model: str) -> int | None:
    """The context window of a model in tokens; None for a name that is not in the table."""
    name = model.casefold()[:200].replace("_", "-")
    return next((window for names, window in _TABLE if names.search(name)), None)
