"""Whether an index says what its texts say.

Promise: every difference between the tables is found: rows without their parts, terms that are
not the text's, postings that are not the terms', vectors without a text
(``tests/search/test_index_damage.py``).
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import Final

from holdfast.search.index.coding import counted, tokens_of, told
from holdfast.search.index.restoring import restored
from holdfast.search.index.stored import Problem, Reading

__all__ = ["verify"]

_MOST: Final = 100

_RULES: Final = (
    ("SELECT count(*) FROM chunk WHERE id NOT IN (SELECT id FROM body)", "chunks without text"),
    ("SELECT count(*) FROM chunk WHERE id NOT IN (SELECT id FROM forward)", "chunks without terms"),
    ("SELECT count(*) FROM body WHERE id NOT IN (SELECT id FROM chunk)", "texts without chunk"),
    ("SELECT count(*) FROM forward WHERE id NOT IN (SELECT id FROM chunk)", "terms without chunk"),
    (
        "SELECT count(*) FROM chunk WHERE document NOT IN (SELECT id FROM document)",
        "chunks without document",
    ),
    ("SELECT count(*) FROM chunk WHERE place NOT IN (SELECT id FROM place)", "chunks of no place"),
    ("SELECT count(*) FROM link WHERE chunk NOT IN (SELECT id FROM chunk)", "vectors of no chunk"),
    (
        "SELECT count(*) FROM link WHERE vector NOT IN (SELECT id FROM vector)",
        "links to missing vectors",
    ),
    (
        "SELECT count(*) FROM chunk c JOIN vector v USING(sha) JOIN embedder e ON e.id=v.embedder "
        "WHERE NOT EXISTS (SELECT 1 FROM link l WHERE l.chunk=c.id AND l.embedder=v.embedder)",
        "chunks that are not linked to their vector",
    ),
    (
        "SELECT count(*) FROM entity WHERE chunk NOT IN (SELECT id FROM chunk)",
        "entities of no chunk",
    ),
)


def verify(
    connection: sqlite3.Connection, reading: Reading, *, sample: int | None = None
) -> list[Problem]:
    """The first problems of each sort; none if all is well."""
    told_by_sqlite = connection.execute("PRAGMA quick_check(5)").fetchall()
    problems = [Problem(what=f"database: {row[0]}") for row in told_by_sqlite if row[0] != "ok"]
    if problems:
        return problems
    for rule, what in _RULES:
        if count := connection.execute(rule).fetchone()[0]:
            problems.append(Problem(what=f"{count} {what}"))
    problems += _terms(connection, reading, sample)
    return problems + _postings(connection)


def _terms(connection: sqlite3.Connection, reading: Reading, sample: int | None) -> list[Problem]:
    """Chunks whose stored terms are not those of their text."""
    where = (
        "" if sample is None else "WHERE c.id IN (SELECT id FROM chunk ORDER BY random() LIMIT ?)"
    )
    wrong: list[Problem] = []
    for found in restored(connection, where, () if sample is None else (sample,)):
        words = reading.index_terms(reading.searched_text(found.document, found.chunk))
        terms, often, length = counted(map(reading.term_hash, words))
        row = connection.execute(
            "SELECT f.terms, f.counts, c.length FROM forward f JOIN chunk c USING(id) WHERE id=?",
            (found.id,),
        ).fetchone()
        if row is not None and row != (terms, often, length):
            wrong.append(
                Problem(
                    what=f"the terms of {found.chunk.id} are not those of its text",
                    document=found.document.key,
                )
            )
            if len(wrong) >= _MOST:
                break
    return wrong


def _postings(connection: sqlite3.Connection) -> list[Problem]:
    """Tokens that stand in more or fewer chunks than their terms say."""
    expected: Counter[str] = Counter()
    rows = connection.execute(
        "SELECT c.place, f.terms, f.counts FROM chunk c JOIN forward f USING(id)"
    )
    for place, terms, often in rows:
        expected.update(tokens_of(terms, often, place).split())
    there = _vocabulary(connection)
    wrong = [token for token in expected.keys() | there.keys() if expected[token] != there[token]]
    if not wrong:
        return []
    return [Problem(what=f"{len(wrong)} terms stand in other chunks than the postings say")]


def _vocabulary(connection: sqlite3.Connection) -> Counter[str]:
    """In how many chunks each token stands, by the postings."""
    connection.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab('main', 'post', 'row')"
    )
    found = connection.execute("SELECT term, doc FROM temp.vocabulary")
    return Counter({term if isinstance(term, str) else told(term): doc for term, doc in found})
