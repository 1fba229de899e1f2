"""The page ``holdfast replay`` prints: what trimming would drop, and what we do instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.engine.replay import Replayed
from holdfast.text import display, one_line

__all__ = ["page"]

_BAR = 34
_QUOTED = 3
_LONGEST = 260


def page(results: Sequence[Replayed], source: str, window: int) -> None:
    """Print it. What the log says is shown as text, never as instructions to the terminal."""
    console = Console(highlight=False, soft_wrap=False)
    write = console.print
    calls = sum(each.turns for each in results)
    write()
    write(Text(f"Holdfast replay · {display(source)} · window {window:,} tokens", style="bold"))
    write()
    if not results:
        write("There is no conversation in it.")
        return
    full = [each for each in results if each.trimmed.dropped]
    many = "conversation" if len(results) == 1 else "conversations"
    write(f"{len(results):,} {many}, {calls:,} calls of a model.", _filled(full, results))
    write()
    if not full and any(each.over_budget for each in results):
        _problems(write, results)
        return
    if not full:
        largest = max(each.max_view_tokens for each in results)
        write(f"The largest request has {largest:,} tokens. Nothing has to be dropped, and nothing")
        write("was touched. Try a smaller --window to see what would happen.")
        _problems(write, results)
        return
    write(_compared(results))
    write()
    _costs(write, results)
    _forgotten(write, max(full, key=_how_telling))
    _kept(write, results)
    _problems(write, results)
    write(
        Text(
            "Costs: 3 USD per million input tokens, cached 0.1 ×, newly cached 1.25 ×; output is "
            "the same for all.",
            style="dim",
        )
    )


def _filled(full: Sequence[Replayed], all_of: Sequence[Replayed]) -> str:
    if not full:
        return "" if any(each.over_budget for each in all_of) else "All of it fits."
    if len(all_of) == 1:
        return "The window fills up."
    return f"In {len(full):,} of them the window fills up."


def _compared(results: Sequence[Replayed]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    table.add_column("")
    table.add_column("plain trimming", justify="right")
    table.add_column("Holdfast", justify="right", style="bold")
    count = len(results)
    gone = sum(each.trimmed.task_gone_at is not None for each in results)
    lost = sum(not each.task_text_kept for each in results)
    rows = [
        (
            "messages dropped and gone",
            _sum(results, lambda r: r.trimmed.dropped),
            _uncovered(results),
        ),
        ("… saved to memory first, then compacted", "–", _sum(results, lambda r: r.dropped)),
        ("conversations that lose their task text", f"{gone:,}", f"{lost:,}"),
        (
            "dropped messages that come back word for word",
            "0 %",
            f"{100 * sum(r.expandable for r in results) // count} %",
        ),
        ("requests a provider would refuse", "not checked", _refused(results)),
        (
            "tokens sent",
            _short(sum(r.trimmed.tokens_sent for r in results)),
            _short(sum(r.tokens_sent for r in results)),
        ),
        (
            "cost, prompt caching included",
            f"${sum(r.trimmed.cost_sent for r in results):,.2f}",
            f"${sum(r.cost_sent for r in results):,.2f}",
        ),
    ]
    for row in rows:
        table.add_row(*row)
    return table


def _sum(results: Sequence[Replayed], count: Callable[[Replayed], int]) -> str:
    return f"{sum(map(count, results)):,}"


def _uncovered(results: Sequence[Replayed]) -> str:
    return f"{sum(each.uncovered_drops for each in results):,}"


def _refused(results: Sequence[Replayed]) -> str:
    return f"{sum(each.invalid_views + each.over_budget for each in results):,}"


def _short(tokens: int) -> str:
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.1f} {unit}"
    return str(tokens)


def _costs(write: Callable[..., None], results: Sequence[Replayed]) -> None:
    costs = (
        (
            "plain trimming",
            sum(r.trimmed.cost_sent for r in results),
            "its cache is lost at every cut",
        ),
        ("Holdfast", sum(r.cost_sent for r in results), _work(results)),
        ("everything", sum(r.cost_full for r in results), "if the window had no end"),
    )
    most = max(cost for _, cost, _ in costs) or 1.0
    for name, cost, why in costs:
        bar = "█" * max(1, round(_BAR * cost / most))
        line = Text(f"{name:<15} ")
        line.append(f"{bar:<{_BAR}}", style="green" if name == "Holdfast" else "dim")
        line.append(f" ${cost:,.2f}  ", style="bold")
        line.append(why, style="dim")
        write(line, overflow="ellipsis", no_wrap=True)
    write()


def _work(results: Sequence[Replayed]) -> str:
    counts = (
        (sum(r.prunes for r in results), "prunes"),
        (sum(r.flushes for r in results), "flushes"),
        (sum(r.compactions for r in results), "compactions"),
    )
    return ", ".join(f"{count:,} {what}" for count, what in counts)


def _how_telling(result: Replayed) -> tuple[bool, int]:
    return result.trimmed.task_gone_at is not None, result.trimmed.dropped


def _forgotten(write: Callable[..., None], worst: Replayed) -> None:
    trimmed = worst.trimmed
    at = f", from call {trimmed.task_gone_at} on" if trimmed.task_gone_at is not None else ""
    write(Text(f"What trimming forgets first (conversation {display(worst.id)}{at})", style="bold"))
    write(_quoted("✗", trimmed.first_dropped[:_QUOTED], "red"))
    write()
    if worst.summary:
        write(Text("What the model reads instead, beside the task word for word", style="bold"))
        lines = [line for line in worst.summary.splitlines() if line.strip()]
        write(_quoted("│", lines[1 : 1 + 2 * _QUOTED], "green"))
        write()


def _kept(write: Callable[..., None], results: Sequence[Replayed]) -> None:
    saved = sum(each.saved_lines for each in results)
    if not saved:
        return
    many = "line" if saved == 1 else "lines"
    write(Text(f"What is in memory afterwards: {saved:,} {many} of Markdown", style="bold"))
    richest = max(results, key=lambda each: len(each.memories))
    lines = [line.partition("<!--")[0].strip() for line in richest.memories[: 2 * _QUOTED]]
    write(_quoted("+", [line.removeprefix("- ") for line in lines], "green"))
    write()


def _quoted(mark: str, texts: Sequence[str], style: str) -> Table:
    """Lines of the log, each behind a mark; long ones are cut, and wrapped behind it."""
    rows = Table.grid(padding=(0, 1, 0, 0))
    for text in texts:
        rows.add_row(Text(f"  {mark}", style=style), Text(one_line(text, _LONGEST)))
    return rows


def _problems(write: Callable[..., None], results: Sequence[Replayed]) -> None:
    found = [(each.id, problem) for each in results for problem in each.problems]
    if not found:
        return
    many = "problem" if len(found) == 1 else "problems"
    write(Text(f"{len(found):,} {many}", style="bold yellow"))
    told = [f"{conversation}: {problem}" for conversation, problem in found[: 2 * _QUOTED]]
    write(_quoted("!", told, "yellow"))
    write()
