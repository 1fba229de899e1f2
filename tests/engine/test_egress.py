"""The one client of notices: where it connects to, and that it always comes back."""

from __future__ import annotations

import socket
import ssl
import subprocess
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from holdfast.engine.notify.egress import Egress, Unreached
from holdfast.errors import PolicyRefused
from tests.engine.receivers import (
    PUBLIC,
    Behaviour,
    Receiver,
    Watched,
    answer,
    drip,
    endless,
    hang,
    receiver,
)

SECRET_PATH = "/services/T0AAA/B0BBB/hunter2hunter2"
REFUSED = ("http://hooks.example.com", "https://10.0.0.1", "https://u@hooks.example.com", "ftp://x")


@pytest.fixture
def here() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


# ── where the connection goes ───────────────────────────────────────────────────────────────


def test_a_name_is_resolved_once_and_the_checked_address_is_connected_to(here: Receiver) -> None:
    watched = Watched({"nas.lan": ["192.168.7.7"]}, to=here, allow_hosts=["nas.lan"])
    original = watched.egress._resolve

    def rebinding(host: str, port: int) -> Sequence[str]:
        found = original(host, port)
        watched.names["nas.lan"] = ["169.254.169.254"]
        return found

    watched.egress._resolve = rebinding
    assert watched.post("http://nas.lan/hook") == 200
    assert watched.resolved == ["nas.lan"]
    assert watched.connected == [("192.168.7.7", 80)]
    with pytest.raises(PolicyRefused):
        watched.post("http://nas.lan/hook")
    assert len(watched.connected) == 1


def test_an_address_that_takes_no_connection_leaves_time_for_the_next(here: Receiver) -> None:
    shut = socket.socket()
    shut.bind(("127.0.0.1", 0))
    tried: list[tuple[str, float]] = []

    def connect(ip: str, _: int, seconds: float) -> socket.socket:
        tried.append((ip, seconds))
        port = shut.getsockname()[1] if ip == "10.0.0.1" else here.port
        return socket.create_connection(("127.0.0.1", port), timeout=seconds)

    egress = Egress(
        allow_hosts=["nas.lan"],
        seconds=8,
        resolve=lambda *_: ["10.0.0.1", "10.0.0.2"],
        connect=connect,
    )
    with shut:
        assert egress.post("http://nas.lan/", b"", {}).status == 200
    assert [ip for ip, _ in tried] == ["10.0.0.1", "10.0.0.2"]
    assert tried[0][1] <= 4


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(here: Receiver, status: int) -> None:
    here.script = [answer(status, Location="http://169.254.169.254/latest/meta-data/")]
    watched = Watched(allow_hosts=[here.place])
    with pytest.raises(Unreached) as caught:
        watched.post(here.url)
    assert not caught.value.is_passing
    assert watched.connected == [("127.0.0.1", here.port)]


