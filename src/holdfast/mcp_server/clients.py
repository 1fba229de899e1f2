"""Who may come over HTTP: names, the hash of each token, and whose memory each sees.

    <home>/mcp-clients.json     0600

Promises, proven by ``tests/doors/test_mcp_clients.py``: a token is shown once and stored nowhere;
which client a token belongs to takes as long to say whoever it is; what is added or removed
holds from the next request on, whichever process did it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, cast, get_args

from holdfast.disk import Directory, FileLock
from holdfast.errors import NotFound, PolicyRefused, StorageError, UsageError, did_you_mean
from holdfast.scope import check_name, folder, place_of
from holdfast.types import ChatType, Json, Scope

__all__ = ["Client", "ClientBook", "new_client"]

_FILE: Final = "mcp-clients.json"
_LOCK: Final = "mcp-clients.lock"
_VERSION: Final = 1
_PREFIX: Final = "hfm_"
_RANDOM_BYTES: Final = 32
_LONGEST_TOKEN: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client: its name, its place, and what proves that it is it."""

    name: str
    agent: str
    user: str | None
    chat: str | None
    chat_type: ChatType
    token_hash: str
    added_at: str

    @property
    def scope(self) -> Scope:
        return Scope(agent=self.agent, user=self.user, chat=self.chat, chat_type=self.chat_type)

    @property
    def place(self) -> str:
        """Where its files are, from the folder of the agents."""
        return "/".join([self.agent, *folder(place_of(self.scope))])

    def to_json(self) -> dict[str, Json]:
        """Without what belongs to its token."""
        return {key: value for key, value in asdict(self).items() if key != "token_hash"}


def new_client(
    name: str,
    *,
    agent: str = "main",
    user: str | None = None,
    chat: str | None = None,
    chat_type: str | None = None,
    at: str,
) -> tuple[Client, str]:
    """A client and its token, which nobody sees again.

    Raises:
        PolicyRefused: a name cannot be one, or the place contradicts itself.
    """
    kind = chat_type or ("group" if chat else "direct")
    if kind not in get_args(ChatType):
        raise UsageError(
            f"There is no chat type {kind!r}.", hint=did_you_mean(kind, get_args(ChatType))
        )
    token = _PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    client = Client(
        name=check_name(name),
        agent=check_name(agent),
        user=user,
        chat=chat,
        chat_type=cast("ChatType", kind),
        token_hash=_hash(token),
        added_at=at,
    )
    folder(place_of(client.scope))
    return client, token


class ClientBook:
    """The clients of a home. Read anew each time: it is small, and others write it."""

    def __init__(self, home: Path) -> None:
        self._home = Directory.open(home)

    def list(self) -> list[Client]:
        """All clients, by name.

        Raises:
            StorageError: the file cannot be read; then nobody is let in.
        """
        data = self._home.read(_FILE)
        if data is None:
            return []
        try:
            stored = json.loads(data)
            if stored["version"] != _VERSION:
                raise ValueError(f"version {stored['version']}")
            return [_client(each) for each in stored["clients"]]
        except (ValueError, KeyError, TypeError, AttributeError, PolicyRefused) as error:
            raise StorageError(
                f"{str(self._home.path / _FILE)!r} cannot be read ({error}), so no client is let "
                "in.",
                hint=f"Move it away, and add the clients again: holdfast --home {self._home.path} "
                "mcp clients add NAME",
            ) from None

    def whose(self, token: str) -> Client | None:
        """The client of a token. Every hash is compared, so that time tells nothing."""
        given = _hash(token) if len(token) <= _LONGEST_TOKEN else ""
        found: Client | None = None
        for client in self.list():
            if hmac.compare_digest(client.token_hash, given):
                found = client
        return found

    def add(self, client: Client) -> None:
        """Let a client in."""

        def added(clients: Sequence[Client]) -> Sequence[Client]:
            if any(each.name == client.name for each in clients):
                raise UsageError(
                    f"There is a client {client.name!r} already.",
                    hint=f"Remove it first: holdfast mcp clients remove {client.name}",
                )
            return [*clients, client]

        self._change(added)

    def remove(self, name: str) -> None:
        """Let a client in no more, from its next request on."""

        def removed(clients: Sequence[Client]) -> Sequence[Client]:
            left = [each for each in clients if each.name != name]
            if len(left) == len(clients):
                near = did_you_mean(name, [each.name for each in clients])
                raise NotFound(
                    f"There is no client {name!r}.", hint=near or "holdfast mcp clients list"
                )
            return left

        self._change(removed)

    def _change(self, changed: Callable[[Sequence[Client]], Sequence[Client]]) -> None:
        with FileLock(self._home, _LOCK).hold():
            clients = sorted(changed(self.list()), key=lambda each: each.name)
            stored = {"version": _VERSION, "clients": [asdict(each) for each in clients]}
            data = json.dumps(stored, ensure_ascii=False, indent=1) + "\n"
            self._home.replace(_FILE, data.encode())


def _hash(token: str) -> str:
    """Enough for something that nobody can guess: 256 bits by chance, not a password."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _client(stored: Json) -> Client:
    client = Client(**stored)
    if not isinstance(stored["token_hash"], str) or not client.token_hash.isascii():
        raise ValueError("a hash is no text")
    if len(client.token_hash) != 2 * hashlib.sha256().digest_size:
        raise ValueError("a hash has the wrong length")
    if client.chat_type not in get_args(ChatType):
        raise ValueError(f"no type of chat: {client.chat_type!r}")
    check_name(client.agent)
    folder(place_of(client.scope))
    return client
