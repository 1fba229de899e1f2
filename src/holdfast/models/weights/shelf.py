"""The folder that fetched models lie in.

Promise: ``path`` gives a file only if it is whole and has the pinned checksum, and does not read
it again to know that; ``get`` fetches nothing that is there; ``remove`` leaves nothing of a model
behind. Looking makes no folder. Proved by ``tests/models/test_weights.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Final, Literal

from holdfast.disk import Directory, FileLock
from holdfast.errors import NotFound, UsageError, did_you_mean
from holdfast.models.weights.catalogue import CATALOGUE, Weights
from holdfast.models.weights.checking import NOTE, has_checksum
from holdfast.models.weights.filling import COPIED, UNFINISHED, passing_folders

if TYPE_CHECKING:
    from holdfast.models.weights.fetching import Means, Via
    from holdfast.models.weights.filling import Progress

__all__ = ["OnShelf", "Shelf", "State"]

State = Literal["fetched", "partly", "damaged", "absent"]

_LOCK_SECONDS: Final = 2.0
"""Whoever fetches takes minutes: waiting longer would only look like hanging."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnShelf:
    """How one model of the catalogue stands."""

    weights: Weights
    state: State
    path: Path | None
    """Where it is, if it is there and right."""
    bytes: int
    """What lies on the disk of it, unfinished or not."""


class Shelf:
    """The models in one folder."""

    def __init__(
        self,
        folder: Path,
        *,
        catalogue: Mapping[str, Weights] = CATALOGUE,
        wait_seconds: float = _LOCK_SECONDS,
    ) -> None:
        self.folder = folder
        self.catalogue = catalogue
        self._wait_seconds = wait_seconds

    def list(self) -> list[OnShelf]:
        """Every model that can be fetched, in the order of the catalogue."""
        return [self.look(name) for name in self.catalogue]

    def look(self, name: str) -> OnShelf:
        """How one model stands.

        Raises:
            UsageError: there is no model of that name.
        """
        return self._look(self.weights(name))

    def path(self, name: str) -> Path | None:
        """Where the model is, if it is whole and was checked; None if not.

        Raises:
            UsageError: there is no model of that name.
        """
        return self.look(name).path

    def weights(self, name: str) -> Weights:
        """The model of that name; ``embedded:`` may stand before it.

        Raises:
            UsageError: there is none.
        """
        found = self.catalogue.get(name.removeprefix("embedded:"))
        if found is None:
            known = f"Known are: {', '.join(self.catalogue)}"
            raise UsageError(
                f"There is no model {name!r} to fetch.",
                hint=did_you_mean(name, self.catalogue) or known,
            )
        return found

    def get(
        self,
        name: str,
        *,
        source: Path | None = None,
        progress: Progress,
        via: Via | None = None,
        means: Means | None = None,
    ) -> Path:
        """Fetch a model unless it is there, and say where it is.

        Whatever interrupts it, the next call goes on from there. ``source`` is a file, or a
        folder of parts, that is copied instead; ``via`` asks for one kind of source.

        Raises:
            UsageError: there is no model of that name, or no such source of it.
            ModelUnavailable: no source has it, or what came is another file.
            StorageError: there is no room for it; ``Locked``: somebody else is fetching it.
        """
        weights = self.weights(name)
        if (there := self._look(weights).path) is not None:
            return there
        # Loaded when it is needed: what fetches brings the network and programs with it.
        fetching: Any = import_module("holdfast.models.weights.fetching")
        with self._alone(weights) as folder:
            if (there := self._look(weights).path) is None:  # somebody else was quicker
                fetching.fetch(
                    weights, folder, source=source, via=via, progress=progress, means=means
                )
                there = self.folder / weights.place
        return there

    def remove(self, name: str) -> int:
        """Take a model away, and what was begun of it; how many bytes that freed.

        Raises:
            NotFound: nothing of it is there.
        """
        weights = self.weights(name)
        if not self._look(weights).bytes:
            raise NotFound(f"{weights.name} is not in {str(self.folder)!r}.")
        with self._alone(weights) as folder:
            freed = self._look(weights).bytes
            if weights.folder is not None:
                inner = folder.child(weights.folder, create=False)
                for found in inner.names():
                    inner.remove(found)
                folder.remove_folder(weights.folder)
            else:
                for end in ("", NOTE, UNFINISHED, COPIED):
                    folder.remove(weights.place + end)
                for left in passing_folders(folder.path, weights.name):
                    rmtree(left, ignore_errors=True)
            folder.sync()
        return freed

    @contextmanager
    def _alone(self, weights: Weights) -> Iterator[Directory]:
        """Nobody else fetches or removes the model meanwhile; the kernel frees it if we die."""
        folder = Directory.open(self.folder)
        with FileLock(folder, f".{weights.name}.lock", timeout_seconds=self._wait_seconds).hold():
            yield folder

    def _look(self, weights: Weights) -> OnShelf:
        place = self.folder / weights.place
        if weights.folder is not None:
            files = [place / "model.onnx", place / "tokenizer.json"]  # checked when it is loaded
            there = [file for file in files if file.is_file()]
            is_right = len(there) == len(files) if there else None
        else:
            is_right = has_checksum(place, weights.sha256, weights.bytes)
            there = [place.with_name(place.name + end) for end in ("", UNFINISHED, COPIED)]
        size = sum(map(_own_bytes, there))
        states: Mapping[bool | None, State] = {True: "fetched", False: "damaged"}
        return OnShelf(
            weights=weights,
            state=states.get(is_right, "partly" if size else "absent"),
            path=place if is_right else None,
            bytes=size,
        )


def _own_bytes(file: Path) -> int:
    """What would be free if the name were gone; a link takes no room, only what it leads to."""
    try:
        return file.lstat().st_size
    except OSError:
        return 0
