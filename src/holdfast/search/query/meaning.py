"""The query as vectors, by every encoder that fits it, without ever holding up the words.

Promise: keyword results do not wait for an encoder longer than the request allows; what an
encoder did not give, and why, is said in ``degraded`` (``tests/search/test_pipeline_meaning.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from holdfast.errors import HoldfastError
from holdfast.ports import Embedded, Embedder
from holdfast.search.index.stored import Coverage
from holdfast.search.query.deadline import Deadline, Started, TooBusy, TooSlow, start
from holdfast.text import cut, one_line
from holdfast.text.late import late

__all__ = ["NO_ENCODER", "Encoding", "Meaning", "fitting", "not_embedded", "scripts_of"]

NO_ENCODER: Final = "meaning: no encoder installed (pip install 'holdfast[local]')"

_SYNC: Final = "holdfast index sync"
_LONGEST: Final = 8_000
"""Characters of a query that are encoded; no encoder sees further."""
_LATIN: Final = late(r"[A-Za-z\u00c0-\u024f]")
_CJK: Final = late("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What the encoders made of the parts of a query, by encoder."""

    encoded: dict[str, Embedded] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()


def fitting(embedders: Sequence[Embedder], text: str) -> list[Embedder]:
    """Those meant for the script of a text; all of them when it has no letters they know."""
    scripts = {"any", *scripts_of(text)}
    return [embedder for embedder in embedders if embedder.script in scripts]


def scripts_of(text: str) -> frozenset[str]:
    """Which of the scripts that encoders are made for stand in a text."""
    known = (("latin", _LATIN), ("cjk", _CJK))
    return frozenset(script for script, letter in known if letter.search(text))


def not_embedded(names: Sequence[str], coverage: Sequence[Coverage]) -> list[str]:
    """What the encoders of this query have not seen yet, in words; nothing if they have it all."""
    known = {one.embedder: one for one in coverage}
    if missing := [name for name in names if name not in known]:
        return [f"meaning: nothing is embedded yet by {', '.join(missing)} ({_SYNC})"]
    least = max((known[name] for name in names), key=lambda one: one.missing, default=None)
    if least is None or least.is_complete:
        return []
    every = least.missing + least.embedded + least.passed_over
    return [f"meaning: {least.missing} of {every} passages are not embedded yet ({_SYNC})"]


class Encoding:
    """Encoders at work on a query since this was made."""

    def __init__(self, embedders: Sequence[Embedder], texts: Sequence[str]) -> None:
        self._started: list[tuple[str, Started[Embedded]]] = []
        self._degraded: list[str] = []
        shown = [cut(text, _LONGEST) for text in texts]
        for embedder in embedders:
            call = partial(embedder.embed, shown, tokens=embedder.has_tokens)
            try:
                self._started.append((embedder.name, start(call)))
            except TooBusy:
                self._degraded.append(
                    f"meaning: {embedder.name} is still busy with earlier queries"
                )

    def finish(self, deadline: Deadline) -> Meaning:
        """What is there in time."""
        encoded: dict[str, Embedded] = {}
        for name, started in self._started:
            try:
                encoded[name] = started.result(deadline.left())
            except TooSlow:
                took = round(deadline.seconds * 1000)
                self._degraded.append(f"meaning: {name} took longer than {took} ms")
            except HoldfastError as error:
                self._degraded.append(f"meaning: {_said(error.message)}{_next(error.hint)}")
            except Exception as error:  # noqa: BLE001 - an encoder is other people's code
                self._degraded.append(f"meaning: {name} failed: {_said(str(error) or repr(error))}")
        return Meaning(encoded=encoded, degraded=tuple(self._degraded))


def _said(message: str) -> str:
    return one_line(message, 200)


def _next(hint: str | None) -> str:
    return f" ({_said(hint)})" if hint else ""
