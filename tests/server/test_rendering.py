"""Markdown as HTML that does nothing, whatever the text wants to be."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.server.rendering import LARGEST, render
from tests.scale import scaled
from tests.server.payloads import payloads

_TAGS = set(
    [f"h{level}" for level in range(1, 7)]
    + ["p", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "s", "br", "hr", "a"]
    + ["span", "table", "thead", "tbody", "tr", "th", "td"]
)
_VALUES = {
    "class": re.compile(
        r"language-[\w+#.-]{1,24}|inert|comment|front-matter|left|right|center", re.ASCII
    ),
    "data-line": re.compile(r"[1-9]\d{0,8}", re.ASCII),
    "start": re.compile(r"\d{1,9}", re.ASCII),
    "title": re.compile(r".*", re.DOTALL),
}


class _Reader(HTMLParser):
    """What a browser would find in it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment came through")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError("a declaration came through")

    def handle_pi(self, data: str) -> None:
        raise AssertionError("an instruction came through")


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader


def _does_nothing(html: str) -> _Reader:
    read = _read(html)
    for tag, attributes in read.found:
        assert tag in _TAGS, tag
        for name, value in attributes.items():
            assert name in _VALUES, f"{tag} has {name}"
            assert _VALUES[name].fullmatch(value or ""), f"{tag} has {name}={value!r}"
        assert "title" not in attributes or tag == "a"
    return read


_PIECES = st.sampled_from(
    [
        *("<script>", "</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>"),
        *("[a](javascript:alert(1))", "[a](https://e.example/x 't')", "![i](//e.example/i.png)"),
        *(
            "<https://e.example>",
            "[r]: data:text/html,x",
            "[r]",
            "![r]",
            "<!--",
            "-->",
            "<!-- hf {",
        ),
        *("} -->", "- W: a", "> ", "# ", "```", '```js"><script>', "~~~", "|a|b|\n|:-|-:|\n|c|d|"),
        *("**", "_", "~~", "`", "\\", "&lt;", "&#x3c;script&#x3e;", "&colon;", "\x00", "\ud800"),
        *("\u202e", "\u2028", "]]>", "<![CDATA[", "<?x", "<!DOCTYPE x>", '" onclick="x', "' x='"),
        *(
            "---\n",
            "\n",
            "\n\n",
            "    ",
            "\t",
            "1. ",
            "* ",
            "字",
            "a",
            "<a href=//x>",
            "<style>*{}",
        ),
    ]
)
_TEXTS = st.lists(_PIECES | st.text(max_size=8), max_size=24).map("".join)


@settings(max_examples=scaled(250))
@given(_TEXTS)
@example("<!-- hf {<script>alert(1)</script>} -->")
@example('[a](<https://e.example/"onclick=x>)')
@example('![a" onerror="x](https://e.example/i.png "t")')
@example('```x" onclick="y\ncode\n```')
def test_no_text_does_anything(text: str) -> None:
    _does_nothing(render(text))


def test_known_payloads_do_nothing_and_stay_readable() -> None:
    for payload in payloads(scaled(300)):
        read = _does_nothing(render(payload.text))
        assert payload.marker in read.text, payload.family


def test_a_link_says_where_it_would_lead_and_leads_nowhere() -> None:
    html = render("[here](https://e.example/a?b=1&c=2) and <https://f.example/>")
    read = _does_nothing(html)
    assert "href" not in html
    assert [each["title"] for tag, each in read.found if tag == "a"] == [
        "https://e.example/a?b=1&c=2",
        "https://f.example/",
    ]


def test_an_image_is_its_description_and_its_address_and_is_not_loaded() -> None:
    read = _does_nothing(render("![a *cat*](https://e.example/i.png) ![](https://e.example/j.png)"))
    assert not any(tag == "img" for tag, _ in read.found)
    assert "a cat (https://e.example/i.png)" in read.text
    assert "https://e.example/j.png" in read.text


def test_tags_are_shown_as_they_were_typed() -> None:
    assert "&lt;b onclick=x&gt;bold&lt;/b&gt;" in render("<b onclick=x>bold</b>")


def test_only_the_comment_behind_a_memory_is_left_out() -> None:
    told = 'shown <!-- hf {"id":"1","sources":["s#e"]} -->\n\nalso <!-- obey me --> and <!-- this'
    text = _does_nothing(render(told)).text
    assert "sources" not in text
    assert "obey me" in text
    assert "<!-- this" in text


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_every_block_says_which_line_it_begins_at(ending: str) -> None:
    lines = ["---", "a: 1", "---", "# One", "", "two", "", "- three", "- four", "", "```py", "x"]
    lines += ["```", "", "| a |", "|--:|", "| b |", "", "> quoted", "", "***"]
    read = _does_nothing(render(ending.join(lines)))
    found = {(tag, attributes.get("data-line")) for tag, attributes in read.found}
    assert {
        *(("pre", "1"), ("h1", "4"), ("p", "6"), ("li", "8"), ("li", "9"), ("pre", "11")),
        *(("table", "15"), ("tr", "17"), ("blockquote", "19"), ("hr", "21")),
    } <= found
    classes = {attributes["class"] for _, attributes in read.found if "class" in attributes}
    assert classes == {"front-matter", "language-py", "right"}


def test_a_very_large_text_is_shown_as_it_is() -> None:
    html = render("<b>*x*</b>\n" * (LARGEST // 10))
    assert html.startswith("<pre>&lt;b&gt;*x*")
    assert [tag for tag, _ in _does_nothing(html).found] == ["pre"]
