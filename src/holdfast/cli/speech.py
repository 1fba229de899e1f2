"""In which language the command line speaks to a person at a terminal: English or Chinese.

Only what a person reads while they talk or look (``chat``, ``demo``, ``start``) is said in both;
the answers of commands and their errors are English, because scripts and searches meet them.

Promise: the first of ``HOLDFAST_LANGUAGE``, ``LC_ALL``, ``LC_MESSAGES`` and ``LANG`` that says
anything decides, and where Chinese cannot be shown it is English; nothing that is put into a
sentence can steer a terminal (``tests/doors/test_speech.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any, Final, Literal

from holdfast.cli.gauge import can_print
from holdfast.text import display

__all__ = ["AGREED", "Language", "filled", "language", "spoken"]

Language = Literal["en", "zh"]

AGREED: Final = frozenset({"y", "yes", "是", "好", "确定"})
"""What a person types who agrees, in small letters; anything else is a no."""

_SAMPLES: Final[Mapping[Language, str]] = {"en": "", "zh": "中文，"}
_VARIABLES: Final = ("HOLDFAST_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


def language(environ: Mapping[str, str]) -> Language:
    """The language of the interface.

    >>> language({"LANG": "zh_CN.UTF-8"})
    'zh'
    """
    said = next((environ[each] for each in _VARIABLES if environ.get(each)), "")
    return "zh" if said.casefold().startswith("zh") else "en"


def spoken(environ: Mapping[str, str]) -> Language:
    """The language of the interface, if whoever reads it can be shown its characters."""
    wanted = language(environ)
    return wanted if can_print(_SAMPLES[wanted]) else "en"


class _Filling(Formatter):
    """``{n:line/lines}`` is a number with its noun; one without gets its thousands marked."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if not isinstance(value, int | float):
            return display(str(value))
        if "/" in format_spec:
            one, many = format_spec.split("/")
            return f"{value:,} {one if value == 1 else many}"
        return format(value, format_spec or ",")


_FILLING: Final = _Filling()


def filled(sentence: str, **values: Any) -> str:
    """The sentence with its values, which cannot steer a terminal whatever they are."""
    return _FILLING.vformat(sentence, (), values)
