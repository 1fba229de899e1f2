"""Who and what facts are about, with the other names they go by.

    bank/entities/peter.md      # Peter            the title is the name
                                Aliases: Pete, 彼得   or ``aliases:`` in the front matter
    - W @Peter: Also known as Pete.                 又名, 别名, 也叫 as well

Promise: case, width and hidden characters make no difference; an alias that two go by stands for
neither; a line names somebody only on the word of a person (``tests/memory/test_entities.py``).
Pages may be written by hand.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.errors import PolicyRefused, UsageError
from holdfast.markdown import split_lines
from holdfast.memory.facts.shapes import Fact
from holdfast.retain import visible_line
from holdfast.scope import check_name
from holdfast.text import normalise, slug

__all__ = ["FOLDER", "Names", "Page", "names_of", "page_name", "read_page", "with_alias"]

FOLDER: Final = "bank/entities/"
_TITLE: Final = re.compile(r"#\s+(.{1,200}?)\s*#*\s*")
_ALIASES: Final = re.compile(
    r"(?i)(?P<start>\s{0,3}(?:[-*+]\s+)?\*{0,2}(?:aliases|alias|also known as|aka|别名|又名|别称)"
    r"\*{0,2}\s*[:：]\*{0,2}\s*)(?P<names>.*)"
)
_KNOWN_AS: Final = re.compile(
    r"(?i)^(?:(?:is |he is |she is )?(?:also )?(?:known as|called|goes by)|aka)\s+(?P<en>.{1,200})"
    r"|^(?:又名|别名(?:是|为|叫)?|也叫|又叫|外号(?:是|叫)?|昵称(?:是|叫)?)\s*(?P<zh>.{1,100})"
)
_PARTING: Final = re.compile(r"\s*(?:[,，、;；/]|\bor\b|\band\b|和|或)\s*")
_COMMENT: Final = re.compile("<!--|-->")
_QUOTES: Final = " \t\"'“”‘’「」*_`[]."


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What an entity's page says of its names."""

    path: str
    name: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Names:
    """Which name stands for whom. ``spelled`` has each name as it was written first."""

    stands_for: Mapping[str, str] = field(default_factory=dict)
    spelled: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def key(self, name: str) -> str:
        """What is equal for all names of one entity."""
        key = normalise(name).removeprefix("@")
        return self.stands_for.get(key, key)

    def resolve(self, name: str) -> str:
        """The entity's own name; an unknown or ambiguous one stays as it is."""
        return self.spelled.get(self.key(name)) or visible_line(name).removeprefix("@")

    def all_of(self, name: str) -> tuple[str, ...]:
        """Every name of the entity, its own first."""
        key = self.key(name)
        return (self.spelled.get(key, name), *self.aliases.get(key, ()))

    def leading(self, text: str) -> str | None:
        """The entity whose name a text begins with, if one of those we know does."""
        head = normalise(text[:120])
        words = head.split()
        starts = [" ".join(words[:count]) for count in (3, 2, 1) if len(words) >= count]
        starts += [head[:count] for count in (4, 3, 2) if not head[:count].isascii()]
        for start in starts:
            key = start.removesuffix("'s").removesuffix("’s").rstrip(",:，：")
            if key in self.stands_for or key in self.spelled:
                return self.key(key)
        return None


def read_page(path: str, text: str) -> Page:
    """The names on a page: title or file name, and whatever line lists others."""
    title, aliases = "", []
    rows = split_lines(text)
    in_front = bool(rows) and rows[0].strip() == "---"
    listing = False
    for number, row in enumerate(rows[:200]):
        row = row.rstrip("\r\n")
        if in_front and number and row.strip() in ("---", "..."):
            in_front = listing = False
        elif listing and (item := re.fullmatch(r"\s*-\s+(.{1,200})", row)):
            aliases += _split(item[1])
        elif found := _ALIASES.fullmatch(row):
            aliases += _split(found["names"])
            listing = in_front and not found["names"].strip()
        elif not title and (heading := _TITLE.fullmatch(row)):
            title = visible_line(heading[1])
    stem = path.rsplit("/", 1)[-1].removesuffix(".md")
    return Page(path=path, name=title or stem, aliases=tuple(dict.fromkeys(aliases)))


