"""Fits the weights of the token estimate and prints them as ``context/tokens/weights.py``.

python -m scripts.fit_tokens FOLDER > src/holdfast/context/tokens/weights.py

FOLDER/texts/KIND/*.txt        texts of one kind: a language, code, JSON, base64, …
FOLDER/tokenizers/FAMILY*.json other tokenizers (Hugging Face format); of several of one family
                               the highest count is fitted. o200k and cl100k are built in.

A linear program chooses the weights: none negative, and of every kind as few texts as possible
estimated below ``margin`` times their real count, at the least excess. ``default`` is fitted to
the highest count of all tokenizers. Texts are no part of the repository; the test texts must
not be among them. Needs numpy, scipy and tokenizers besides the development packages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from holdfast.context.tokens.features import FEATURES, features
from holdfast.models.tokenizers import find_counter

FAMILIES = ("default", "o200k", "cl100k", "claude", "qwen", "deepseek", "llama")
SAFETY = {"claude": 1.1}  # only an old tokenizer of this family is public
USUAL = (0.2, 0.01, 1.03)
# Kinds, and for each: cost of counting too low, cost of counting too high, margin. Costs are
# higher where most of a conversation is; margins where texts at hand were easier than speech.
WISHES = (
    ("ar", (1, 0.012, 1.15)),
    (
        "base64 emoji emoji_chat emoji_zwj hex ja ja_chat logs mixed zh zh_chat "
        "zh_prose zht zht_chat",
        (1, 0.012, 1.04),
    ),
    ("code", (1, 0.08, 1.04)),
    ("cs de es fi fr hu id it nl pl pt ro sv tr vi", (0.12, 0.008, 1.02)),
    ("en json markdown", (1, 0.025, 1.06)),
    ("en_chat", (1, 0.02, 1.08)),
    ("ko ko_chat ko_prose", (0.8, 0.012, 1.05)),
    ("latex", (1, 0.012, 1.07)),
    ("minjs", (1, 0.06, 1.04)),
    ("numbers", (0.4, 0.02, 1.02)),
    ("paths random random_words tables umath_pretty", (0.15, 0.02, 1.02)),
    ("th", (1, 0.012, 1.13)),
    ("th_titles", (0.004, 0.02, 1)),
    ("umath", (1, 0.012, 1.1)),
)
SYMBOLS = (0.08, 0.02, 1)  # kinds named sym_…: characters of one class at random
FEWEST_TOKENS = 60
# A word is hardly less than a token, blanks are not free, and no character is more than 4.5.
BOUNDS = {"word": (0.82, 2.0), "spaces2": (0.03, 1.0), "line": (0.05, 2.0), "control": (1.0, 3.0)}
HEADER = '''"""What each feature of a text costs in tokens, by family of tokenizers.

Written by ``scripts/fit_tokens.py``; change it there. ``default`` is fitted to the highest
count of all families. How well the weights do is measured by ``tests/context/test_tokens.py``
on other texts than they were fitted to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["FAMILIES", "weights_of"]
'''
FOOTER = '''

def weights_of(family: str) -> Mapping[str, float]:
    """The features that cost something, and what."""
    column = FAMILIES.index(family)
    return {name: costs[column] for name, costs in _COSTS.items() if costs[column]}
'''

np: Any = import_module("numpy")
sparse: Any = import_module("scipy.sparse")
optimize: Any = import_module("scipy.optimize")


def tokenizers(folder: Path) -> Iterator[tuple[str, Callable[[str], int]]]:
    for family in ("o200k", "cl100k"):
        if counter := find_counter(family):
            yield family, counter.count
    for file in sorted((folder / "tokenizers").glob("*.json")):
        encoder = import_module("tokenizers").Tokenizer.from_file(str(file))
        family = next(name for name in FAMILIES if file.stem.startswith(name))
        yield family, partial(_length, encoder)


def _length(encoder: Any, text: str) -> int:
    return len(encoder.encode(text, add_special_tokens=False).ids)


def real_counts(folder: Path, texts: list[str]) -> dict[str, Any]:
    counts: dict[str, Any] = {}
    for family, count in tokenizers(folder):
        counted = np.array([count(text) for text in texts], dtype=float)
        counts[family] = np.maximum(counted, counts.get(family, 0))
    counts["default"] = np.max(list(counts.values()), axis=0)
    return counts


def fit(rows: Any, real: Any, kinds: Any) -> Any:
    """min Σ low·under + high·over  subject to  rows·w / real + under - over = margin, w ≥ 0"""
    kept = np.flatnonzero(real >= FEWEST_TOKENS)
    sizes = {kind: int((kinds[kept] == kind).sum()) for kind in set(kinds[kept])}
    wish = np.array([wish_for(kind) for kind in kinds[kept]])
    share = np.array([min(1, sizes[kind] / 20) / sizes[kind] for kind in kinds[kept]])
    relative = sparse.csr_matrix(rows[kept] / real[kept, None])
    one = sparse.eye(len(kept))
    solved = optimize.linprog(
        np.concatenate([np.full(len(FEATURES), 1e-7), wish[:, 0] * share, wish[:, 1] * share]),
        A_eq=sparse.hstack([relative, one, -one]).tocsc(),
        b_eq=wish[:, 2],
        bounds=[bounds(name) for name in FEATURES] + [(0, None)] * (2 * len(kept)),
        method="highs-ipm",
    )
    return solved.x[: len(FEATURES)]


def wish_for(kind: str) -> tuple[float, float, float]:
    if kind.startswith("sym_"):
        return SYMBOLS
    return next((wish for kinds, wish in WISHES if kind in kinds.split()), USUAL)


def bounds(name: str) -> tuple[float, float]:
    return BOUNDS.get(name, (0, 1.3 if name.endswith("+") else 4.5 if name[0] == "@" else 3.0))


def page(weights: dict[str, Any]) -> str:
    families = [family for family in FAMILIES if family in weights]
    lines = [HEADER, "FAMILIES: Final = ("]
    lines += [f'    "{family}",' for family in families]
    lines += [")", "", "# In the order of the families.", "_COSTS: Final = {"]
    for place, name in enumerate(FEATURES):
        costs = [round(float(weights[family][place]), 3) for family in families]
        if any(costs):
            lines.append(f'    "{name}": ({", ".join(map(str, costs))}),')
    return "\n".join([*lines, "}", FOOTER])


def main() -> None:
    folder = Path(sys.argv[1])
    files = sorted((folder / "texts").glob("*/*.txt"))
    texts = [file.read_bytes().decode() for file in files]
    kinds = np.array([file.parent.name for file in files])
    found = map(features, texts)
    rows = np.array([[each.get(name, 0) for name in FEATURES] for each in found], dtype=float)
    counts = real_counts(folder, texts)
    weights = {
        family: fit(rows, real, kinds) * SAFETY.get(family, 1) for family, real in counts.items()
    }
    print(page(weights), end="")


if __name__ == "__main__":
    main()
