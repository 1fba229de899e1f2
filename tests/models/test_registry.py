"""Which model is used when none is named, and what a name gives."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from holdfast.config.keys import Model as Wanted
from holdfast.errors import ModelUnavailable
from holdfast.models.registry import Registry
from holdfast.models.servers import Server
from holdfast.models.weights import Shelf

QWEN = "qwen2.5-coder-1.5b"
OLLAMA = Server(kind="ollama", base_url="http://127.0.0.1:11434", models=("qwen3:4b", "llama3.2"))
KEYS = {"ANTHROPIC_API_KEY": "sk-ant-x", "OPENAI_API_KEY": "sk-x"}


class Asked:
    """The servers there are, and how often somebody looked for them."""

    def __init__(self, *servers: Server) -> None:
        self.servers = list(servers)
        self.times = 0
        self.given: list[tuple[str | None, str | None]] = []

    def __call__(self, *, base_url: str | None, api_key: str | None) -> list[Server]:
        self.times += 1
        self.given.append((base_url, api_key))
        return self.servers


def registry(
    tmp_path: Path,
    *,
    environ: dict[str, str] | None = None,
    servers: Asked | None = None,
    **wanted: Any,
) -> Registry:
    return Registry(
        Wanted(**wanted),
        environ=environ or {},
        folder=tmp_path,
        find_servers=servers or Asked(),
    )


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The 1.5B model lies on the shelf."""
    file = tmp_path / f"{QWEN}.gguf"
    monkeypatch.setattr(Shelf, "path", lambda self, name: file if name == QWEN else None)


def test_what_is_configured_comes_first(tmp_path: Path, fetched: None) -> None:
    servers = Asked(OLLAMA)
    found = registry(tmp_path, environ=KEYS, servers=servers, name="google:gemini-3").choose()
    assert found.model == "google:gemini-3"
    assert "model.name" in found.why
    assert servers.times == 0, "nobody is asked whose answer would not matter"


def test_then_a_key_then_a_server_then_the_embedded_model(tmp_path: Path, fetched: None) -> None:
    keyed = registry(tmp_path, environ=KEYS, servers=Asked(OLLAMA)).choose()
    assert (keyed.model or "").startswith("anthropic:")
    assert "ANTHROPIC_API_KEY" in keyed.why
    served = registry(tmp_path, servers=Asked(OLLAMA)).choose()
    assert served.model == "ollama:qwen3:4b"
    assert "11434" in served.why
    embedded = registry(tmp_path).choose()
    assert embedded.model == f"embedded:{QWEN}"


def test_without_any_the_choice_names_every_place_it_looked_at(tmp_path: Path) -> None:
    found = registry(tmp_path).choose()
    assert found.model is None
    assert [each.place for each in found.considered] == [
        "a key in the environment",
        "a server on this machine",
        "an embedded model",
    ]
    assert f"holdfast model get {QWEN}" in found.considered[-1].why


def test_none_is_an_answer(tmp_path: Path, fetched: None) -> None:
    chosen = registry(tmp_path, environ=KEYS, name="none").choose()
    assert (chosen.model, chosen.why) == (None, "model.name is none")
    with pytest.raises(ModelUnavailable, match="none"):
        registry(tmp_path, name="none")("none")


def test_an_address_that_is_configured_stands_before_keys(tmp_path: Path) -> None:
    own = Server(kind="server", base_url="http://10.0.0.5:8000/v1", models=("mine",))
    found = registry(tmp_path, environ=KEYS, servers=Asked(own), base_url=own.base_url).choose()
    assert found.model == "server:mine"


def test_servers_are_not_asked_when_that_is_switched_off(tmp_path: Path) -> None:
    servers = Asked(OLLAMA)
    found = registry(tmp_path, servers=servers, look_for_servers=False).choose()
    assert (found.model, servers.times) == (None, 0)


