"""What a transcript, a timeline and a beginning look like as answers
(``tests/server/test_transcripts.py``)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from holdfast.server.rendering import Renderer, render

if TYPE_CHECKING:
    from holdfast.engine.chronicle import Beginning, Item, Page, SavedLine, Timeline
    from holdfast.engine.chronicle.items import Compacted, Flushed, Marked
    from holdfast.types import Usage

__all__ = [
    "BeginningShape",
    "ItemShape",
    "PageShape",
    "SavedLineShape",
    "TimelineShape",
    "Words",
    "beginning_shape",
    "item_shape",
    "page_shape",
    "saved_shape",
    "timeline_shape",
]


def _readable(value: Any) -> Any:
    """Half of a surrogate pair is no character, and cannot be sent."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


Words = Annotated[str, BeforeValidator(_readable)]
"""Text of an answer: somebody may have said anything."""


class SavedLineShape(BaseModel):
    """A memory that was written, and where it stands."""

    id: str
    kind: str
    text: Words
    trust: str
    path: Words
    number: int | None = Field(description="Its line; null if it does not stand there any more.")
    citation: Words


class CallShape(BaseModel):
    id: Words
    name: Words
    arguments: Words


class ResultShape(BaseModel):
    id: Words
    name: Words
    text: Words
    is_error: bool


class UsageShape(BaseModel):
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class SummaryShape(BaseModel):
    text: Words
    html: Words
    sources: list[str]


class CompactionShape(BaseModel):
    strategy: str
    reason: Words
    tokens_before: int
    tokens_after: int
    dropped: int
    summary: list[SummaryShape]
    from_seq: int | None
    to_seq: int | None


class FlushShape(BaseModel):
    outcome: str
    mode: str
    saved: int
    duplicates: int
    file: Words | None
    reason: Words | None
    operation: str | None = Field(description="What POST /memory/undo takes back.")
    lines: list[SavedLineShape]


class PassageShape(BaseModel):
    citation: Words
    text: Words
    trust: str | None


class RecallShape(BaseModel):
    passages: list[PassageShape]


class PruneShape(BaseModel):
    shortened: int
    tokens_before: int
    tokens_after: int
    reason: Words


class MarkerShape(BaseModel):
    """Something that was noted: a goal, variables, a model, the end of the conversation."""

    kind: Words
    text: Words | None = None
    name: Words | None = None
    mode: Words | None = None
    session: Words | None = None
    entry: Words | None = None
    model: Words | None = None
    sources: Words | None = None
    number: int | None = None


class ItemShape(BaseModel):
    """One entry of a transcript, for a person."""

    seq: int
    id: str
    kind: Literal["message", "recall", "prune", "compaction", "flush", "restored", "marker"]
    at: datetime
    role: Words | None
    text: Words
    html: Words
    trust: str | None
    in_view: bool = Field(description="Whether the model still sees it.")
    shortened: bool = Field(description="Whether the model sees it shortened.")
    truncated: bool = Field(description="Whether this is only its beginning.")
    model: Words | None = None
    tool_calls: list[CallShape]
    tool_results: list[ResultShape]
    usage: UsageShape | None
    compaction: CompactionShape | None
    flush: FlushShape | None
    recall: RecallShape | None
    prune: PruneShape | None
    marker: MarkerShape | None


class PageShape(BaseModel):
    items: list[ItemShape] = Field(description="The oldest first.")
    earlier: int | None = Field(description="Ask with before=… for what stands in front of them.")
    total: int = Field(description="Entries of the whole transcript.")


class PointShape(BaseModel):
    seq: int
    at: datetime
    tokens: int
    source: Literal["reported", "estimated"]


class HappeningShape(BaseModel):
    seq: int
    at: datetime
    kind: Literal["flush", "compaction", "prune", "restore", "reset", "closed"]
    saved: int | None
    file: Words | None
    tokens_before: int | None
    tokens_after: int | None
    dropped: int | None
    outcome: Words | None
    reason: Words | None


