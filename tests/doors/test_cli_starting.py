"""The command line built in part is the command line."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import typer.main

from holdfast.cli import main, starting
from holdfast.cli.app import app


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every command is built, and every value is checked by Typer itself."""
    with monkeypatch.context() as patched:
        patched.setattr(starting, "_only", lambda _: app)
        patched.setattr(starting, "_take_as_given", lambda *_, **__: None)
        yield


def _said(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[object, str, str]:
    monkeypatch.setattr("sys.argv", ["holdfast", *words])
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    return (code, *capsys.readouterr())


@pytest.mark.parametrize(
    "words",
    [
        ["search", "--help"],
        ["search"],
        ["search", "x", "--k", "0"],
        ["search", "x", "--k", "many"],
        ["search", "x", "--nonsense"],
        ["search", "x", "y"],
        ["config", "path"],
        ["config", "path", "--json"],
        ["config", "nonsense"],
        ["config"],
        ["sessions", "list", "--json"],
        ["sessions", "show", "none", "--last", "3"],
        ["sessions", "verify", "one", "two"],
        ["replay", "no-such-file", "--window", "100"],
        ["--home", "/dev/null/x", "config", "path"],
        ["--home", "", "status"],
        ["--home"],
        ["serach", "x"],
        ["--nonsense", "search", "x"],
        ["--version"],
        ["--", "search"],
    ],
    ids=" ".join,
)
def test_a_command_line_built_in_part_says_the_same(
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    found = _said(words, monkeypatch, capsys)
    request.getfixturevalue("whole")
    assert found == _said(words, monkeypatch, capsys)


def test_of_all_commands_one_is_built() -> None:
    small = typer.main.get_command(starting._only(starting._called(["--agent", "a", "search"])))
    assert list(getattr(small, "commands", ())) == ["search"]
    assert len(app.registered_commands) > 5  # and nothing is taken from the others


def test_every_option_before_a_command_is_known_here() -> None:
    root = typer.main.get_command(app)
    valued = {name for each in root.params for name in each.opts if not _is_flag(each)}
    assert valued == starting._WITH_VALUE


def _is_flag(parameter: object) -> bool:
    return bool(getattr(parameter, "is_flag", False))


def test_garbage_is_collected_again_after_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["--version"], ["search"], ["config", "path"]):
        _said(words, monkeypatch, capsys)
        assert gc.isenabled()
