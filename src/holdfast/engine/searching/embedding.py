"""Which encoders there are, and giving them what they have not seen yet.

Promise: a text is encoded once by each encoder that is for its script, in batches, outside of
any transaction; an encoder that fails, in whatever way, is named and costs nothing but meaning,
and one text that it cannot take costs the meaning of that text only; a search waits for it no
longer than its own time (``tests/engine/test_searching.py``, ``test_searching_faults.py``). One
that is being loaded is waited for when the engine closes (``tests/engine/test_exit.py``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol

from holdfast.engine.searching.encoding import Vectors, encoded
from holdfast.errors import HoldfastError, Locked, ModelUnavailable
from holdfast.models.embedders import bundled, for_text, from_name, why_missing
from holdfast.models.folder import models_folder
from holdfast.ports import Embedded, Embedder
from holdfast.search.index import Index, Pending, Vector
from holdfast.search.query.deadline import Started, TooBusy, TooSlow, start
from holdfast.text import one_line

if TYPE_CHECKING:
    from holdfast.engine.rooms import Rooms

__all__ = ["Done", "Embedding", "Progress"]

_BATCH: Final = 32
_SMALL_BATCH: Final = 8
"""Where somebody waits for it."""


class Progress(Protocol):
    """Told as work goes on: what, how many done, of how many."""

    def __call__(self, what: str, done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    embedded: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits:
    """How long an encoder may work, and how long somebody waits for one batch of it."""

    is_over: Callable[[], bool]
    wait: float | None = None

    @property
    def batch(self) -> int:
        return _BATCH if self.wait is None else _SMALL_BATCH


class Embedding:
    """The encoders of one engine."""

    def __init__(self, rooms: Rooms, embedders: Sequence[Embedder] | None = None) -> None:
        self._rooms = rooms
        self._embedders = None if embedders is None else tuple(embedders)
        self._late: dict[str, tuple[list[Pending], Started[Vectors]]] = {}
        self._wrong: dict[str, str] = {}
        self._lock = Lock()
        self._loads: dict[str, Started[Embedded]] = {}
        self._is_closed = False
        self.missing: str | None = None

    @property
    def embedders(self) -> tuple[Embedder, ...]:
        """What is configured and installed; nothing is loaded yet."""
        if self._embedders is None:
            self._embedders = tuple(self._chosen())
        return self._embedders

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong the last time each of them was asked, in the background too."""
        return tuple(self._wrong.copy().values())

    def _chosen(self) -> Sequence[Embedder]:
        wanted = self._rooms.settings.search.embedder
        models = models_folder(os.environ)
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
            self.missing = f"{error.message} {error.hint or ''}".rstrip()
            return ()

    def load(self, embedder: Embedder) -> None:
        """Begin to load an encoder, for whoever asks later; once, and not while closing."""
        with self._lock:
            if self._is_closed or embedder.name in self._loads:
                return
            try:
                self._loads[embedder.name] = start(partial(embedder.embed, ["a"]))
            except TooBusy:
                return  # whoever asks next begins it

    def close(self, seconds: float) -> None:
        """Load no more, and wait for what is being loaded or encoded, but only so long."""
        with self._lock:
            self._is_closed = True
        until = monotonic() + seconds
        for load in self._loads.values():
            load.wait(max(0.0, until - monotonic()))
        for _, late in list(self._late.values()):
            late.wait(max(0.0, until - monotonic()))

    def run(
        self,
        index: Index,
        *,
        seconds: float | None = None,
        wait: float | None = None,
        progress: Progress | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Done:
        """Encode what waits. No batch is begun after ``seconds``, and none is waited for longer
        than ``wait``: what comes later is kept for the next time."""
        until = None if seconds is None else monotonic() + seconds

        def is_over() -> bool:
            return should_stop() or (until is not None and monotonic() >= until)

        embedded = 0
        limits = _Limits(is_over=is_over, wait=wait)
        for embedder in self.embedders:
            self._wrong.pop(embedder.name, None)
            try:
                embedded += self._one(index, embedder, limits, progress)
            except Locked as error:
                if wait is None:
                    self._fail(embedder, error.message)
            except HoldfastError as error:
                self._fail(embedder, error.message)
            except TooSlow:
                took = round((wait or 0) * 1000)
                self._fail(embedder, f"it took longer than {took} ms, and goes on meanwhile")
            except TooBusy:
                self._fail(embedder, "it is still busy with earlier texts")
            except Exception as error:  # noqa: BLE001 - an encoder is other people's code
                self._fail(embedder, one_line(str(error) or repr(error), 200))
        return Done(embedded=embedded, problems=self.problems)

    def _fail(self, embedder: Embedder, why: str) -> None:
        self._wrong[embedder.name] = f"{embedder.name}: {why}"

    def _one(
        self, index: Index, embedder: Embedder, limits: _Limits, progress: Progress | None
    ) -> int:
        done = passed_over = total = 0
        while not limits.is_over():
            waiting = index.pending(embedder.name, limits.batch)
            if not waiting:
                break
            if progress is not None and not total:
                total = index.missing(embedder.name)
            mine = [each for each in waiting if for_text([embedder], each.text)]
            made = self._encoded(embedder, mine, limits.wait)
            vectors: dict[int, Vector | None] = {
                each.chunk: None for each in waiting if each not in mine
            }
            vectors |= made.vectors
            index.put_vectors(
                embedder.name, vectors, dimensions=embedder.dimensions, seconds=limits.wait
            )
            done += len(made.vectors) - made.failed
            if made.failed:
                passed_over += made.failed
                said = "could not be encoded, and are found by their words only"
                self._fail(embedder, f"{passed_over} passage(s) {said}: {made.why}")
            if progress is not None:
                progress(f"meaning ({embedder.name})", done, max(total, done))
        return done

    def _encoded(self, embedder: Embedder, mine: list[Pending], wait: float | None) -> Vectors:
        if wait is None or not mine:
            return encoded(embedder, mine)
        texts, started = self._late.pop(embedder.name, (mine, None))
        if started is None:
            started = start(partial(encoded, embedder, mine))
        try:
            made = started.result(wait)
        except TooSlow:
            self._late[embedder.name] = texts, started
            raise
        if texts == mine:
            return made
        # Begun for an earlier search: what does not wait under its number any more is left out.
        return made.only({each.chunk for each in texts if each in mine})
