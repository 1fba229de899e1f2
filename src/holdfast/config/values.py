"""The kinds of values a setting can have, each with its reader and its words.

A ``Kind`` turns what TOML, the environment or a caller gave into one typed value, or raises
``ValueError`` with the reason; ``plain`` is the way back, so ``read(plain(x)) == x`` for every
value (``tests/foundation/test_config_values.py``). ``allowed`` completes "must be …" and is
what error messages and the reference page print. No setting is named here: that is ``keys``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast, get_args

from holdfast.config import zones
from holdfast.errors import did_you_mean
from holdfast.types import ChatType, Json

__all__ = [
    "Action",
    "At",
    "Below",
    "Kind",
    "ScopeMatch",
    "ScopeRule",
    "Share",
    "Threshold",
    "argv",
    "boolean",
    "chat_id",
    "choice",
    "duration",
    "hosts",
    "number",
    "optional",
    "scope_rules",
    "strings",
    "text",
    "threshold",
    "url",
    "whole",
    "zone",
]

T = TypeVar("T")


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind(Generic[T]):
    """How values of one kind are read, written back and described."""

    name: str
    allowed: str
    read: Callable[[Json], T]
    plain: Callable[[T], Json] = _same
    choices: tuple[str, ...] = ()
    optional: bool = False


# ── simple kinds ────────────────────────────────────────────────────────────────────────────


def _read_boolean(raw: Json) -> bool:
    if not isinstance(raw, bool):
        raise ValueError("not a boolean")
    return raw


boolean: Kind[bool] = Kind(name="boolean", allowed="true or false", read=_read_boolean)


def _range_words(what: str, low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{what} from {low} to {high}"
    return what if low is None else f"{what}, {low} or more"


def _check_range(value: float, low: float | None, high: float | None) -> None:
    if low is not None and value < low:
        raise ValueError("too small")
    if high is not None and value > high:
        raise ValueError("too large")


def whole(low: int = 0, high: int | None = None) -> Kind[int]:
    """A whole number within the bounds; ``4000.0`` and ``true`` are none."""

    def read(raw: Json) -> int:
        if isinstance(raw, bool) or not isinstance(raw, int):
            raise ValueError("not a whole number")
        _check_range(raw, low, high)
        return raw

    return Kind(name="whole number", allowed=_range_words("a whole number", low, high), read=read)


def _read_number(raw: Json) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise ValueError("not a number")
    try:
        value = float(raw)
    except OverflowError:
        raise ValueError("too large") from None
    if not math.isfinite(value):
        raise ValueError("not a finite number")
    return value


def number(low: float = 0, high: float | None = None) -> Kind[float]:
    """A finite number within the bounds."""

    def read(raw: Json) -> float:
        value = _read_number(raw)
        _check_range(value, low, high)
        return value

    return Kind(
        name="number",
        allowed=_range_words("a number", low, high),
        read=read,
        plain=lambda value: int(value) if value.is_integer() else value,
    )


def _read_text(raw: Json) -> str:
    if not isinstance(raw, str):
        raise ValueError("not a text")
    if not raw.strip():
        raise ValueError("empty")
    if "\0" in raw or any("\ud800" <= char <= "\udfff" for char in raw):
        raise ValueError("contains characters that cannot be stored as UTF-8 text")
    return raw


text: Kind[str] = Kind(name="text", allowed="a text that is not empty", read=_read_text)


def choice(options: Any) -> Kind[Any]:
    """One of the words of a ``Literal``: its definition is the only list of them."""
    words: tuple[str, ...] = get_args(options)

    def read(raw: Json) -> str:
        if not isinstance(raw, str) or raw not in words:
            near = did_you_mean(raw, words) if isinstance(raw, str) else None
            raise ValueError(f"not one of them. {near}" if near else "not one of them")
        return raw

    quoted = [f'"{word}"' for word in words]
    allowed = f"{', '.join(quoted[:-1])} or {quoted[-1]}"
    return Kind(name="choice", allowed=allowed, read=read, choices=words)


def optional(kind: Kind[T]) -> Kind[T | None]:
    """``kind``, or nothing at all: then the engine decides."""

    def read(raw: Json) -> T | None:
        return None if raw is None else kind.read(raw)

    def plain(value: T | None) -> Json:
        return None if value is None else kind.plain(value)

    return Kind(
        name=kind.name,
        allowed=kind.allowed,
        read=read,
        plain=plain,
        choices=kind.choices,
        optional=True,
    )


# ── lists of texts ──────────────────────────────────────────────────────────────────────────


def _read_strings(raw: Json) -> tuple[str, ...]:
    if not isinstance(raw, list | tuple):
        raise ValueError("not a list")
    read: list[str] = []
    for position, item in enumerate(raw, start=1):
        try:
            read.append(_read_text(item))
        except ValueError as error:
            raise ValueError(f"item {position} is {error}") from None
    return tuple(read)


strings: Kind[tuple[str, ...]] = Kind(
    name="list of texts", allowed="a list of texts", read=_read_strings, plain=list
)


def _read_argv(raw: Json) -> tuple[str, ...]:
    if isinstance(raw, str):
        raise ValueError('a shell line: write the program and its arguments apart, ["prog", "arg"]')
    if not isinstance(raw, list | tuple):
        raise ValueError("not a list")
    if not all(isinstance(item, str) and "\0" not in item for item in raw):
        raise ValueError("not a list of texts")
    if raw and not raw[0].strip():
        raise ValueError("the program's name is empty")
    return tuple(raw)


argv: Kind[tuple[str, ...]] = Kind(
    name="command",
    allowed="a list: the program, then its arguments, each a text (no shell reads it)",
    read=_read_argv,
    plain=list,
)


# ── durations ───────────────────────────────────────────────────────────────────────────────

_UNIT_SECONDS: Mapping[str, float] = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_LONGEST = timedelta(days=3660)


def _read_duration(raw: Json) -> timedelta:
    seconds = _duration_seconds(raw) if isinstance(raw, str) else _read_number(raw)
    if seconds < 0:
        raise ValueError("negative")
    if seconds > _LONGEST.total_seconds():
        raise ValueError("longer than ten years")
    return timedelta(seconds=seconds)


def _duration_seconds(written: str) -> float:
    parts = _DURATION.findall(written.lower())
    if not parts or _DURATION.sub("", written.lower()).strip():
        raise ValueError("not a duration")
    return math.fsum(float(amount) * _UNIT_SECONDS[unit] for amount, unit in parts)


def _plain_duration(value: timedelta) -> Json:
    microseconds = round(value / timedelta(microseconds=1))
    for unit in ("d", "h", "m", "s", "ms"):
        size = round(_UNIT_SECONDS[unit] * 1_000_000)
        if microseconds % size == 0 and microseconds:
            return f"{microseconds // size}{unit}"
    return value.total_seconds() if microseconds else "0s"


duration: Kind[timedelta] = Kind(
    name="duration",
    allowed='a duration such as "90s", "5m", "1h" or "1h 30m", or a number of seconds',
    read=_read_duration,
    plain=_plain_duration,
)


# ── thresholds ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Below:
    """So many tokens below the compaction mark: grows with the window."""

    tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class At:
    """A fixed number of tokens in use, whatever the window."""

    tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """A fraction of the compaction mark, between 0 and 1."""

    fraction: float


Threshold: TypeAlias = Below | At | Share


def _read_threshold(raw: Json) -> Threshold:
    if isinstance(raw, Mapping):
        if set(raw) != {"at"}:
            raise ValueError("a table here has the one key 'at'")
        return At(tokens=whole(1).read(raw["at"]))
    if isinstance(raw, float):
        if not 0 < raw < 1:
            raise ValueError("not between 0 and 1")
        return Share(fraction=raw)
    return Below(tokens=whole(0).read(raw))


def _plain_threshold(value: Threshold) -> Json:
    match value:
        case Below(tokens=tokens):
            return tokens
        case At(tokens=tokens):
            return {"at": tokens}
        case Share(fraction=fraction):
            return fraction


threshold: Kind[Threshold] = Kind(
    name="threshold",
    allowed=(
        "a whole number of tokens below the compaction mark, {at = N} for N tokens in use, "
        "or a fraction between 0 and 1 of the compaction mark"
    ),
    read=_read_threshold,
    plain=_plain_threshold,
)


# ── names of the outside world ──────────────────────────────────────────────────────────────


def _read_zone(raw: Json) -> str:
    name = _read_text(raw)
    problem = zones.zone_problem(name)
    if problem:
        raise ValueError(problem)
    return name


zone: Kind[str] = Kind(
    name="time zone", allowed='an IANA time zone such as "Europe/Berlin"', read=_read_zone
)


def _read_url(raw: Json) -> str:
    address = _read_text(raw)
    if not re.fullmatch(r"https?://[^\s/?#]+\S*", address):
        raise ValueError("not an http or https address")
    return address


url: Kind[str] = Kind(name="address", allowed="an http:// or https:// address", read=_read_url)


_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


def _read_hosts(raw: Json) -> tuple[str, ...]:
    names = _read_strings(raw)
    for position, name in enumerate(names, start=1):
        if not _HOST.fullmatch(name):
            raise ValueError(f"item {position} is not a host")
    return names


hosts: Kind[tuple[str, ...]] = Kind(
    name="list of hosts",
    allowed='a list of hosts such as "nas.lan", "127.0.0.1:8080" or "[::1]:8080"',
    read=_read_hosts,
    plain=list,
)


def _read_chat_id(raw: Json) -> str:
    # Telegram's ids are numbers and usernames; people write the numbers without quotes.
    name = str(raw) if isinstance(raw, int) and not isinstance(raw, bool) else raw
    if not isinstance(name, str) or not re.fullmatch(r"-?[0-9]+|@[A-Za-z][A-Za-z0-9_]+", name):
        raise ValueError("not a chat id")
    return name


chat_id: Kind[str] = Kind(
    name="chat id", allowed="a Telegram chat id (a number) or @channelname", read=_read_chat_id
)


# ── scope rules ─────────────────────────────────────────────────────────────────────────────

Action = Literal["allow", "deny"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeMatch:
    """Conditions on who asks; those left out match everybody, all given ones must hold."""

    tenant: str | None = None
    agent: str | None = None
    user: str | None = None
    chat: str | None = None
    chat_type: ChatType | None = None

    def conditions(self) -> dict[str, str]:
        """The conditions that were given, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeRule:
    """What happens when the conditions hold; the first rule that matches decides."""

    action: Action
    match: ScopeMatch = ScopeMatch()


