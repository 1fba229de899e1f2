"""The shelf of fetched models: what is on it, what is believed of it, what is left."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.errors import NotFound, UsageError
from holdfast.models.folder import models_folder
from holdfast.models.weights import CATALOGUE, Shelf
from holdfast.models.weights.catalogue import BUNDLED_ENCODERS, Packages
from tests.models.tiny_weights import DATA, TINY, Heard, tiny_shelf

NOTE = "tiny.gguf.json"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return tiny_shelf(tmp_path / "models")


@pytest.fixture
def filled(shelf: Shelf, tmp_path: Path) -> Shelf:
    given = tmp_path / "given.gguf"
    given.write_bytes(DATA)
    shelf.get("tiny", source=given, progress=Heard())
    return shelf


def _put(shelf: Shelf, data: bytes, name: str = "tiny.gguf") -> Path:
    shelf.folder.mkdir(exist_ok=True)
    file = shelf.folder / name
    file.write_bytes(data)
    return file


# ── the catalogue ───────────────────────────────────────────────────────────────────────────


def test_the_parts_of_every_model_make_up_its_size() -> None:
    for weights in CATALOGUE.values():
        assert len(weights.sha256) == 64
        for source in weights.sources:
            if isinstance(source, Packages):
                assert sum(part.bytes for part in source.parts) == weights.bytes
                assert len({part.name for part in source.parts}) == len(source.parts)
    assert len({each.place for each in CATALOGUE.values()}) == len(CATALOGUE)


def test_a_model_that_only_tries_the_pipe_is_marked_as_such() -> None:
    language = [each for each in CATALOGUE.values() if each.kind == "language"]
    assert [(each.name, each.is_for_answers) for each in language] == [
        ("qwen2.5-coder-1.5b", True),
        ("smollm2-135m", False),
    ]
    assert {each.kind for each in BUNDLED_ENCODERS.values()} == {"encoder"}


def test_the_folder_is_named_by_the_environment_or_in_the_default_home(tmp_path: Path) -> None:
    assert models_folder({"HOLDFAST_MODELS": str(tmp_path)}) == tmp_path
    assert models_folder({"HOLDFAST_HOME": str(tmp_path)}) == tmp_path / "models"
    assert models_folder({"HOLDFAST_MODELS": "~/m", "HOLDFAST_HOME": "/x"}) == Path.home() / "m"


# ── what is there ───────────────────────────────────────────────────────────────────────────


def test_looking_makes_nothing(shelf: Shelf) -> None:
    assert shelf.path("tiny") is None
    assert [each.state for each in shelf.list()] == ["absent"]
    assert not shelf.folder.exists()


def test_a_file_is_read_once_and_then_believed_until_it_changes(filled: Shelf) -> None:
    file = filled.path("tiny")
    assert file == filled.folder / "tiny.gguf"
    # A note that says otherwise is believed: so the file itself is not read again.
    note = json.loads((filled.folder / NOTE).read_text())
    assert note["sha256"] == TINY.sha256
    (filled.folder / NOTE).write_text(json.dumps({**note, "sha256": "0" * 64}))
    assert filled.path("tiny") is None
    # A file that was saved again is read again, whatever the note says.
    os.utime(file, ns=(1, 1))
    assert filled.path("tiny") == file


def test_a_changed_file_is_not_given_even_in_its_old_size(filled: Shelf) -> None:
    _put(filled, b"\0" + DATA[1:])
    assert filled.path("tiny") is None
    assert [each.state for each in filled.list()] == ["damaged"]
    # The verdict is kept, so that a bad file is not read at every start either.
    assert json.loads((filled.folder / NOTE).read_text())["sha256"] != TINY.sha256
    assert filled.path("tiny") is None


def test_a_file_that_was_put_in_its_place_is_read_even_with_its_size_and_time(
    filled: Shelf,
) -> None:
    file = filled.path("tiny")
    assert file is not None
    other = filled.folder / "other"
    other.write_bytes(b"\0" + DATA[1:])
    looks = file.stat()
    os.utime(other, ns=(looks.st_atime_ns, looks.st_mtime_ns))
    other.replace(file)
    assert filled.path("tiny") is None


@pytest.mark.parametrize("note", ["", "{}", "[1]", "null", '{"sha256": 1, "bytes": "x"}', "\xff"])
def test_a_note_that_says_nothing_is_written_anew(filled: Shelf, note: str) -> None:
    (filled.folder / NOTE).write_text(note, "latin-1")
    assert filled.path("tiny") is not None
    assert json.loads((filled.folder / NOTE).read_text())["sha256"] == TINY.sha256


def test_weights_that_were_put_there_by_hand_are_found_as_a_link_too(
    shelf: Shelf, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "of-another-program.gguf"
    elsewhere.write_bytes(DATA)
    shelf.folder.mkdir()
    (shelf.folder / "tiny.gguf").symlink_to(elsewhere)
    assert shelf.path("tiny") == shelf.folder / "tiny.gguf"
    shelf.remove("tiny")
    assert elsewhere.read_bytes() == DATA


def test_a_pipe_in_place_of_the_weights_keeps_nobody_waiting(shelf: Shelf) -> None:
    shelf.folder.mkdir()
    os.mkfifo(shelf.folder / "tiny.gguf")
    assert shelf.path("tiny") is None


def test_a_folder_that_cannot_be_written_can_still_be_used(shelf: Shelf) -> None:
    _put(shelf, DATA)
    (shelf.folder / NOTE).mkdir()  # also root cannot write a note there
    assert shelf.path("tiny") is not None


def test_files_are_private_whatever_the_umask(any_umask: None, filled: Shelf) -> None:
    assert stat.S_IMODE(filled.folder.stat().st_mode) == 0o700
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in filled.folder.iterdir()}
    assert modes == {"tiny.gguf": 0o600, NOTE: 0o600, ".tiny.lock": 0o600}


# ── names, and taking away ──────────────────────────────────────────────────────────────────


def test_a_name_nobody_knows_is_told_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        Shelf(Path("nowhere")).path("qwen2.5-coder-1b")
    assert caught.value.hint == "Did you mean 'qwen2.5-coder-1.5b'?"


def test_the_name_may_be_written_as_a_setting_has_it(filled: Shelf) -> None:
    assert filled.path("embedded:tiny") == filled.path("tiny")


def test_removing_leaves_nothing_and_says_what_that_freed(filled: Shelf) -> None:
    _put(filled, DATA[:1000], "tiny.gguf.part")
    left = filled.folder / ".tiny.fetching-abc"
    left.mkdir()
    (left / "half.whl").write_bytes(b"half")
    other = _put(filled, b"not ours", "other.gguf")
    assert filled.remove("tiny") == len(DATA) + 1000
    assert sorted(each.name for each in filled.folder.iterdir()) == [".tiny.lock", other.name]
    with pytest.raises(NotFound, match="tiny is not in"):
        filled.remove("tiny")


def test_an_encoder_of_several_files_is_there_when_all_are(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    folder = tmp_path / CATALOGUE["bge-small-zh"].place
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"12345")
    assert shelf.path("bge-small-zh") is None
    (folder / "tokenizer.json").write_bytes(b"123")
    assert shelf.path("bge-small-zh") == folder
    assert shelf.remove("bge-small-zh") == 8
    assert not folder.exists()


def test_what_is_fetched_is_not_fetched_again(filled: Shelf) -> None:
    heard = Heard()
    nowhere = filled.folder / "nowhere"
    assert filled.get("tiny", source=nowhere, progress=heard) == filled.path("tiny")
    assert heard.said == []


def test_a_shelf_loads_nothing_that_fetches() -> None:
    program = (
        "import sys, json\n"
        "from pathlib import Path\n"
        "from holdfast.models.weights import Shelf\n"
        "Shelf(Path('nowhere')).list()\n"
        "print(json.dumps(list(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = set(json.loads(run.stdout))
    assert not loaded & {"ssl", "socket", "subprocess", "urllib.request", "zipfile", "numpy"}


def test_a_file_that_is_too_short_is_damaged_without_being_read(shelf: Shelf) -> None:
    _put(shelf, DATA[:-1])
    assert [each.state for each in shelf.list()] == ["damaged"]
    assert not (shelf.folder / NOTE).exists()
