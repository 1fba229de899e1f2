"""What there is to say about the settings, as plain data: for ``holdfast config`` and the doors.

``describe`` lists every key with its value and source, ``explain`` takes one. Promise: no
secret leaves this module (``tests/foundation/test_config_report.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.config.keys import IN_EFFECT, KEYS, TABLES, Settings
from holdfast.config.sections import Key, Source, unknown_key
from holdfast.types import Json

__all__ = ["KeyReport", "describe", "explain"]


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyReport:
    """One setting with its present value; ``value`` and ``default`` may be printed as they are.

    ``environment`` is None where only the file may set the key.
    """

    key: str
    section: str
    doc: str
    type: str
    allowed: str
    choices: tuple[str, ...]
    default: Json
    value: Json
    source: Source
    environment: str | None
    secret: bool
    in_effect: bool

    def to_json(self) -> dict[str, Json]:
        """The report as one JSON object; the names are stable."""
        source = {"kind": self.source.kind, "where": self.source.where, "line": self.source.line}
        return {
            "key": self.key,
            "value": self.value,
            "source": {name: part for name, part in source.items() if part is not None},
            "default": self.default,
            "type": self.type,
            "allowed": self.allowed,
            "choices": list(self.choices),
            "doc": self.doc,
            "environment": self.environment,
            "secret": self.secret,
            "in_effect": self.in_effect,
        }


def describe(settings: Settings, section: str | None = None) -> list[KeyReport]:
    """Every key with its value and source, or those of one section."""
    if section is not None and section not in TABLES:
        raise unknown_key(section, TABLES)
    prefix = "" if section is None else f"{section}."
    return [_report(settings, key) for name, key in KEYS.items() if name.startswith(prefix)]


def explain(settings: Settings, name: str) -> KeyReport:
    """All there is to know about one key, given by its dotted name."""
    if name not in KEYS:
        raise unknown_key(name, KEYS)
    return _report(settings, KEYS[name])


def _report(settings: Settings, key: Key) -> KeyReport:
    return KeyReport(
        key=key.name,
        section=key.section,
        doc=key.doc,
        type=key.kind.name,
        allowed=key.kind.allowed,
        choices=key.kind.choices,
        default=key.default_words or key.shown(key.default),
        value=key.shown(settings.value(key.name)),
        source=settings.source(key.name),
        environment=None if key.file_only else key.environment,
        secret=key.secret,
        in_effect=key.name in IN_EFFECT,
    )
