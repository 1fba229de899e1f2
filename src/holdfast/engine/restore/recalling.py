"""What is remembered about a message that was just said: searched, weighed, quoted.

Over memory and earlier conversations, and over what left the view of this one. Local, bounded
in time and tokens, and nothing at all where nothing is close enough.

Promise: nothing that the model sees already is brought back; what was compacted away is found;
a passage is quoted with its source, whose word it is and when it was said, and cannot leave its
fence; encoders are used if they are there, never waited for beyond the time; a search that
failed is told as one (``tests/engine/test_recall.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Final

from holdfast.context.restoring import spoken_in
from holdfast.engine.admission import refusal
from holdfast.engine.restore.bar import MEANING_BAR, WORDS_BAR, content_terms, strength
from holdfast.engine.restore.gathering import has_memory
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError
from holdfast.fencing import Quoted, fence, without_fenced
from holdfast.markdown import split_lines
from holdfast.redact import redact
from holdfast.retain import parse
from holdfast.sessions.store import Look
from holdfast.text import Term, cut, normalise, shorten
from holdfast.types import Citation, Json, Message, Text, View, ViewItem

if TYPE_CHECKING:
    from holdfast.ports import Embedder
    from holdfast.search.request import Passage, SearchResult

__all__ = ["NotRecalled", "Recalled", "recall"]

_LOOKED_AT: Final = 12
"""Passages that are asked for: some of them are in the view already."""
_JUDGED: Final = 3
"""The best of them decide whether anything is recalled."""
_BESIDE: Final = 0.6
"""Of the best score: what is further behind has little to add."""
_QUERY: Final = 1_200
_SHORTEST: Final = 40
_UNQUOTED: Final = re.compile(r"^> ?", re.MULTILINE)
_NOT_LOADED: Final = "by words alone: the encoder is not loaded yet"
_NO_TIME: Final = "by words alone: no time was left for meaning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """Quoted passages, and where each stands."""

    text: str
    passages: tuple[str, ...]
    tokens: int
    took_ms: float
    best: float
    """How firmly the best passage is tied to the message; the bar is ``bar.WORDS_BAR``."""
    reason: str = ""
    """What did not run, if something did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRecalled:
    reason: str
    took_ms: float = 0.0
    best: float = 0.0


