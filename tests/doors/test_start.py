"""``holdfast start``: what it opens, what it offers, and what it does when somebody chooses."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.cli.tour.offering import MODEL, Hands, begin
from holdfast.cli.tour.script import script
from holdfast.errors import ModelUnavailable
from holdfast.models.registry import Choice, Considered
from holdfast.models.weights import CATALOGUE
from tests.doors.inside import inside
from tests.doors.terminal import Terminal

NONE = Choice(
    model=None,
    why="nothing was found",
    considered=(Considered(place="a key", model=None, why="no key that is known is set"),),
)
SOME = Choice(model="ollama:qwen3", why="ollama answers")
NO_MODEL = {"HOLDFAST_MODEL_LOOK_FOR_SERVERS": "false"}


class Person:
    """Answers what is asked, and remembers what was done."""

    def __init__(
        self,
        *answers: str | type[BaseException],
        choices: tuple[Choice, ...] = (NONE,),
        tour: int = 0,
        fails: Exception | None = None,
    ) -> None:
        self.done: list[str] = []
        self.questions: list[str] = []
        self.environ: dict[str, str] = {}
        self._answers = list(answers)
        self._choices = list(choices)
        self._tour = tour
        self._fails = fails

    def hands(self) -> Hands:
        return Hands(
            choose=self._choose,
            tour=lambda: self._did("tour", self._tour),
            chat=lambda: self._did("chat", 0),
            fetch=self._fetch,
            ask=self._answer,
            ask_hidden=self._answer_hidden,
            environ=self.environ,
            folder="/models",
        )

    def begins(self, *, is_terminal: bool = True) -> int:
        code = begin(self.hands(), is_terminal=is_terminal)
        assert not self._answers, "everything that was answered was asked for"
        return code

    def _did(self, what: str, code: int) -> int:
        self.done.append(what)
        return code

    def _choose(self) -> Choice:
        return self._choices.pop(0) if len(self._choices) > 1 else self._choices[0]

    def _fetch(self) -> None:
        self.done.append("fetch")
        if self._fails is not None:
            raise self._fails

    def _answer(self, question: str) -> str:
        self.questions.append(question)
        said = self._answers.pop(0)
        if isinstance(said, str):
            return said
        raise said

    def _answer_hidden(self, question: str) -> str:
        self.done.append("hidden")
        return self._answer(question)


def test_with_a_model_the_chat_is_opened_at_once() -> None:
    person = Person(choices=(SOME,))
    assert person.begins() == 0
    assert person.done == ["chat"]


def test_without_one_the_tour_comes_first_and_then_the_offer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    person = Person("x", "q")
    assert person.begins() == 0
    assert person.done == ["tour"]
    out = capsys.readouterr().out
    assert "1.1 GB" in out
    assert CATALOGUE[MODEL].bytes == 1_117_320_768
    assert "none of 1, 2, 3 and q" in out
    assert "holdfast start" in out


@pytest.mark.parametrize("end", [EOFError, KeyboardInterrupt])
def test_a_closed_terminal_or_ctrl_c_leaves(end: type[BaseException]) -> None:
    person = Person(end)
    assert person.begins() == 0
    assert person.done == ["tour"]


def test_a_tour_that_went_wrong_is_in_the_exit_code_and_one_that_was_left_is_not() -> None:
    assert Person("q", tour=1).begins() == 1
    assert Person("q", tour=130).begins() == 0


def test_a_key_is_asked_for_hidden_kept_for_this_program_and_the_chat_opens(
    capsys: pytest.CaptureFixture[str],
) -> None:
    person = Person("1", "nobody", "Anthropic", " sk-secret ", choices=(NONE, SOME))
    assert person.begins() == 0
    assert person.done == ["tour", "hidden", "chat"]
    assert person.environ == {"ANTHROPIC_API_KEY": "sk-secret"}
    out = capsys.readouterr().out
    assert "sk-secret" not in out
    assert "OPENAI_API_KEY" in out
    assert "no provider nobody" in out
    assert "export ANTHROPIC_API_KEY" in out.replace("\n", " ")


@pytest.mark.parametrize(
    "answers", [("1", "", "q"), ("1", "OPENAI_API_KEY", "", "q"), ("2", "b", "q")]
)
def test_one_can_go_back_from_each_way(answers: tuple[str, ...]) -> None:
    person = Person(*answers)
    assert person.begins() == 0
    assert "chat" not in person.done
    assert person.environ == {}


def test_a_key_whose_client_is_missing_says_so_and_the_offer_stands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lacking = Considered(place="a key", model=None, why="not installed: pip install 'x'")
    person = Person("1", "google", "k", "q", choices=(NONE, replace(NONE, considered=(lacking,))))
    assert person.begins() == 0
    assert "chat" not in person.done
    assert "pip install 'x'" in capsys.readouterr().out


def test_a_server_is_looked_for_again_until_it_answers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    person = Person("2", "", "", choices=(NONE, NONE, SOME, SOME))
    assert person.begins() == 0
    assert person.done == ["tour", "chat"]
    out = capsys.readouterr().out
    assert "ollama serve" in out
    assert "Still no model" in out


@pytest.mark.parametrize("said", ["n", "", "no"])
def test_nothing_is_fetched_without_a_yes(said: str) -> None:
    person = Person("3", said, "q")
    assert person.begins() == 0
    assert person.done == ["tour"]
    assert any("1.1 GB" in each for each in person.questions)


def test_after_the_fetch_the_chat_opens_and_a_failed_one_leaves_the_offer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    person = Person("3", "确定", choices=(NONE, SOME))
    assert person.begins() == 0
    assert person.done == ["tour", "fetch", "chat"]
    failing = ModelUnavailable("There is no way to it.", hint="holdfast model get x")
    person = Person("3", "y", "q", fails=failing)
    assert person.begins() == 0
    assert person.done == ["tour", "fetch"]
    assert "There is no way to it." in capsys.readouterr().out


# ── without a terminal ──────────────────────────────────────────────────────────────────────


def test_without_a_terminal_nothing_is_asked_and_the_offer_is_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    person = Person()
    assert person.begins(is_terminal=False) == 0
    assert person.done == ["tour"]
    out = capsys.readouterr().out
    assert f"holdfast model get {MODEL}" in out
    assert "ANTHROPIC_API_KEY" in out
    person = Person(choices=(SOME,))
    assert person.begins(is_terminal=False) == 0
    assert person.done == ["tour"], "a chat would wait for somebody who is not there"
    assert "ollama:qwen3" in capsys.readouterr().out
    assert Person(tour=1).begins(is_terminal=False) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_offer_speaks_the_language_of_the_terminal(
    capsys: pytest.CaptureFixture[str], language: str
) -> None:
    person = Person("1", "", "2", "b", "3", "n", "q")
    person.environ["LANG"] = f"{language}_XX.UTF-8"
    assert person.begins() == 0
    is_chinese = re.search("[\u4e00-\u9fff]", capsys.readouterr().out) is not None
    assert is_chinese == (language == "zh")
    assert all(
        (re.search("[\u4e00-\u9fff]", q) is not None) == is_chinese for q in person.questions
    )


def test_with_json_it_only_says_what_it_would_open(home: Path) -> None:
    run = inside(home, "start", "--json", environ=NO_MODEL)
    assert run.code == 0
    assert run.lines[-1]["next"] == "demo"
    assert run.lines[-1]["model"] is None
    run = inside(home, "start", "--json", environ={"HOLDFAST_MODEL_NAME": "openai:gpt-x"})
    assert (run.lines[-1]["next"], run.lines[-1]["model"]) == ("chat", "openai:gpt-x")
    assert not home.exists()


# ── in a real terminal ──────────────────────────────────────────────────────────────────────

OFFLINE = """
import socket, sys

