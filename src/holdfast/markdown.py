"""Markdown as blocks with their lines, and the few edits we make to other people's files.

Promise: blocks are sorted, never overlap, and together with the front matter cover every line
that is not blank; line numbers are those an editor shows; ``Document.lines`` returns the exact
source. ``append_to_section`` inserts text at one place and changes no other byte, and what is
wrapped by ``fence`` or ``quote`` cannot get out. Proven on random and hostile documents by
``tests/foundation/test_markdown_blocks.py`` and ``test_markdown_edits.py``. Not here: what a
line of memory means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Final, Literal

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, blockquote, hr
from markdown_it.token import Token

from holdfast.errors import UsageError
from holdfast.text import normalise
from holdfast.types import LineSpan

__all__ = [
    "Block",
    "BlockKind",
    "Document",
    "append_to_section",
    "escape_inline",
    "fence",
    "parse",
    "quote",
    "section",
    "split_lines",
]

BlockKind = Literal[
    "heading", "paragraph", "list_item", "fence", "code", "table", "quote", "html", "rule"
]
"""``fence`` is fenced code, ``code`` is indented code."""

# Only these end a line, as CommonMark has it. ``str.splitlines`` knows eight more (form feed,
# U+2028 …), and every one of them would shift the line numbers of all that follows.
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_BOM: Final = "\ufeff"
_NO_RULE: Final = re.compile(r"[^-*_ \t]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of a document.

    ``headings`` are the titles above it, outermost first, of a heading without its own.
    ``level`` is a heading's level or a list item's depth, counted from 1; else 0. ``text`` is
    a heading's title, the inside of a fence or of code, else the source; its lines end in
    ``\\n``. ``info`` is what a fence says behind its opening marks.
    """

    kind: BlockKind
    span: LineSpan
    headings: tuple[str, ...] = ()
    level: int = 0
    text: str = ""
    info: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A parsed text. ``source`` holds its lines with their endings; joined they are the text.

    A list item ends where the first item inside it begins: the inner item is a block of its
    own. Whatever else an item or a quote holds (code, tables, quotes) is part of it.
    """

    source: tuple[str, ...]
    front_matter: LineSpan | None
    blocks: tuple[Block, ...]

    def lines(self, span: LineSpan) -> str:
        """The exact source of these lines, with their endings."""
        return "".join(self.source[span.start - 1 : span.end])


def split_lines(text: str) -> list[str]:
    """The lines of a text with their endings; only ``\\n``, ``\\r\\n`` and ``\\r`` end one."""
    return _LINE.findall(text)


# ── reading ─────────────────────────────────────────────────────────────────────────────────


def parse(text: str) -> Document:
    """The blocks of a Markdown text (CommonMark and tables), in time linear in its lines."""
    source = tuple(split_lines(text))
    plain = [line.rstrip("\r\n") for line in source]
    if plain:
        plain[0] = plain[0].removeprefix(_BOM)
    front_matter = _front_matter(plain)
    if front_matter is not None:
        plain[: front_matter.end] = [""] * front_matter.end
    pieces = _pieces(_reader().parse("\n".join(plain)))
    return Document(
        source=source,
        front_matter=front_matter,
        blocks=tuple(_with_headings(_laid_out(pieces, plain))),
    )


def section(document: Document, path: str | Sequence[str]) -> LineSpan | None:
    """The lines of the first section of that heading, with its subsections; None if missing.

    The path is a title, or titles from outer to inner; as much of it as is given must agree
    with the end of the heading's own path. Case and white space make no difference.
    """
    heading = _find_heading(document, path)
    if heading is None:
        return None
    end = next(
        (
            block.span.start - 1
            for block in document.blocks
            if block.kind == "heading"
            and block.span.start > heading.span.start
            and block.level <= heading.level
        ),
        len(document.source),
    )
    return LineSpan(start=heading.span.start, end=_last_written(document, end))


def _find_heading(document: Document, path: str | Sequence[str]) -> Block | None:
    wanted = [normalise(title) for title in ([path] if isinstance(path, str) else path)]
    if not wanted:
        return None
    for block in document.blocks:
        if block.kind == "heading":
            own = [normalise(title) for title in (*block.headings, block.text)]
            if own[-len(wanted) :] == wanted:
                return block
    return None


def _last_written(document: Document, end: int) -> int:
    """The last line up to ``end`` that is not blank; 0 if there is none."""
    while end and not _bare(document, end).strip(" \t"):
        end -= 1
    return end


def _bare(document: Document, number: int) -> str:
    """A line without its ending, and without the byte order mark if it has one."""
    line = document.source[number - 1].rstrip("\r\n")
    return line.removeprefix(_BOM) if number == 1 else line


def _front_matter(plain: Sequence[str]) -> LineSpan | None:
    """The lines between two ``---`` at the very top, the marks included.

    A blank line after the first mark makes it a rule, as other tools have it.
    """
    if len(plain) < 2 or plain[0].rstrip(" \t") != "---" or not plain[1].strip(" \t"):
        return None
    for number, line in enumerate(plain[1:], start=2):
        if line.rstrip(" \t") in ("---", "..."):
            return LineSpan(start=1, end=number)
    return None


@cache
def _reader() -> MarkdownIt:
    """A CommonMark parser that stops at blocks: what is inside a line does not matter here."""
    reader = MarkdownIt("commonmark").enable("table")
    reader.core.ruler.enableOnly(["normalize", "block"])
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    reader.block.ruler.at("blockquote", _shallow_quote, interrupts)
    reader.block.ruler.at("hr", _quick_rule, interrupts)
    return reader


def _shallow_quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A quote, unless it is deep inside others, where it would belong to them all the same.

    Every level of quotes looks at every line again, and 20 levels are 20 times the work.
    """
    return state.level < 4 and blockquote(state, start, end, silent)