def recall(
    rooms: Rooms,
    session: str,
    look: Look,
    message: Message,
    *,
    price: Callable[[str], int],
    language: str | None,
    limit_tokens: int,
    timeout_ms: int,
    shown: Sequence[str] = (),
) -> Recalled | NotRecalled:
    """What to attach to this message of the user, or why nothing is.

    ``look`` is what the model sees of the conversation, with or without the message; ``shown``
    is what it sees besides. What the session began with is known here.
    """
    began = perf_counter()
    text = without_fenced(_said(message))
    terms = content_terms(shorten(text, _QUERY, _QUERY // 2, " "))
    reason = _why_not(rooms, session, look, terms, limit_tokens)
    if reason is not None:
        return NotRecalled(reason=reason, took_ms=_since(began))
    restored = rooms.transcript(session).state().restored or ""
    recalling = _Recalling(
        rooms=rooms, session=session, look=look, said=text, terms=terms, shown=(*shown, restored)
    )
    try:
        found = recalling.search(timeout_ms)
    except HoldfastError as error:
        return NotRecalled(reason=f"the search failed: {error.message}", took_ms=_since(began))
    left_ms = timeout_ms - _since(began)
    chosen = recalling.chosen(found, left_ms)
    if not chosen:
        why = recalling.why_nothing(found)
        return NotRecalled(reason=why, took_ms=_since(began), best=recalling.best)
    spoken = _language(rooms, language, text)
    quoted = recalling.packed(chosen, price, limit_tokens, spoken)
    if quoted is None:
        why = f"nothing fits into {limit_tokens} tokens"
        return NotRecalled(reason=why, took_ms=_since(began), best=recalling.best)
    fenced, passages = quoted
    return Recalled(
        text=fenced,
        passages=tuple(each.citation for each in passages),
        tokens=price(fenced),
        took_ms=_since(began),
        best=recalling.best,
        reason="; ".join([*recalling.missing, *found.degraded]),
    )


def _said(message: Message) -> str:
    """What the user said; results of tools ask for nothing."""
    return "\n".join(part.text for part in message.parts if isinstance(part, Text))


def _why_not(
    rooms: Rooms, session: str, look: Look, terms: Sequence[Term], limit_tokens: int
) -> str | None:
    """Why there is nothing to search for, without searching."""
    settings = rooms.settings
    if rooms.memory_mode(session) == "off":
        return "memory is switched off"
    if settings.recall.mode != "auto":
        return f'recall.mode is "{settings.recall.mode}"'
    if not limit_tokens:
        return "recall.max_tokens is 0"
    if (refused := refusal(rooms, rooms.scope)) is not None:
        return refused.message
    if not terms:
        return "the message names nothing to look for"
    if _has_left(look) or has_memory(rooms):
        return None
    others = any(name != session for name in rooms.store.names())
    return None if others or rooms.memberships else "nothing is remembered yet"


def _has_left(look: Look) -> bool:
    """Whether the model does not see all that was said here."""
    return look.compaction is not None or any(
        entry.type == "prune" or entry.data.get("kind") == "reset" for entry in look.entries
    )


@dataclass(slots=True, kw_only=True)
class _Recalling:
    """One recall while it runs."""

    rooms: Rooms
    session: str
    look: Look
    said: str
    terms: Sequence[Term]
    shown: tuple[str, ...]
    best: float = 0.0
    seen: int = 0
    missing: list[str] = field(default_factory=list)

    def search(self, timeout_ms: int) -> SearchResult:
        # Loaded by the first recall that has something to look for.
        searching = import_module("holdfast.engine.searching.asking")
        result: SearchResult = searching.search(
            self.rooms,
            shorten(self.said, _QUERY, _QUERY // 2, " "),
            limit=max(_LOOKED_AT, 2 * self.rooms.settings.search.max_results),
            vectors=bool(self._encoders()) and not self.missing,
            timeout_ms=timeout_ms,
            explain=True,
            in_view=None if _has_left(self.look) else self.session,
        )
        return result

    # ── meaning ─────────────────────────────────────────────────────────────────────────────

    def _encoders(self) -> list[Embedder]:
        """The encoders for this message that are loaded; those that are not begin to."""
        meaning = import_module("holdfast.search.query.meaning")
        room = self.rooms.search
        fitting: list[Embedder] = meaning.fitting(room.embedders, self.said)
        if fitting and self.rooms.has_background:
            room.start()
        idle = [each for each in fitting if not getattr(each, "is_loaded", True)]
        if idle:
            self.missing = [_NOT_LOADED]
            if self.rooms.has_background:
                for each in idle:
                    room.embedding.load(each)
        return [each for each in fitting if each not in idle]

    def _is_near(self, passages: Sequence[Passage], left_ms: float) -> bool:
        """Whether the message means what one of the passages says in another language: there
        words cannot tell. In the same one it changed nothing that could be measured."""
        spoken = spoken_in([self.said])
        passages = [each for each in passages if spoken_in([each.text]) != spoken]
        encoders = self._encoders() if passages and not self.missing else []
        if not encoders:
            return False
        deadline = import_module("holdfast.search.query.deadline")
        texts = [cut(self.said, _QUERY), *(cut(each.text, _QUERY) for each in passages)]
        for encoder in encoders:
            try:
                work = deadline.start(partial(_nearness, encoder, texts))
                near: float = work.result(max(0.0, left_ms) / 1000)
            except (deadline.TooSlow, deadline.TooBusy):
                self.missing = [_NO_TIME]
                return False
            except Exception as error:  # noqa: BLE001 - an encoder is other people's code
                self.missing = [f"by words alone: {encoder.name} failed: {type(error).__name__}"]
                return False
            if near >= MEANING_BAR:
                return True
        return False

    # ── which passages ──────────────────────────────────────────────────────────────────────

    def chosen(self, found: SearchResult, left_ms: float) -> list[Passage]:
        """Those that are worth showing, best first; none, if even the best has little to say."""
        eyes = _Eyes(self.rooms, self.session, self.look, [self.said, *self.shown])
        new = [each for each in found.passages if not eyes.have(each)]
        self.seen = len(found.passages) - len(new)
        legs = found.trace.get("legs", {})
        counts: dict[str, int] = legs.get("words", {})
        many = int(found.trace.get("filters", {}).get("remaining", 0))
        judged = new[:_JUDGED]
        self.best = max(
            (
                strength(self.terms, _searched(each), found_in=counts, passages=many)
                for each in judged
            ),
            default=0.0,
        )
        if self.best < WORDS_BAR and not self._is_near(judged, left_ms):
            return []
        least = _BESIDE * new[0].score
        kept = [each for each in new if each.score >= least]
        return kept[: self.rooms.settings.search.max_results]

    def why_nothing(self, found: SearchResult) -> str:
        if not found.passages:
            why = found.why_empty or "nothing was found"
        elif self.seen == len(found.passages):
            why = "what was found is in the view already"
        else:
            why = f"nothing is close enough ({self.best:.2f} of {WORDS_BAR})"
        return "; ".join([why, *self.missing, *found.degraded])

    # ── the text ────────────────────────────────────────────────────────────────────────────

    def packed(
        self,
        passages: Sequence[Passage],
        price: Callable[[str], int],
        limit: int,
        language: str,
    ) -> tuple[str, list[Passage]] | None:
        """As many of the passages as fit; of one that alone is too long, its beginning."""
        nonce = self.rooms.ids.new(self.rooms.clock.now()).rjust(8, "0")
        taken: list[Quoted] = []
        text = ""
        for number, passage in enumerate(passages, 1):
            for quoted in self._shorter(passage, number, is_first=not taken):
                tried = fence([*taken, quoted], nonce=nonce, language=language)
                if price(tried) <= limit:
                    taken.append(quoted)
                    text = tried
                    break
            else:
                break
        return (text, list(passages[: len(taken)])) if taken else None

    def _shorter(self, passage: Passage, number: int, *, is_first: bool) -> Iterator[Quoted]:
        rooms = self.rooms
        chosen = rooms.settings.search.citations
        is_cited = chosen == "on" or (chosen == "auto" and rooms.scope.chat_type == "direct")
        quoted = Quoted(
            text=redact(_readable(passage)),
            citation=passage.citation if is_cited else str(number),
            label=passage.trust,
            observed=passage.time and passage.time.astimezone(rooms.zone).date(),
        )
        yield quoted
        length = len(quoted.text) // 2
        while is_first and length >= _SHORTEST:
            yield replace(quoted, text=cut(quoted.text, length) + "…")
            length //= 2


class _Folded:
    """The texts of a view, made comparable; of an item that stays in the view, once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ViewItem, str]] = {}

    def of(self, view: View) -> list[str]:
        known = self._known
        now: dict[int, tuple[ViewItem, str]] = {}
        for item in view.items:
            held = known.get(id(item))  # alive as long as it is held here: no other has its id
            now[id(item)] = held or (item, _folded(item.message.text))
        self._known = now
        return [text for _, text in now.values()]


def _folded(text: str) -> str:
    return normalise(_UNQUOTED.sub("", text))


class _Eyes:
    """What the model sees already."""

    def __init__(self, rooms: Rooms, session: str, look: Look, texts: Sequence[str]) -> None:
        self._rooms = rooms
        self._session = session
        self._texts = [*look.kept.get(_Folded).of(look.view), *map(_folded, texts)]
        self._entries = frozenset(
            id
            for item in look.view.items
            if item.kind in ("message", "pin") and not item.shortened
            for id in item.stands_for
        )
        self._sources = frozenset(f"{session}#{id}" for id in self._entries)
        recalls = {
            id for item in look.view.items if item.kind == "recall" for id in item.stands_for
        }
        self._cited = frozenset(
            cited
            for entry in look.entries
            if entry.id in recalls
            for cited in _citations(entry.data)
        )
        self._files: dict[str, list[str]] = {}

    def have(self, passage: Passage) -> bool:
        """Whether they see its entry, its text, or what it is made of."""
        own = passage.source == "session" and passage.citation.startswith(f"{self._session}#")
        if own and self._entries.issuperset(passage.entries):
            return True
        if passage.citation in self._cited or self._is_made_of_view(passage):
            return True
        wanted = normalise(passage.text)
        return any(wanted in text for text in self._texts)

    def _is_made_of_view(self, passage: Passage) -> bool:
        """Whether a memory was written of what is still in the view."""
        cited = Citation.parse(passage.citation)
        if cited is None or cited.span is None:
            return False
        lines = self._lines(cited.source)[cited.span.start - 1 : cited.span.end]
        memories = [known for line in lines if (known := parse(line)) is not None]
        return bool(memories) and all(
            known.sources and self._sources.issuperset(known.sources) for known in memories
        )

    def _lines(self, path: str) -> list[str]:
        if path not in self._files:
            try:
                text = self._rooms.memory.workspace.read(path)
            except HoldfastError:
                text = None  # of another place: its sources are not of this session
            self._files[path] = split_lines(text or "")
        return self._files[path]


def _nearness(encoder: Embedder, texts: Sequence[str]) -> float:
    """The greatest cosine of the first text with one of the others."""
    numpy = import_module("numpy")
    vectors = encoder.embed(texts).vectors
    lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / numpy.maximum(lengths, 1e-9)
    return float((unit[1:] @ unit[0]).max())


def _citations(data: Json) -> Iterator[str]:
    given = data.get("passages")
    for each in given if isinstance(given, list) else ():
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict) and isinstance(each.get("citation"), str):
            yield each["citation"]


def _searched(passage: Passage) -> str:
    return " ".join([passage.speaker or "", passage.context, *passage.entities, passage.text])


def _readable(passage: Passage) -> str:
    said = f"{passage.speaker}: {passage.text}" if passage.speaker else passage.text
    return f"({passage.context})\n{said}" if passage.context else said


def _language(rooms: Rooms, asked: str | None, text: str) -> str:
    for named in (asked, rooms.settings.memory.language):
        if named and named.casefold().startswith(("zh", "en")):
            return named.casefold()[:2]
    return spoken_in([text])


def _since(began: float) -> float:
    return (perf_counter() - began) * 1000
