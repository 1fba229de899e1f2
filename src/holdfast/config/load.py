"""Loading settings: defaults < ``config.toml`` < environment < arguments.

Promise: reads one file and creates nothing; a key nobody knows, a value out of range or a
contradiction is never ignored; all problems of one load are reported together, each with its
source and the nearest right name; no message shows a secret
(``tests/foundation/test_config_load.py``).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from holdfast.config.conflicts import conflicts
from holdfast.config.keys import KEYS, TABLES, Settings
from holdfast.config.sections import MASK, PREFIX, Source, build, environment_name
from holdfast.config.toml_lines import line_of, lines_of_keys
from holdfast.config.zones import system_zone
from holdfast.errors import ConfigError, did_you_mean
from holdfast.types import Json

__all__ = ["CONFIG_FILE", "default_home", "load_settings"]

CONFIG_FILE: Final = "config.toml"

_NAMES: Final = (*KEYS, *TABLES)
_VARIABLES: Final = {environment_name(name): name for name in _NAMES if name in KEYS or "." in name}
_SECTION_PREFIXES: Final = tuple(f"{environment_name(name)}_" for name in TABLES if "." not in name)


def default_home(environ: Mapping[str, str]) -> Path:
    """``HOLDFAST_HOME``, or ``.holdfast`` in the user's home directory."""
    user_home = Path(environ.get("HOME") or Path.home())
    chosen = environ.get("HOLDFAST_HOME")
    if not chosen:
        return user_home / ".holdfast"
    return user_home / chosen[2:] if chosen.startswith("~/") else Path(chosen)


def load_settings(
    home: Path, *, environ: Mapping[str, str], overrides: Mapping[str, Json] | None = None
) -> Settings:
    """The settings of a home; raises ``ConfigError`` with every problem found.

    ``overrides`` are the caller's: dotted names (``{"flush.enabled": False}``) or sections
    (``{"flush": {"enabled": False}}``). A variable that is set but empty counts as not set.
    """
    reading = _Reading()
    reading.file(home / CONFIG_FILE)
    reading.environment(environ)
    reading.arguments(overrides or {})
    if "memory.time_zone" not in reading.values:
        zone, where = system_zone(environ)
        reading.values["memory.time_zone"] = zone
        reading.sources["memory.time_zone"] = Source(kind="default", where=where)
    return reading.settings()


