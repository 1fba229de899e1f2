"""``holdfast config …``"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from holdfast import config
from holdfast.cli.render import json_line, json_lines, note, pairs, say, table
from holdfast.config.openclaw import Translation, translate_openclaw
from holdfast.disk import Directory
from holdfast.errors import ConfigError, NotFound, UsageError
from holdfast.text import display, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.cli.options import Door

__all__ = ["explain", "import_openclaw", "path", "show"]


def _home(door: Door) -> Path:
    return door.home or config.default_home(os.environ)


def _load(door: Door) -> config.Settings:
    return config.load_settings(_home(door), environ=os.environ)


def show(door: Door, *, changed: bool, as_json: bool) -> None:
    reports = [
        report
        for report in config.describe(_load(door))
        if not changed or report.source.kind != "default"
    ]
    if as_json:
        json_lines(
            (report.to_json() for report in reports),
            summary={"summary": True, "keys": len(reports), "file": str(_file(door))},
        )
        return
    if not reports:
        note("Everything is at its default. See all settings: holdfast config show")
        return
    table(
        ("key", "value", "source"),
        (
            (
                report.key,
                one_line(json.dumps(report.value, ensure_ascii=False), 60),
                str(report.source),
            )
            for report in reports
        ),
    )


def explain(door: Door, key: str, *, as_json: bool) -> None:
    try:
        settings = _load(door)
    except ConfigError as error:  # whoever asks may be about to mend it
        note(f"{error}\nUntil that is mended, these are the defaults:\n")
        settings = config.Settings()
    report = config.explain(settings, key)
    if as_json:
        json_line(report.to_json())
        return
    say(display(report.doc))
    pairs(
        [
            ("key", report.key),
            ("value", json.dumps(report.value, ensure_ascii=False)),
            ("source", str(report.source)),
            ("default", json.dumps(report.default, ensure_ascii=False)),
            ("type", report.type),
            ("allowed", report.allowed),
            ("environment", report.environment or "not settable there: only in the config file"),
            ("in effect", "yes" if report.in_effect else "not yet: the part it steers is to come"),
        ]
    )


def path(door: Door, *, as_json: bool) -> None:
    file = _file(door)
    if as_json:
        json_line({"path": str(file), "exists": file.exists()})
    else:
        say(display(str(file)))


def import_openclaw(door: Door, file: Path, *, write: bool, as_json: bool) -> None:
    translation = _translated(file)
    text = translation.to_toml()
    target = _file(door)
    if write:
        if target.exists():
            raise UsageError(
                f"{str(target)!r} exists already; it is yours and is not overwritten.",
                hint="Run without --write and take over what you want.",
            )
        Directory.open(_home(door)).replace(config.CONFIG_FILE, text.encode())
    if as_json:
        json_lines(
            (each.to_json() for each in translation.notes),
            summary={
                "summary": True,
                "settings": translation.settings,
                "written": str(target) if write else None,
            },
        )
        return
    if write:
        for each in translation.notes:
            note(display(str(each)))
        note(f"Wrote {target}.")
    else:
        for line in text.rstrip("\n").split("\n"):  # the notes are in it as comments
            say(display(line))
    _tell_what_is_left(translation)


def _translated(file: Path) -> Translation:
    if not file.is_file():
        raise NotFound(f"{str(file)!r} is not a file.")
    try:
        return translate_openclaw(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{str(file)!r} is not UTF-8 text: {error}.") from None


def _tell_what_is_left(translation: Translation) -> None:
    to_do = [each for each in translation.notes if each.outcome == "to_do"]
    if to_do:
        note(f"\n{len(to_do)} thing(s) for you to do:")
    for each in to_do:
        note(f"  {display(str(each))}")


def _file(door: Door) -> Path:
    return _home(door) / config.CONFIG_FILE
