"""Encoders behind a server, against a real one on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from holdfast.errors import ConfigError, ModelUnavailable
from holdfast.models.embedders.asking import Server
from holdfast.models.embedders.hosted import OllamaEmbedder, OpenAIEmbedder, VoyageEmbedder

KEY = "sk-test-0123456789abcdef"
Answer = tuple[int, dict[str, str], Any]


@dataclass
class Provider:
    """Answers as the providers do; ``say`` puts other answers before that."""

    url: str = ""
    questions: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    say: list[Answer] = field(default_factory=list)
    change: Callable[[Any], Any] = lambda answer: answer

    def answer(self, path: str, headers: dict[str, str], question: dict[str, Any]) -> Answer:
        self.paths.append(path)
        self.headers.append(headers)
        self.questions.append(question)
        if self.say:
            return self.say.pop(0)
        rows = [[float(len(text)), 1.0, 2.0] for text in question["input"]]
        if path == "/api/embed":
            return 200, {}, self.change({"embeddings": rows})
        data = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
        return 200, {}, self.change({"data": data[::-1]})


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers, answer = made.answer(
                self.path, dict(self.headers.items()), json.loads(body)
            )
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Whoever gave up in time has closed the connection: that is what is tested."""

    server = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_port}"
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OLLAMA_HOST", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("VOYAGE_API_KEY", KEY)


def _ollama(provider: Provider, **options: Any) -> OllamaEmbedder:
    return OllamaEmbedder("unknown-model", base_url=provider.url, **options)


# ── what is asked and answered ──────────────────────────────────────────────────────────────


