"""Answers on stdout: JSON lines for programs, tables and plain lines for people.

Promise: with ``--json`` stdout holds one compact object per line and nothing else, the
summary last; without it nothing a conversation contains can move the cursor or colour the
terminal (``tests/doors/test_cli_contract.py``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo

from holdfast.text import columns, display
from holdfast.types import Json

__all__ = ["json_line", "json_lines", "local_time", "note", "pairs", "say", "size", "table"]


def json_line(value: Mapping[str, Json]) -> None:
    """One object, compact, on a line of its own."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeError:  # a lone surrogate, or a terminal of few characters: escapes say the same
        text = json.dumps(value, separators=(",", ":"))
    sys.stdout.write(text + "\n")


def json_lines(values: Iterable[Mapping[str, Json]], *, summary: Mapping[str, Json]) -> None:
    for value in values:
        json_line(value)
    json_line(summary)


def say(text: str = "") -> None:
    """A line of the answer. The caller has made foreign text harmless with ``display``."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """A line beside the answer: progress, warnings, what was done."""
    sys.stderr.write(text + "\n")


def pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Names and values in two columns."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        say(f"{name:<{width}}  {display(value)}")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table as wide as the terminal; when piped, whole cells in plain columns."""
    cells = [[display(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        widths = [max(map(columns, column)) for column in zip(headings, *cells, strict=True)]
        for row in [list(headings), *cells]:
            padded = (
                cell + " " * (width - columns(cell))
                for cell, width in zip(row, widths, strict=True)
            )
            say("  ".join(padded).rstrip())
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        is_number = heading in {"entries", "messages", "size"}
        drawn.add_column(
            heading,
            justify="right" if is_number else "left",
            no_wrap=is_number,
            overflow="fold",  # a name cut short cannot be typed
        )
    for row in cells:
        drawn.add_row(*map(Text, row))
    Console(highlight=False).print(drawn)


def size(count: int) -> str:
    """A number of bytes for people."""
    amount = float(count)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def local_time(text: str | None, zone: tzinfo) -> str:
    """A stored time as the user's clock shows it."""
    if text is None:
        return "never"
    return datetime.fromisoformat(text).astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
