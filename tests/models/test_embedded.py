"""The embedded model itself, with real weights: the small ones, which prove the pipe."""

from __future__ import annotations

import asyncio
import http.client
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.context.validity.overflow import classify, limit_in
from holdfast.errors import ModelUnavailable
from holdfast.models.embedded import EmbeddedModel, Waiting, close_embedded, embedded_model
from holdfast.models.embedded.checking import free_memory
from holdfast.models.embedded.native import usable_threads
from holdfast.models.embedded.runtime import Job, Speed, runtime_of
from holdfast.models.embedded.waiting import reading
from holdfast.ports import ModelReply, ModelRequest, traits_of
from holdfast.types import Message
from tests.models.small_weights import small_weights

WINDOW = 512


@pytest.fixture(scope="module")
def weights() -> Iterator[Path]:
    yield small_weights()
    close_embedded()


@pytest.fixture
def model(weights: Path) -> EmbeddedModel:
    return embedded_model(weights, name="embedded:smollm2-135m", window=WINDOW, threads=1)


def request(*texts: str, most: int = 8, **more: Any) -> ModelRequest:
    """A conversation in which user and assistant take turns."""
    roles = ("user", "assistant")
    messages = [Message.of(roles[number % 2], text) for number, text in enumerate(texts)]
    return ModelRequest(messages=messages, max_tokens=most, **more)


def ask(model: EmbeddedModel, asked: ModelRequest) -> ModelReply:
    return asyncio.run(model.complete(asked))


async def heard(model: EmbeddedModel, asked: ModelRequest) -> tuple[list[str], ModelReply]:
    pieces: list[str] = []
    reply: ModelReply | None = None
    async for each in model.stream(asked):
        assert reply is None, "the reply is the last"
        if isinstance(each, ModelReply):
            reply = each
        else:
            pieces.append(each)
    assert reply is not None
    return pieces, reply


# ── an answer ───────────────────────────────────────────────────────────────────────────────

FILLER = "The store has boxes, shelves, ropes and lamps. " * 3


def test_a_conversation_streams_and_reads_only_what_is_new_also_after_a_flush_in_between(
    model: EmbeddedModel,
) -> None:
    told: list[Waiting] = []
    model.on_wait = told.append
    before = runtime_of(model._file, model.name).speed.per_second

    pieces, reply = asyncio.run(heard(model, request(FILLER + "What is a lamp?")))
    first = reply.usage
    assert first is not None
    assert len(pieces) > 1
    assert "".join(pieces) == reply.message.text
    assert first.output_tokens == 8
    assert reply.stop_reason == "length"
    assert [each.phase for each in told][-1] == "reading"
    assert told[-1].tokens == first.input_tokens
    assert model.traits.prefill_per_second not in (None, before)

    turns = (FILLER + "What is a lamp?", reply.message.text, "And a rope?")
    second = ask(model, request(*turns)).usage
    assert second is not None
    assert second.cache_read_tokens >= first.context_tokens
    assert second.input_tokens < 40

    flush = ask(model, request("Rewrite: Anna moved to Lisbon in May. " * 4)).usage
    assert flush is not None
    assert flush.cache_read_tokens < 40, "another conversation"

    third = ask(model, request(*turns, "A rope is long.", "And a box?")).usage
    assert third is not None
    assert third.cache_read_tokens >= second.context_tokens
    assert third.input_tokens < 40


def test_the_same_question_gets_the_same_answer(model: EmbeddedModel) -> None:
    asked = request("Name a colour.", most=6)
    assert ask(model, asked).message == ask(model, asked).message


def test_an_answer_by_schema_follows_it(model: EmbeddedModel) -> None:
    fact = {"type": "string", "maxLength": 12, "pattern": "^[\u3400-\u9fff]"}
    schema = {
        "type": "object",
        "properties": {"facts": {"type": "array", "maxItems": 1, "items": fact}},
        "required": ["facts"],
    }
    text = ask(
        model, request("汤姆是一只猫。", most=60, extra={"response_schema": schema})
    ).message.text
    assert text.strip().startswith("{")
    assert '"facts"' in text
    if (opened := text.find('["')) >= 0:
        assert "\u3400" <= text[opened + 2] <= "\u9fff"


def test_a_request_that_does_not_fit_is_told_as_an_overflow_with_the_window(
    model: EmbeddedModel,
) -> None:
    with pytest.raises(Exception, match="exceeds the available context size") as caught:
        ask(model, request("word " * 2_000))
    told = str(caught.value)
    assert classify(told, status=caught.value.status_code, code=caught.value.code) == "overflow"  # type: ignore[attr-defined]
    assert limit_in(told) == WINDOW
    assert ask(model, request("Hello.")).message.text


# ── one at a time ───────────────────────────────────────────────────────────────────────────


