"""On which line of a TOML text each key stands, which the parser does not tell.

Promise: a line that is named is the right one; where the layout is too clever to say (a quoted
key, a key inside an inline table), the nearest enclosing key is named, or nothing
(``tests/foundation/test_config_toml.py``). Reads only texts that the parser accepted.
"""

from __future__ import annotations

import re

__all__ = ["line_of", "lines_of_keys"]

# Several lines at once first, so that what stands inside a text is not taken for a key.
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*",
    re.DOTALL,
)
_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.\s-]+?)\s*\]")
_ASSIGNMENT = re.compile(r"\s*([A-Za-z0-9_.\s-]+?)\s*=")


def lines_of_keys(text: str) -> dict[str, int]:
    """The line, counted from 1, of every header and assignment by its dotted name."""
    found: dict[str, int] = {}
    table, depth = "", 0
    for number, line in enumerate(_without_texts(text).split("\n"), start=1):
        if depth == 0:
            if header := _HEADER.match(line):
                table = _joined(header[1])
                found.setdefault(table, number)
                continue
            if assignment := _ASSIGNMENT.match(line):
                name = _joined(assignment[1])
                found.setdefault(f"{table}.{name}" if table else name, number)
        depth += sum(line.count(char) for char in "[{") - sum(line.count(char) for char in "]}")
    return found


def line_of(name: str, lines: dict[str, int]) -> int | None:
    """The line of a key, or of the nearest table around it that has one."""
    while name:
        if name in lines:
            return lines[name]
        name = name.rpartition(".")[0]
    return None


def _without_texts(text: str) -> str:
    return _TOKEN.sub(lambda found: '""' + "\n" * found[0].count("\n"), text)


def _joined(dotted: str) -> str:
    return ".".join(part.strip() for part in dotted.split("."))
