"""Which family of tokenizers a model belongs to, by its name.

Promise: a name we do not know is ``default``, whose estimates are safe for all families.
Proved by ``tests/context/test_tokens.py``.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["family_of"]

# The first that matches decides: a distilled model has the tokenizer of the model it was made
# from, not of the one in its name.
_NAMES: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(rf"(?:^|[^a-z0-9])(?:{names})"), family)
    for names, family in (
        (r"distill-qwen", "qwen"),
        (r"distill-llama", "llama"),
        (r"claude", "claude"),
        (r"gpt-?(?:4o|4\.[1-9]|[5-9]|oss)|chatgpt|codex|o[1-9](?![0-9a-z])", "o200k"),
        (r"gpt-?(?:4|3\.5|35)|text-embedding-(?:3|ada)|(?:davinci|babbage)-002", "cl100k"),
        (r"qwen|qwq|qvq", "qwen"),
        (r"deepseek", "deepseek"),
        (r"llama-?3|meta-llama-3", "llama"),
    )
)


def family_of(model_name: str) -> str:
    """The tokenizer family of a model, however its provider spells the name."""
    name = model_name.casefold()[:200].replace("_", "-")
    return next((family for names, family in _NAMES if names.search(name)), "default")