_ACTION = choice(Action)
_CHAT_TYPE = choice(ChatType)
_CONDITIONS = tuple(field.name for field in fields(ScopeMatch))


def _check_names(given: Mapping[str, Json], known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            near = did_you_mean(str(name), known) or f"Known: {', '.join(known)}."
            raise ValueError(f"has the unknown key {name!r}. {near}")


def _read_condition(name: str, raw: Json) -> str:
    kind = _CHAT_TYPE if name == "chat_type" else text
    try:
        return cast(str, kind.read(raw))
    except ValueError:
        raise ValueError(f"has {name} = {raw!r}, which must be {kind.allowed}") from None


def _read_match(raw: Json) -> ScopeMatch:
    if not isinstance(raw, Mapping):
        raise ValueError("has a match that is not a table of conditions")
    _check_names(raw, _CONDITIONS)
    return ScopeMatch(**{name: _read_condition(name, value) for name, value in raw.items()})  # type: ignore[arg-type]


def _read_rule(raw: Json) -> ScopeRule:
    if not isinstance(raw, Mapping):
        raise ValueError("is not a table")
    _check_names(raw, ("action", "match"))
    try:
        action = _ACTION.read(raw.get("action"))
    except ValueError:
        raise ValueError(f"needs an action, {_ACTION.allowed}") from None
    return ScopeRule(action=action, match=_read_match(raw.get("match", {})))


def _read_rules(raw: Json) -> tuple[ScopeRule, ...]:
    if not isinstance(raw, list | tuple):
        raise ValueError("not a list of rules")
    rules: list[ScopeRule] = []
    for position, item in enumerate(raw, start=1):
        try:
            rules.append(_read_rule(item))
        except ValueError as error:
            raise ValueError(f"rule {position} {error}") from None
    return tuple(rules)


def _plain_rules(rules: tuple[ScopeRule, ...]) -> Json:
    return [{"action": rule.action, "match": rule.match.conditions()} for rule in rules]


scope_rules: Kind[tuple[ScopeRule, ...]] = Kind(
    name="list of rules",
    allowed=(
        'a list of rules {action = "allow" or "deny", match = {…}} with conditions on '
        f"{', '.join(_CONDITIONS)}; the first rule that matches decides"
    ),
    read=_read_rules,
    plain=_plain_rules,
)
