"""``holdfast serve``: the link, the token, what is refused, and the end by a signal."""

from __future__ import annotations

import html
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
import webbrowser
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import pytest

import holdfast
from holdfast.cli import hosting
from holdfast.disk import Directory
from holdfast.gatehouse.listening import Tls
from holdfast.server.places import OWN, Place, Places
from holdfast.server.presence import PRESENCE, occupy
from holdfast.server.running import Server
from holdfast.server.tokens import TokenFile
from tests.doors.inside import inside


class Running:
    """The real command, and what it printed first."""

    def __init__(self, home: Path, *options: str) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "holdfast", "--home", str(home)),
                *("serve", "--port", "0", "--json", *options),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        assert first, self.process.communicate()[1]
        self.told: dict[str, Any] = json.loads(first)

    def end(self, by: signal.Signals) -> tuple[int, str, str]:
        self.process.send_signal(by)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a conversation that nothing was saved of."""
    home = tmp_path_factory.mktemp("serve") / "home"
    with holdfast.open(home, background=False) as engine:
        session = engine.session("trip")
        session.append({"role": "user", "content": "Remember: the ferry to Bergen leaves at 7:40."})
        session.append({"role": "assistant", "content": "Noted."})
    return home


def memory_of(home: Path) -> str:
    files = [*home.rglob("*.md")]
    return "".join(each.read_text() for each in files)


def test_a_signal_ends_it_when_everything_is_saved(spoken: Path) -> None:
    running = Running(spoken)
    told = running.told
    assert told["pid"] == running.process.pid
    assert told["link"].startswith(f"{told['url']}/#code=")
    token = Path(told["token_file"]).read_text().strip()
    with httpx.Client(
        base_url=told["url"], headers={"Authorization": f"Bearer {token}"}, timeout=60
    ) as client:
        code = told["link"].partition("#code=")[2]
        assert client.post("/sign-in", json={"code": code}).status_code == 200
        assert client.post("/sign-in", json={"code": code}).status_code == 401

        again = inside(spoken, "serve", "link", "--json").lines[0]
        assert again["url"] == f"{told['url']}/#code={again['code']}"
        assert client.post("/sign-in", json={"code": again["code"]}).status_code == 200

        for port in (told["url"].rpartition(":")[2], "0"):
            twice = inside(spoken, "serve", "--port", port)
            assert (twice.code, twice.out) == (2, "")
            assert f"process {told['pid']}" in twice.err
            assert "holdfast serve link" in twice.err

        rotated = inside(spoken, "serve", "token", "--rotate").out.strip()
        assert client.get("/api/v1/server").status_code == 401, "at once"
        client.headers["Authorization"] = f"Bearer {rotated}"
        assert client.post("/api/v1/sessions", json={"name": "trip"}).status_code == 200

        with holdfast.open(spoken, background=False) as engine:  # as another process does
            engine.session("trip").append({"role": "user", "content": "Thank you."})
        assert "Bergen" not in memory_of(spoken)
        code, out, err = running.end(signal.SIGTERM)
    assert (code, out, err) == (0, "", "Saving what was said…\n")
    assert "Bergen" in memory_of(spoken), "it was saved before the process ended"
    assert not (spoken / PRESENCE).exists()
    gone = inside(spoken, "serve", "link")
    assert gone.code == 3
    assert "No server of this home runs" in gone.err


@pytest.fixture
def certificate(tmp_path: Path) -> Tls:
    made = subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=memory.example.org"),
            *("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")),
        ],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("openssl is not installed")
    return Tls(certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem")


def test_with_a_certificate_it_speaks_tls_and_a_link_is_asked_for_over_it(
    home: Path, certificate: Tls
) -> None:
    places = Places([Place(name=OWN, engine=holdfast.open(home))])
    with Server(places, home=home, tls=certificate) as server:
        assert server.url.startswith("https://127.0.0.1:")
        assert inside(home, "serve", "link").out.startswith(f"{server.url}/#code=")
        with pytest.raises(httpx.ConnectError, match=r"(?i)certificate"):
            httpx.get(f"{server.url}/healthz")


def test_the_token_is_shown_made_once_and_rotated(home: Path) -> None:
    first = inside(home, "serve", "token")
    assert first.out == f"{TokenFile(home).read()}\n"
    assert str(TokenFile(home).path) in first.err
    assert inside(home, "serve", "token").out == first.out
    other = inside(home, "serve", "token", "--rotate", "--json").lines[0]
    assert other == {
        "token": TokenFile(home).read(),
        "file": str(TokenFile(home).path),
        "rotated": True,
    }
    assert other["token"] != first.out.strip()


PUBLIC = ["--host", "0.0.0.0", "--port", "0"]


@pytest.mark.parametrize(
    ("options", "has_token", "told"),
    [
        (PUBLIC, True, "--behind-tls --allow-host"),
        ([*PUBLIC, "--behind-tls"], True, "--behind-tls --allow-host"),
        ([*PUBLIC, "--allow-host", "memory.example.org"], True, "--behind-tls --allow-host"),
        (
            [*PUBLIC, "--behind-tls", "--allow-host", "memory.example.org"],
            False,
            "holdfast serve token",
        ),
        (["--host", "192.0.2.7", "--port", "0"], False, "--behind-tls"),
        (["--host", "localhost.evil.example", "--port", "0"], True, "--behind-tls"),
    ],
)
def test_an_address_that_others_reach_needs_a_token_and_tls_and_a_name(
    home: Path, options: list[str], has_token: bool, told: str
) -> None:
    if has_token:
        TokenFile(home).make()
    refused = inside(home, "serve", *options)
    assert refused.code == 6
    assert "reached from other machines" in refused.err
    assert told in refused.err
    assert refused.out == ""
    assert not (home / "agents").exists(), "not even the memory was opened"


def test_a_certificate_without_its_key_or_that_is_none_is_refused(
    home: Path, tmp_path: Path, certificate: Tls
) -> None:
    (tmp_path / "x.pem").write_text("no certificate")
    for options in (
        ["--tls-cert", str(tmp_path / "x.pem")],
        ["--tls-key", str(tmp_path / "x.pem")],
        ["--tls-cert", str(tmp_path / "x.pem"), "--tls-key", str(tmp_path / "x.pem")],
        ["--tls-cert", str(tmp_path / "none"), "--tls-key", str(tmp_path / "none")],
        ["--tls-cert", str(certificate.certificate), "--tls-key", str(tmp_path / "x.pem")],
    ):
        refused = inside(home, "serve", *options)
        assert (refused.code, refused.out) == (2, "")


def test_with_a_certificate_of_its_own_it_still_needs_the_name_that_others_call_it(
    home: Path, certificate: Tls
) -> None:
    TokenFile(home).make()
    tls = ["--tls-cert", str(certificate.certificate), "--tls-key", str(certificate.key)]
    refused = inside(home, "serve", *PUBLIC, *tls)
    assert refused.code == 6
    assert "--allow-host" in refused.err


def test_a_port_that_somebody_else_has_is_said_to_be_taken(home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = inside(home, "serve", "--port", str(other.getsockname()[1]))
    assert taken.code == 2
    assert "--port 0" in taken.err
    assert not (home / "agents").exists()


def test_the_token_is_sent_to_the_server_of_the_home_and_to_nobody_else(home: Path) -> None:
    """A file that a killed server left, whose process and port are somebody else's by now."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        other.setblocking(False)
        port = other.getsockname()[1]
        home.mkdir()
        for pid in (os.getpid(), 1):
            about = {"pid": pid, "url": f"http://127.0.0.1:{port}", "started_at": ""}
            about |= {"address": "127.0.0.1", "port": port, "host": f"127.0.0.1:{port}"}
            (home / PRESENCE).write_text(json.dumps(about))
            refused = inside(home, "serve", "link")
            assert refused.code == 3
            assert "No server of this home runs" in refused.err
        with pytest.raises(BlockingIOError):
            other.accept()
    with occupy(Directory.open(home)):
        (home / PRESENCE).write_text(json.dumps(about))
        refused = inside(home, "serve", "link")
    assert refused.code == 1
    assert f"http://127.0.0.1:{port} gave no link" in refused.err


