"""The tables of the catalogue, and how a connection to it is set up.

    document      one row for each file or conversation, with its stamp
    chunk         what a search filters and ranks by: narrow, read whole into arrays
    body          what is shown of a chunk
    forward       the terms of a chunk and how often each occurs
    post          FTS5, used as a store of postings: which chunks hold a term
    vector        what an encoder made of a text, by the hash of the text
    link          which vector a chunk has
    log           which documents changed, so that arrays in memory follow
    packed        the arrays as they were at some change, so that opening is quick

Promise: an application id and a version tell a catalogue from anything else
(``tests/search/test_index_damage.py``).
"""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Final

__all__ = ["BUSY_MS", "connected", "create", "unsound"]

_APPLICATION: Final = 0x484C4446
_SCHEMA: Final = 1
BUSY_MS: Final = 5000

_TABLES: Final = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE place(id INTEGER PRIMARY KEY, tenant BLOB, agent BLOB, user BLOB, chat BLOB);
CREATE TABLE speaker(id INTEGER PRIMARY KEY, name BLOB UNIQUE);
CREATE TABLE document(
  id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB UNIQUE NOT NULL, source INTEGER NOT NULL,
  place INTEGER NOT NULL, title BLOB NOT NULL, day TEXT, form INTEGER NOT NULL,
  speaker INTEGER, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
  content TEXT NOT NULL, entries INTEGER NOT NULL, extra BLOB NOT NULL);
CREATE TABLE chunk(
  id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, uid TEXT NOT NULL,
  sign BLOB NOT NULL, sha BLOB NOT NULL, ordinal INTEGER NOT NULL, kind INTEGER NOT NULL,
  place INTEGER NOT NULL, speaker INTEGER NOT NULL, flags INTEGER NOT NULL, at REAL,
  length INTEGER NOT NULL, importance REAL NOT NULL, trust INTEGER NOT NULL,
  fact INTEGER NOT NULL, since REAL, until REAL);
CREATE UNIQUE INDEX chunk_by_uid ON chunk(uid, document);
CREATE INDEX chunk_of_document ON chunk(document, ordinal);
CREATE INDEX chunk_by_content ON chunk(sha);
CREATE TABLE body(
  id INTEGER PRIMARY KEY, text BLOB NOT NULL, context BLOB NOT NULL, entities BLOB,
  first INTEGER, last INTEGER, entry BLOB, part INTEGER NOT NULL,
  at TEXT, since TEXT, until TEXT);
CREATE TABLE entity(name BLOB NOT NULL, chunk INTEGER NOT NULL, PRIMARY KEY(name, chunk))
  WITHOUT ROWID;
CREATE TABLE forward(id INTEGER PRIMARY KEY, terms BLOB NOT NULL, counts BLOB NOT NULL);
CREATE VIRTUAL TABLE post USING fts5(tokens, content='', detail=none, tokenize='ascii');
CREATE TABLE embedder(
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL, dimensions INTEGER NOT NULL);
CREATE TABLE vector(
  id INTEGER PRIMARY KEY AUTOINCREMENT, embedder INTEGER NOT NULL, sha BLOB NOT NULL,
  codes BLOB, scale REAL, tokens BLOB);
CREATE UNIQUE INDEX vector_of_content ON vector(embedder, sha);
CREATE TABLE link(
  id INTEGER PRIMARY KEY AUTOINCREMENT, chunk INTEGER NOT NULL, embedder INTEGER NOT NULL,
  vector INTEGER NOT NULL);
CREATE UNIQUE INDEX link_of_chunk ON link(chunk, embedder);
CREATE TABLE log(change INTEGER NOT NULL, document INTEGER NOT NULL, appended INTEGER NOT NULL,
  PRIMARY KEY(change, document)) WITHOUT ROWID;
CREATE TABLE packed(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
"""


def connected(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """A connection that waits for others, writes ahead, and leaves no deleted bytes behind.

    The time to wait comes first: changing the journal needs a lock. Checkpoints are ours to
    order, under the lock of writers.
    """
    mode = "ro" if read_only else "rw"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        if not read_only:
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("PRAGMA journal_mode=WAL").fetchone()
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint=0")
        connection.execute("PRAGMA cache_size=-32000")
        connection.execute("PRAGMA temp_store=MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def create(connection: sqlite3.Connection, *, version: str) -> None:
    """Make the tables, all or none of them."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _TABLES.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={_APPLICATION}")
        connection.execute(f"PRAGMA user_version={_SCHEMA}")
        connection.executemany(
            "INSERT INTO meta(name, value) VALUES(?, ?)",
            [("version", version), ("change", 0), ("epoch", 0), ("erasures", _beginning())],
        )
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _beginning() -> int:
    """Where a database begins to count erasures: elsewhere than any other that has its name."""
    return random.SystemRandom().getrandbits(48)


def unsound(connection: sqlite3.Connection, version: str) -> str | None:
    """Why these are not the tables that this program makes; None if they are."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    schema = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != _APPLICATION:
        return "its database was not one of ours"
    if schema != _SCHEMA:
        return f"its tables were of version {schema}, this program makes {_SCHEMA}"
    found = dict(connection.execute("SELECT name, value FROM meta"))
    if not {"version", "change", "epoch"} <= found.keys():
        return "its database was not finished"
    if found["version"] != version:
        return "texts are cut into terms in another way now"
    return None