def test_proxies_of_the_environment_are_not_used(
    here: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv("no_proxy", "")
        assert Watched(allow_hosts=[here.place]).post(here.url) == 200
        assert proxy.connections == 0


# ── TLS ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for hooks.example.com that only its own file vouches for."""
    folder = tmp_path_factory.mktemp("certificate")
    made = folder / "made.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "3", "-subj", "/CN=hooks.example.com"]
    command += ["-addext", "subjectAltName=DNS:hooks.example.com"]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is needed to make a certificate")
    made.write_text((folder / "key.pem").read_text() + (folder / "certificate.pem").read_text())
    return made


def test_tls_asks_for_the_name_and_believes_only_a_certificate_for_it(certificate: Path) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    names = {"hooks.example.com": [PUBLIC], "other.example.com": [PUBLIC]}
    trusting = ssl.create_default_context(cafile=str(certificate.parent / "certificate.pem"))
    with receiver(serving) as secure:
        watched = Watched(names, to=secure, tls=lambda: trusting)
        assert watched.post("https://hooks.example.com/a?b=c") == 200
        assert watched.connected == [(PUBLIC, 443)]
        request = secure.requests[0]
        assert request.line == "POST /a?b=c HTTP/1.1"
        assert request.headers["host"] == "hooks.example.com"
        assert request.sni == "hooks.example.com"

        with pytest.raises(Unreached, match="certificate") as caught:
            watched.post("https://other.example.com/")
        assert not caught.value.is_passing
        with pytest.raises(Unreached, match="certificate"):
            Watched(names, to=secure).post("https://hooks.example.com/")
        assert len(secure.requests) == 1


def test_a_server_that_never_finishes_the_handshake_is_left_in_time(here: Receiver) -> None:
    watched = Watched({"hooks.example.com": [PUBLIC]}, to=here, seconds=0.3)
    with pytest.raises(Unreached):
        watched.post("https://hooks.example.com/")
    assert here.requests == []


# ── bounded ─────────────────────────────────────────────────────────────────────────────────

HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "behaviour",
    [
        hang,
        drip(HEAD * 100),
        drip(HEAD + b"X-Slow: " + b"y" * 1000),
        drip(HEAD + b"Content-Length: 1000\r\n\r\n" + b"z" * 1000),
        drip(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nz\r\n" * 500),
        endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        endless(HEAD, b"X-More: " + b"y" * 1000 + b"\r\n"),
        endless(HEAD, b"y" * 65_536),
    ],
    ids=["silent", "status", "header", "body", "chunks", "continue", "headers", "one header"],
)
def test_a_server_that_never_ends_is_left_in_time(here: Receiver, behaviour: Behaviour) -> None:
    here.script = [behaviour]
    with pytest.raises(Unreached):
        Watched(allow_hosts=[here.place], seconds=0.2).post(here.url)
    assert here.sent_bytes < 20_000_000


@pytest.mark.parametrize(
    "head",
    [
        HEAD + b"\r\n",
        HEAD + b"Content-Length: 99999999999\r\n\r\n",
        HEAD + b"Content-Length: -5\r\n\r\n",
    ],
)
def test_of_an_endless_answer_only_the_beginning_is_read(here: Receiver, head: bytes) -> None:
    here.script = [endless(head, b"z" * 65_536)]
    found = Egress(allow_hosts=[here.place], seconds=20, cap_bytes=10_000).post(here.url, b"", {})
    assert found.status == 200
    assert len(found.body) == 10_000
    assert here.sent_bytes < 20_000_000


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 99999 OK\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzzz\r\n",
        bytes(range(256)) * 10,
        HEAD + b"A: b\r\n" * 500 + b"\r\n",
    ],
)
def test_what_is_not_http_is_a_failure_that_quotes_nothing(here: Receiver, said: bytes) -> None:
    def behave(here: Receiver, connection: socket.socket, _: object) -> None:
        here.send(connection, said)

    here.script = [behave]
    with pytest.raises(Unreached) as caught:
        Watched(allow_hosts=[here.place]).post(here.url)
    assert "SSH" not in str(caught.value)


def test_a_resolver_that_hangs_is_left_in_time(here: Receiver) -> None:
    def resolve(*_: object) -> Sequence[str]:
        here.released.wait(60)
        return []

    with pytest.raises(Unreached, match="not resolved within"):
        Egress(seconds=0.2, resolve=resolve).post("https://hooks.example.com/", b"", {})


def test_a_name_nobody_knows_may_be_known_later() -> None:
    with pytest.raises(Unreached, match="could not be resolved") as caught:
        Watched().post("https://hooks.example.com/")
    assert caught.value.is_passing


def test_a_header_cannot_hold_a_second_one(here: Receiver) -> None:
    egress = Egress(allow_hosts=[here.place])
    for bad in ("a\r\nX-Evil: 1", "a\nb", "é", "\0"):
        with pytest.raises(Unreached):
            egress.post(here.url, b"", {"X-Value": bad})
    assert here.connections == 0


def test_no_error_shows_a_path(here: Receiver) -> None:
    shut = socket.socket()
    shut.bind(("127.0.0.1", 0))
    port = shut.getsockname()[1]
    here.script = [hang, answer(302, Location="/"), drip(b"nonsense\r\n")]
    watched = Watched(allow_hosts=["127.0.0.1"], seconds=0.3)
    with shut:
        for url in (here.url, here.url, here.url, f"http://127.0.0.1:{port}", *REFUSED):
            with pytest.raises((Unreached, PolicyRefused)) as caught:
                watched.post(f"{url.rstrip('/')}{SECRET_PATH}")
            shown = "".join(traceback.format_exception(caught.value, chain=True))
            assert "hunter2" not in shown