def test_the_browser_is_given_a_private_file_and_the_code_is_in_no_command_line(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    is_opened = Event()
    monkeypatch.setattr(hosting, "_LOOK_SECONDS", 0.01)

    def open_browser(url: str) -> None:
        opened.append(url)
        is_opened.set()

    monkeypatch.setattr(webbrowser, "open", open_browser)
    places = Places([Place(name=OWN, engine=holdfast.open(home))])
    with Server(places, home=home) as server:
        link = server.new_link(place="tour")
        with hosting.opening(server, link, Directory.open(home)):
            assert is_opened.wait(30)
            code = link.partition("#code=")[2].partition("&")[0]
            (url,) = opened
            assert url.startswith("file:///")
            assert code not in url
            path = Path(unquote(urlsplit(url).path))
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert html.escape(link) in path.read_text()
            assert httpx.post(f"{server.url}/sign-in", json={"code": code}).status_code == 200
            for _ in range(3_000):
                if not path.exists():
                    break
                time.sleep(0.01)
            assert not path.exists(), "it is gone when it was used"
        with hosting.opening(server, server.new_link(), Directory.open(home)):
            pass
        assert not list(home.glob(".tmp-*")), "and at the end"


@pytest.mark.parametrize("whose", [("--user", "ana"), ("--chat", "team")])
def test_the_console_is_for_the_owner_alone(home: Path, whose: tuple[str, str]) -> None:
    refused = inside(home, *whose, "serve", "--port", "0")
    assert refused.code == 2
    assert "holdfast mcp clients add" in refused.err
    assert not (home / "server.token").exists()
