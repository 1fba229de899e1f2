"""Whose model a name means, and what is said when it cannot be had."""

from __future__ import annotations

import subprocess
import sys

import pytest

from holdfast.errors import ModelUnavailable
from holdfast.models import keys
from holdfast.models.hosted import hosted_model
from holdfast.models.keys import HOSTED, Hosted
from holdfast.ports import traits_of
from tests.models.hosting import KEY, ask, run
from tests.models.wire_server import Say, wire_server


@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        ("anthropic:claude-sonnet-5", "ANTHROPIC_API_KEY is not set", "export ANTHROPIC_API_KEY=…"),
        ("openai:gpt-5", "OPENAI_API_KEY is not set", "export OPENAI_API_KEY=…"),
        ("openai-chat:gpt-5", "OPENAI_API_KEY", "export OPENAI_API_KEY=…"),
        ("google:gemini-3.8-flash", "not installed", "pip install 'holdfast[google]'"),
        ("groq:llama", "not installed", "pip install 'holdfast[groq]'"),
        ("bedrock:x", "not installed", "pip install 'holdfast[bedrock]'"),
        ("antropic:claude", "no provider", "Did you mean 'anthropic'?"),
        ("olama:qwen3", "no provider", "Did you mean 'ollama'?"),
        ("nobody:x", "no provider", "Use one of anthropic, openai"),
        ("gpt-5", "whose model", "anthropic:gpt-5"),
        ("azure:gpt-5", "cannot be had", "holdfast[hosted]"),
    ],
)
def test_a_model_that_cannot_be_had_says_what_is_missing(name: str, what: str, hint: str) -> None:
    with pytest.raises(ModelUnavailable) as failed:
        hosted_model(name, environ={})
    assert what in failed.value.message
    assert hint in str(failed.value.hint)


def test_without_pydantic_ai_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "find_spec", lambda _: None)
    with pytest.raises(ModelUnavailable, match="not installed") as failed:
        hosted_model("anthropic:x", environ={"ANTHROPIC_API_KEY": KEY})
    assert failed.value.hint == "pip install 'holdfast[hosted]'"


def test_the_key_is_the_one_that_was_given_not_that_of_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-process")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with wire_server([Say("Yes.")]) as server:
        given = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.openai_url}
        model = hosted_model("openai:gpt-4o", environ=given)
        run(model.complete(ask()))
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert server.requests[0].path == "/v1/chat/completions", "whoever is elsewhere speaks this"


def test_what_is_known_of_a_model_is_told_without_a_call() -> None:
    model = hosted_model("anthropic:claude-sonnet-5", environ={"ANTHROPIC_API_KEY": KEY})
    traits = traits_of(model)
    assert model.name == "anthropic:claude-sonnet-5"
    assert traits.window == 1_000_000
    assert traits.caches_prefix
    assert not traits.is_local
    assert (traits.input_price, traits.output_price) == (2.0, 10.0)
    assert (traits.cache_read_price, traits.cache_write_price) == (0.2, 2.5)


@pytest.mark.parametrize("known", [each for each in HOSTED.values() if each.client == "openai"])
def test_every_provider_that_speaks_as_openai_does_can_be_made(known: Hosted) -> None:
    if not known.variables:
        return  # it has credentials of its own kind
    name = f"{known.provider}:{known.model or 'some-model'}"
    assert hosted_model(name, environ={known.variables[0]: KEY}).name == name


def test_importing_it_loads_no_client() -> None:
    heavy = "{'pydantic_ai', 'openai', 'anthropic', 'httpx', 'httpx2', 'pydantic', 'genai_prices'}"
    code = (
        "import sys, holdfast.models.hosted, holdfast.models.servers, holdfast.models.keys, "
        f"holdfast.models.prices, holdfast.models.names; print({heavy} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
