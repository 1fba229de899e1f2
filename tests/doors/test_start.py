"""``holdfast start``: what it opens, what it offers, and what it does when somebody chooses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

import holdfast
from holdfast.cli import hosting
from holdfast.cli.tour import showing
from holdfast.cli.tour.offering import MODEL, Hands, begin, open_console
from holdfast.cli.tour.script import script
from holdfast.errors import ModelUnavailable
from holdfast.models.registry import Choice, Considered
from holdfast.models.weights import CATALOGUE
from holdfast.server.places import OWN, Place, Places
from holdfast.server.running import Server
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
        is_served: bool = False,
    ) -> None:
        self.done: list[str] = []
        self.questions: list[str] = []
        self.environ: dict[str, str] = {}
        self._answers = list(answers)
        self._choices = list(choices)
        self._tour = tour
        self._fails = fails
        self._is_served = is_served

    def hands(self) -> Hands:
        return Hands(
            choose=self._choose,
            console=lambda has_tour: self.done.append("tour console" if has_tour else "console"),
            link=self._link,
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

    def _link(self) -> bool:
        if self._is_served:
            self.done.append("link")
        return self._is_served

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


A_MODEL = {"HOLDFAST_MODEL_NAME": "openai:gpt-x"}


def test_with_json_it_only_says_what_it_would_open(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (none,) = inside(home, "start", "--json", environ=NO_MODEL).lines
    assert (none["next"], none["place"], none["model"]) == ("console", "tour", None)
    (some,) = inside(home, "start", "--json", environ=A_MODEL).lines
    assert (some["next"], some["place"], some["model"]) == ("console", "own", "openai:gpt-x")
    (none,) = inside(home, "start", "--json", "--terminal", environ=NO_MODEL).lines
    assert none["next"] == "demo"
    (some,) = inside(home, "start", "--json", "--terminal", environ=A_MODEL).lines
    assert some["next"] == "chat"
    monkeypatch.setattr(hosting, "is_installed", lambda: False)
    (none,) = inside(home, "start", "--json", environ=NO_MODEL).lines
    assert none["next"] == "demo"
    assert not home.exists()


# ── the console ─────────────────────────────────────────────────────────────────────────────


def test_with_a_model_the_console_opens_on_the_own_memory_and_says_who_answers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    person = Person(choices=(SOME,))
    assert open_console(person.hands()) == 0
    assert person.done == ["console"]
    told = capsys.readouterr()
    assert told.out == "", "the answer is the link"
    assert "ollama:qwen3 answers here (ollama answers)" in told.err


@pytest.mark.parametrize("language", ["en", "zh"])
def test_without_one_it_opens_on_the_tour_and_says_three_ways_as_commands(
    capsys: pytest.CaptureFixture[str], language: str
) -> None:
    person = Person()
    person.environ["LANG"] = f"{language}_XX.UTF-8"
    assert open_console(person.hands()) == 0
    assert person.done == ["tour console"]
    told = capsys.readouterr()
    assert told.out == ""
    for command in ("export ANTHROPIC_API_KEY=", "ollama serve", f"model get {MODEL}"):
        (line,) = [each for each in told.err.splitlines() if command in each]
        assert line.endswith(" start")
        assert "#" not in line, "a comment would swallow what comes after it"
    assert (re.search("[\u4e00-\u9fff]", told.err) is not None) == (language == "zh")


def test_a_console_that_runs_already_gets_another_link_and_no_second_one_begins() -> None:
    person = Person(is_served=True)
    assert open_console(person.hands()) == 0
    assert person.done == ["link"]


def test_the_link_is_that_of_the_server_which_runs_on_this_home(home: Path) -> None:
    places = Places([Place(name=OWN, engine=holdfast.open(home))])
    with Server(places, home=home) as server:
        run = inside(home, "start", environ=NO_MODEL)
        assert run.code == 0
        assert run.out.startswith(f"{server.url}/#code=")


def test_where_the_console_is_not_installed_it_says_so_and_goes_on_in_the_terminal(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosting, "is_installed", lambda: False)
    monkeypatch.setattr(showing, "run", lambda *_, **__: 0)
    run = inside(home, "start", environ=NO_MODEL)
    assert run.code == 0
    assert "pip install 'holdfast[server]'" in run.err
    assert f"holdfast model get {MODEL}" in run.out
    assert not home.exists()


def test_without_a_key_the_console_is_served_with_a_tour_that_can_be_played(
    tmp_path: Path,
) -> None:
    """The whole way of somebody who has nothing: a process, the link, signing in, a message."""
    home, scratch = tmp_path / "home", tmp_path / "tmp"
    scratch.mkdir()
    with ExitStack() as stack:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "TMPDIR": str(scratch),
            "HOLDFAST_HOME": str(home),
            "HOLDFAST_MODELS": str(tmp_path / "models"),
            "LANG": "zh_CN.UTF-8",
            "PYTHONUTF8": "1",
            **NO_MODEL,
        }
        with open(tmp_path / "said", "wb") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", "holdfast", "start"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                env=environ,
            )
        stack.callback(process.wait)
        stack.callback(process.kill)
        assert process.stdout is not None
        stack.enter_context(process.stdout)
        link = process.stdout.readline().decode().strip()
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/#code=([\w-]+)&place=tour", link)
        assert found is not None, link
        url, code = found.groups()
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as browser:
            assert browser.get("/").headers["content-type"].startswith("text/html")
            token = browser.post("/sign-in", json={"code": code}).json()["token"]
            browser.headers["Authorization"] = f"Bearer {token}"
            about = browser.get("/api/v1/server").json()
            assert [each["name"] for each in about["places"]] == ["own", "tour"]
            assert about["model"]["name"] is None
            assert about["tour"]["upcoming"] in str(script("zh").messages)
            browser.headers["Holdfast-Place"] = "tour"
            told = browser.post("/api/v1/tour/next").text
            steps = [json.loads(each[6:]) for each in told.splitlines() if each[:5] == "data:"]
            assert steps[-1]["kind"] == "end"
            assert {"kind": "said", "text": about["tour"]["upcoming"]} in steps
            left = browser.get("/api/v1/server").json()["tour"]["left"]
            assert left == about["tour"]["left"] - 1
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert not list(scratch.iterdir()), "the tour's files are gone"
    assert "ANTHROPIC_API_KEY" in (tmp_path / "said").read_text("utf-8")
    assert not list((home / "agents").glob("*/sessions/*.jsonl")), "nothing of it is in the home"


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
    argv = [sys.executable, "-c", OFFLINE, "start", "--terminal", "--fast"]
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
