"""The language of the interface comes from the locale."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper

import pytest

from holdfast.cli.speech import filled, language, spoken


@pytest.mark.parametrize(
    ("environ", "spoken"),
    [
        ({}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_GB.UTF-8"}, "en"),
        ({"LANG": "en_US", "LC_MESSAGES": "zh_CN"}, "zh"),
        ({"LANG": "zh_CN", "HOLDFAST_LANGUAGE": "en"}, "en"),
        ({"LANG": "de_DE", "LC_ALL": ""}, "en"),
    ],
)
def test_the_first_variable_that_says_anything_decides(
    environ: dict[str, str], spoken: str
) -> None:
    assert language(environ) == spoken


def test_where_chinese_cannot_be_shown_it_is_english(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"HOLDFAST_LANGUAGE": "zh"}
    assert spoken(environ) == "zh"
    monkeypatch.setattr("sys.stdout", TextIOWrapper(BytesIO(), encoding="ascii"))
    assert spoken(environ) == "en"


def test_what_is_put_into_a_sentence_cannot_steer_the_terminal() -> None:
    assert filled("{n:line/lines} in {file}", n=1, file="a\x1b[2Jb") == "1 line in a\\x1b[2Jb"
    assert filled("{n:line/lines}", n=1200) == "1,200 lines"
    assert filled("{n}, {share:.0%}", n=12_345, share=0.5) == "12,345, 50%"
