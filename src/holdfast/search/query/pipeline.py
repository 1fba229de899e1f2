"""One search, from the request to passages with citations: the same for every door.

    analyse    terms, names, times, parts of the question         query.analysis
    scope      what the reader may read, then what is asked for   scope, query.filters
    legs       words and meaning over all rows, then the pool     query.legs, ranking
    exact      what no later stage may take away                  query.exactness
    rerank     if it is switched on                               query.outside
    weigh      age, importance, trust                             query.decay
    variety    repeats become one, no entry takes all places      query.diversity, query.sharing
    check      every citation against the present text            query.citing
    pack       to characters and tokens                           query.packing

Promise: no row the reader may not read is ever ranked, shown or counted; a stage that did not
run is named in ``degraded``; an answer without passages says why; no query text is an error
(``tests/search/test_pipeline.py``, ``test_scope_of_search.py``, ``test_search_fuzz.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta, tzinfo
from time import monotonic as system_monotonic
from typing import Final

import numpy as np

from holdfast.errors import PolicyRefused
from holdfast.ports import Embedder, Expander, Reranker
from holdfast.scope import Place, may_read
from holdfast.search.index.index import Index
from holdfast.search.index.snapshot import Snapshot
from holdfast.search.query.analysis import Analysed, analyse
from holdfast.search.query.candidates import Candidate
from holdfast.search.query.checks import check
from holdfast.search.query.citing import Content, Fresh, Verifier
from holdfast.search.query.deadline import Deadline
from holdfast.search.query.diversity import diversified, folded, with_exact
from holdfast.search.query.emptiness import Situation, why_empty
from holdfast.search.query.exactness import Exactness, exactness
from holdfast.search.query.filters import Columns, Filtered, Mask, filtered, names_of, within
from holdfast.search.query.legs import OWN, Found, Legs
from holdfast.search.query.meaning import NO_ENCODER, Encoding, Meaning, fitting, not_embedded
from holdfast.search.query.misses import MOST_TEXTS, asked_words, near_words
from holdfast.search.query.outside import expanded, other_names, reranked, widened
from holdfast.search.query.packing import Budget, fitted
from holdfast.search.query.sharing import Taken, apart
from holdfast.search.query.shortlist import Shortlist
from holdfast.search.query.telling import (
    NO_WORD,
    asked_for,
    left_out_undated,
    limits_of,
    not_then,
    only_by_meaning,
)
from holdfast.search.query.tuning import Tuning
from holdfast.search.request import Passage, SearchRequest, SearchResult
from holdfast.text import cut
from holdfast.types import Json

__all__ = ["search"]

_LONGEST_QUERY: Final = 8_000
"""Characters that are looked for; the rest of a longer one is named in ``degraded``."""
_OTHER_NAME: Final = 0.45
_OTHER_WORD: Final = 0.3
"""A term of the query counts 1, a single Chinese character half of it."""
_AT_ONCE: Final = 64
"""Passages that are read together when one long entry fills all that was read before."""
_NOT_THEN: Final = "nothing was found of that time: it counts for more, and limits nothing"


def search(
    request: SearchRequest,
    index: Index,
    *,
    zone: tzinfo,
    embedders: Sequence[Embedder] = (),
    content: Content | None = None,
    is_fresh: Fresh | None = None,
    reranker: Reranker | None = None,
    expander: Expander | None = None,
    aliases: Mapping[str, Sequence[str]] | None = None,
    tuning: Tuning | None = None,
    count_tokens: Callable[[str], int] = len,
    degraded: Sequence[str] = (),
    monotonic: Callable[[], float] = system_monotonic,
) -> SearchResult:
    """What the reader may know about the query, best first.

    ``content`` gives the present text a citation stands for, and is not asked about documents
    that are known to be as they were indexed, by ``is_fresh`` of their key (``citing``);
    ``degraded`` is what did not run before, such as catching up; ``count_tokens`` is asked only
    if ``max_tokens`` is set.

    Raises:
        UsageError: a value in the request makes no sense.
    """
    check(request, zone)
    tuning = tuning or Tuning()
    deadline = Deadline(seconds=request.timeout_ms / 1000, monotonic=monotonic)
    ahead = zone.utcoffset(request.now.replace(tzinfo=None)) or timedelta(0)
    with index.snapshot(zone_seconds=round(ahead.total_seconds())) as snapshot:
        return _Run(
            request=request,
            snapshot=snapshot,
            zone=zone,
            embedders=embedders if request.vectors else (),
            verifier=Verifier(content=content, is_fresh=is_fresh),
            reranker=reranker if tuning.rerank else None,
            expander=expander if tuning.expand else None,
            aliases=(aliases or {}) if tuning.expand is not False else {},
            tuning=tuning,
            count_tokens=count_tokens,
            deadline=deadline,
            degraded=list(degraded),
            syncing=any(not one.startswith("meaning:") for one in degraded),
        ).answer()


@dataclass(slots=True, kw_only=True)
class _Run:
    """One search while it runs."""

    request: SearchRequest
    snapshot: Snapshot
    zone: tzinfo
    embedders: Sequence[Embedder]
    verifier: Verifier
    reranker: Reranker | None
    expander: Expander | None
    aliases: Mapping[str, Sequence[str]]
    tuning: Tuning
    count_tokens: Callable[[str], int]
    deadline: Deadline
    degraded: list[str]
    syncing: bool
    stale: dict[str, None] = field(default_factory=dict)
    shown: list[Candidate] = field(default_factory=list)
    trace: dict[str, Json] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    _marked: float = 0.0
    _may_read: dict[Place, bool] = field(default_factory=dict)

    # ── the way of a search ─────────────────────────────────────────────────────────────────

    def answer(self) -> SearchResult:
        query = self._query()
        readable, places = self._readable()
        chosen = self._filtered(readable)
        if not query.strip() or not chosen.mask.any():
            return self._result([], None, readable, chosen)
        asked = self._analysed(query, readable, is_all=places is None)
        self._mark("scope and query")
        exact = exactness(query, _own_terms(asked))
        found = self._found(asked, exact, self._masks(asked, chosen.mask), places)
        passages = self._passages(self._staged(query, asked, found, exact), asked)
        self._remark(asked)
        return self._result(passages, asked, readable, chosen)

    def _found(
        self,
        asked: Analysed,
        exact: Exactness,
        masks: Sequence[Mask],
        places: frozenset[int] | None,
    ) -> Found:
        """What is found in the first of the masks in which a word or a vector is."""
        encoding = self._encoding(asked)
        meaning: Meaning | None = None
        for mask in masks:
            legs = Legs(
                snapshot=self.snapshot,
                mask=mask,
                places=places,
                questions=asked.parts,
                tuning=self.tuning,
            )
            legs.read_words(exact.identifiers)
            self._mark("words")
            meaning = meaning or self._meaning(encoding)
            self._mark("meaning")
            found = legs.ranked(
                meaning.encoded,
                self.embedders,
                self.deadline,
                wanted=self.request.limit,
                named=exact.identifiers,
            )
            self._mark("ranking")
            if mask is masks[-1] or meaning.encoded or legs.has_words:
                break
            self.trace["time_limit"] = _NOT_THEN
        if self.request.explain:
            self.trace["legs"] = legs.counts()
        return found

    def _query(self) -> str:
        query = cut(self.request.query, _LONGEST_QUERY)
        if len(query) < len(self.request.query):
            self.degraded.append(
                f"query: only the first {len(query)} of {len(self.request.query)} characters "
                "are looked for"
            )
        return query

    def _mark(self, stage: str) -> None:
        now = self.deadline.elapsed()
        self.spent[stage] = self.spent.get(stage, 0.0) + now - self._marked
        self._marked = now

    # ── who may read what, and what is asked for ────────────────────────────────────────────

    def _readable(self) -> tuple[Mask, frozenset[int] | None]:
        """The rows in places the reader may read; None for the places when that is all."""
        request = self.request
        allowed = [
            may_read(request.reader, place, memberships=request.memberships)
            for place in self.snapshot.places
        ]
        if all(allowed):
            return np.ones(len(self.snapshot.rows), dtype=bool), None
        readable: Mask = np.array(allowed, dtype=bool)[self.snapshot.rows.place]
        return readable, frozenset(number for number, may in enumerate(allowed) if may)

    def _filtered(self, readable: Mask) -> Filtered:
        entity = self.request.entity
        about = None
        if entity is not None:
            about = self.snapshot.entity_mask(names_of(entity, self.aliases))
        return filtered(
            self.request,
            _columns(self.snapshot),
            readable,
            keys=[one.key for one in self.snapshot.documents] if self.request.session else (),
            entity=about,
            zone=self.zone,
        )

    def _analysed(self, query: str, readable: Mask, *, is_all: bool) -> Analysed:
        """Only speakers who are heard in what may be read are names."""
        request, known = self.request, self.snapshot.rows.speakers
        asked = None
        if is_all:  # few queries name somebody: who is heard is counted only then
            asked = analyse(query, speakers=known, now=request.now, zone=self.zone)
        if asked is None or asked.speakers:
            heard = self._heard(readable)
            if asked is None or not asked.speakers <= set(heard):
                asked = analyse(query, speakers=heard, now=request.now, zone=self.zone)
        names = other_names(query, self.aliases)
        words = expanded(query, self.expander, self.deadline, self.degraded)
        self.trace |= {"other_names": list(names), "other_words": list(words)}
        return widened(widened(asked, names, _OTHER_NAME), words, _OTHER_WORD)

    def _heard(self, readable: Mask) -> list[str]:
        rows = self.snapshot.rows
        counts = np.bincount(rows.speaker[readable] + 1, minlength=len(rows.speakers) + 1)[1:]
        return [name for name, count in zip(rows.speakers, counts, strict=False) if count]

    def _masks(self, asked: Analysed, mask: Mask) -> list[Mask]:
        """What is of the time that "since" or "before" limits the query to, and then everything:
        a limit that leaves nothing is only a wish."""
        limits = [(one.start.timestamp(), one.end.timestamp()) for one in limits_of(asked)]
        if not limits or len(asked.parts) > 1:
            return [mask]
        narrow = within(_columns(self.snapshot), mask, limits)
        if narrow is None:
            self.trace["time_limit"] = _NOT_THEN
            return [mask]
        self.trace["time_limit"] = {"left_out": int(np.count_nonzero(mask & ~narrow))}
        return [narrow, mask]

    # ── meaning ─────────────────────────────────────────────────────────────────────────────

    def _encoding(self, asked: Analysed) -> Encoding | None:
        if not self.request.vectors or self.tuning.vector_weight == 0:
            return None
        if not self.embedders:
            self.degraded.append(NO_ENCODER)
            return None
        fit = fitting(self.embedders, asked.query)
        self.degraded += not_embedded([one.name for one in fit], self.snapshot.coverage())
        known = self.snapshot.embedders()
        able = [one for one in fit if one.name in known]
        return Encoding(able, [part.text for part in asked.parts]) if able else None

    def _meaning(self, encoding: Encoding | None) -> Meaning:
        meaning = encoding.finish(self.deadline) if encoding else Meaning()
        self.degraded += meaning.degraded
        return meaning

    # ── from scores to passages ─────────────────────────────────────────────────────────────

    def _staged(
        self, query: str, asked: Analysed, found: Found, exact: Exactness
    ) -> Iterator[Candidate]:
        """The best, weighed and without repeats; then, if more are asked for, what is left."""
        wanted = self.request.limit
        shortlist = self._shortlist(asked, found, exact, wanted)
        first, later = shortlist.split(wanted, by_text=self.reranker is not None)
        candidates = [self._checked(one) for one in first.read()]
        candidates = reranked(query, candidates, self.reranker, self.deadline, self.degraded)
        self._mark("weighing")
        if self.deadline.allows("variety"):
            candidates = folded(candidates, wanted=wanted)
            candidates = diversified(candidates, wanted=wanted, weight=self.tuning.mmr)
        self._mark("variety")
        taken = Taken()
        candidates, put_off = apart(candidates, taken)
        yield from with_exact(candidates, wanted=wanted)
        more, others = apart(list(map(self._checked, later.read())), taken)
        yield from more
        if put_off or others:  # one long entry must not be all that was looked at
            wider = self._shortlist(asked, found, exact, len(found.positions))
            for some in wider.without(shortlist).slices(_AT_ONCE):
                more, more_others = apart(list(map(self._checked, some.read())), taken)
                others += more_others
                yield from more
        yield from (*put_off, *others)

    def _shortlist(self, asked: Analysed, found: Found, exact: Exactness, wanted: int) -> Shortlist:
        return Shortlist.of(
            self.snapshot,
            found,
            exact,
            wanted=wanted,
            now=self.request.now,
            half_life_days=self.tuning.half_life_days,
            names_a_time=bool(asked.times),
            explain=self.request.explain,
        )

    def _checked(self, candidate: Candidate) -> Candidate:
        """Once more, on the row itself: a foreign one here is a fault of ours, and is not shown."""
        place = candidate.place
        if place not in self._may_read:
            self._may_read[place] = may_read(
                self.request.reader, place, memberships=self.request.memberships
            )
        if not self._may_read[place]:
            raise PolicyRefused(
                "The index returned a passage from a place the reader may not read; nothing of "
                "it was shown.",
                hint="holdfast index rebuild",
            )
        return candidate

    def _passages(self, candidates: Iterable[Candidate], asked: Analysed) -> list[Passage]:
        request = self.request
        budget = Budget(
            chars=request.max_chars, tokens=request.max_tokens, count_tokens=self.count_tokens
        )
        weights = {one.term: one.weight for part in asked.parts for one in part.concepts}
        passages: list[Passage] = []
        for candidate in self._present(candidates):
            shown = fitted(
                candidate.text,
                weights,
                budget,
                limit=request.snippet_chars,
                first=not passages,
            )
            if shown is None:
                break
            passages.append(self._passage(candidate, shown.text))
            self.shown.append(candidate)
            if len(passages) == request.limit:
                break
        self._mark("citing and packing")
        return passages

    def _present(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        for candidate in candidates:
            checked = self.verifier.check(candidate)
            if checked.candidate is not None:
                yield checked.candidate
            elif checked.stale is not None:
                self.stale[checked.stale] = None

    def _passage(self, candidate: Candidate, text: str) -> Passage:
        trace: Mapping[str, Json] | None = None
        if self.request.explain:
            trace = candidate.trace()
        elif candidate.also:
            trace = {"also": list(candidate.also)}
        return Passage(
            id=candidate.id,
            text=text,
            citation=str(candidate.citation),
            score=candidate.score,
            kind=candidate.fact_kind or candidate.kind,
            source=candidate.source,
            time=candidate.at,
            speaker=candidate.speaker,
            entities=candidate.entities,
            trust=candidate.trust,
            context=candidate.context,
            entries=(candidate.entry,) if candidate.entry else (),
            trace=trace,
        )

    def _remark(self, asked: Analysed) -> None:
        """What is shown may not be what was asked for."""
        if self.shown and self.trace.get("time_limit") == _NOT_THEN:
            self.degraded.append(not_then(limits_of(asked)))
        if only_by_meaning(asked, self.shown):
            self.degraded.append(NO_WORD)

    # ── the answer ──────────────────────────────────────────────────────────────────────────

    def _result(
        self, passages: list[Passage], asked: Analysed | None, readable: Mask, chosen: Filtered
    ) -> SearchResult:
        """``asked`` is None when there was nothing to look for, or nothing to look in."""
        reason = None if passages else why_empty(self._situation(asked, readable, chosen))
        self.degraded += [f"stale: {one}" for one in self.stale]
        if chosen.undated:
            self.degraded.append(left_out_undated(chosen.undated))
        if self.deadline.skipped:
            skipped = ", ".join(dict.fromkeys(self.deadline.skipped))
            self.degraded.append(
                f"deadline: {self.request.timeout_ms} ms were over before {skipped}"
            )
        return SearchResult(
            passages=tuple(passages),
            degraded=tuple(dict.fromkeys(self.degraded)),
            why_empty=reason,
            took_ms=self.deadline.elapsed() * 1000,
            trace=self._trace(asked, chosen) if self.request.explain else {},
        )

    def _situation(self, asked: Analysed | None, readable: Mask, chosen: Filtered) -> Situation:
        request, count = self.request, int(readable.sum())
        none_of = {name for name, left_out in chosen.excluded.items() if left_out == count}
        terms = _own_terms(asked) if asked else ()
        return Situation(
            query=request.query,
            terms=asked_words(asked.query, terms) if asked and terms else (),
            readable=count,
            excluded=chosen.excluded,
            remaining=int(chosen.mask.sum()),
            unknown_session=request.session if "session" in none_of else None,
            unknown_entity=request.entity if "entity" in none_of else None,
            near=self._near(asked, chosen) if asked else (),
            stale=tuple(self.stale),
            timed_out=bool(self.deadline.skipped),
            syncing=self.syncing,
        )

    def _near(self, asked: Analysed, chosen: Filtered) -> list[str]:
        """Words near to those that do not occur, from what was stored last and may be read."""
        if not self.deadline.allows("nearest words"):
            return []
        last = np.flatnonzero(chosen.mask)[-MOST_TEXTS:]
        return near_words(_own_terms(asked), (one.text for one in self.snapshot.chunks(last)))

    def _trace(self, asked: Analysed | None, chosen: Filtered) -> dict[str, Json]:
        return {
            **(asked_for(asked) if asked else {}),
            **self.trace,
            "filters": {
                "left_out": dict(chosen.excluded),
                "remaining": int(chosen.mask.sum()),
                "left_out_without_date": chosen.undated,
            },
            "stages_ms": {name: round(took * 1000, 3) for name, took in self.spent.items()},
        }


def _columns(snapshot: Snapshot) -> Columns:
    rows = snapshot.rows
    return Columns(
        document=rows.document,
        source=rows.source,
        fact=snapshot.fact,
        at=rows.at,
        since=snapshot.since,
        until=snapshot.until,
    )


def _own_terms(asked: Analysed) -> tuple[str, ...]:
    """What the query itself says, without what was added to it."""
    return tuple(
        dict.fromkeys(
            one.term for part in asked.parts for one in part.concepts if one.weight >= OWN
        )
    )
