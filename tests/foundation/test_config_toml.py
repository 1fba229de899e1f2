"""Writing TOML that reads back equal, and finding the line a key stands on."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.toml import render_comment, render_toml, render_value
from holdfast.config.toml_lines import line_of, lines_of_keys
from tests.scale import scaled

_texts = st.text(st.characters(exclude_categories=["Cs"]))
_tricky = st.text(st.sampled_from("ab\"\\\n\r\t\0\x7f'é记🙂#=[]"), max_size=12)
_values = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | _texts
    | _tricky,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_documents = st.dictionaries(_texts, st.dictionaries(_texts, _values, max_size=3), max_size=3)


@settings(max_examples=scaled(40))
@given(document=_documents, header=st.lists(st.text()), note=st.text())
def test_whatever_is_written_reads_back_equal_with_any_comments(
    document: dict[str, dict[str, Any]], header: list[str], note: str
) -> None:
    comments = {
        f"{section}.{name}": [note] for section, table in document.items() for name in table
    }
    text = render_toml(document, header=header, comments=comments, footer=[note])
    assert tomllib.loads(text) == document


@settings(max_examples=scaled(120))
@given(text=_tricky)
def test_texts_of_several_lines_read_back_equal(text: str) -> None:
    assert tomllib.loads(f"x = {render_value(text)}") == {"x": text}


def test_texts_of_several_lines_stay_readable() -> None:
    assert render_value("first\nsecond") == '"""\nfirst\nsecond"""'


def test_comments_stand_above_their_key() -> None:
    text = render_toml({"flush": {"attempts": 3}}, comments={"flush.attempts": ["why\nso"]})
    assert text == "[flush]\n# why\n# so\nattempts = 3\n"
    assert render_comment(["a", ""]) == "# a\n#\n"


def test_what_toml_has_no_word_for_is_refused() -> None:
    with pytest.raises(TypeError, match="None"):
        render_value({"x": None})


LAYOUT = '''\
# flush.attempts = 9
[flush]   # attempts = 8
prompt = """
attempts = 7
[prune]
\\"""
"""
attempts = 3
"quoted" = 1
hard_threshold_command = [
  "attempts = 6",   # ]
  "x",
]
max_lines = 4

[ prune . tools ]
deny = ['[search]', "a = b"]

[[scope.rules]]
action = "allow"
[[scope.rules]]
action = "deny"

[notices]
telegram = {chat_id = "5", token = "t"}
webhook.url = "https://example.org"
'''


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("flush", 2),
        ("flush.prompt", 3),
        ("flush.attempts", 8),
        ("flush.quoted", 2),  # the nearest that can be named: its section
        ("flush.hard_threshold_command", 10),
        ("flush.max_lines", 14),
        ("prune.tools.deny", 17),
        ("scope.rules", 19),
        ("notices.telegram.token", 25),
        ("notices.webhook.url", 26),
        ("search.mmr", None),
    ],
)
def test_the_line_of_a_key_is_found_in_any_layout(name: str, line: int | None) -> None:
    tomllib.loads(LAYOUT)
    assert line_of(name, lines_of_keys(LAYOUT)) == line


@settings(max_examples=scaled(40))
@given(document=st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.dictionaries(st.sampled_from(["x", "y", "z"]), _values, min_size=1),
))  # fmt: skip
def test_the_line_that_is_named_holds_the_key(document: dict[str, dict[str, Any]]) -> None:
    text = render_toml(document)
    lines = lines_of_keys(text)
    for section, table in document.items():
        for name in table:
            assert text.split("\n")[lines[f"{section}.{name}"] - 1].startswith(f"{name} = ")
