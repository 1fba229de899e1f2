"""A translation under way: what was read, what was set, and a note for each of them.

Promise: a value gets into the draft only if Holdfast's own reader accepts it, so a translation
always loads; and whatever is taken from the document leaves at least one note
(``tests/foundation/test_config_openclaw.py``). Notes on what was *not* translated never carry
the value: an OpenClaw configuration is full of tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Literal

from holdfast.config.keys import KEYS
from holdfast.config.sections import environment_name
from holdfast.config.toml import render_toml, render_value
from holdfast.types import Json

__all__ = ["DEFAULTS", "Draft", "Leaf", "Note", "Outcome", "Path", "Translation", "path"]

Path = tuple[str, ...]
Outcome = Literal["kept", "changed", "left_out", "to_do"]

_VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


def path(dotted: str) -> Path:
    return tuple(dotted.split("."))


DEFAULTS = path("agents.defaults")


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """What became of one OpenClaw setting.

    ``kept``: same value, same meaning. ``changed``: translated, ``why`` says how. ``left_out``:
    nothing to set, ``why`` says the reason. ``to_do``: needs a decision of the user.
    """

    source: str
    outcome: Outcome
    target: str | None = None
    value: Json = None
    why: str = ""

    def __str__(self) -> str:
        reason = f": {self.why}" if self.why else ""
        if self.target is None:
            return f"{self.source} ({self.outcome.replace('_', ' ')}){reason}"
        if self.value is None:
            return f"{self.source} → {self.target} ({self.outcome.replace('_', ' ')}){reason}"
        return f"{self.source} → {self.target} = {_one_line(self.value)}{reason}"

    def to_json(self) -> dict[str, Json]:
        return {
            "source": self.source,
            "outcome": self.outcome,
            "target": self.target,
            "value": self.value,
            "why": self.why,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Translation:
    """Settings for ``config.toml`` as nested tables, and a note on everything that was read."""

    settings: dict[str, dict[str, Json]]
    notes: tuple[Note, ...]

    def to_toml(self) -> str:
        """The text of a ``config.toml`` that loads, with the notes as comments."""
        comments: dict[str, list[str]] = {}
        footer: list[str] = []
        for note in self.notes:
            owner = self._line_of(note.target)
            if owner is None:
                footer.extend(_wrapped(f"- {note}", indent="  "))
            elif note.why:
                label = "To do: " if note.outcome == "to_do" else ""
                lines = _wrapped(f"{label}{note.source}: {note.why}")
                comments.setdefault(owner, []).extend(lines)
        if footer:
            footer.insert(0, "Read from OpenClaw and not set here:")
        header = ("Translated from an OpenClaw configuration.",)
        return render_toml(self.settings, header=header, comments=comments, footer=footer)

    def _line_of(self, target: str | None) -> str | None:
        """The ``section.key`` a target is written under, if it was set."""
        if target is None:
            return None
        section, name, *_ = target.split(".")
        return f"{section}.{name}" if name in self.settings.get(section, {}) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Leaf:
    """One value of the document and its name as the user wrote it."""

    source: str
    value: Json


class Draft:
    """The leaves not yet dealt with, the settings so far, and the notes."""

    def __init__(self, leaves: Mapping[Path, Leaf]) -> None:
        self.leaves = dict(leaves)
        self.notes: list[Note] = []
        self._set: dict[str, tuple[Json, str]] = {}

    def peek(self, at: Path) -> Json:
        leaf = self.leaves.get(at)
        return None if leaf is None else leaf.value

    def take(self, at: Path) -> Leaf | None:
        """Remove a leaf from the document; whoever takes it owes a note."""
        return self.leaves.pop(at, None)

    def put(self, source: str, target: str, value: Json, why: str = "") -> bool:
        """Set a key, unless its reader refuses or it was set already; says so either way."""
        if value is None:
            self.leave_out(source, "null, which is the same as not set", target)
            return False
        if target in self._set:
            return self._put_again(source, target, value)
        variable = _refers_to_variable(value)
        if variable:
            named = environment_name(target)
            self.to_do(
                source, f"refers to {variable}, which a TOML file cannot; set {named}", target
            )
            return False
        key = KEYS[target]
        try:
            plain = key.kind.plain(key.kind.read(value))
        except ValueError as error:
            self.leave_out(source, f"{error}; allowed here: {key.kind.allowed}", target)
            return False
        self._set[target] = (plain, source)
        outcome: Outcome = "changed" if why else "kept"
        self.notes.append(Note(source=source, outcome=outcome, target=target, value=plain, why=why))
        return True

    def _put_again(self, source: str, target: str, value: Json) -> bool:
        earlier, owner = self._set[target]
        same = bool(earlier == value)
        self.leave_out(source, f"{owner} sets the {'same' if same else 'key already'}", target)
        return same

    def value_of(self, target: str) -> Json:
        """What a key was set to; None when it was not."""
        return self._set[target][0] if target in self._set else None

    def leave_out(self, source: str, why: str, target: str | None = None) -> None:
        self.notes.append(Note(source=source, outcome="left_out", target=target, why=why))

    def to_do(self, source: str, why: str, target: str | None = None) -> None:
        self.notes.append(Note(source=source, outcome="to_do", target=target, why=why))

    def finished(self) -> Translation:
        nested: dict[str, dict[str, Json]] = {}
        for name in KEYS:  # the order of the reference page
            if name in self._set:
                section, first, *rest = name.split(".")
                table = nested.setdefault(section, {})
                if rest:
                    table = table.setdefault(first, {})
                table[rest[0] if rest else first] = self._set[name][0]
        return Translation(settings=nested, notes=tuple(self.notes))


def _refers_to_variable(value: Json) -> str | None:
    texts = value if isinstance(value, list) else [value]
    found = (_VARIABLE.search(item) for item in texts if isinstance(item, str))
    return next((match[0] for match in found if match), None)


def _wrapped(text: str, *, indent: str = "") -> list[str]:
    return wrap(text, 96, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _one_line(value: Json) -> str:
    shown = value if isinstance(value, str) else render_value(value)
    shown = " ".join(shown.split())
    return shown if len(shown) <= 100 else f"{shown[:97]}…"
