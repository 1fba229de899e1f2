"""Markdown as HTML that does nothing: for the pages of the console.

Whatever a model, a tool, a web page or a file says ends up here. Raw HTML is off, so that tags
are shown as they were typed; what was rendered is cleaned by an allow-list once more. Links say
where they would lead and lead nowhere; images are their description and their address. Headings
stand two levels lower than they were written: the first two are the page's own. Every block
carries the number of the line it begins at: ``<p data-line="12">``.

Promise: for any text there is no script, no handler, no style, no address that a browser would
follow or load in what comes back. Nothing of the text is hidden: comments, titles, definitions,
words behind the name of a language and invisible characters are shown as what they are. Left out
is only the comment that ends a memory line of a memory file, and only if it says nothing but
where that memory came from. What would cost much more than its length is shown as it is, in one
``<pre>`` (``tests/server/test_rendering.py``).
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import cache, lru_cache
from html import escape
from itertools import islice
from typing import Any, Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import escapedSplit, getLine, table
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from holdfast.retain import says_only_provenance
from holdfast.retain.documents import lines
from holdfast.text.characters import replace_hidden, strip_hidden

__all__ = ["LARGEST", "Renderer", "render", "shown_as_it_is"]

LARGEST: Final = 100_000
"""Characters; a larger text is shown as it is."""
MOST_BRACKETS: Final = 1_000
"""Each may open a link, and is looked for its end."""
MOST_COLUMNS: Final = 100
MOST_CELLS: Final = 5_000
"""Of all tables together: a row of one letter has as many as the widest one."""
MOST_BLOCKS: Final = 12_000
"""Beginnings and ends of paragraphs, items, quotes: one letter can open twenty of them."""
MOST_NESTED: Final = 40

TOGETHER: Final = 200_000
"""Characters of all texts of one answer that are formed; the others are shown as they are."""

_OF_A_BRACKET: Final = 20
"""Characters that cost as much."""
_CACHED: Final = 256
_CACHED_LENGTH: Final = 20_000
_LOWER: Final = 2
_LOWEST: Final = 6

_FRONT: Final = re.compile(r"---[ \t]*\n((?:(?!---|\.\.\.).*\n)*)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9+#._-]{1,24}(?!\S)")
_CLASS: Final = re.compile(
    r"language-[A-Za-z0-9+#._-]{1,24}|inert|comment|info|front-matter|left|right|center"
)
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_ALIGN: Final = re.compile(r"text-align:(left|right|center)")
# Single ones are spelling in many languages; a run of them is a message.
_SOFT: Final = "\u00ad\u061c\u200b-\u200f\u2060-\u2064\ufeff"
_RUN: Final = re.compile(f"[{_SOFT}]{{4,}}")
_IS_SOFT: Final = re.compile(f"[{_SOFT}]")

_BLOCKS: Final = frozenset({"p", "ul", "ol", "li", "blockquote", "pre", "hr", "br"})
_HEADINGS: Final = frozenset({"h3", "h4", "h5", "h6"})
_WORDS: Final = frozenset({"a", "code", "em", "s", "span", "strong"})
_TABLES: Final = frozenset({"table", "thead", "tbody", "tr", "th", "td"})
_CLASSED: Final = frozenset({"a", "code", "pre", "span", "td", "th"})


def render(text: str, *, is_memory: bool = False) -> str:
    """The text as HTML that is safe to put into a page.

    ``is_memory``: it is a memory file, or lines of one.
    """
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no character
    if len(text) <= _CACHED_LENGTH:
        return _remembered(text, is_memory)
    return _rendered(text, is_memory)


def shown_as_it_is(text: str) -> str:
    """The same text without its form, for next to nothing."""
    text = text.encode("utf-8", "replace").decode()
    return f"<pre>{_without_hiding(escape(text))}</pre>"


class Renderer:
    """Renders the texts of one answer: as many of them as ``TOGETHER`` allows."""

    def __init__(self) -> None:
        self._left = TOGETHER

    def render(self, text: str) -> str:
        cost = len(text) + _OF_A_BRACKET * text.count("[")
        if cost > self._left:
            return shown_as_it_is(text)
        self._left -= cost
        return render(text)


def _rendered(text: str, is_memory: bool) -> str:
    if len(text) > LARGEST or text.count("[") > MOST_BRACKETS:
        return shown_as_it_is(text)
    source = text.replace("\r\n", "\n").replace("\r", "\n")
    if is_memory:
        source = _without_provenance(source)
    above = ""
    if front := _FRONT.match(source):
        above = f'<pre class="front-matter" data-line="1">{escape(front[1])}</pre>\n'
        # The numbers of the lines stay.
        source = "\n" * front[0].count("\n") + source[front.end() :]
    try:
        return _without_hiding(_cleaner().clean(above + _markdown().render(source)))
    except _TooMuch:
        return shown_as_it_is(text)


_remembered = lru_cache(maxsize=_CACHED)(_rendered)
"""A page is read anew with every message, and most of it is the same."""


class _TooMuch(Exception):
    """To form this would cost much more than its length."""


def _without_provenance(text: str) -> str:
    """Without the comments behind memory lines: the page shows what they say in its own way."""
    source = text.split("\n")
    for found in lines(text):
        line = source[found.number - 1]
        said, mark, comment = line.rpartition("<!-- hf ")
        if mark and says_only_provenance(comment.rstrip().removesuffix("-->")):
            source[found.number - 1] = said.rstrip()
    return "\n".join(source)


def _without_hiding(html: str) -> str:
    """With what cannot be seen spelled out; single soft hyphens, joiners and the like stay."""
    html = _RUN.sub(lambda found: "".join(map(_spelled, found[0])), html)
    return replace_hidden(html, lambda char: char if _IS_SOFT.match(char) else _spelled(char))


def _spelled(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


# ── from Markdown ───────────────────────────────────────────────────────────────────────────


@cache
def _markdown() -> MarkdownIt:
    options = {"html": False, "maxNesting": 2 * MOST_NESTED}  # what lies deeper would vanish
    markdown = MarkdownIt("commonmark", options, renderer_cls=_Html)
    markdown.enable(["table", "strikethrough"])
    markdown.disable("reference")  # a definition that nothing refers to would vanish
    markdown.block.ruler.at("table", _table, {"alt": ["paragraph"]})
    markdown.inline.ruler.before("autolink", "comment", _comment)
    return markdown


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A table; as it was typed, if a row has cells that no column would show.

    The first rule that every block is tried with: so it also counts them.
    """
    if len(state.tokens) > MOST_BLOCKS or state.level > MOST_NESTED:
        raise _TooMuch
    if not table(state, start, end, True):
        return False
    if silent:
        return True
    columns = len(_cells(state, start))
    rows = 1 + next((at for at in range(end - start) if state.isEmpty(start + at)), end - start)
    state.env[_CELLS] = state.env.get(_CELLS, 0) + columns * rows
    if columns > MOST_COLUMNS or state.env[_CELLS] > MOST_CELLS:
        raise _TooMuch
    before = len(state.tokens)
    table(state, start, end, False)
    if any(len(_cells(state, line)) > columns for line in range(start + 2, state.line)):
        del state.tokens[before:]
        token = state.push("code_block", "code", 0)
        token.content = state.getLines(start, state.line, state.blkIndent, False)
        token.map = [start, state.line]
    return True


