"""Who may read what: one predicate, as Python and as a condition in SQL.

Promise: ``may_read`` and ``sql_condition`` agree on every reader and place, whatever the names
look like, and both say no when in doubt; a name that ``check_name`` accepts is one path
component that stays in its folder on every system. Proven by
``tests/foundation/test_scope.py`` (against real SQLite) and ``test_scope_names.py``.
Who the reader is comes from the door; nothing here believes a model.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from holdfast.errors import PolicyRefused
from holdfast.text import cut, is_hidden, slug
from holdfast.types import Scope

__all__ = [
    "OWNER",
    "Action",
    "Columns",
    "Match",
    "Narrowed",
    "Place",
    "Rule",
    "allowed",
    "check_name",
    "folder",
    "may_read",
    "may_read_here",
    "may_read_line",
    "narrow",
    "place_of",
    "row",
    "sql_condition",
]

OWNER: Final = "@owner"
"""The agent's owner where a user is named: in a rule, in a narrowed place. No name reads so."""

_NOBODY: Final = frozenset({"", OWNER})  # what no user and no chat can be called


# ── places ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something is stored, which decides who may read it.

    Without ``user`` and ``chat`` it is the agent's own folder, private to the owner. With one
    of them it is ``users/<user>/`` or ``chats/<chat>/``. With both it is a part of either that
    was narrowed to those who may read both; then ``user`` may be ``OWNER``.
    """

    tenant: str
    agent: str
    user: str | None = None
    chat: str | None = None

    def __post_init__(self) -> None:
        if self.user == "" or self.chat in _NOBODY or (self.user == OWNER and self.chat is None):
            raise PolicyRefused(f"There is no place of user {self.user!r} and chat {self.chat!r}.")


def place_of(scope: Scope) -> Place:
    """Where a speaker writes: own folder, folder of the user, or folder of the chat.

    Raises:
        PolicyRefused: the scope contradicts itself (a group without a chat, a direct chat with
            one), so that no folder is certainly the right one.
    """
    if not _is_clear(scope):
        raise PolicyRefused(
            f"A {scope.chat_type} chat with user {scope.user!r} and chat {scope.chat!r} has no "
            "place of its own.",
            hint="Give a chat for groups and channels, and none for direct chats.",
        )
    if scope.chat_type == "direct":
        return Place(tenant=scope.tenant, agent=scope.agent, user=scope.user)
    return Place(tenant=scope.tenant, agent=scope.agent, chat=scope.chat)


def narrow(place: Place, *, user: str | None = None, chat: str | None = None) -> Place | None:
    """The part of a place for those who may also read that user's or that chat's folder.

    This is what a comment on a line can ask for, and it can never add a reader. None means that
    nobody is left: such a line is shown to no one.
    """
    if user == "" or chat in _NOBODY or (chat and place.chat and chat != place.chat):
        return None
    owner = place.user or (OWNER if place.chat is None else None)
    if user and owner and user != owner:
        return None
    chat = chat or place.chat
    reader = user or owner
    return Place(
        tenant=place.tenant,
        agent=place.agent,
        user=None if chat is None and reader == OWNER else reader,
        chat=chat,
    )


def folder(place: Place) -> tuple[str, ...]:
    """The path of a place under the agent's folder, in components that are safe to join.

    Raises:
        PolicyRefused: a name cannot be a file name, or the place is a narrowed one.
    """
    if place.user is not None and place.chat is not None:
        raise PolicyRefused("A narrowed place is a part of a folder, not a folder.")
    if place.user is not None:
        return ("users", check_name(place.user))
    if place.chat is not None:
        return ("chats", check_name(place.chat))
    return ()


# ── the predicate ───────────────────────────────────────────────────────────────────────────


def may_read(reader: Scope, place: Place, *, memberships: frozenset[str] = frozenset()) -> bool:
    """Whether a reader may see what is stored in a place.

    A direct chat reads the folder of its user and the chats the user belongs to
    (``memberships``); a group or channel reads its own folder and nothing else.
    """
    if not _is_clear(reader) or (reader.tenant, reader.agent) != (place.tenant, place.agent):
        return False
    if reader.chat_type != "direct":
        return place.user is None and place.chat == reader.chat
    if place.chat is None:
        return place.user == reader.user
    return place.chat in memberships and place.user in (None, reader.user or OWNER)


class Narrowed(Protocol):
    """A line that may be for fewer than those who read its folder."""

    @property
    def user(self) -> str | None: ...

    @property
    def chat(self) -> str | None: ...


def may_read_line(
    reader: Scope,
    place: Place,
    *,
    user: str | None,
    chat: str | None,
    memberships: frozenset[str] = frozenset(),
) -> bool:
    """Whether a reader may see a line of that place that is narrowed to a user or a chat."""
    part = narrow(place, user=user, chat=chat)
    return part is not None and may_read(reader, part, memberships=memberships)


def may_read_here(
    reader: Scope | None, line: Narrowed, *, memberships: frozenset[str] = frozenset()
) -> bool:
    """The same for a line of the reader's own folder, which is open to the reader already.

    Without a reader nothing that is narrowed can be seen.
    """
    if line.user is None and line.chat is None:
        return True
    return reader is not None and may_read_line(
        reader, place_of(reader), user=line.user, chat=line.chat, memberships=memberships
    )


def _is_clear(scope: Scope) -> bool:
    """Whether a scope says one thing. A door that forgot the type of a chat must not get the
    owner's folder, so a direct chat that names a chat is nobody."""
    if scope.user in _NOBODY or scope.chat in _NOBODY:
        return False
    return (scope.chat is None) == (scope.chat_type == "direct")


