"""Which encoders there are, and giving them what they have not seen yet.

Promise: a text is encoded once by each encoder that is for its script, in batches, outside of
any transaction; one that fails is named and costs nothing but meaning
(``tests/engine/test_searching.py``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol

from holdfast.config import default_home
from holdfast.errors import HoldfastError, ModelUnavailable
from holdfast.models.embedders import bundled, for_text, from_name, why_missing
from holdfast.ports import Embedder
from holdfast.search.index import Index, Pending, Vector
from holdfast.search.ranking.late import signs_of

if TYPE_CHECKING:
    from holdfast.engine.rooms import Rooms

__all__ = ["Embedding", "Progress", "models_folder"]

_BATCH: Final = 64


class Progress(Protocol):
    """Told as work goes on: what, how many done, of how many."""

    def __call__(self, what: str, done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    embedded: int = 0
    problems: tuple[str, ...] = ()


def models_folder() -> Path:
    """Where fetched models are: one folder for all homes of a user, because they are large."""
    named = os.environ.get("HOLDFAST_MODELS")
    return Path(named).expanduser() if named else default_home(os.environ) / "models"


class Embedding:
    """The encoders of one engine."""

    def __init__(self, rooms: Rooms, embedders: Sequence[Embedder] | None = None) -> None:
        self._rooms = rooms
        self._embedders = None if embedders is None else tuple(embedders)
        self.missing: str | None = None

    @property
    def embedders(self) -> tuple[Embedder, ...]:
        """What is configured and installed; nothing is loaded yet."""
        if self._embedders is None:
            self._embedders = tuple(self._chosen())
        return self._embedders

    def _chosen(self) -> Sequence[Embedder]:
        wanted = self._rooms.settings.search.embedder
        models = models_folder()
        if wanted == "none":
            self.missing = 'switched off (search.embedder = "none")'
            return ()
        if wanted == "auto":
            found = bundled(models)
            self.missing = None if found else why_missing()
            return found
        try:
            return from_name(wanted, models=models)
        except ModelUnavailable as error:
            self.missing = error.message
            return ()

    def run(
        self,
        index: Index,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Done:
        """Encode what waits, for at most that long."""
        until = None if seconds is None else monotonic() + seconds
        embedded = 0
        problems = []

        def is_over() -> bool:
            return should_stop() or (until is not None and monotonic() >= until)

        for embedder in self.embedders:
            try:
                embedded += self._one(index, embedder, is_over, progress)
            except HoldfastError as error:
                problems.append(f"{embedder.name}: {error.message}")
        return Done(embedded=embedded, problems=tuple(problems))

    def _one(
        self,
        index: Index,
        embedder: Embedder,
        is_over: Callable[[], bool],
        progress: Progress | None,
    ) -> int:
        done = 0
        total = 0
        while not is_over():
            waiting = index.pending(embedder.name, _BATCH)
            if not waiting:
                break
            if progress is not None and not total:
                total = index.missing(embedder.name)
            mine = [each for each in waiting if _is_for(embedder, each.text)]
            vectors: dict[int, Vector | None] = {each.chunk: None for each in waiting}
            vectors |= dict(
                zip((each.chunk for each in mine), _encoded(embedder, mine), strict=True)
            )
            index.put_vectors(embedder.name, vectors, dimensions=embedder.dimensions)
            done += len(mine)
            if progress is not None:
                progress(f"meaning ({embedder.name})", done, max(total, done))
        return done


def _is_for(embedder: Embedder, text: str) -> bool:
    return bool(for_text([embedder], text))


def _encoded(embedder: Embedder, waiting: Sequence[Pending]) -> list[Vector]:
    texts = [each.text for each in waiting]
    if not texts:
        return []
    made = embedder.embed(texts, tokens=embedder.has_tokens)
    if made.tokens is None:
        return [Vector(vector=row) for row in made.vectors]
    return [
        Vector(vector=row, tokens=signs_of(text, tokens))
        for row, text, tokens in zip(made.vectors, texts, made.tokens, strict=True)
    ]
