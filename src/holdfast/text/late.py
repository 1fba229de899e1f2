"""Regular expressions that are compiled by the first text they are held against.

Compiling a hundred of them takes longer than a search, and most questions need a few. Promise: a
late pattern is used as a compiled one is, and an expression with a mistake in it still fails: at
its first use. Proven by ``tests/foundation/test_text_late.py``, which uses every one there is.
"""

from __future__ import annotations

import re
from typing import Any, cast

__all__ = ["late"]


class _Late:
    def __init__(self, pattern: str, flags: int) -> None:
        self._made_of = pattern, flags

    def __getattr__(self, name: str) -> Any:
        # What is asked for once is found without this the next time: nothing is slower for it.
        value = self.__dict__[name] = getattr(re.compile(*self._made_of), name)
        return value

    def __repr__(self) -> str:
        return f"late({self._made_of[0]!r})"


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As ``re.compile``, at the first use."""
    return cast("re.Pattern[str]", _Late(pattern, flags))
