"""The clients that come over HTTP: their tokens, and whose memory each sees."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest

from holdfast.errors import PolicyRefused, StorageError, UsageError
from holdfast.mcp_server.clients import ClientBook, new_client
from tests.doors.inside import inside

AT = "2026-11-16T00:00:00+00:00"


@pytest.mark.usefixtures("any_umask")
def test_a_token_is_shown_once_and_stored_nowhere(home: Path) -> None:
    added = inside(home, "mcp", "clients", "add", "editor", "--user", "ann", "--json")
    assert added.code == 0, added.err
    (line,) = added.lines
    token = line["token"]
    assert len(token) > 40
    client = ClientBook(home).whose(token)
    assert client is not None
    assert (client.name, client.place, client.chat_type) == ("editor", "main/users/ann", "direct")
    for path in home.rglob("*"):
        if path.is_file():
            assert token.encode() not in path.read_bytes()
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    listed = inside(home, "mcp", "clients", "list", "--json")
    assert listed.lines[0] == {key: value for key, value in line.items() if key != "token"}
    assert client.token_hash not in listed.out
    people = inside(home, "mcp", "clients", "list")
    assert "main/users/ann" in people.out
    assert client.token_hash not in people.out


def test_who_is_removed_is_nobody_from_then_on(home: Path) -> None:
    token = inside(home, "mcp", "clients", "add", "editor").out.strip()
    book = ClientBook(home)
    assert book.whose(token) is not None
    assert inside(home, "mcp", "clients", "remove", "editor").code == 0
    assert book.whose(token) is None
    again = inside(home, "mcp", "clients", "remove", "editor")
    assert (again.code, again.out) == (3, "")
    assert inside(home, "mcp", "clients", "list").out.startswith("No clients.")


def test_a_token_that_is_nearly_right_is_wrong(home: Path) -> None:
    client, token = new_client("editor", at=AT)
    book = ClientBook(home)
    book.add(client)
    for wrong in ("", token[:-1], token + "x", token.swapcase(), client.token_hash, "x" * 10_000):
        assert book.whose(wrong) is None


@pytest.mark.parametrize(
    ("scope", "code"),
    [
        (["--agent", "../x"], 6),
        (["--user", ".."], 6),
        (["--chat", "a/b"], 6),
        (["--chat-type", "group"], 6),
        (["--chat", "team", "--chat-type", "direct"], 6),
        (["--chat-type", "grupo"], 2),
    ],
)
def test_a_place_that_is_none_is_refused(home: Path, scope: list[str], code: int) -> None:
    run = inside(home, "mcp", "clients", "add", "editor", *scope)
    assert (run.code, run.out) == (code, "")
    assert ClientBook(home).list() == []


def test_a_name_belongs_to_one_client(home: Path) -> None:
    book = ClientBook(home)
    book.add(new_client("editor", at=AT)[0])
    with pytest.raises(UsageError, match="already"):
        book.add(new_client("editor", at=AT)[0])
    with pytest.raises(PolicyRefused):
        new_client("a\u202eb", at=AT)


def test_clients_that_are_added_at_once_are_all_there(home: Path) -> None:
    ClientBook(home)
    made = [new_client(f"c{n}", at=AT) for n in range(12)]
    threads = [threading.Thread(target=ClientBook(home).add, args=(client,)) for client, _ in made]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    book = ClientBook(home)
    assert [book.whose(token) for _, token in made] == [client for client, _ in made]


DAMAGES = [
    "",
    "{",
    "[]",
    '{"version": 2, "clients": []}',
    '{"version": 1, "clients": [{}]}',
    '{"version": 1, "clients": [{"name": "a", "agent": "..", "user": null, "chat": null,'
    ' "chat_type": "direct", "token_hash": "' + "0" * 64 + '", "added_at": ""}]}',
]


def test_a_damaged_file_lets_nobody_in(home: Path) -> None:
    client, token = new_client("editor", at=AT)
    ClientBook(home).add(client)
    file = home / "mcp-clients.json"
    stored = json.loads(file.read_text())
    assert stored["clients"][0]["token_hash"] == client.token_hash
    for damage in DAMAGES:
        file.write_text(damage)
        with pytest.raises(StorageError, match="no client is let"):
            ClientBook(home).whose(token)
    run = inside(home, "mcp", "clients", "list")
    assert (run.code, run.out) == (5, "")
