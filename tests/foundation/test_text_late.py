"""What is made when it is first used, and is the same then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import pytest

import holdfast.models.embedders
import holdfast.search
import holdfast.text
from holdfast.text.late import _Late, late


def test_a_late_pattern_is_used_as_a_compiled_one() -> None:
    pattern, compiled = late(r"(?P<word>\w+)\d", re.ASCII), re.compile(r"(?P<word>\w+)\d", re.ASCII)
    assert pattern.findall("a1 é2 b3") == compiled.findall("a1 é2 b3") == ["a", "b"]
    assert pattern.sub("-", "a1") == "-"
    assert pattern.pattern == compiled.pattern
    assert (found := pattern.search("xy7")) is not None
    assert found["word"] == "xy"


def test_a_mistake_in_a_pattern_is_told_at_its_first_use() -> None:
    pattern = late("(")
    with pytest.raises(re.error):
        pattern.search("")


def _late_in(value: object) -> Iterator[_Late]:
    """A pattern, or those of the rules in a tuple of rules."""
    for each in value if isinstance(value, tuple) else (value,):
        if isinstance(each, _Late):
            yield each
        elif isinstance(pattern := getattr(each, "pattern", None), _Late):
            yield pattern


def test_every_late_pattern_that_there_is_can_be_compiled() -> None:
    found = 0
    for room in (holdfast.search, holdfast.models.embedders, holdfast.text):
        for module in walk_packages(room.__path__, f"{room.__name__}."):
            for value in vars(import_module(module.name)).values():
                for each in _late_in(value):
                    assert re.compile(*each._made_of).groups >= 0
                    found += 1
    assert found > 80