class TimelineShape(BaseModel):
    window: int
    marks: dict[str, int]
    points: list[PointShape] = Field(description="One per answer, the oldest first.")
    happenings: list[HappeningShape]


class BeginningShape(BaseModel):
    text: Words
    html: Words
    tokens: int
    sources: list[Words]
    preview: bool = Field(description="Whether this is what a new conversation would begin with.")
    reason: Words | None = Field(description="Why there is nothing, if there is nothing.")


# ── from what the engine tells ──────────────────────────────────────────────────────────────


def saved_shape(line: SavedLine) -> SavedLineShape:
    return SavedLineShape(
        id=line.id,
        kind=line.kind,
        text=line.text,
        trust=line.trust,
        path=line.path,
        number=line.number,
        citation=line.citation,
    )


def page_shape(page: Page) -> PageShape:
    """The newest are looked at first: of a page of very long texts the older stay unformed."""
    form = Renderer().render
    items = [item_shape(each, form) for each in reversed(page.items)]
    return PageShape(items=items[::-1], earlier=page.earlier, total=page.total)


def item_shape(item: Item, form: Callable[[str], str] = render) -> ItemShape:
    recall = None
    if item.kind == "recall":
        passages = [
            PassageShape(citation=each.citation, text=each.text, trust=each.trust)
            for each in item.recall
        ]
        recall = RecallShape(passages=passages)
    return ItemShape(
        seq=item.seq,
        id=item.id,
        kind=item.kind,
        at=item.at,
        role=item.role,
        text=item.text,
        html=form(item.text) if item.text else "",
        trust=item.trust,
        in_view=item.in_view,
        shortened=item.shortened,
        truncated=item.truncated,
        tool_calls=[
            CallShape(id=each.id, name=each.name, arguments=each.arguments)
            for each in item.tool_calls
        ],
        tool_results=[
            ResultShape(id=each.id, name=each.name, text=each.text, is_error=each.is_error)
            for each in item.tool_results
        ],
        usage=_usage(item.usage),
        compaction=_compaction(item.compaction, form),
        flush=_flush(item.flush),
        recall=recall,
        prune=None if item.prune is None else PruneShape.model_validate(_fields(item.prune)),
        marker=_marker(item.marker),
    )


def _fields(told: Any) -> dict[str, Any]:
    return {name: getattr(told, name) for name in told.__dataclass_fields__}


def _usage(usage: Usage | None) -> UsageShape | None:
    if usage is None:
        return None
    return UsageShape(
        input_tokens=usage.context_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cache_read_tokens,
    )


def _compaction(told: Compacted | None, form: Callable[[str], str]) -> CompactionShape | None:
    if told is None:
        return None
    summary = [
        SummaryShape(text=each.text, html=form(each.text), sources=list(each.sources))
        for each in told.summary
    ]
    return CompactionShape.model_validate({**_fields(told), "summary": summary})


def _flush(told: Flushed | None) -> FlushShape | None:
    if told is None:
        return None
    lines = [saved_shape(each) for each in told.lines]
    return FlushShape.model_validate({**_fields(told), "lines": lines})


def _marker(told: Marked | None) -> MarkerShape | None:
    if told is None:
        return None
    return MarkerShape.model_validate({**told.says, "kind": told.kind, "number": told.number})


def timeline_shape(told: Timeline, marks: dict[str, int]) -> TimelineShape:
    return TimelineShape(
        window=marks["window"],
        marks=marks,
        points=[PointShape.model_validate(_fields(each)) for each in told.points],
        happenings=[HappeningShape.model_validate(_fields(each)) for each in told.happenings],
    )


def beginning_shape(told: Beginning) -> BeginningShape:
    return BeginningShape(
        text=told.text,
        html=render(told.text) if told.text else "",
        tokens=told.tokens,
        sources=list(told.sources),
        preview=told.is_preview,
        reason=told.reason,
    )
