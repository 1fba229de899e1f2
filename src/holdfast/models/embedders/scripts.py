"""Which encoders a text is for, by the script it is written in.

An encoder knows the script it was trained on: English word pieces tear Chinese into unknown
marks. Promise: every text has a script, and every encoder of that script, or of any script, is
chosen; a text in two scripts goes to the encoders of both. Pure. Proved by
``tests/models/test_embedders_choice.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from holdfast.ports import Embedder
from holdfast.text.late import late

__all__ = ["TextScript", "cjk_share", "for_text", "script_of", "well_formed"]

TextScript = Literal["latin", "cjk", "mixed"]

# Han, kana, hangul, bopomofo, with their compatibility and half-width forms.
_CJK: Final = late(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u30ff\u3105-\u318e\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7fb\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff]"
)
_SURROGATE: Final = late("[\ud800-\udfff]")

# An ideograph says about as much as half a Latin word: it counts as two letters.
_CJK_WEIGHT: Final = 2
# Below this share a script is a name or a quotation, and the other one carries the meaning.
_PRESENT: Final = 0.15


def cjk_share(text: str) -> float:
    """How much of what the text says is in Chinese, Japanese or Korean: 0 to 1."""
    if text.isascii():
        return 0.0
    ideographs = len(_CJK.findall(text))
    letters = sum(map(str.isalpha, text))
    weighted = ideographs * _CJK_WEIGHT
    # Iteration marks count as ideographs yet not as letters: never a negative rest.
    return weighted / (weighted + max(letters - ideographs, 0)) if ideographs else 0.0


def script_of(text: str) -> TextScript:
    """Numbers, emoji and an empty text are Latin: any encoder knows them, that one is cheapest."""
    share = cjk_share(text)
    if share < _PRESENT:
        return "latin"
    return "cjk" if share > 1 - _PRESENT else "mixed"


def for_text(embedders: Iterable[Embedder], text: str) -> list[Embedder]:
    """The encoders that embed this text, as a note or as a query, in their order.

    An encoder for any script takes every text, so that a question in one language has a leg
    on which to find a note in another.
    """
    script = script_of(text)
    return [one for one in embedders if script == "mixed" or one.script in ("any", script)]


def well_formed(text: str) -> str:
    """The text with a replacement mark for every lone surrogate, of the same length.

    Libraries that take UTF-8 raise on such a text; spans must still fit the original.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