def test_the_small_model_is_never_chosen_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(self: Shelf, name: str) -> Path | None:
        return tmp_path / "x.gguf" if name == "smollm2-135m" else None

    monkeypatch.setattr(Shelf, "path", small)
    assert registry(tmp_path).choose().model is None


def test_two_uses_of_a_name_are_the_same_model(tmp_path: Path) -> None:
    models = registry(tmp_path, environ=KEYS)
    assert models("anthropic:claude-sonnet-5") is models("anthropic:claude-sonnet-5")
    assert models("anthropic:claude-sonnet-5").name == "anthropic:claude-sonnet-5"


def test_a_name_without_a_provider_is_a_server_s_that_has_it(tmp_path: Path) -> None:
    models = registry(tmp_path, servers=Asked(OLLAMA))
    assert models("llama3.2").name == "ollama:llama3.2"
    assert models("ollama:qwen3:4b").name == "ollama:qwen3:4b"


@pytest.mark.parametrize(
    ("name", "said", "hint"),
    [
        ("openai:gpt-5", "OPENAI_API_KEY", None),
        ("gpt-5", "Whose model", "openai:gpt-5"),
        ("llama3.1", "Whose model", "llama3.2"),
        ("ollama:llama3.1", "has no model", "llama3.2"),
        ("lmstudio:x", "No lmstudio server", "model.base_url"),
        ("embedded:qwen2.5-coder-1.5b", "not on this machine", f"holdfast model get {QWEN}"),
        ("embedded:qwen2.5-coder", "There is no embedded model", QWEN),
    ],
)
def test_a_name_that_cannot_be_had_says_what_to_do(
    tmp_path: Path, name: str, said: str, hint: str | None
) -> None:
    with pytest.raises(ModelUnavailable) as refused:
        registry(tmp_path, servers=Asked(OLLAMA))(name)
    assert said in str(refused.value)
    assert (hint or "") in (refused.value.hint or "")


def test_the_key_of_the_configured_address_is_given_to_nobody_else(tmp_path: Path) -> None:
    servers = Asked(OLLAMA)
    registry(tmp_path, servers=servers, api_key="sk-SECRET").choose()
    assert servers.given == [(None, None)]
    own = "http://user:hunter2@10.0.0.5:8000/v1"
    found = registry(tmp_path, servers=servers, api_key="sk-SECRET", base_url=own).choose()
    assert servers.given[-1] == (own, "sk-SECRET")
    empty = registry(tmp_path, base_url=own)
    assert "hunter2" not in repr((found, empty.choose()))
    with pytest.raises(ModelUnavailable) as refused:
        empty("server:mine")
    assert "hunter2" not in str(refused.value)


def test_a_server_that_was_started_meanwhile_is_found(tmp_path: Path) -> None:
    servers = Asked()
    models = registry(tmp_path, servers=servers)
    with pytest.raises(ModelUnavailable):
        models("ollama:llama3.2")
    servers.servers.append(Server(kind="ollama", base_url=OLLAMA.base_url, models=("qwen3:4b",)))
    with pytest.raises(ModelUnavailable, match="has no model"):
        models("ollama:llama3.2")
    servers.servers[:] = [OLLAMA]
    assert models("ollama:llama3.2").name == "ollama:llama3.2"
    times = servers.times
    assert models.choose().model == "ollama:qwen3:4b"
    assert servers.times == times, "what is known is not asked for again"


def test_a_model_that_is_there_does_not_wait_for_one_that_is_being_made(tmp_path: Path) -> None:
    asked, may_answer = Event(), Event()

    def slow(**_: Any) -> list[Server]:
        asked.set()
        assert may_answer.wait(30)
        return [OLLAMA]

    models = Registry(Wanted(), environ=KEYS, folder=tmp_path, find_servers=slow)
    known = models("anthropic:claude-sonnet-5")
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(models, "ollama:llama3.2")
        assert asked.wait(30)
        assert models("anthropic:claude-sonnet-5") is known
        may_answer.set()
        assert made.result(30).name == "ollama:llama3.2"