def test_ollama_is_asked_without_a_key(provider: Provider) -> None:
    made = _ollama(provider).embed(["ab", "abcd"], tokens=True)
    np.testing.assert_allclose(np.linalg.norm(made.vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(made.vectors[0], np.array([2, 1, 2]) / 3, atol=1e-6)
    assert made.tokens is None
    assert provider.paths == ["/api/embed"]
    assert provider.questions == [{"model": "unknown-model", "input": ["ab", "abcd"]}]
    assert "Authorization" not in provider.headers[0]


@pytest.mark.parametrize("kind", [OpenAIEmbedder, VoyageEmbedder])
def test_vectors_are_put_in_the_order_of_the_texts(
    provider: Provider, kind: type[OpenAIEmbedder] | type[VoyageEmbedder]
) -> None:
    encoder = kind("m", base_url=f"{provider.url}/v1")
    made = encoder.embed(["a", "abcdefgh"]).vectors
    assert made[0][0] < made[1][0]
    assert provider.paths == ["/v1/embeddings"]
    assert provider.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_many_texts_go_in_batches(provider: Provider) -> None:
    texts = ["x" * (1 + at % 7) for at in range(200)]
    made = _ollama(provider).embed(texts).vectors
    assert [len(one["input"]) for one in provider.questions] == [96, 96, 8]
    assert [round(float(row[0] / row[1])) for row in made] == [len(text) for text in texts]


def test_long_texts_make_small_batches_and_are_cut(provider: Provider) -> None:
    _ollama(provider).embed(["字" * 1_000_000] * 25)
    sizes = [[len(text) for text in one["input"]] for one in provider.questions]
    assert sizes == [[8000] * 10, [8000] * 10, [8000] * 5]


def test_an_empty_text_and_a_lone_surrogate_are_no_error(provider: Provider) -> None:
    assert _ollama(provider).embed(["", "a\ud800"]).vectors.shape == (2, 3)
    assert provider.questions[0]["input"] == [" ", "a\ufffd"]


def test_the_size_is_known_or_asked_for_once(provider: Provider) -> None:
    assert OllamaEmbedder("nomic-embed-text:latest", base_url=provider.url).dimensions == 768
    assert provider.questions == []
    unknown = _ollama(provider)
    assert (unknown.dimensions, unknown.dimensions) == (3, 3)
    assert len(provider.questions) == 1
    assert unknown.embed([]).vectors.shape == (0, 3)


def test_the_name_tells_servers_apart(provider: Provider) -> None:
    assert OpenAIEmbedder().name == "openai:text-embedding-3-small"
    assert OpenAIEmbedder(base_url=provider.url).name.endswith(f"@{provider.url}")


# ── what goes wrong ─────────────────────────────────────────────────────────────────────────


def _server(provider: Provider, pauses: list[float], **options: Any) -> Server:
    return Server(base_url=provider.url, sleep=pauses.append, **options)


def test_what_may_pass_is_tried_again_with_growing_pauses(provider: Provider) -> None:
    provider.say = [(503, {}, {}), (429, {"Retry-After": "7"}, {}), (500, {}, {})]
    pauses: list[float] = []
    answer = _server(provider, pauses).ask("/api/embed", {"input": ["a"]})
    assert answer == {"embeddings": [[1.0, 1.0, 2.0]]}
    assert pauses == [0.5, 7.0, 2.0]


def test_it_gives_up_after_a_few_times_and_says_why(provider: Provider) -> None:
    provider.say = [(503, {}, {"error": "loading"})] * 9
    pauses: list[float] = []
    with pytest.raises(ModelUnavailable, match=r"503.*loading.*tried 4 times") as caught:
        _server(provider, pauses).ask("/api/embed", {"input": ["a"]})
    assert len(provider.paths) == 4
    assert caught.value.hint


def test_no_pause_is_longer_than_the_time_that_is_left(provider: Provider) -> None:
    provider.say = [(429, {"Retry-After": "3600"}, {})]
    pauses: list[float] = []
    with pytest.raises(ModelUnavailable, match="429"):
        _server(provider, pauses, seconds=5).ask("/api/embed", {"input": ["a"]})
    assert (pauses, len(provider.paths)) == ([], 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_not_tried_again(provider: Provider, status: int) -> None:
    provider.say = [(status, {}, {"error": f"no such thing, {KEY}"})]
    with pytest.raises(ModelUnavailable, match=str(status)) as caught:
        _server(provider, [], key=KEY).ask("/api/embed", {"input": ["a"]})
    assert len(provider.paths) == 1
    assert KEY not in str(caught.value)


def test_a_redirect_is_not_followed_with_the_key(provider: Provider) -> None:
    provider.say = [(302, {"Location": f"{provider.url}/elsewhere"}, {})]
    with pytest.raises(ModelUnavailable, match="302"):
        _server(provider, [], key=KEY).ask("/api/embed", {"input": ["a"]})
    assert provider.paths == ["/api/embed"]


def test_a_server_that_is_not_there_says_how_to_start_it() -> None:
    encoder = OllamaEmbedder("m", base_url="http://127.0.0.1:9", seconds=0.3)
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1:9") as caught:
        encoder.embed(["a"])
    assert caught.value.hint == "Start it and fetch the model: ollama serve; ollama pull m"


def test_a_server_that_never_answers_is_given_up_in_time(provider: Provider) -> None:
    release = threading.Event()
    provider.change = lambda answer: (release.wait(20), answer)[1]
    try:
        with pytest.raises(ModelUnavailable, match="timed out"):
            _ollama(provider, seconds=0.2).embed(["a"])
    finally:
        release.set()


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"[]",
        b"{}",
        {"embeddings": []},
        {"embeddings": [[1.0], [1.0]]},
        {"embeddings": [[1.0, float("nan")]]},
        {"embeddings": [[0.0, 0.0]]},
        {"embeddings": [["a", "b"]]},
        {"embeddings": [1.0]},
        {"embeddings": None},
    ],
)
def test_an_answer_that_is_no_vector_is_never_used(provider: Provider, answer: Any) -> None:
    provider.say = [(200, {}, answer)]
    with pytest.raises(ModelUnavailable):
        _ollama(provider).embed(["a"])


def test_an_answer_with_an_index_twice_is_never_used(provider: Provider) -> None:
    row = {"index": 0, "embedding": [1.0, 2.0]}
    provider.say = [(200, {}, {"data": [row, row]})]
    with pytest.raises(ModelUnavailable, match="form"):
        OpenAIEmbedder("m", base_url=provider.url).embed(["a", "b"])


def test_vectors_of_another_size_than_before_are_an_error(provider: Provider) -> None:
    encoder = _ollama(provider)
    encoder.embed(["a"])
    provider.say = [(200, {}, {"embeddings": [[1.0, 2.0]]})]
    with pytest.raises(ModelUnavailable, match="2 dimensions, not 3"):
        encoder.embed(["a"])


def test_a_missing_key_says_which_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("VOYAGE_API_KEY")
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        OpenAIEmbedder()
    with pytest.raises(ModelUnavailable, match="VOYAGE_API_KEY"):
        VoyageEmbedder()


@pytest.mark.parametrize("url", ["ftp://x", "file:///etc/passwd", "localhost:11434", ""])
def test_what_is_no_address_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        Server(base_url=url)


def test_a_key_never_goes_over_a_network_in_the_clear() -> None:
    with pytest.raises(ConfigError, match="unencrypted"):
        OpenAIEmbedder("m", base_url="http://example.org/v1")
    assert KEY not in repr(Server(base_url="https://example.org", key=KEY))


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1:9999", "http://127.0.0.1:9999"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("http://box:8080", "http://box:8080"),
        ("https://box", "https://box:11434"),
    ],
)
def test_the_address_of_ollama_is_read_as_ollama_does(
    monkeypatch: pytest.MonkeyPatch, host: str, url: str
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert OllamaEmbedder("m")._server.base_url == url


def test_a_proxy_is_not_asked_for_this_machine(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert _ollama(provider).embed(["a"]).vectors.shape == (1, 3)