def test_requests_are_answered_in_their_order_and_the_loop_goes_on_meanwhile(
    model: EmbeddedModel,
) -> None:
    done: list[int] = []
    told: list[Waiting] = []
    model.on_wait = told.append

    async def one(number: int) -> None:
        await heard(model, request(f"Count from {number}.", most=6))
        done.append(number)

    async def all_of_them() -> int:
        ticks = 0
        work = asyncio.gather(*(one(number) for number in range(3)))
        while not work.done():
            ticks += 1
            await asyncio.sleep(0.005)
        return ticks

    assert asyncio.run(all_of_them()) > 10
    assert done == [0, 1, 2]
    busy = [each.why for each in told if each.phase == "waiting"]
    assert busy == [
        "the model is busy with another request",
        "the model is busy with 2 other requests",
    ]


@pytest.mark.parametrize("leaves", ["in the midst of an answer", "while it is read"])
def test_an_answer_nobody_waits_for_is_ended_at_once(
    model: EmbeddedModel, leaves: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks: list[object] = []
    passed_on = Job.chunk

    def counts(job: Job, chunk: Any) -> bool:
        chunks.append(chunk)
        return passed_on(job, chunk)

    monkeypatch.setattr(Job, "chunk", counts)

    async def go() -> None:
        is_reading = leaves == "while it is read"
        text = "once upon a time " * (40 if is_reading else 1)
        work = asyncio.ensure_future(model.complete(request(f"Tell on: {text}", most=400)))
        while len(chunks) < (1 if is_reading else 5):  # noqa: ASYNC110
            await asyncio.sleep(0.001)  # filled in another thread
        work.cancel()
        await asyncio.wait({work})
        assert work.cancelled()
        await model.complete(request("Hello.", most=1))

    asyncio.run(go())
    assert len(chunks) < 100  # of more than four hundred


def test_one_that_was_cancelled_before_its_turn_is_never_begun(
    model: EmbeddedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> int:
        first = asyncio.ensure_future(model.complete(request("Count.", most=12)))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(model.complete(request("Never begun.", most=400)))
        await asyncio.sleep(0)
        second.cancel()
        await first
        reply = await model.complete(request("Hello.", most=1))
        assert reply.usage is not None
        return reply.usage.output_tokens

    begun: list[str] = []
    passed_on = Job.chunk

    def counts(job: Job, chunk: Any) -> bool:
        begun.append(job.asked["messages"][0]["content"])
        return passed_on(job, chunk)

    monkeypatch.setattr(Job, "chunk", counts)
    assert asyncio.run(go()) == 1
    assert set(begun) == {"Count.", "Hello."}


# ── who can reach it ────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system has no /proc")
def test_nothing_listens_but_a_socket_that_only_this_user_can_reach(model: EmbeddedModel) -> None:
    ask(model, request("Hello.", most=1))
    native = runtime_of(model._file, model.name).native
    assert native is not None
    links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))
    ours = {os.readlink(link) for link in links if link.is_symlink() and _is_open(link)}
    listening = [
        row
        for table in ("tcp", "tcp6", "udp", "udp6")
        for line in Path("/proc/net", table).read_text().splitlines()[1:]
        if f"socket:[{(row := line.split())[9]}]" in ours and row[3] in ("0A", "07")
    ]
    assert listening == []
    unix = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    paths = [row[7] for row in unix if len(row) > 7 and f"socket:[{row[6]}]" in ours]
    (path,) = {path for path in paths if path.endswith(".sock")}
    folder = native.folder
    assert Path(path) == folder / "s.sock"
    found = folder.stat()
    assert (stat.S_IMODE(found.st_mode), found.st_uid) == (0o700, os.geteuid())
    assert _status_without_key(path) == 401


def _is_open(link: Path) -> bool:
    try:
        os.readlink(link)
    except OSError:
        return False
    return True


def _status_without_key(path: str) -> int:
    connection = http.client.HTTPConnection("localhost", timeout=20)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(path)
    try:
        connection.request("POST", "/v1/chat/completions", b"{}")
        return connection.getresponse().status
    finally:
        connection.close()


STORY = """
import asyncio, os, sys
from pathlib import Path
from holdfast.models.embedded import embedded_model
from holdfast.ports import ModelRequest
from holdfast.types import Message
assert "xllamacpp" not in sys.modules
model = embedded_model(Path(sys.argv[1]), name="embedded:smollm2-135m", window=256, threads=1)
assert "xllamacpp" not in sys.modules
schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}
asked = ModelRequest(messages=[Message.of("user", "Hi")], max_tokens=2)
print(asyncio.run(model.complete(asked)).message.text)
child = os.fork()
if child == 0:
    print(asyncio.run(model.complete(asked)).message.text, flush=True)
    sys.exit(5)
idle = os.fork()
if idle == 0:
    sys.exit(6)
assert os.waitstatus_to_exitcode(os.waitpid(idle, 0)[1]) == 6
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
odd = ModelRequest(messages=asked.messages, max_tokens=2, extra={"response_schema": schema})
asyncio.run(model.complete(odd))
raise SystemExit(7)
"""