# A column, with or without its table. Both are quoted: ``user`` is a function in PostgreSQL.
_COLUMN: Final = re.compile(r"(?:([A-Za-z_]\w{0,62})\.)?([A-Za-z_]\w{0,62})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns that hold a ``row``; text that is never NULL and compares byte by byte."""

    tenant: str = "tenant"
    agent: str = "agent"
    user: str = "user"
    chat: str = "chat"


_PLAIN_COLUMNS: Final = Columns()


def row(place: Place) -> tuple[str, str, str, str]:
    """Tenant, agent, user and chat as they are stored; nobody is the empty string."""
    return (place.tenant, place.agent, place.user or "", place.chat or "")


def sql_condition(
    reader: Scope, memberships: frozenset[str] = frozenset(), columns: Columns = _PLAIN_COLUMNS
) -> tuple[str, list[str]]:
    """``may_read`` as a condition over stored rows, and its parameters in order.

    Belongs inside the query, before anything is ranked or limited. Values are only ever
    parameters. A NULL in a column makes its row unreadable.

    Raises:
        ValueError: a column is not a plain identifier, or table and column.
    """
    tenant, agent, user, chat = map(
        _quoted, (columns.tenant, columns.agent, columns.user, columns.chat)
    )
    if not _is_clear(reader):
        return "1 = 0", []
    same = f"{tenant} = ? AND {agent} = ?"
    parameters = [reader.tenant, reader.agent]
    if reader.chat_type != "direct":
        return f"({same} AND {user} = '' AND {chat} = ?)", [*parameters, reader.chat or ""]
    own = f"{chat} = '' AND {user} = ?"
    parameters.append(reader.user or "")
    chats = sorted(set(memberships) - _NOBODY)
    if not chats:
        return f"({same} AND {own})", parameters
    marks = ", ".join("?" * len(chats))
    joint = f"{chat} IN ({marks}) AND {user} IN ('', ?)"
    return f"({same} AND (({own}) OR ({joint})))", [*parameters, *chats, reader.user or OWNER]


def _quoted(column: str) -> str:
    found = _COLUMN.fullmatch(column)
    if found is None:
        raise ValueError(f"{column!r} is not the name of a column.")
    return ".".join(f'"{name}"' for name in found.groups() if name)


# ── access rules ────────────────────────────────────────────────────────────────────────────

Action = Literal["allow", "deny"]


class Match(Protocol):
    """Conditions on who asks."""

    def conditions(self) -> Mapping[str, str]: ...


class Rule(Protocol):
    """One access rule, as the configuration reads it."""

    @property
    def action(self) -> Action: ...

    @property
    def match(self) -> Match: ...


def allowed(reader: Scope, rules: Iterable[Rule], default: Action = "deny") -> bool:
    """Whether this chat may use memory at all: the first rule that applies decides.

    All conditions of a rule must hold; one without conditions applies to everyone. The owner is
    matched as the user ``OWNER``.
    """
    if not _is_clear(reader):
        return False
    who = {
        "tenant": reader.tenant,
        "agent": reader.agent,
        "user": reader.user or OWNER,
        "chat": reader.chat,
        "chat_type": reader.chat_type,
    }
    for rule in rules:
        if all(who[name] == wanted for name, wanted in rule.match.conditions().items()):
            return rule.action == "allow"
    return default == "allow"


# ── names ───────────────────────────────────────────────────────────────────────────────────

_MAX_CHARS: Final = 64
_MAX_BYTES: Final = 200  # leaves room for a date, a number and ".state.json" in the usual 255
_DEVICE: Final = re.compile(r"(?:CON|PRN|AUX|NUL|COM\d|LPT\d)(?:\..*)?", re.I | re.S | re.A)


def check_name(name: str) -> str:
    """The name itself, if it may become the name of a file or folder.

    The one grammar for agents, users, chats, sessions and topics: 1 to 64 characters and at
    most 200 bytes; letters and digits of any script with their marks, and ``. _ -``; begins
    with a letter, a digit or ``_``, does not end with a dot; has one spelling only (NFKC) and
    nothing hidden in it; is no device of Windows.

    Raises:
        PolicyRefused: with the reason, and a name that would do.
    """
    if not isinstance(name, str):
        raise PolicyRefused(f"{name!r} cannot be a name: it is not a string.", hint="Use str(…).")
    if problem := _problem(name):
        shown = repr(cut(name, 40)) + ("…" if len(name) > 40 else "")
        raise PolicyRefused(
            f"{shown} cannot be a name: {problem}.", hint=f"Use for example: {_suggestion(name)}"
        )
    return name


def _problem(name: str) -> str | None:
    if not name:
        return "it is empty"
    if len(name) > _MAX_CHARS or len(name.encode("utf-8", "surrogatepass")) > _MAX_BYTES:
        return f"it is longer than {_MAX_CHARS} characters or {_MAX_BYTES} bytes"
    if any(map(is_hidden, name)):
        return "there are invisible characters in it"
    if bad := _bad_character(name):
        return f"{bad!r} cannot stand where it does"
    if name.endswith("."):
        return "it ends with a dot"
    if not unicodedata.is_normalized("NFKC", name):
        return "it can be spelled in more than one way"
    return "Windows has a device of that name" if _DEVICE.fullmatch(name) else None


def _bad_character(name: str) -> str | None:
    """The first character the grammar does not allow in its place."""
    before = ""
    for char in name:
        kind = unicodedata.category(char)
        is_mark = kind in ("Mn", "Mc") and before[:1] in ("L", "N", "M")
        is_sign = char == "_" or (char in ".-" and before)
        if not (kind[0] in "LN" or is_mark or is_sign):
            return char
        before = kind
    return None


def _suggestion(name: str) -> str:
    """A name like this one that is accepted: in its own script if possible, else in ASCII."""
    letters = (
        char if unicodedata.category(char)[0] in "LNM" or char in "._" else "-"
        for char in unicodedata.normalize("NFKC", cut(name, 4 * _MAX_CHARS))
        if not is_hidden(char)
    )
    similar = re.sub("-+", "-", "".join(letters)).strip("-.")
    ascii_only = slug(name)
    for candidate in (similar, ascii_only, f"name-{ascii_only}"[:_MAX_CHARS]):
        if _problem(candidate) is None:
            return candidate
    return ascii_only
