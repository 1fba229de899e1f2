"""What a section of the configuration is made of: ``Section``, ``key`` and ``Source``.

A ``Section`` is a frozen record with keyword arguments whose fields carry their own
documentation and reader. It is not a dataclass because fifteen of those cost 10 ms of every
start for generated code that one loop replaces; type checkers treat it as one. Promise:
equal values are equal, nothing can be changed, and ``repr`` never shows a secret
(``tests/foundation/test_config_keys.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeVar, cast, dataclass_transform

from holdfast.config.values import Kind
from holdfast.errors import ConfigError, did_you_mean
from holdfast.types import Json

__all__ = [
    "MASK",
    "PREFIX",
    "Key",
    "Section",
    "Source",
    "build",
    "environment_name",
    "key",
    "keys_of",
    "tables_of",
    "unknown_key",
]

T = TypeVar("T")
S = TypeVar("S", bound="Section")

MASK = "***"
PREFIX = "HOLDFAST_"


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where a value came from: a default, a file and line, a variable, or the caller."""

    kind: Literal["default", "file", "environment", "argument"]
    where: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.kind == "file":
            return f"{self.where}" if self.line is None else f"{self.where}, line {self.line}"
        return self.kind if self.where is None else f"{self.kind} {self.where}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """One setting: everything that is known about it except its present value.

    ``file_only`` is the reason why only the configuration file may set it, or None.
    ``default_words`` names a default that is found when settings are loaded.
    """

    name: str
    default: Any
    kind: Kind[Any]
    doc: str
    secret: bool = False
    file_only: str | None = None
    default_words: str | None = None

    @property
    def section(self) -> str:
        """The part of the name before its last dot: ``flush`` of ``flush.enabled``."""
        return self.name.rpartition(".")[0]

    @property
    def environment(self) -> str:
        """The variable that sets it."""
        return environment_name(self.name)

    def shown(self, value: Any) -> Json:
        """The value as plain data that may be printed: a secret that is set shows as ``***``."""
        if self.secret and value is not None:
            return MASK
        return self.kind.plain(value)


def environment_name(name: str) -> str:
    """The variable for a dotted name: ``HOLDFAST_FLUSH_ENABLED`` for ``flush.enabled``."""
    return PREFIX + name.replace(".", "_").upper()


@dataclass(frozen=True, slots=True)
class _Spec:
    """What a field of a section says, before it has a name."""

    default: Any
    kind: Kind[Any]
    doc: str
    secret: bool
    file_only: str | None
    default_words: str | None


def key(
    default: T,
    kind: Kind[T],
    doc: str,
    *,
    secret: bool = False,
    file_only: str | None = None,
    default_words: str | None = None,
) -> T:
    """A field of a section. For type checkers it is its default, so the annotation is checked."""
    return cast(T, _Spec(default, kind, doc, secret, file_only, default_words))


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Section:
    """A frozen record of settings; its fields are keys and further sections."""

    _specs: ClassVar[dict[str, _Spec]] = {}
    _defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        cls._specs, cls._defaults = {}, {}
        for name in cls.__annotations__:
            given = cls.__dict__[name]
            if isinstance(given, _Spec):
                cls._specs[name] = given
                given = given.default
                setattr(cls, name, given)
            cls._defaults[name] = given

    def __init__(self, **given: Any) -> None:
        unknown = given.keys() - self._defaults.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {min(unknown)!r}")
        vars(self).update(self._defaults | given)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings are frozen: cannot change {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"settings are frozen: cannot remove {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = (f"{name}={self._shown(name)}" for name in vars(self))
        return f"{type(self).__name__}({', '.join(shown)})"

    def _shown(self, name: str) -> str:
        value = getattr(self, name)
        is_secret = name in self._specs and self._specs[name].secret
        return MASK if is_secret and value is not None else repr(value)


def _walk(section: type[Section], prefix: str) -> Iterator[tuple[str, _Spec | type[Section]]]:
    for field, default in section._defaults.items():
        name = f"{prefix}{field}"
        if field in section._specs:
            yield name, section._specs[field]
        elif isinstance(default, Section):
            yield name, type(default)
            yield from _walk(type(default), f"{name}.")


def keys_of(root: type[Section]) -> MappingProxyType[str, Key]:
    """Every key below ``root`` by its dotted name, in the order of the classes."""
    found = {
        name: Key(
            name=name,
            default=spec.default,
            kind=spec.kind,
            doc=spec.doc,
            secret=spec.secret,
            file_only=spec.file_only,
            default_words=spec.default_words,
        )
        for name, spec in _walk(root, "")
        if isinstance(spec, _Spec)
    }
    return MappingProxyType(found)


def tables_of(root: type[Section]) -> MappingProxyType[str, type[Section]]:
    """Every section and sub-section below ``root`` by its dotted name."""
    found = {name: spec for name, spec in _walk(root, "") if not isinstance(spec, _Spec)}
    return MappingProxyType(found)


def build(section: type[S], values: Mapping[str, Any], prefix: str = "") -> S:
    """A section with the values given by dotted name, and defaults for the others."""
    given: dict[str, Any] = {}
    for field, default in section._defaults.items():
        name = f"{prefix}{field}"
        if name in values:
            given[field] = values[name]
        elif isinstance(default, Section):
            given[field] = build(type(default), values, f"{name}.")
    return section(**given)


def unknown_key(name: str, known: Iterable[str]) -> ConfigError:
    """The error for a dotted name that is no key, with the nearest one."""
    near = did_you_mean(name, known)
    return ConfigError(f"There is no setting {name!r}.", hint=near or "Run: holdfast config show")