class _Reading:
    """One load under way: the values accepted so far, and the problems."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.sources: dict[str, Source] = {}
        self.problems: list[str] = []
        self.refused: list[str] = []

    # ── the three layers ────────────────────────────────────────────────────────────────────

    def file(self, path: Path) -> None:
        try:
            text = path.read_bytes().decode("utf-8-sig")
            document = tomllib.loads(text)
        except FileNotFoundError:
            return
        except OSError as error:
            self.problems.append(f"{path} cannot be read: {error.strerror}.")
            return
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            self.problems.append(f"{path}, line {line}: not UTF-8 text.")
            return
        except (ValueError, RecursionError) as error:
            self.problems.append(_toml_problem(path, error))
            return
        lines = lines_of_keys(text)

        def source(name: str) -> Source:
            return Source(kind="file", where=str(path), line=line_of(name, lines))

        for name, raw in document.items():
            self.offer(name, raw, source)

    def environment(self, environ: Mapping[str, str]) -> None:
        for variable in sorted(environ):
            if not variable.startswith(PREFIX) or not environ[variable]:
                continue
            source = Source(kind="environment", where=variable)
            if variable in _VARIABLES:
                self._offer_variable(_VARIABLES[variable], environ[variable], source)
            elif variable.startswith(_SECTION_PREFIXES):
                near = did_you_mean(variable, _VARIABLES)
                self.problems.append(_sentences(f"{variable} is no setting", near))

    def arguments(self, overrides: Mapping[str, Json]) -> None:
        for name, raw in overrides.items():
            self.offer(name, raw, lambda _: Source(kind="argument"))

    # ── one value ───────────────────────────────────────────────────────────────────────────

    def offer(self, name: str, raw: Json, source_of: Callable[[str], Source]) -> None:
        """Take a value for a key, or a table of values for a section."""
        if name in KEYS:
            self._take(name, (raw,), source_of(name))
        elif name not in TABLES:
            self._unknown(name, source_of(name))
        elif isinstance(raw, Mapping):
            for part, value in raw.items():
                self.offer(f"{name}.{part}", value, source_of)
        else:
            text = f"{name} ({source_of(name)}) is a section, not a value"
            self._refuse(name, _sentences(text, f"Write its keys: {_parts_of(name)}."))

    def _offer_variable(self, name: str, written: str, source: Source) -> None:
        readings = tuple(_readings(written))
        if name in KEYS:
            self._take(name, readings, source)
        else:
            self.offer(name, readings[0], lambda _: source)

    def _take(self, name: str, readings: tuple[Json, ...], source: Source) -> None:
        """Accept the first reading that the key's kind accepts."""
        key = KEYS[name]
        if key.file_only and source.kind != "file":
            text = f"{name} ({source}) may be set in {CONFIG_FILE} only: {key.file_only}"
            self._refuse(name, _sentences(text))
            return
        reasons: list[str] = []
        for raw in readings:
            try:
                value = key.kind.read(raw)
            except ValueError as error:
                reasons.append(str(error))
                continue
            self.values[name], self.sources[name] = value, source
            return
        shown = MASK if key.secret else _short(readings[0])
        text = f"{name} = {shown} ({source}): {reasons[0]}"
        self._refuse(name, _sentences(text, f"Allowed: {key.kind.allowed}."))

    # ── problems ────────────────────────────────────────────────────────────────────────────

    def _refuse(self, name: str, problem: str) -> None:
        self.problems.append(problem)
        self.refused.append(name)

    def _unknown(self, name: str, source: Source) -> None:
        section = name.partition(".")[0]
        if section not in TABLES:
            what, near = f"There is no section {section!r}", did_you_mean(section, TABLES)
        else:
            what, near = f"There is no setting {name!r}", _nearest(name)
        self.problems.append(_sentences(f"{what} ({source})", near))

    def settings(self) -> Settings:
        settings = build(Settings, {**self.values, "sources": self.sources})
        for conflict in conflicts(settings):
            if not set(conflict.keys) & set(self.refused):
                self._refuse(conflict.keys[0], conflict.text)
        if self.problems:
            raise _error(self.problems, self.refused)
        return settings


def _readings(written: str) -> Iterator[Json]:
    """What a variable may mean: a TOML value if it is one, and the text as it stands."""
    try:
        document = tomllib.loads(f"value = {written}")
    except (ValueError, RecursionError):
        document = {}
    if set(document) == {"value"}:  # more would be a second line that sets something else
        yield document["value"]
    yield written


def _nearest(name: str) -> str | None:
    """The nearest key: of its own section first, then one of the same name elsewhere."""
    section, _, last = name.rpartition(".")
    # Compared without the section, which is right and would make every sibling look near.
    siblings = [known.removeprefix(f"{section}.") for known in _NAMES if _is_inside(known, section)]
    if near := get_close_matches(last, siblings, n=1):
        return f"Did you mean {f'{section}.{near[0]}'!r}?"
    elsewhere = [known for known in KEYS if known.endswith(f".{last}")]
    return f"Did you mean {elsewhere[0]!r}?" if elsewhere else did_you_mean(name, _NAMES)


def _is_inside(name: str, table: str) -> bool:
    return name.startswith(f"{table}.")


def _parts_of(table: str) -> str:
    return ", ".join(name.removeprefix(f"{table}.") for name in KEYS if _is_inside(name, table))


def _short(raw: Json) -> str:
    shown = repr(raw)
    return shown if len(shown) <= 80 else f"{shown[:77]}…"


def _sentences(first: str, *more: str | None) -> str:
    opening = first if first.endswith((".", "?")) else f"{first}."
    return " ".join([opening, *(part for part in more if part)])


def _toml_problem(path: Path, error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"{path} is nested too deeply to be read."
    what, _, where = str(error).partition(" (at ")
    line = re.match(r"line \d+", where)
    place = f", {line[0]}" if line else ""
    return f"{path}{place}: not valid TOML. {what.removesuffix('.')}."


def _error(problems: list[str], refused: list[str]) -> ConfigError:
    hint = f"Run: holdfast config explain {refused[0]}" if refused else None
    if len(problems) == 1:
        return ConfigError(problems[0], hint=hint)
    listed = "\n".join(f"  {number}. {text}" for number, text in enumerate(problems, start=1))
    return ConfigError(f"{len(problems)} problems in the configuration:\n{listed}", hint=hint)
