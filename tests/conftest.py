"""What every test gets: its own home, its own clock and ids, no network, a clean environment."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from holdfast.testing import FixedClock, SequentialIds
from tests.scale import SCALE

settings.register_profile(
    "holdfast",
    deadline=None,  # tests assert counts, never wall-clock
    derandomize=SCALE <= 1,  # one commit, one verdict; the long run looks for new cases
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("holdfast")


def pytest_configure() -> None:
    """The folders of tests lie in memory where there is room: on a disk most of a run is spent
    waiting for syncs, and what a sync is good for is proved by cutting the power in
    ``tests/sessions/test_power_loss.py``."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


def pytest_runtest_setup() -> None:
    from pytest_socket import socket_allow_hosts  # noqa: PLC0415

    socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """A failure that quotes half a character must reach the terminal, not end the worker."""
    return _sendable((yield))


def _sendable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_sendable(key): _sendable(each) for key, each in value.items()}
        case list() | tuple():
            return type(value)(map(_sendable, value))
        case _:
            return value


@pytest.fixture(autouse=True)
def clean_environ(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing a developer has configured may change a result, and no test touches a real home."""
    for name in list(os.environ):
        if name.startswith("HOLDFAST_") and name not in {"HOLDFAST_DATA", "HOLDFAST_TEST_SCALE"}:
            monkeypatch.delenv(name)
        elif name.endswith(("_API_KEY", "_API_TOKEN", "_TOKEN")):
            monkeypatch.delenv(name)  # no test may spend anybody's money
    monkeypatch.setenv("HOLDFAST_MODEL_LOOK_FOR_SERVERS", "false")
    # By words alone, unless a test asks for encoders: loading one takes longer than most tests.
    monkeypatch.setenv("HOLDFAST_SEARCH_EMBEDDER", "none")
    monkeypatch.setenv("HOLDFAST_MODELS", str(Path(tempfile.gettempdir()) / "holdfast-test-models"))
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "default-home"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def disk_path() -> Iterator[Path]:
    """A folder on a disk, whose syncs take their time: for what is about disks and their pace."""
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        yield Path(folder).resolve()


@pytest.fixture
def fast_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: for tests that sync thousands of throw-away files."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def ids() -> SequentialIds:
    return SequentialIds()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The public data sets, or a skip that says how to get them into the run."""
    folder = os.environ.get("HOLDFAST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("public data sets not found: set HOLDFAST_DATA to their folder")
    return Path(folder)


@pytest.fixture
def any_umask() -> Iterator[None]:
    """The most careless umask there is: files must be private all the same."""
    before = os.umask(0)
    yield
    os.umask(before)
