"""Whose key is in the environment."""

from __future__ import annotations

import pytest

from holdfast.models import keys
from holdfast.models.keys import HOSTED, keyed_providers
from holdfast.models.names import PROVIDERS, split_name
from holdfast.models.prices import price_of


def test_keys_are_found_in_a_fixed_order_with_a_model_to_begin_with() -> None:
    found = keyed_providers(
        {
            "GROQ_API_KEY": "g",
            "OPENAI_API_KEY": "o",
            "GEMINI_API_KEY": "k",
            "ANTHROPIC_API_KEY": "a",
        }
    )
    assert [each.provider for each in found] == ["anthropic", "openai", "google", "groq"]
    assert found[2].variable == "GEMINI_API_KEY"
    assert [each.is_installed for each in found] == [True, True, False, False]
    assert found[2].install == "pip install 'holdfast[google]'"
    for each in found:
        assert split_name(each.default_model)[0] == each.provider


def test_an_empty_key_is_none_and_neither_is_a_token_for_other_things() -> None:
    assert keyed_providers({"OPENAI_API_KEY": "  ", "ANTHROPIC_API_KEY": ""}) == []
    assert keyed_providers({"HF_TOKEN": "hf_x", "AWS_PROFILE": "x"}) == []
    assert keyed_providers({}) == []


def test_every_provider_has_a_name_here_and_models_to_begin_with_have_a_price() -> None:
    assert set(HOSTED) <= PROVIDERS
    priced = [each for each in HOSTED.values() if each.model and each.provider != "alibaba"]
    assert [each.provider for each in priced if not price_of(f"{each.provider}:{each.model}")] == []


def test_without_the_clients_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "find_spec", lambda _: None)
    (found,) = keyed_providers({"OPENAI_API_KEY": "o"})
    assert not found.is_installed
    assert found.install == "pip install 'holdfast[hosted]'"