def _quick_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A rule, asked only about lines that can be one.

    Otherwise a megabyte of list markers is read character by character at every depth.
    """
    written = state.bMarks[start] + state.tShift[start]
    if _NO_RULE.search(state.src, written, state.eMarks[start]):
        return False
    return hr(state, start, end, silent)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A block as the parser saw it: lines from 0, ``end`` not included."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    text: str | None = None
    info: str = ""


_KINDS: Final[dict[str, BlockKind]] = {
    "paragraph_open": "paragraph",
    "fence": "fence",
    "code_block": "code",
    "table_open": "table",
    "blockquote_open": "quote",
    "html_block": "html",
    "hr": "rule",
}


def _pieces(tokens: Sequence[Token]) -> list[_Piece]:
    """The blocks among the tokens: list items wherever they are, others only at the top."""
    pieces: list[_Piece] = []
    depth = 0
    quoted_at: int | None = None
    for index, token in enumerate(tokens):
        if quoted_at is not None:
            if token.type == "blockquote_close" and token.level == quoted_at:
                quoted_at = None
            continue
        if token.type in ("bullet_list_open", "ordered_list_open"):
            depth += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
        elif token.type == "blockquote_open":
            quoted_at = token.level
        if token.map is not None and (token.type == "list_item_open" or token.level == 0):
            pieces += _piece(token, tokens[index + 1 : index + 2], depth)
    return pieces


def _piece(token: Token, following: Sequence[Token], depth: int) -> Iterator[_Piece]:
    start, end = token.map or (0, 0)
    if token.type == "list_item_open":
        yield _Piece(kind="list_item", start=start, end=end, level=depth)
    elif token.type == "heading_open":
        title = " ".join(following[0].content.split("\n"))
        level = int(token.tag.removeprefix("h"))
        yield _Piece(kind="heading", start=start, end=end, level=level, text=title)
    elif token.type in _KINDS:
        is_code = token.type in ("fence", "code_block")
        yield _Piece(
            kind=_KINDS[token.type],
            start=start,
            end=end,
            text=token.content if is_code else None,
            info=token.info.strip(),
        )


def _laid_out(pieces: Sequence[_Piece], plain: Sequence[str]) -> Iterator[Block]:
    """The pieces as blocks without headings: none reaches into the next, nothing is left over.

    The parser is silent about some lines (link definitions, what follows a list inside an item,
    what is nested too deep). They are paragraphs.
    """
    done = 0
    limits = chain((piece.start for piece in pieces[1:]), (len(plain),))
    for piece, limit in zip(pieces, limits, strict=False):
        start, end = max(done, piece.start), min(piece.end, limit)
        while end > start and not plain[end - 1].strip(" \t"):
            end -= 1
        if end <= start:
            continue  # an item that begins with another item: the inner one has the line
        yield from _leftovers(plain, done, start)
        yield Block(
            kind=piece.kind,
            span=LineSpan(start=start + 1, end=end),
            level=piece.level,
            text="\n".join(plain[start:end]) if piece.text is None else piece.text,
            info=piece.info,
        )
        done = end
    yield from _leftovers(plain, done, len(plain))


def _leftovers(plain: Sequence[str], start: int, end: int) -> Iterator[Block]:
    first = start
    for number in range(start, end + 1):
        if number == end or not plain[number].strip(" \t"):
            if number > first:
                span = LineSpan(start=first + 1, end=number)
                yield Block(kind="paragraph", span=span, text="\n".join(plain[first:number]))
            first = number + 1


def _with_headings(blocks: Iterable[Block]) -> Iterator[Block]:
    above: list[Block] = []
    for block in blocks:
        if block.kind == "heading":
            while above and above[-1].level >= block.level:
                above.pop()
        yield Block(
            kind=block.kind,
            span=block.span,
            headings=tuple(heading.text for heading in above),
            level=block.level,
            text=block.text,
            info=block.info,
        )
        if block.kind == "heading":
            above.append(block)


# ── editing ─────────────────────────────────────────────────────────────────────────────────

_BULLET: Final = re.compile(r"[-+*][ \t]+\S")
_LIST_ITEM: Final = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)")

# HTML that runs on over blank lines until its end is written: beginning, end, an end to write.
_VERBATIM: Final = "(script|pre|style|textarea)"
_OPEN_HTML: Final = (
    (re.compile(rf"<{_VERBATIM}(?=\s|>|$)", re.I), re.compile(f"</{_VERBATIM}>", re.I), "</{}>"),
    (re.compile("<!--"), re.compile("-->"), "-->"),
    (re.compile(r"<\?"), re.compile(r"\?>"), "?>"),
    (re.compile("<![A-Za-z]"), re.compile(">"), ">"),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>"), "]]>"),
)


def append_to_section(text: str, heading: str, line: str, *more: str, level: int = 2) -> str:
    """The text with ``line`` as the last line of a section, before any subsection of it.

    ``more`` are further items of the list that ``line`` is an item of.

    The section is made at the end of the text, with a heading of this ``level``, when there is
    none. Blank lines are added where Markdown would otherwise join the line to its neighbours,
    and code or HTML that was left open at the end is closed; nothing else changes. The line
    should be a block that is complete by itself, such as a list item.

    Raises:
        UsageError: the line is blank or has a line break in it, or no heading reads so.
    """
    lines = (line, *more)
    for each in lines:
        if not each.strip() or "\n" in each or "\r" in each:
            raise UsageError(f"{each!r} is not one line of text.", hint="Give each line apart.")
    if more and not all(map(_BULLET.match, lines)):
        raise UsageError("Several lines can only be appended as items of one list.")
    document = parse(text)
    found = _find_heading(document, heading)
    if found is None:
        return _with_section(document, heading, lines, level)
    rest = [block for block in document.blocks if block.span.start > found.span.start]
    after = next((block for block in rest if block.kind == "heading"), None)
    limit = after.span.start - 1 if after else len(document.source)
    last = _last_written(document, limit)
    previous = next(block for block in reversed(document.blocks) if block.span.start <= last)
    added = _closing(document) if after is None else []
    if added:
        last = len(document.source)  # whatever was left open reaches to the end
    if previous.kind != "list_item" or not _BULLET.match(line):
        added.append("")
    added += [*lines, *_parting(document, line, last, after)]
    return _inserted(document, last, added)


def _with_section(document: Document, heading: str, lines: Sequence[str], level: int) -> str:
    title = f"{'#' * level} {heading}"
    read = [(block.kind, block.text) for block in parse(title).blocks]
    if not heading or read != [("heading", heading)]:
        raise UsageError(f"{heading!r} does not read as a heading of level {level}.")
    end = len(document.source)
    added = _closing(document)
    if added or (end and _last_written(document, end) == end):
        added.append("")
    return _inserted(document, end, [*added, title, "", *lines])


def _closing(document: Document) -> list[str]:
    """The line that ends a fence or HTML which the document leaves open, if it does."""
    if not document.blocks:
        return []
    block = document.blocks[-1]
    first = _bare(document, block.span.start).strip(" \t")
    last = _bare(document, block.span.end)
    if block.kind == "fence":
        marks = first[: len(first) - len(first.lstrip(first[0]))]
        end = re.compile(rf" {{0,3}}{marks}{first[0]}*[ \t]*")
        is_closed = block.span.start < block.span.end and end.fullmatch(last)
        return [] if is_closed else [marks]
    if block.kind == "html":
        for beginning, end, ending in _OPEN_HTML:
            if opened := beginning.match(first):
                return [] if end.search(last) else [ending.format(*opened.groups())]
    return []


def _parting(document: Document, line: str, last: int, after: Block | None) -> list[str]:
    """What must follow the new line so that the next heading stays the heading it is."""
    if after is None:
        return []
    if _bare(document, after.span.start).startswith("  ") and _LIST_ITEM.match(line):
        return ["", "<!-- -->", ""]  # an indented heading would be taken into the list item
    return [""] if after.span.start == last + 1 else []


def _inserted(document: Document, last: int, added: Sequence[str]) -> str:
    """The text with the added lines after line ``last``, in the newline style found there."""
    ended = _ending(document.source[last - 1]) if last else ""
    newline = ended or next((_ending(line) for line in document.source if _ending(line)), "\n")
    unended = newline if last and _bare(document, last) and not ended else ""
    return "".join(
        (
            *document.source[:last],
            unended,
            *(f"{line}{newline}" for line in added),
            *document.source[last:],
        )
    )


def _ending(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


# ── writing ─────────────────────────────────────────────────────────────────────────────────

_SPECIAL: Final = re.compile(
    r"[\\`*\[\]<|~]"
    r"|(?<![^\W_])_+|_+(?![^\W_])"  # an underscore inside a word is harmless
    r"|&(?=\#?\w+;)"
    r"|(?<!\S)\#+"  # opens a heading, or closes one
)
# Up to the mark that would begin a list, a quote or a rule.
_LEADING: Final = re.compile(r"\d{1,9}(?=[.)](?:\s|$))|(?=>|[-+=](?:[-+=\s]|$))")


def fence(text: str, info: str = "") -> str:
    """The text as a code fence that nothing in it can close, without a final newline."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    body = text if not text or text.endswith(("\n", "\r")) else f"{text}\n"
    return f"{marks}{' '.join(info.replace('`', ' ').split())}\n{body}{marks}"


def quote(text: str) -> str:
    """The text as a block quote; every line of it is marked, so nothing gets out."""
    lines = (f"> {line}" if line.strip("\r\n") else f">{line}" for line in split_lines(text))
    return "".join(lines) or ">"


def escape_inline(text: str) -> str:
    """The text on one line, to stand behind ``# `` or ``- `` and be read as it is.

    White space, also line breaks, is folded to single spaces.
    """
    escaped = _SPECIAL.sub(lambda found: _escaped(found[0]), " ".join(text.split()))
    if leading := _LEADING.match(escaped):
        return f"{leading[0]}\\{escaped[leading.end() :]}"
    return escaped


def _escaped(marks: str) -> str:
    return "".join(f"\\{mark}" for mark in marks)
