"""The public names: few, sorted, there, and used by no import tricks."""

from __future__ import annotations

import holdfast


def test_the_public_names_are_few_sorted_and_all_there() -> None:
    assert len(holdfast.__all__) <= 30
    assert holdfast.__all__ == sorted(holdfast.__all__)
    for name in holdfast.__all__:
        assert getattr(holdfast, name) is not None
    assert set(holdfast._WHERE) | {"__version__"} == set(holdfast.__all__)


def test_dir_shows_what_is_public() -> None:
    assert set(dir(holdfast)) == set(holdfast.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(holdfast, "no_such_name")
