"""The page ``holdfast replay`` prints: what trimming would drop, and what we do instead.

Promise: every figure was counted in this run, every promise that was not kept is named, nothing
is cut off at the edge of the terminal, and one that has only ASCII gets ASCII for every sign that
is ours (``tests/doors/test_cli_replay.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.engine.replay import Replayed
from holdfast.text import display, one_line

__all__ = ["page"]

_LONGEST_BAR = 34
_SHORTEST_BAR = 12
_QUOTED = 3
_LONGEST = 260
_LONGEST_PROBLEM = 600
_NONE = "–"
_ASCII = str.maketrans(
    {
        "█": "#",
        "│": "|",
        "✗": "x",
        "·": "-",
        "–": "-",
        "×": "x",
        "…": "...",
        "→": "->",
        "⏎": "/",
    }
)


def page(results: Sequence[Replayed], source: str, window: int) -> None:
    """Print it. What the log says is shown as text, never as instructions to the terminal."""
    _Page(results, display(source)).write(window)


class _Page:
    def __init__(self, results: Sequence[Replayed], source: str) -> None:
        self._results = results
        self._source = source
        self._console = Console(highlight=False, soft_wrap=False)
        self._is_ascii = not self._console.encoding.startswith("utf")

    def write(self, window: int) -> None:
        self._line()
        self._line(f"Holdfast replay · {self._source} · window {window:,} tokens", "bold")
        self._line()
        if not self._results:
            self._line("There is no conversation in it.")
            return
        calls = _many(self._sum(lambda r: r.turns), "call")
        told = f"{_many(len(self._results), 'conversation')}, {calls} of a model."
        self._line(f"{told} {self._filled()}".rstrip())
        self._line()
        if any(map(_has_lost, self._results)):
            self._compare()
        elif not any(each.over_budget for each in self._results):
            self._say_what_was_touched()
        self._problems()
        if any(map(_has_lost, self._results)):
            self._footnotes()

    # ── one line, one number ────────────────────────────────────────────────────────────────

    def _line(self, text: str = "", style: str = "") -> None:
        self._console.print(Text(self._signs(text), style=style))

    def _signs(self, text: str) -> str:
        return text.translate(_ASCII) if self._is_ascii else text

    def _sum(self, count: Callable[[Replayed], int]) -> int:
        return sum(map(count, self._results))

    def _filled(self) -> str:
        full = sum(map(_has_lost, self._results))
        if not full:
            return "" if any(each.over_budget for each in self._results) else "All of it fits."
        if len(self._results) == 1:
            return "The window fills up."
        which = "all" if full == len(self._results) else f"{full:,}"
        return f"In {which} of them the window fills up."

    # ── when nothing has to leave ───────────────────────────────────────────────────────────

    def _say_what_was_touched(self) -> None:
        largest = max(each.max_view_tokens for each in self._results)
        touched = [
            f"{_many(count, 'message')} {'was' if count == 1 else 'were'} {what}"
            for count, what in (
                (self._sum(lambda r: r.repaired), "repaired"),
                (self._sum(lambda r: r.shortened), "shown shortened"),
            )
            if count
        ]
        what = f"; {', '.join(touched)}" if touched else ", and nothing was touched"
        self._line(
            f"The largest request has {_many(largest, 'token')}: nothing was dropped{what}. "
            "Try a smaller --window to see what would happen."
        )
        self._line()

    # ── the comparison ──────────────────────────────────────────────────────────────────────

    def _compare(self) -> None:
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
        table.add_column("")
        table.add_column("plain trimming", justify="right")
        table.add_column("Holdfast", justify="right", style="bold")
        for row in self._rows():
            table.add_row(*map(self._signs, row))
        self._console.print(table)
        self._line()
        self._costs()
        self._forgotten()
        self._read_instead()
        self._kept()

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        all_of = self._sum
        gone, dropped = all_of(lambda r: r.trimmed.dropped), all_of(lambda r: r.dropped)
        yield "messages dropped and gone", f"{gone:,}", f"{all_of(lambda r: r.uncovered_drops):,}"
        read = all_of(lambda r: r.read_first)
        yield "… read for memory first, then compacted", _NONE, f"{read:,}"
        yield "lines written to memory", _NONE, f"{all_of(lambda r: r.flush_lines):,}"
        if flushes := all_of(lambda r: r.flushes):
            back = f"{all_of(lambda r: r.receipts_verified):,} of {flushes:,}"
            yield "flushes whose lines were read back from the file", _NONE, back
        yield (
            "conversations that lose their task text",
            f"{all_of(lambda r: r.trimmed.task_gone_at is not None):,}",
            f"{all_of(lambda r: not r.task_text_kept):,}",
        )
        yield (
            "dropped messages that come back word for word",
            "0 %" if gone else _NONE,
            f"{100 * all_of(lambda r: r.came_back) // dropped} %" if dropped else _NONE,
        )
        yield (
            "requests a provider would refuse",
            f"{all_of(lambda r: r.trimmed.over_budget):,}",
            f"{all_of(lambda r: r.invalid_views + r.over_budget):,}",
        )
        yield (
            "tokens sent",
            _short(all_of(lambda r: r.trimmed.tokens_sent)),
            _short(all_of(lambda r: r.tokens_sent)),
        )
        trimmed, ours, _ = self._prices()
        yield "cost, prompt caching included", f"${trimmed:,.2f}", f"${ours:,.2f}"

    def _prices(self) -> tuple[float, float, float]:
        trimmed = sum(each.trimmed.cost_sent for each in self._results)
        ours = sum(each.cost_sent for each in self._results)
        return trimmed, ours, sum(each.cost_full for each in self._results)

    def _costs(self) -> None:
        prices = self._prices()
        names = ("plain trimming", "Holdfast", "everything")
        notes = ("its cache is lost at every cut", self._work(), "if the window had no end")
        shown = [f"${price:,.2f}" for price in prices]
        widest = max(map(len, shown))
        beside = 16 + 1 + widest + 2
        room = self._console.width - beside - max(map(len, notes))
        has_room = room >= _SHORTEST_BAR  # else each note gets a line of its own
        bar = min(_LONGEST_BAR, room if has_room else max(1, self._console.width - beside))
        most = max(prices) or 1.0
        for name, price, text, why in zip(names, prices, shown, notes, strict=True):
            drawn = "█" * max(1, round(bar * price / most))
            line = Text(f"{name:<16}")
            line.append(self._signs(f"{drawn:<{bar}}"), "green" if name == "Holdfast" else "dim")
            line.append(f" {text:>{widest}}", "bold")
            if has_room:
                line.append(f"  {why}", "dim")
            self._console.print(line)
            if not has_room:
                self._line(f"  {why}", "dim")
        self._line()

    def _work(self) -> str:
        counts = (
            (self._sum(lambda r: r.prunes), "prune", "prunes"),
            (self._sum(lambda r: r.flushes), "flush", "flushes"),
            (self._sum(lambda r: r.compactions), "compaction", "compactions"),
        )
        return ", ".join(f"{count:,} {one if count == 1 else more}" for count, one, more in counts)

    def _forgotten(self) -> None:
        worst = max(self._results, key=_how_telling)
        trimmed = worst.trimmed
        if not trimmed.first_dropped:
            return
        at = f", from call {trimmed.task_gone_at} on" if trimmed.task_gone_at is not None else ""
        self._line(f"What trimming forgets first (conversation {display(worst.id)}{at})", "bold")
        self._quote("✗", trimmed.first_dropped[:_QUOTED], "red")

    def _read_instead(self) -> None:
        """The summary that says most; its first line only says that it is one."""
        best = max(self._results, key=lambda each: len(_lines(each.summary)))
        lines = _lines(best.summary)[1 : 1 + 2 * _QUOTED]
        if not lines:
            return
        is_other = best.id != max(self._results, key=_how_telling).id
        whose = f" (conversation {display(best.id)})" if is_other else ""
        self._line(f"What the model reads instead{whose}, beside the task word for word", "bold")
        self._quote("│", lines, "green")

    def _kept(self) -> None:
        richest = max(self._results, key=lambda each: len(each.memories))
        lines = [line.partition("<!--")[0].strip().removeprefix("- ") for line in richest.memories]
        if not lines:
            return
        saved = _many(self._sum(lambda r: r.flush_lines), "line")
        self._line(f"What is in memory afterwards: {saved} of Markdown", "bold")
        self._quote("+", lines[: 2 * _QUOTED], "green")

    def _quote(
        self, mark: str, texts: Sequence[str], style: str, *, longest: int = _LONGEST
    ) -> None:
        """Lines of the log, each behind a mark; long ones are cut, and wrapped behind it."""
        rows = Table.grid(padding=(0, 1, 0, 0))
        rows.add_column(no_wrap=True)
        rows.add_column(overflow="fold")  # Chinese has no blanks to break a line at
        for text in texts:
            shown = self._signs(one_line(text, longest))
            rows.add_row(Text(self._signs(f"  {mark}"), style=style), Text(shown))
        self._console.print(rows)
        self._line()

    # ── what went wrong, and the small print ────────────────────────────────────────────────

    def _problems(self) -> None:
        """What could not be read is the file's; what was not kept is the conversation's."""
        found = [
            f"{self._source if number < each.unread else each.id}: {problem}"
            for each in self._results
            for number, problem in enumerate(each.problems)
        ]
        if not found:
            return
        self._line(_many(len(found), "problem"), "bold yellow")
        shown = found[: 2 * _QUOTED]
        if more := len(found) - len(shown):
            shown.append(f"and {more:,} more, which --json names")
        self._quote("!", shown, "yellow", longest=_LONGEST_PROBLEM)

    def _footnotes(self) -> None:
        self._line(
            "Costs: 3 USD per million input tokens, cached 0.1 ×, newly cached 1.25 ×; output is "
            "the same for all.",
            "dim",
        )
        if self._sum(lambda r: r.trimmed.over_budget + r.over_budget):
            self._line(
                "A request above the window is refused: its tokens and its cost are not counted. "
                "Of plain trimming only the size was checked.",
                "dim",
            )


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _has_lost(result: Replayed) -> bool:
    """Whether something had to leave, by either way."""
    return bool(result.trimmed.dropped or result.dropped)


def _how_telling(result: Replayed) -> tuple[bool, int]:
    return result.trimmed.task_gone_at is not None, result.trimmed.dropped


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _short(tokens: int) -> str:
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.1f} {unit}"
    return str(tokens)