def _split(written: str) -> list[str]:
    names = (visible_line(name.strip(_QUOTES)) for name in _PARTING.split(written[:1000]))
    return [name for name in names if 0 < len(name) <= 80]


def _declared(fact: Fact) -> list[str]:
    """The other names that a line gives to its entity; only a person can say so."""
    if fact.line.entity is None or fact.line.trust != "user":
        return []
    sentence = re.split(r"[.。;；!！\n](?:\s|$)", fact.line.text, maxsplit=1)[0]
    found = _KNOWN_AS.match(sentence)
    return _split(found["en"] or found["zh"]) if found else []


def names_of(pages: Iterable[Page], facts: Iterable[Fact]) -> Names:
    """Everybody's names; what two would go by stands for neither."""
    spelled: dict[str, str] = {}
    claims: dict[str, set[str]] = defaultdict(set)
    aliases: dict[str, list[str]] = defaultdict(list)
    own: set[str] = set()
    for name, others, is_page in _sayings(pages, facts):
        key = normalise(name)
        spelled.setdefault(key, name)
        if is_page:
            own.add(key)
        for other in others:
            claims[normalise(other)].add(key)
            aliases[key].append(other)
    stands_for = {
        alias: next(iter(keys))
        for alias, keys in claims.items()
        if len(keys) == 1 and alias not in own and alias not in keys
    }
    return Names(
        stands_for=stands_for,
        spelled={key: name for key, name in spelled.items() if key not in stands_for},
        aliases={
            key: tuple(
                dict.fromkeys(name for name in names if stands_for.get(normalise(name)) == key)
            )
            for key, names in aliases.items()
        },
    )


def _sayings(
    pages: Iterable[Page], facts: Iterable[Fact]
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    for page in pages:
        yield page.name, page.aliases, True
    for fact in facts:
        if fact.line.entity is not None:
            yield fact.line.entity, tuple(_declared(fact)), False


# ── writing ─────────────────────────────────────────────────────────────────────────────────


def page_name(name: str, taken: Collection[str] = ()) -> str:
    """The path of a new page: the name itself where a file can be called so."""
    plain = "-".join(normalise(name).split())
    sum_of_it = f"{zlib.crc32(normalise(name).encode()):08x}"
    for stem in (plain, slug(name), f"entity-{slug(name)}", f"{slug(name)[:40]}-{sum_of_it}"):
        path = f"{FOLDER}{stem}.md"
        if path not in taken and _is_name(stem):
            return path
    raise UsageError(f"There are too many pages like that of {name!r}.", hint="Rename one.")


def _is_name(stem: str) -> bool:
    try:
        return check_name(stem) == stem
    except PolicyRefused:
        return False


def with_alias(text: str | None, name: str, alias: str) -> str:
    """The page with one more alias on it; all else on it stays."""
    alias = visible_line(alias)
    if not alias or _PARTING.search(alias) or _COMMENT.search(f"{name} {alias}"):
        raise UsageError(f"{alias!r} cannot be an alias.", hint="Give one name, without commas.")
    if text is None:
        return f"# {name}\n\nAliases: {alias}\n"
    if normalise(alias) in {normalise(each) for each in read_page("", text).aliases}:
        return text
    rows = split_lines(text)
    for number, row in enumerate(rows):
        body = row.rstrip("\r\n")
        found = _ALIASES.fullmatch(body)
        if found is not None and found["names"].strip() and not found["names"].startswith("["):
            rows[number] = f"{body.rstrip()}, {alias}{row[len(body) :]}"
            return "".join(rows)
    at = next((n + 1 for n, row in enumerate(rows) if _TITLE.fullmatch(row.rstrip("\r\n"))), 0)
    newline = "\r\n" if rows and rows[0].endswith("\r\n") else "\n"
    if at and not rows[at - 1].endswith(("\r", "\n")):
        rows[at - 1] += newline
    rows[at:at] = (
        [newline, f"Aliases: {alias}{newline}"] if at else [f"Aliases: {alias}{newline}", newline]
    )
    return "".join(rows)
