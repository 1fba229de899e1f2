"""Markdown as HTML that does nothing: for the pages of the console.

Whatever a model, a tool, a web page or a file says ends up here. Raw HTML is off, so that tags
are shown as they were typed; what was rendered is cleaned by an allow-list once more. Links say
where they would lead and lead nowhere; images are their description and their address. Every
block carries the number of the line it begins at: ``<p data-line="12">``.

Promise: for any text there is no script, no handler, no style, no address that a browser would
follow or load in what comes back, and nothing of the text is hidden but the comments in which
Holdfast keeps where a memory came from; other comments are shown as such
(``tests/server/test_rendering.py``).
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from html import escape
from typing import Any, Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from holdfast.text import shorten

__all__ = ["LARGEST", "render"]

LARGEST: Final = 100_000
"""Characters; a larger text is shown as it is."""

_LONGEST_ADDRESS: Final = 2_000
_FRONT: Final = re.compile(r"---[ \t]*\n((?:(?!---|\.\.\.).*\n)*)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_OURS: Final = re.compile(r"[ \t]*<!-- hf \{[^<>\n]*\} -->")
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9+#._-]{1,24}")
_CLASS: Final = re.compile(
    r"language-[A-Za-z0-9+#._-]{1,24}|inert|comment|front-matter|left|right|center"
)
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_ALIGN: Final = re.compile(r"text-align:(left|right|center)")

_BLOCKS: Final = frozenset({"p", "ul", "ol", "li", "blockquote", "pre", "hr", "br"})
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_WORDS: Final = frozenset({"a", "code", "em", "s", "span", "strong"})
_TABLES: Final = frozenset({"table", "thead", "tbody", "tr", "th", "td"})
_CLASSED: Final = frozenset({"a", "code", "pre", "span", "td", "th"})


def render(text: str) -> str:
    """The text as HTML that is safe to put into a page."""
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no character
    if len(text) > LARGEST:
        return f"<pre>{escape(text)}</pre>"
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT.match(text)
    if front is None:
        return _cleaner().clean(_markdown().render(text))
    above = f'<pre class="front-matter" data-line="1">{escape(front[1])}</pre>\n'
    below = "\n" * front[0].count("\n") + text[front.end() :]  # the numbers of the lines stay
    return _cleaner().clean(above + _markdown().render(below))


# ── from Markdown ───────────────────────────────────────────────────────────────────────────


@cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    markdown.enable(["table", "strikethrough"])
    markdown.inline.ruler.before("autolink", "provenance", _skip_ours)
    markdown.inline.ruler.before("autolink", "comment", _comment)
    return markdown


def _skip_ours(state: StateInline, silent: bool) -> bool:
    """Leave out the comment behind a memory line: the page shows what it says in its own way."""
    found = _OURS.match(state.src, state.pos)
    if found is None or found.end() > state.posMax:
        return False
    state.pos = found.end()
    return True


def _comment(state: StateInline, silent: bool) -> bool:
    """A comment that somebody else wrote: a model reads it, so a person sees it too."""
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


class _Renderer(RendererHTML):
    """As usual, but with line numbers, without addresses that work, and without styles."""

    def renderToken(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        _number(token)
        if aligned := _ALIGN.fullmatch(str(token.attrs.pop("style", ""))):
            token.attrSet("class", aligned[1])
        return super().renderToken(tokens, idx, options, env)

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return f'<a class="inert" title="{_address(tokens[idx], "href")}">'

    def image(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        said = escape(self.renderInlineAsText(token.children or [], options, env))
        address = _address(token, "src")
        shown = f"{said} ({address})" if said and address else said or address
        return f'<span class="inert">{shown}</span>'

    def comment(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return f'<span class="comment">{escape(tokens[idx].content)}</span>'

    def fence(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        language = _LANGUAGE.match(token.info.strip())
        kind = f' class="language-{language[0]}"' if language else ""
        return f"<pre{_line_of(token)}><code{kind}>{escape(token.content)}</code></pre>\n"

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        return f"<pre{_line_of(token)}><code>{escape(token.content)}</code></pre>\n"


def _address(token: Token, name: str) -> str:
    return escape(shorten(str(token.attrs.get(name, "")), _LONGEST_ADDRESS, 100, "…"))


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
