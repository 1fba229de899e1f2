"""What begins with a slash: done by the chat, not said to the model.

Promise: what cannot work in this conversation says why and where it does; nothing is forgotten
unasked; a command that fails leaves the conversation as it was (``tests/doors/test_chat.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from holdfast.cli.chat.talk import GaveUp, Talk
from holdfast.cli.gauge import bar
from holdfast.cli.render import local_time
from holdfast.cli.speech import filled
from holdfast.engine.standing import standing_of
from holdfast.engine.turn import CompactionDone, PruneDone
from holdfast.errors import HoldfastError, UsageError, did_you_mean
from holdfast.sessions.shapes import message_of
from holdfast.text import display, one_line

if TYPE_CHECKING:
    from holdfast.engine.standing import Standing
    from holdfast.search.request import Passage

__all__ = ["COMMANDS", "Asker", "Quit", "perform"]

_LINE: Final = 160
_MOST: Final = 12


class Quit(Exception):
    """Leave."""


Asker = Callable[[str], bool | None]
"""Asks the person whether they agree; None: nobody can be asked here."""


@dataclass(frozen=True, slots=True)
class _Command:
    do: Callable[[Talk, str, Asker], None]
    needs: bool = False
    """Whether something must stand behind it."""
    memory: str = ""
    """``read`` or ``write``: what it does with memory."""


def perform(talk: Talk, line: str, ask: Asker) -> None:
    """Do what the line says.

    Raises:
        Quit: it says to leave.
    """
    name, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    try:
        command = COMMANDS.get(name.lower())
        if command is None:
            near = did_you_mean(name, COMMANDS) or "/help"
            raise UsageError(filled(talk.words.unknown, command=name, near=near))
        if (refused := _refusal(talk, name.lower(), command, rest)) is not None:
            talk.screen.answer(refused, "warn")
            talk.screen.fact("refused", {"command": name, "why": refused})
            return
        command.do(talk, rest, ask)
    except GaveUp:
        pass  # it ends by itself
    except HoldfastError as error:
        talk.show_error(error)


def _refusal(talk: Talk, name: str, command: _Command, rest: str) -> str | None:
    """Why this cannot be done here, if it cannot."""
    words, mode = talk.words, talk.memory_mode
    if command.needs and not rest:
        usage = dict(_usages(talk))[name]
        return filled(words.needs, command=name, what=_what(usage), usage=usage)
    if not command.memory or mode == "read-write":
        return None
    if talk.opening.incognito:
        return filled(words.nothing_saved_incognito, command=name)
    outside = talk.door.command(name[1:], *([rest] if rest else []))
    if mode == "off":
        return filled(words.off_refuses, command=name, outside=outside)
    return filled(words.read_refuses, outside=outside) if command.memory == "write" else None


def _usages(talk: Talk) -> list[tuple[str, str]]:
    return [(usage.split()[0], usage) for usage, _ in talk.words.helps]


def _what(usage: str) -> str:
    return usage.partition(" ")[2].strip("[]")


# ── the commands ────────────────────────────────────────────────────────────────────────────


def _help(talk: Talk, rest: str, ask: Asker) -> None:
    del rest, ask
    for usage, what in talk.words.helps:
        talk.screen.answer(f"{usage}  {what}", indent="    ")
    talk.screen.answer(talk.words.keys, "dim")


def _quit(talk: Talk, rest: str, ask: Asker) -> None:
    raise Quit


def _new(talk: Talk, rest: str, ask: Asker) -> None:
    """Save, close, and say what the next one begins with."""
    del ask
    if not talk.is_open:
        talk.screen.answer(talk.words.nothing_said, "dim")
        return
    try:
        talk.begin_next(rest or None)
    except GaveUp:
        talk.screen.answer(talk.words.new_later, "dim")
        return
    # Now, not with the first message: what was brought back is worth a look before one speaks.
    talk.work(talk.session.restore)
    talk.show_news()
    talk.measure()


def _compact(talk: Talk, rest: str, ask: Asker) -> None:
    del ask
    if not talk.is_open:
        talk.screen.answer(talk.words.nothing_said, "dim")
        return
    session, news = talk.session, talk.news
    news.not_compacted = ""
    prepared = talk.work(lambda: session.compact(rest or None), waiting=talk.words.compacting)
    talk.show_news()
    talk.meter.fits(prepared.budget, prepared.projected)
    if not news.not_compacted and not any(
        isinstance(each, CompactionDone | PruneDone) for each in prepared.done
    ):
        talk.screen.answer(talk.words.compact_nothing, "dim")


def _status(talk: Talk, rest: str, ask: Asker) -> None:
    del rest, ask
    if not talk.is_open:
        talk.screen.answer(talk.words.nothing_said, "dim")
        return
    found = talk.work(lambda: standing_of(talk.session))
    for line in _standing_lines(talk, found):
        talk.screen.answer(line)
    talk.screen.fact("status", found.to_json())


def _standing_lines(talk: Talk, found: Standing) -> list[str]:
    words, budget, used = talk.words, found.budget, found.projected
    share = used / budget.window
    marks = filled(
        words.status_marks,
        prune=budget.prune_at,
        flush=budget.flush_at,
        hard=budget.hard_at,
        compact=budget.compact_at,
    )
    shown = [
        filled(
            words.status_session,
            session=found.session,
            messages=found.messages,
            memory=talk.meter.note or words.reads_and_writes,
        ),
        f"{bar(budget, used, 24)} "
        + filled(words.used, used=used, window=budget.window, share=share),
        marks,
    ]
    if spent := _scaled(found.breakdown.largest(), used):
        parts = (f"{words.categories.get(name, name)} {tokens:,}" for name, tokens in spent)
        shown.append(filled(words.status_spent, parts=", ".join(parts)))
    if talk.memory_mode == "read-write":
        shown.append(_last_saved(talk, found))
        if found.unsaved:
            shown.append(filled(words.status_unsaved, unsaved=found.unsaved))
    meter = talk.meter
    if meter.cost:
        told = {"input": meter.input_tokens, "output": meter.output_tokens}
        shown.append(filled(words.status_cost, cost=meter.cost, **told))
    return shown


def _scaled(spent: list[tuple[str, int]], total: int) -> list[tuple[str, int]]:
    """The parts, which are estimated, as shares of what the provider counted: they add up."""
    estimated = sum(tokens for _, tokens in spent)
    shares, before, seen = [], 0, 0
    for name, tokens in spent:
        seen += tokens
        upto = round(total * seen / estimated)
        shares.append((name, upto - before))
        before = upto
    return shares


def _last_saved(talk: Talk, found: Standing) -> str:
    last = found.last_memory_flush
    if last is None:
        return talk.words.status_never
    zone = ZoneInfo(talk.engine.settings.memory.time_zone)
    at = local_time(last.get("at"), zone)
    return filled(talk.words.status_last, saved=last.get("saved", 0), at=at)


def _search(talk: Talk, rest: str, ask: Asker) -> None:
    del ask
    found = talk.work(lambda: talk.engine.search(rest))
    for number, passage in enumerate(found.passages, 1):
        _show_passage(talk, number, passage)
    if found.why_empty:
        why = one_line(found.why_empty, 2 * _LINE)
        talk.screen.answer(filled(talk.words.found_nothing, why=why), "dim")
    for each in found.degraded:
        talk.screen.line(f"! {display(each)}", "dim")


def _show_passage(talk: Talk, number: int, passage: Passage) -> None:
    about = [passage.citation]
    if passage.time is not None:
        zone = ZoneInfo(talk.engine.settings.memory.time_zone)
        about.append(passage.time.astimezone(zone).strftime("%Y-%m-%d"))
    if passage.trust != "user":
        about.append(passage.trust)
    talk.screen.answer(f"{number}. {display(' · '.join(about))}", "dim")
    talk.screen.answer(f"   {one_line(passage.text, 2 * _LINE)}", indent="   ")


def _remember(talk: Talk, rest: str, ask: Asker) -> None:
    del ask
    words = talk.words
    done = talk.work(lambda: talk.engine.remember(rest))
    if done.added:
        talk.screen.answer(filled(words.remembered, path=done.path))
    for line in done.added:
        talk.screen.answer(f"  · {display(line.text)}", indent="    ")
    for each in done.skipped:
        talk.screen.answer(filled(words.known_already, text=each.kept), "dim")
    for clash in done.conflicts:
        talk.screen.answer(filled(words.contradicts, path=clash.path, text=clash.known), "warn")
    if done.added and done.operation:
        back = talk.door.command("undo", done.operation)
        talk.screen.line(filled(words.undo, command=back), "dim")


def _forget(talk: Talk, rest: str, ask: Asker) -> None:
    words, engine = talk.words, talk.engine
    planned = talk.work(lambda: engine.forget(rest, dry_run=True))
    if not planned.items:
        talk.screen.answer(words.forget_nothing, "dim")
        return
    talk.screen.answer(filled(words.forget_these, items=len(planned.items)))
    for item in planned.items[:_MOST]:
        talk.screen.answer(
            f"  · {display(item.where)}: {one_line(item.text, _LINE)}", indent="    "
        )
    if len(planned.items) > _MOST:
        talk.screen.answer("  · " + filled(words.saved_more, more=len(planned.items) - _MOST))
    agreed = ask(filled(words.forget_ask, items=len(planned.items)))
    if agreed is None:
        command = talk.door.command("forget", rest, "--yes")
        raise UsageError(filled(words.forget_unasked, command=command))
    if not agreed:
        talk.screen.answer(words.forget_kept, "dim")
        return
    done = talk.work(lambda: engine.forget(rest))
    back = talk.door.command("undo", done.operation or "")
    talk.screen.answer(filled(words.forgotten, items=len(done.items), command=back))


def _expand(talk: Talk, rest: str, ask: Asker) -> None:
    """Of an entry, an artifact, or a source as it is cited."""
    del ask
    is_source = "#" in rest or rest.endswith(".md")
    if is_source and talk.memory_mode == "off":
        refused = filled(talk.words.off_refuses, command="/expand", outside="holdfast get")
        talk.screen.answer(refused, "warn")
        return
    if is_source:
        text = talk.work(lambda: talk.engine.get(rest)).text
    else:
        text = talk.work(lambda: talk.session.expand(rest)).text
    for line in text.splitlines() or [""]:
        talk.screen.answer(display(line))


def _retry(talk: Talk, rest: str, ask: Asker) -> None:
    del rest, ask
    if not talk.is_open:
        talk.screen.answer(talk.words.nothing_said, "dim")
    elif _is_answered(talk):
        talk.screen.answer(talk.words.again_nothing, "dim")
    else:
        talk.say(None)


def _is_answered(talk: Talk) -> bool:
    """Whether the last word was the model's."""
    for entry in reversed(talk.session.entries(last=_MOST)):
        message = message_of(entry) if entry.type == "message" else None
        if message is not None:
            return message.role == "assistant" and not message.tool_calls
    return True


COMMANDS: Final[Mapping[str, _Command]] = {
    "/new": _Command(_new),
    "/compact": _Command(_compact),
    "/status": _Command(_status),
    "/search": _Command(_search, needs=True, memory="read"),
    "/remember": _Command(_remember, needs=True, memory="write"),
    "/forget": _Command(_forget, needs=True, memory="write"),
    "/expand": _Command(_expand, needs=True),
    "/retry": _Command(_retry),
    "/help": _Command(_help),
    "/quit": _Command(_quit),
    "/exit": _Command(_quit),
}
