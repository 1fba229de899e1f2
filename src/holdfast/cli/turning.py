"""``holdfast flush`` and ``holdfast compact``: what the engine does by itself, done by hand.

Promise: the answer is a receipt: what was saved and where, what left the view and how it comes
back; or why there was nothing to do, which is no failure (``tests/doors/test_cli_turn.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast, get_args

from holdfast.cli.render import json_line, note, pairs, say
from holdfast.config.keys import Strategy
from holdfast.context.compaction import CompactionPlan
from holdfast.context.flush import FlushPlan
from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.standing import plan_compaction_now, plan_flush_now
from holdfast.engine.turn import Ask, CompactionDone, Done, PruneDone
from holdfast.errors import NotFound, UsageError, did_you_mean
from holdfast.events import CompactionFailed, Event, MemoryFlushSkipped
from holdfast.text import display

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.engine.facade import Engine
    from holdfast.engine.session import Session
    from holdfast.types import Json

__all__ = ["chosen", "compact", "flush"]


def chosen(engine: Engine, name: str | None) -> Session:
    """The session of that name; without one, the session that was used last."""
    if name is not None:
        return engine.existing_session(name)
    found = [each for each in engine.sessions() if each.problem is None]
    if not found:
        raise NotFound("There are no sessions yet.", hint="See what one is like: holdfast demo")
    return engine.existing_session(found[0].name)


# ── flush ───────────────────────────────────────────────────────────────────────────────────


def flush(door: Door, name: str | None, *, dry_run: bool, as_json: bool) -> None:
    with door.open() as engine:
        session = chosen(engine, name)
        if dry_run:
            _show_flush_plan(session, as_json=as_json)
            return
        done = session.flush(reason="manual")
    if not isinstance(done, FlushDone):
        _nothing("save", session.name, done.reason, as_json=as_json)
    elif as_json:
        json_line({"session": session.name, "done": True, **receipt(done)})
    else:
        _show_receipt(done, session.name)
        if done.file is not None:
            note(f"Read it: {door.command('get', done.file)}")


def _nothing(what: str, name: str, reason: str, *, as_json: bool) -> None:
    if as_json:
        json_line({"session": name, "done": False, "reason": reason})
    else:
        say(f"{display(name)}: nothing to {what}: {display(reason)}")


def _show_flush_plan(session: Session, *, as_json: bool) -> None:
    plan = plan_flush_now(session)
    if not isinstance(plan, FlushPlan):
        _nothing("save", session.name, plan.reason, as_json=as_json)
    elif as_json:
        json_line(
            {
                "session": session.name,
                "done": False,
                "dry_run": True,
                "entries": list(plan.covers),
                "cycle": plan.cycle,
            }
        )
    else:
        entries = _many(len(plan.covers), "entry", "entries")
        say(f"{display(session.name)}: would read {entries} for memory. Nothing was done.")


def receipt(done: FlushDone) -> dict[str, Json]:
    """The receipt of a flush; what was covered is counted, not listed."""
    told: dict[str, Json] = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in asdict(done).items()
        if key != "covers"
    }
    return told | {"covered": len(done.covers)}


def _show_receipt(done: FlushDone, name: str) -> None:
    say(f"{display(name)}: {_many(len(done.covers), 'entry', 'entries')} read for memory")
    pairs((each, value) for each, value in _receipt_rows(done) if value)


def _receipt_rows(done: FlushDone) -> Iterator[tuple[str, str]]:
    yield "written", f"{_many(done.saved, 'line', 'lines')}{f', {done.file}' if done.file else ''}"
    yield "read back", f"{done.verified:,} of {done.saved:,}" if done.saved else ""
    yield "known already", f"{done.duplicates:,}" if done.duplicates else ""
    yield "no support", f"{done.ungrounded:,}, left out" if done.ungrounded else ""
    yield "by", done.mode + (f", after {', '.join(done.tried)}" if done.tried else "")
    tokens = done.input_tokens + done.output_tokens
    yield "cost", f"${done.cost:.4f}, {tokens:,} tokens" if tokens else "none, without a model"
    yield "time", f"{done.took_ms:,.0f} ms"
    yield "because", done.reason or ""


# ── compact ─────────────────────────────────────────────────────────────────────────────────


def compact(
    door: Door,
    name: str | None,
    *,
    focus: str | None,
    strategy: str | None,
    window: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    wanted = _strategy(strategy)
    with door.open() as engine:
        session = chosen(engine, name)
        if dry_run:
            _show_compaction_plan(session, Ask(strategy=wanted, window=window), as_json=as_json)
            return
        with _listening(engine) as heard:
            prepared = session.compact(focus=focus, strategy=wanted, window=window)
    done = prepared.done
    compaction = next((each for each in done if isinstance(each, CompactionDone)), None)
    if compaction is None and not any(isinstance(each, PruneDone) for each in done):
        _nothing("compact", session.name, heard.reason, as_json=as_json)
    elif as_json:
        json_line(_compacted(session.name, done, prepared.projected, heard))
    else:
        _show_compacted(door, session.name, done, prepared.projected, heard)


def _strategy(given: str | None) -> Strategy | None:
    known = get_args(Strategy)
    if given is not None and given not in known:
        near = did_you_mean(given, known)
        raise UsageError(
            f"There is no strategy {given!r}.", hint=near or f"There are: {', '.join(known)}."
        )
    return cast("Strategy | None", given)


@dataclass(slots=True)
class _Heard:
    """Why something was not done, as the engine told it."""

    compaction: str | None = None
    flush: str | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, CompactionFailed):
            self.compaction = event.reason
        elif isinstance(event, MemoryFlushSkipped):
            self.flush = event.reason

    @property
    def reason(self) -> str:
        return self.compaction or "nothing may leave the view"


@contextmanager
def _listening(engine: Engine) -> Iterator[_Heard]:
    heard = _Heard()
    stop = engine.subscribe(heard)
    try:
        yield heard
    finally:
        stop()


def _compacted(name: str, done: tuple[Done, ...], now: int, heard: _Heard) -> dict[str, Json]:
    told: dict[str, Json] = {"session": name, "done": False, "flushes": [], "tokens_now": now}
    for each in done:
        if isinstance(each, FlushDone):
            told["flushes"].append(receipt(each))
        elif isinstance(each, CompactionDone):
            told |= {
                "done": True,
                "entry": each.entry,
                "strategy": each.strategy,
                "tokens_before": each.tokens_before,
                "tokens_after": each.tokens_after,
                "dropped": list(each.dropped),
                "fallbacks": list(each.fallbacks),
            }
        else:
            told["pruned"] = list(each.shortened)
    if not told["flushes"]:
        told["no_flush"] = heard.flush
    return told if told["done"] else {**told, "reason": heard.reason}


def _show_compacted(door: Door, name: str, done: tuple[Done, ...], now: int, heard: _Heard) -> None:
    rows: list[tuple[str, str]] = []
    left: str | None = None
    for each in done:
        if isinstance(each, CompactionDone):
            rows.append(("tokens", f"{each.tokens_before:,} before, {each.tokens_after:,} after"))
            left = each.dropped[0] if each.dropped else None
            rows.append(("left the view", _many(len(each.dropped), "entry", "entries")))
            after = f", after {', '.join(each.fallbacks)}" if each.fallbacks else ""
            rows.append(("by", each.strategy + after))
        elif isinstance(each, PruneDone):
            shown = _many(len(each.shortened), "result", "results")
            rows.append(("shortened", f"{shown}, {each.tokens_after:,} tokens after"))
        else:
            saved = _many(each.saved, "line", "lines")
            where = f" in {each.file}" if each.file else ""
            rows.append(("saved first", f"{saved}{where}, by {each.mode}"))
    if heard.flush and not any(isinstance(each, FlushDone) for each in done):
        rows.append(("saved before", heard.flush))
    rows.append(("next request", f"{now:,} tokens"))
    say(f"{display(name)}: compacted")
    pairs(rows)
    if left is not None:
        note(f"What left comes back by its id: {door.command('sessions', 'expand', name, left)}")


def _show_compaction_plan(session: Session, ask: Ask, *, as_json: bool) -> None:
    plan = plan_compaction_now(session, ask)
    if not isinstance(plan, CompactionPlan):
        _nothing("compact", session.name, plan.reason, as_json=as_json)
        return
    if as_json:
        json_line(
            {
                "session": session.name,
                "done": False,
                "dry_run": True,
                "strategy": plan.strategy,
                "drops": list(plan.dropped_entries),
                "pins": list(plan.pinned_entries),
                "tokens_before": plan.tokens_before,
                "expected_after": plan.expected_after,
            }
        )
        return
    leave = _many(len(plan.dropped_entries), "entry", "entries")
    say(
        f"{display(session.name)}: {leave} would leave the view by {plan.strategy}: "
        f"{plan.tokens_before:,} tokens before, about {plan.expected_after:,} after. "
        "Nothing was done."
    )


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
