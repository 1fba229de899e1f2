"""Part of the files into the index, while another process takes in the rest.

Most of the time of indexing goes into cutting and counting text, which needs no lock; so two
processes are nearly twice as fast as one. A large import is worth the second one.

Promise: the parts together are all there is, each document is in one of them, and nothing is
taken for gone because it is in another one (``tests/engine/test_sharing.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

from holdfast.engine.rooms import Rooms
from holdfast.engine.searching.embedding import Progress
from holdfast.engine.searching.following import CaughtUp, Following
from holdfast.engine.searching.sources import Listing, Sources
from holdfast.scope import Place

__all__ = ["Share", "catch_up_share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The ``number``-th of ``of`` parts."""

    number: int
    of: int

    def has(self, key: str) -> bool:
        return crc32(key.encode("utf-8", "surrogatepass")) % self.of == self.number


class _Part(Listing):
    """A listing that knows that it is not all."""

    def is_gone(self, key: str) -> bool:
        del key
        return False


class _Shared(Sources):
    def __init__(self, rooms: Rooms, share: Share) -> None:
        super().__init__(rooms)
        self._share = share

    def found(self, may_read: Callable[[Place], bool] | None = None) -> Listing:
        listing = super().found(may_read)
        ours = {key: each for key, each in listing.sources.items() if self._share.has(key)}
        return _Part(sources=ours, problems=listing.problems, unseen=listing.unseen)


def catch_up_share(rooms: Rooms, share: Share, progress: Progress | None = None) -> CaughtUp:
    """Take in what changed of one part."""
    sources = _Shared(rooms, share)
    return Following(index=rooms.search.index, sources=sources, progress=progress).catch_up(None)