def refuse(*args, **kwargs):
    raise OSError("there is no network on this tour")

socket.socket.connect = socket.socket.sendto = socket.getaddrinfo = refuse
from holdfast.cli import main
sys.argv = ["holdfast", *sys.argv[1:]]
main()
"""


def test_in_a_narrow_terminal_the_tour_runs_offline_and_the_offer_is_answered(
    tmp_path: Path,
) -> None:
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    environ = {
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "PATH": os.environ["PATH"],
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
        "HOLDFAST_LANGUAGE": "zh",
        "HOLDFAST_MODELS": str(tmp_path / "models"),
        # Settings of a person's own home are not those of the tour.
        "HOLDFAST_FLUSH_MODEL": "openai:gpt-x",
        "HOLDFAST_MEMORY_MODE": "off",
        **NO_MODEL,
    }
    argv = [sys.executable, "-c", OFFLINE, "start", "--fast"]
    terminal = Terminal(argv, environ, 40, 24)
    try:
        terminal.wait_for("1、2、3 或 q：", seconds=120)
        terminal.type("3\n")
        terminal.wait_for("[y/N]", seconds=60)
        terminal.type("n\n")
        terminal.settle()
        terminal.type("q\n")
        assert terminal.end() == 0
    finally:
        terminal.close()
    shown = terminal.screen.text
    assert shown.count("1、2、3 或 q：") == 2
    assert "Traceback" not in shown
    assert "pip install" not in shown
    whole = shown.replace("\n", "")
    assert "4个问题找到4" in whole
    told = re.search(r"说了(\d+)条消息，磁盘上有(\d+)条；", whole)
    assert told is not None
    assert told[1] == told[2] == str(len(script("zh").messages))
    (home,) = (tmp_path / "tmp").iterdir()
    assert home.stat().st_mode & 0o077 == 0
    assert re.search(rf"holdfast ?--home ?{re.escape(str(home))} ?status", whole)
    assert not list((tmp_path / "home").iterdir()), "a person's own home is not touched"
    assert not (tmp_path / "models").exists()
