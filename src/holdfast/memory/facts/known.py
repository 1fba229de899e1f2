"""What is known in one place: list it, ask what was true then, confirm, retract, decide.

Everything is in the lines of the Markdown files and in their comments; nothing else is stored.
A change is an edit of single lines, in one operation of the workspace, which ``undo`` takes back.

Promise: a newer fact never removes an older one: the older one gets its end and stays readable;
what contradicts without saying that something changed is only shown, never decided here
(``tests/memory/test_facts.py``, ``test_facts_updates.py``).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Final, get_args

from holdfast.errors import NotFound, UsageError, did_you_mean
from holdfast.memory.facts.beliefs import EVEN, confidence_at, evidence, moved
from holdfast.memory.facts.conflicts import agree, conflict_id, find
from holdfast.memory.facts.entities import (
    FOLDER,
    Names,
    Page,
    names_of,
    page_name,
    read_page,
    with_alias,
)
from holdfast.memory.facts.identity import is_copy
from holdfast.memory.facts.pairs import about_the_same, agreeing, are_settled, asked, is_update
from holdfast.memory.facts.reading import Pages, edited
from holdfast.memory.facts.shapes import (
    Conflict,
    Entity,
    Fact,
    Judged,
    ends_at,
    starts_at,
)
from holdfast.memory.facts.statements import Statement, statement
from holdfast.memory.workspace import Workspace
from holdfast.ports import ModelFailure, ModelReply, ModelRequest
from holdfast.redact import has_secret, redact
from holdfast.retain import RetainKind, RetainLine, Trust, line_id, visible_line
from holdfast.text import normalise
from holdfast.types import Scope

__all__ = ["Facts"]

_ALMOST: Final = 4  # digits of a confidence that is written


class Facts:
    """The typed memories of one place, as far as ``reader`` may see them."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        now: Callable[[], datetime],
        zone: tzinfo = UTC,
        reader: Scope | None = None,
        memberships: frozenset[str] = frozenset(),
    ) -> None:
        self._workspace = workspace
        self._now = now
        self._zone = zone
        self._pages = Pages(workspace, reader, memberships)
        self._known_names: tuple[tuple[bytes, ...], Names] | None = None
        self._stated = lru_cache(maxsize=50_000)(statement)
        self._compared: tuple[builtins.list[Fact], Names, builtins.list[Conflict]] | None = None
        """What was compared last, and what came of it: a page that is looked at asks again."""

    # ── reading ─────────────────────────────────────────────────────────────────────────────

    def list(
        self,
        *,
        kind: str | None = None,
        entity: str | None = None,
        trust: str | None = None,
        as_of: date | datetime | str | None = None,
        ended: bool = False,
        text: str | None = None,
    ) -> builtins.list[Fact]:
        """The facts that hold now, or at ``as_of`` (a day: at its end); ``ended``: others too."""
        _check_one_of("kind", kind, get_args(RetainKind))
        _check_one_of("trust", trust, get_args(Trust))
        facts, names = self._seen()
        if as_of is not None:
            facts = _once(self._pages.facts(archive=True))
        moment = self._moment(as_of)
        wanted = normalise(text) if text else None
        about = names.key(entity) if entity else None
        return [
            fact
            for fact in facts
            if (ended or fact.window(self._zone).covers(moment))
            and (kind is None or fact.line.kind == kind)
            and (trust is None or fact.line.trust == trust)
            and (about is None or self._subject(fact, names) == about)
            and (
                wanted is None or wanted in normalise(f"{fact.line.entity or ''} {fact.line.text}")
            )
        ]

    def show(self, id: str) -> Fact:
        """The fact of that id; the beginning of an id will do if only one has it."""
        facts = _once(self._pages.facts(archive=True))
        found = [fact for fact in facts if fact.id == id]
        if not found and len(id) >= 4:
            found = [fact for fact in facts if fact.id.startswith(id)]
        if len(found) > 1:
            hint = "One of: " + ", ".join(fact.id for fact in found[:5])
            raise UsageError(f"{id!r} is the beginning of {len(found)} ids.", hint=hint)
        if not found:
            near = did_you_mean(id, [fact.id for fact in facts])
            raise NotFound(f"There is no memory {id!r}.", hint=near or "See: holdfast facts list")
        return found[0]

    def history(self, id: str) -> builtins.list[Fact]:
        """What it replaced and what replaced it, the oldest first, with what is archived."""
        start = self.show(id).id
        facts = {fact.id: fact for fact in _once(self._pages.facts(archive=True))}
        newer: dict[str, list[str]] = {}
        for fact in facts.values():
            for old in fact.line.supersedes:
                newer.setdefault(old, []).append(fact.id)
        chain, todo = {start}, [start]
        while todo:
            at = todo.pop()
            for other in (*facts[at].line.supersedes, *newer.get(at, ())):
                if other in facts and other not in chain:
                    chain.add(other)
                    todo.append(other)
        return sorted((facts[each] for each in chain), key=self._age)

    def confidence(self, fact: Fact, when: datetime | None = None) -> float | None:
        """How firmly an opinion is held now; None for a fact."""
        line = fact.line
        seen = [
            starts_at(at, self._zone) for at in (line.verified, line.observed, line.since) if at
        ]
        if not seen and fact.day is not None:
            seen = [starts_at(fact.day, self._zone)]
        return confidence_at(line, when or self._now(), last_seen=max(seen, default=None))

    def holds(self, fact: Fact) -> bool:
        """Whether it is true now: begun, not ended, not taken back, not archived."""
        return not fact.archived and fact.window(self._zone).covers(self._now())

    # ── entities ────────────────────────────────────────────────────────────────────────────

    def entities(self) -> builtins.list[Entity]:
        """Who and what there are facts or pages about, those with most facts first."""
        facts, names = self._seen()
        pages = {names.key(page.name): page.path for page in self._entity_pages()}
        count: dict[str, int] = dict.fromkeys(pages, 0)
        for fact in facts:
            if fact.line.entity is not None:
                key = names.key(fact.line.entity)
                count[key] = count.get(key, 0) + self.holds(fact)
        found = [
            Entity(
                name=names.resolve(key),
                aliases=names.aliases.get(key, ()),
                facts=many,
                path=pages.get(key),
            )
            for key, many in count.items()
        ]
        return sorted(found, key=lambda each: (-each.facts, each.name))

    def resolve_entity(self, name: str) -> str:
        """The entity's own name; a name that is unknown, or that two go by, stays as it is."""
        return self._seen()[1].resolve(name)

    def add_alias(self, name: str, alias: str) -> Entity:
        """Write on the entity's page that it also goes by ``alias``."""
        if has_secret(name) or has_secret(alias):
            raise UsageError("A credential is nobody's name.")
        names = self._seen()[1]
        own, key = names.resolve(name), names.key(name)
        pages = {page.path: names.key(page.name) for page in self._entity_pages()}
        path = next((path for path, whose in pages.items() if whose == key), None)
        path = path or page_name(own, taken=pages)
        with self._workspace.operation("alias"):
            self._workspace.edit(path, lambda text: with_alias(text, own, alias))
        return next(each for each in self.entities() if normalise(each.name) == key)

    def _entity_pages(self) -> builtins.list[Page]:
        paths = [path for path in self._workspace.files() if path.startswith(FOLDER)]
        return [read_page(path, self._pages.text(path)) for path in paths]

    def _seen(self) -> tuple[builtins.list[Fact], Names]:
        """All facts outside the archive, and everybody's names, read again when a file changed."""
        facts, state = self._pages.snapshot()
        if self._known_names is None or self._known_names[0] != state:
            self._known_names = (state, names_of(self._entity_pages(), facts))
        return _once(facts), self._known_names[1]

    def _subject(self, fact: Fact, names: Names) -> str | None:
        line = fact.line
        return names.key(line.entity) if line.entity is not None else names.leading(line.text)

    # ── changing single lines ───────────────────────────────────────────────────────────────

    def confirm(self, id: str) -> Fact:
        """A person says that it is true: verified now, trusted like the person's own words."""
        fact, now = self._open(id), self._now()

        def confirmed(line: RetainLine) -> RetainLine:
            return replace(
                line, verified=now, trust="user", confidence=self._step(fact, line, "user")
            )

        return self._change("confirm", {fact.id: confirmed})[0]

    def support(
        self, id: str, *, trust: Trust = "user", sources: Sequence[str] | None = None
    ) -> Fact | None:
        """The same was said again: an opinion is held more firmly, a fact was seen now.

        ``sources`` are those that the line did not have before it was said again
        (``beliefs.evidence``); it has them afterwards. Without a new one nothing changes, and
        None is returned: what is known already is no evidence. None for ``sources`` is that
        nobody is cited, which counts if a person says so.
        """
        if not sources and (sources is not None or trust != "user"):
            return None
        fact, now = self._open(id), self._now()

        def supported(line: RetainLine) -> RetainLine:
            return replace(
                line,
                verified=now if trust == "user" else line.verified,
                confidence=self._step(fact, line, trust),
                sources=tuple(dict.fromkeys((*line.sources, *(sources or ())))),
            )

        return self._change("support", {fact.id: supported})[0]

    def retract(self, id: str, reason: str | None = None) -> Fact:
        """A person says that it is not true. It ends now and stays readable."""
        fact, now = self._open(id), self._now()
        why = visible_line(redact(reason)) if reason else ""

        def retracted(line: RetainLine) -> RetainLine:
            extra = {**line.extra, "reason": why} if why else line.extra
            return replace(line, retracted=now, extra=extra)

        return self._change("retract", {fact.id: retracted})[0]

    def confirm_all(self, ids: Sequence[str]) -> builtins.list[Fact]:
        """Confirm several in one step; an id that nobody has changes nothing."""
        facts = [self._open(id) for id in dict.fromkeys(ids)]
        with self._workspace.operation("confirm", facts=[fact.id for fact in facts]):
            return [self.confirm(fact.id) for fact in facts]

    def retract_all(self, ids: Sequence[str], reason: str | None = None) -> builtins.list[Fact]:
        """Retract several in one step; an id that nobody has changes nothing."""
        facts = [self._open(id) for id in dict.fromkeys(ids)]
        with self._workspace.operation("retract", facts=[fact.id for fact in facts]):
            return [self.retract(fact.id, reason) for fact in facts]

    def supersede(self, old_id: str, new_id: str) -> Fact:
        """The new fact takes the place of the old one, which ends when the new one begins."""
        old, new = self._open(old_id), self._open(new_id)
        if old.id == new.id:
            raise UsageError("A memory cannot take its own place.", hint="Name two of them.")
        return self._change("supersede", self._superseding(old, new))[0]

    def _superseding(self, old: Fact, new: Fact) -> dict[str, Callable[[RetainLine], RetainLine]]:
        end, start = self._begins(new), old.window(self._zone).start
        end = max(end, start) if start is not None else end  # it held for no time, not for less

        def ended(line: RetainLine) -> RetainLine:
            return line if line.until is not None else replace(line, until=end)

        def superseding(line: RetainLine) -> RetainLine:
            if old.id in line.supersedes:
                return line
            return replace(line, supersedes=(*line.supersedes, old.id))

        return {old.id: ended, new.id: superseding}

    def _begins(self, fact: Fact) -> datetime:
        """From when on it holds; what was said on a day was said by its end at the latest."""
        now, line = self._now(), fact.line
        if line.since is not None:
            return min(now, starts_at(line.since, self._zone))
        if line.observed is None:
            return now
        return min(now, ends_at(line.observed, self._zone) - timedelta(seconds=1))

    def _step(self, fact: Fact, line: RetainLine, trust: Trust) -> float | None:
        held = self.confidence(fact.with_line(line))
        return None if held is None else round(moved(held, supports=True, trust=trust), _ALMOST)

    def _open(self, id: str) -> Fact:
        fact = self.show(id)
        if fact.archived:
            raise UsageError(
                f"{fact.id} is in the archive.", hint=f"First: holdfast archive restore {fact.id}"
            )
        return fact

    def _change(
        self, what: str, changes: dict[str, Callable[[RetainLine], RetainLine]]
    ) -> builtins.list[Fact]:
        """Edit the lines of these ids, wherever they stand, as one step that can be undone."""
        with self._workspace.operation(what, facts=list(changes)):
            mine: dict[str, list[Fact]] = {}
            for fact in self._pages.facts():
                if fact.id in changes:
                    mine.setdefault(fact.path, []).append(fact)
            for path in sorted(mine):
                self._workspace.edit(path, self._editing(mine[path], changes))
        return [self.show(id) for id in changes]

    def _editing(
        self, facts: Sequence[Fact], changes: dict[str, Callable[[RetainLine], RetainLine]]
    ) -> Callable[[str | None], str | None]:
        """The edit of a file in which these facts stand; all other lines stay, also those that
        have an id of theirs and say something else, or are for somebody else."""

        named = [(line_id(fact.line), fact) for fact in facts]

        def change(line: RetainLine) -> RetainLine:
            id = line_id(line)
            for known, fact in named:
                if known == id and is_copy(line, fact.line) and self._pages.shows(line):
                    new = changes[fact.id](line)
                    # An id that another line has too gives way to the one this goes by.
                    return new if id == fact.id else replace(new, id=fact.id)
            return line

        return lambda text: None if text is None else edited(text, change)

    # ── contradictions ──────────────────────────────────────────────────────────────────────

    def conflicts(
        self, *, of: str | None = None, doubtful: bool = False
    ) -> builtins.list[Conflict]:
        """The contradictions between facts that hold now, or only those of one fact.

        ``doubtful``: also what only might be one.
        """
        facts, names = self._seen()
        if of is not None:
            facts = self._rivals(facts, {of}, names)
        facts = self._holding(facts)
        if of is not None:
            found = self._conflicts(facts, names, among={of})
        else:
            found = self._all_conflicts(facts, names)
        return [each for each in found if doubtful or not each.doubtful]

    def resolve(self, conflict_id: str, keep: str) -> tuple[Fact, Fact]:
        """Decide: ``new``, ``old`` or the id of the fact that is true, or ``both``.

        Returns the two facts as they are now, the older one first.
        """
        found = {each.id: each for each in self.conflicts(doubtful=True)}
        conflict = found.get(conflict_id)
        if conflict is None:
            near = did_you_mean(conflict_id, found)
            hint = near or "See: holdfast conflicts list"
            raise NotFound(f"There is no conflict {conflict_id!r} now.", hint=hint)
        old, new = conflict.old, conflict.new
        self._change("resolve", self._decided(old, new, keep))
        return self.show(old.id), self.show(new.id)

    def _decided(
        self, old: Fact, new: Fact, keep: str
    ) -> dict[str, Callable[[RetainLine], RetainLine]]:
        now = self._now()
        if keep == "both":
            return {old.id: agreeing(new.id), new.id: agreeing(old.id)}
        if keep in ("new", new.id):
            return self._superseding(old, new)
        if keep in ("old", old.id):
            return {
                new.id: lambda line: replace(line, retracted=now),
                old.id: lambda line: replace(line, verified=now),
            }
        raise UsageError(
            f"{keep!r} is none of the two.", hint=f"Keep new, old, both, {old.id} or {new.id}."
        )

    def observe(self, new: Sequence[RetainLine]) -> Judged:
        """What lines that were just written do to older ones, by the rules."""
        work = self.observing(new, ask=False)
        try:
            next(work)
        except StopIteration as stop:
            judged: Judged = stop.value
            return judged
        raise AssertionError("the rules ask nobody")

    def observing(
        self, new: Sequence[RetainLine], *, ask: bool = True
    ) -> Generator[ModelRequest, ModelReply | ModelFailure, Judged]:
        """The same, asking a model about the pairs that the rules found.

        An update ends the older fact if the newer line says that it changed and nobody less
        trusted says so; everything else is returned for a person, and nothing is changed.
        """
        facts, names = self._seen()
        said = {line_id(line): line for line in new}
        wanted = {
            fact.id
            for fact in facts
            if (line := said.get(fact.line.id or fact.id)) and is_copy(line, fact.line)
        }
        facts = self._holding(self._rivals(facts, wanted, names))
        facts.sort(key=lambda fact: fact.id in wanted)
        found = self._conflicts(facts, names, among=wanted)
        if ask and found:
            found = yield from asked(found)
        sure = [each for each in found if not each.doubtful]
        updates = [each for each in sure if is_update(each, self._zone)]
        supported = self._supported(facts, wanted, names)
        raised = self._apply(updates, supported) if updates or supported else []
        return Judged(
            updates=tuple(self.show(id) for id in dict.fromkeys(each.old.id for each in updates)),
            conflicts=tuple(each for each in sure if each not in updates),
            supported=tuple(raised),
        )

    def _holding(self, facts: Iterable[Fact]) -> builtins.list[Fact]:
        """Those that are held true now, in the order in which they were said."""
        return sorted(
            (fact for fact in facts if self.holds(fact) and self._believes(fact)), key=self._age
        )

    def _believes(self, fact: Fact) -> bool:
        held = self.confidence(fact)
        return held is None or held >= EVEN

    def _rivals(self, facts: Sequence[Fact], wanted: set[str], names: Names) -> builtins.list[Fact]:
        subjects = {fact.id: self._subject(fact, names) for fact in facts}
        return about_the_same(facts, subjects, wanted)

    def _apply(
        self, updates: Sequence[Conflict], supported: Sequence[tuple[Fact, Fact]]
    ) -> builtins.list[Fact]:
        raised: dict[str, Fact] = {}
        with self._workspace.operation("observe"):
            for each in updates:
                self._change("supersede", self._superseding(each.old, each.new))
            for old, new in supported:
                known = raised.get(old.id, old)
                fresh = evidence(new.line, known.line)
                if fact := self.support(old.id, trust=new.line.trust, sources=fresh):
                    raised[old.id] = fact
        return list(raised.values())

    def _supported(
        self, facts: Sequence[Fact], wanted: set[str], names: Names
    ) -> builtins.list[tuple[Fact, Fact]]:
        """Opinions that a new one repeats in other words, each with the new one."""
        beliefs = [(fact, self._statement(fact, names)) for fact in facts if fact.line.kind == "O"]
        return [
            (old, new)
            for new, said in beliefs
            if new.id in wanted
            for old, stated in beliefs
            if old.id not in wanted and agree(stated, said)
        ]

    def _all_conflicts(self, facts: builtins.list[Fact], names: Names) -> builtins.list[Conflict]:
        """Comparing thousands of facts takes seconds; the same ones are not compared again."""
        known = self._compared
        if known is None or known[0] != facts or known[1] != names:
            known = self._compared = (facts, names, self._conflicts(facts, names))
        return known[2]

    def _conflicts(
        self, facts: Sequence[Fact], names: Names, *, among: set[str] | None = None
    ) -> builtins.list[Conflict]:
        stated = [self._statement(fact, names) for fact in facts]
        positions = None
        if among is not None:
            positions = {at for at, fact in enumerate(facts) if fact.id in among}
        return [
            Conflict(
                id=conflict_id(facts[one].id, facts[other].id),
                kind=verdict.kind,
                old=facts[one],
                new=facts[other],
                doubtful=verdict.doubtful,
            )
            for one, other, verdict in find(stated, among=positions).pairs
            if not are_settled(facts[one], facts[other])
        ]

    def _statement(self, fact: Fact, names: Names) -> Statement:
        key = self._subject(fact, names)
        if key is None:
            return self._stated(fact.line.text)
        return self._stated(fact.line.text, entity=key, names=names.all_of(key))

    # ── time ────────────────────────────────────────────────────────────────────────────────

    def _moment(self, as_of: date | datetime | str | None) -> datetime:
        if as_of is None:
            return self._now()
        if isinstance(as_of, str):
            as_of = _day(as_of)
        if isinstance(as_of, datetime):
            return starts_at(as_of, self._zone)
        return datetime.combine(as_of, time.max, tzinfo=self._zone)

    def _age(self, fact: Fact) -> tuple[datetime, str, int]:
        """When it was said; what nobody dated was there before."""
        said = fact.said_at(self._zone)
        return said or datetime.min.replace(tzinfo=UTC), fact.path, fact.number


def _once(facts: Iterable[Fact]) -> list[Fact]:
    """Each id once, where it stands first: what is written twice is one fact."""
    return list({fact.id: fact for fact in reversed(list(facts))}.values())[::-1]


def _check_one_of(name: str, value: str | None, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        raise UsageError(f"There is no {name} {value!r}.", hint=f"One of: {', '.join(known)}")


def _day(written: str) -> date | datetime:
    try:
        is_day = len(written) == len("2025-11-30")
        return date.fromisoformat(written) if is_day else datetime.fromisoformat(written)
    except ValueError:
        raise UsageError(f"{written!r} is no date.", hint="Write it as 2025-11-30.") from None
