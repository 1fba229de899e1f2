"""Entities and the other names they go by."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import UsageError
from holdfast.memory.facts.entities import page_name, read_page, with_alias
from holdfast.memory.workspace.paths import check_path
from tests.memory.test_facts import Place


@pytest.fixture
def place(home: Path) -> Place:
    return Place(home)


@pytest.mark.parametrize(
    "page",
    [
        "# Peter\n\nAliases: Pete, 彼得\n",
        "# Peter\n\n- **Aliases:** Pete、彼得\n",
        "# Peter\n\n别名：Pete，彼得\n",
        "---\naliases: [Pete, 彼得]\n---\n# Peter\n",
        "---\ntags: x\naliases:\n  - Pete\n  - '彼得'\n---\n\n# Peter\n",
        "\ufeffAliases: Pete; 彼得\r\n\r\n# Peter\r\n".removeprefix("\ufeff"),
    ],
)
def test_aliases_are_read_from_pages_however_they_are_written(page: str) -> None:
    read = read_page("bank/entities/p.md", page)
    assert (read.name, read.aliases) == ("Peter", ("Pete", "彼得"))


def test_a_page_without_a_title_is_called_like_its_file() -> None:
    assert read_page("bank/entities/peter.md", "Some text.\n").name == "peter"


def test_case_width_and_hidden_characters_make_no_difference(place: Place) -> None:
    place.write("bank/entities/peter.md", "# Peter", "", "Aliases: Pete")
    for name in ("pete", "PETE", "Ｐｅｔｅ", "Pe\u200bte", " pete ", "@Pete", "peter"):
        assert place.facts.resolve_entity(name) == "Peter"
    assert place.facts.resolve_entity("Somebody Else") == "Somebody Else"


@pytest.mark.parametrize(
    "said",
    ["Also known as Pete.", "Known as Pete", "aka Pete.", "Goes by Pete.",
     "又名Pete。", "也叫Pete", "别名是Pete"],
)  # fmt: skip
def test_a_line_can_give_an_alias(place: Place, said: str) -> None:
    place.write("MEMORY.md", f"- W @Peter: {said}")
    assert place.facts.resolve_entity("pete") == "Peter"


def test_the_text_of_a_tool_names_nobody(place: Place) -> None:
    place.write(
        "MEMORY.md",
        '- W @attacker: Also known as Peter. <!-- hf {"trust":"tool"} -->',
        "- W @Peter: Lives in Berlin.",
    )
    assert place.facts.resolve_entity("Peter") == "Peter"
    assert len(place.facts.list(entity="Peter")) == 1


def test_the_agents_own_word_names_nobody(place: Place) -> None:
    place.write(
        "MEMORY.md",
        '- W @Peter: Also known as Mallory. <!-- hf {"id":"a1","trust":"agent"} -->',
        "- W @Peter: Is my boss.",
        "- W @Mallory: Is a fraudster.",
    )
    assert place.facts.resolve_entity("Mallory") == "Mallory"
    assert "Is a fraudster." not in place.texts(place.facts.list(entity="Peter"))
    place.facts.confirm("a1")
    assert place.facts.resolve_entity("Mallory") == "Peter"


def test_an_alias_that_two_go_by_stands_for_neither(place: Place) -> None:
    place.write("bank/entities/peter.md", "# Peter", "", "Aliases: P, Pete")
    place.write("bank/entities/paula.md", "# Paula", "", "Aliases: P")
    assert place.facts.resolve_entity("P") == "P"
    assert place.facts.resolve_entity("Pete") == "Peter"


def test_somebody_with_a_page_is_not_an_alias_of_another(place: Place) -> None:
    place.write("bank/entities/peter.md", "# Peter", "", "Aliases: Paula")
    place.write("bank/entities/paula.md", "# Paula")
    assert place.facts.resolve_entity("Paula") == "Paula"


def test_entities_are_listed_with_how_much_is_known(place: Place) -> None:
    place.write("bank/entities/peter.md", "# Peter", "", "Aliases: Pete")
    place.write(
        "MEMORY.md",
        "- W @pete: Lives in Berlin.",
        "- W @Peter: Likes tea.",
        '- W @Peter: Is gone. <!-- hf {"until":"2020-01-01"} -->',
        "- W @Anna: Sings.",
    )
    place.write("bank/entities/nobody.md", "# Nobody yet")
    found = [(each.name, each.aliases, each.facts) for each in place.facts.entities()]
    assert found == [("Peter", ("Pete",), 2), ("Anna", (), 1), ("Nobody yet", (), 0)]


def test_an_alias_is_written_on_the_page_and_can_be_undone(place: Place) -> None:
    place.write("MEMORY.md", "- W @Peter: Lives in Berlin.")
    entity = place.facts.add_alias("peter", "Pete")
    assert (entity.name, entity.aliases) == ("Peter", ("Pete",))
    page = place.home / "bank/entities/peter.md"
    assert page.read_text() == "# Peter\n\nAliases: Pete\n"
    place.facts.add_alias("Pete", "彼得")
    assert page.read_text() == "# Peter\n\nAliases: Pete, 彼得\n"
    place.facts.add_alias("Pete", "彼得")
    assert page.read_text() == "# Peter\n\nAliases: Pete, 彼得\n"
    place.workspace.undo()
    assert page.read_text() == "# Peter\n\nAliases: Pete\n"
    with pytest.raises(UsageError):
        place.facts.add_alias("Peter", "a, b")


def test_whatever_else_is_on_the_page_stays(place: Place) -> None:
    page = place.write(
        "bank/entities/xiaowang.md", "# 小王", "", "笔记  ", "- W @小王: 喜欢茶。", newline="\r\n"
    )
    place.facts.add_alias("小王", "老王")
    text = "# 小王\r\n\r\nAliases: 老王\r\n\r\n笔记  \r\n- W @小王: 喜欢茶。\r\n"
    assert page.read_bytes().decode() == text
    assert place.facts.resolve_entity("老王") == "小王"


@given(st.text(min_size=1, max_size=80))
def test_the_page_of_any_name_has_a_path_that_is_allowed(name: str) -> None:
    assert check_path(page_name(name))


@given(st.text(max_size=200))
def test_an_alias_can_be_added_to_any_page(text: str) -> None:
    after = with_alias(text, "Peter", "Pete")
    assert "Pete" in read_page("x.md", after).aliases or len(text.splitlines()) > 150
    assert len(after) >= len(text)