def test_a_process_loads_late_forks_and_ends_without_a_word_on_the_terminal(
    weights: Path, tmp_path: Path
) -> None:
    shared = Path("/dev/shm")
    before = set(shared.glob("holdfast-scratch-*")) if shared.is_dir() else set()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", STORY, str(weights)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (7, "")
    parent, child = done.stdout.splitlines()
    assert parent == child != ""
    mine = {each for each in shared.glob("holdfast-scratch-*") if each not in before}
    assert not any((each / "s.sock").exists() and _is_dead(each) for each in mine)


def _is_dead(folder: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as tried:
        try:
            tried.connect(str(folder / "s.sock"))
        except OSError:
            return True
    return False


# ── what goes wrong ─────────────────────────────────────────────────────────────────────────


def test_weights_that_are_missing_no_weights_or_cut_are_told_with_the_next_command(
    weights: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.gguf").write_text("hello")
    with weights.open("rb") as whole:
        (tmp_path / "cut.gguf").write_bytes(whole.read(3_000_000))
    hints = {
        "none.gguf": ("are not there", "holdfast model get smollm2-135m"),
        "text.gguf": ("damaged", "holdfast model remove smollm2-135m"),
        "cut.gguf": ("damaged", "holdfast model get smollm2-135m"),
    }
    for name, (what, hint) in hints.items():
        broken = embedded_model(tmp_path / name, name="embedded:smollm2-135m", window=256)
        for _ in range(2):
            with pytest.raises(ModelUnavailable, match=what) as caught:
                ask(broken, request("Hello."))
            assert hint in (caught.value.hint or "")
    assert capfd.readouterr() == ("", "")


def test_a_missing_library_is_told_with_how_to_install_it(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    other = tmp_path / "other.gguf"
    other.symlink_to(weights)
    with pytest.raises(ModelUnavailable, match="not installed") as caught:
        ask(embedded_model(other, name="embedded:x"), request("Hello."))
    assert caught.value.hint == "pip install 'holdfast[embedded]'"


def test_too_little_memory_is_told_before_the_system_takes_the_process(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.models.embedded.checking.free_memory", lambda: 100 << 20)
    other = tmp_path / "large.gguf"
    other.symlink_to(weights)
    with pytest.raises(ModelUnavailable, match=r"takes about 0\.\d GB of memory, and 0\.1 GB"):
        ask(embedded_model(other, name="embedded:x"), request("Hello."))


def test_free_memory_is_read_where_the_system_says_it(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")
    assert free_memory(tmp_path / "meminfo") == 2 << 20
    (tmp_path / "odd").write_text("MemAvailable:\n")
    assert free_memory(tmp_path / "odd") is None
    assert free_memory(tmp_path / "none") is None


# ── what it says of itself ──────────────────────────────────────────────────────────────────


def test_it_is_local_free_and_says_when_it_calls_tools(tmp_path: Path) -> None:
    model = embedded_model(tmp_path / "x.gguf", name="embedded:x")
    traits = traits_of(model)
    assert (traits.window, traits.is_local, traits.caches_prefix) == (8_192, True, True)
    assert (traits.input_price, traits.output_price, traits.tool_calls) == (0.0, 0.0, False)
    assert traits.prefill_per_second is None
    model.learn_tool_calls(True)
    assert traits_of(model).tool_calls


def test_the_time_to_the_first_word_is_what_is_new_at_the_speed_that_was_measured(
    tmp_path: Path,
) -> None:
    file = tmp_path / "y.gguf"
    file.write_bytes(b"GGUF" + bytes(299_996))
    model = embedded_model(file, name="embedded:y")
    assert model.estimate_first_token(3_000) is None
    runtime_of(file, model.name).speed.note(870, 10.0)
    loading = 300_000 / 300e6
    assert model.estimate_first_token(3_000, cached=1_260) == pytest.approx(20 + loading)
    assert model.estimate_first_token(10, cached=90) == pytest.approx(loading)


def test_newer_measurements_count_more_and_short_ones_not_at_all() -> None:
    speed = Speed()
    speed.note(10, 0.001)
    assert speed.per_second is None
    speed.note(100, 1.0)
    speed.note(200, 1.0)
    assert speed.per_second == 150.0


def test_a_wait_that_is_long_says_how_long_and_why() -> None:
    waiting = reading(3_100, 87.0)
    assert waiting.is_slow
    assert waiting.why == "reading 3,100 tokens at 87 a second, about 36 s"
    assert not reading(3_100, None).is_slow


def test_threads_are_those_asked_for_or_those_of_the_machine() -> None:
    assert usable_threads(3) == 3
    assert 1 <= usable_threads(None) <= 8