_CELLS: Final = "cells of tables"


def _cells(state: StateBlock, line: int) -> list[str]:
    cells = escapedSplit(getLine(state, line).strip())
    start = 1 if cells and not cells[0] else 0
    return cells[start : -1 if len(cells) > start and not cells[-1] else None]


def _comment(state: StateInline, silent: bool) -> bool:
    """A comment: a model reads it, so a person sees it too."""
    start = state.pos
    if not state.src.startswith("<!--", start) or state.env.get(_UNENDED) is state.src:
        return False
    end = state.src.find("-->", start + 4)
    if end < 0:
        state.env[_UNENDED] = state.src  # no need to look again for each beginning
        return False
    if not silent:
        state.push("comment", "", 0).content = state.src[start + 4 : end].strip()
    state.pos = end + 3
    return True


_UNENDED: Final = "comment without an end"
_OPEN: Final = "titles of the links that are open"


class _Html(RendererHTML):
    """As usual, but with line numbers, without addresses that work, and without styles."""

    def renderToken(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        _number(token)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + _LOWER, _LOWEST)}"
        if aligned := _ALIGN.fullmatch(str(token.attrs.pop("style", ""))):
            token.attrSet("class", aligned[1])
        return super().renderToken(tokens, idx, options, env)

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        env.setdefault(_OPEN, []).append(_title(token))
        address = _address(token, "href")
        said = "" if _is_labelled(tokens, idx) else address
        return f'<a class="inert" title="{address}">{said}'

    def link_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return f"</a>{env[_OPEN].pop()}"

    def image(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        said = self.renderInline(token.children or [], options, env)
        address = _address(token, "src")
        shown = f"{said} ({address})" if said and address else said or address
        return f'<span class="inert">{shown}</span>{_title(token)}'

    def comment(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return f'<span class="comment">{escape(tokens[idx].content)}</span>'

    def fence(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        info = token.info.strip()
        language = _LANGUAGE.match(info)
        kind = f' class="language-{language[0]}"' if language else ""
        above = f'<span class="info">{escape(info)}</span>\n' if info else ""
        return f"<pre{_line_of(token)}>{above}<code{kind}>{escape(token.content)}</code></pre>\n"

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        return f"<pre{_line_of(token)}><code>{escape(token.content)}</code></pre>\n"


def _address(token: Token, name: str) -> str:
    return escape(str(token.attrs.get(name, "")))


def _title(token: Token) -> str:
    """What else a link or an image says, to be read and not only to be hovered over."""
    title = str(token.attrs.get("title", ""))
    return f' <span class="comment">{escape(title)}</span>' if title else ""


def _is_labelled(tokens: Sequence[Token], idx: int) -> bool:
    """Whether there is anything to be seen between the beginning of a link and its end."""
    for token in islice(tokens, idx + 1, None):
        if token.type == "link_close":
            return False
        if strip_hidden(token.content)[0].strip() or token.attrs.get("src"):
            return True
    return False


def _number(token: Token) -> None:
    if token.map is not None and token.nesting >= 0 and token.block:
        token.attrSet("data-line", str(token.map[0] + 1))


def _line_of(token: Token) -> str:
    return "" if token.map is None else f' data-line="{token.map[0] + 1}"'


# ── and once more ───────────────────────────────────────────────────────────────────────────


@cache
def _cleaner() -> nh3.Cleaner:
    attributes: dict[str, set[str]] = {tag: {"class"} for tag in _CLASSED}
    attributes["a"] = {"class", "title"}
    attributes["ol"] = {"start"}
    attributes["*"] = {"data-line"}
    return nh3.Cleaner(
        tags=set(_BLOCKS | _HEADINGS | _WORDS | _TABLES),
        clean_content_tags=set(),
        attributes=attributes,
        attribute_filter=_attribute,
        generic_attribute_prefixes=set(),
        url_schemes=set(),
        link_rel=None,
        strip_comments=True,
    )


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "title":
        return value
    known = _CLASS if name == "class" else _NUMBER
    return value if known.fullmatch(value) else None
