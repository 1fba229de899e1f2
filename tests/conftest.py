"""What every test gets: its own home, its own clock and ids, no network, a clean environment."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from holdfast.testing import FixedClock, SequentialIds

settings.register_profile(
    "holdfast",
    deadline=None,  # tests assert counts, never wall-clock
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("holdfast")


def pytest_runtest_setup() -> None:
    from pytest_socket import socket_allow_hosts  # noqa: PLC0415

    socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)


@pytest.fixture(autouse=True)
def clean_environ(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing a developer has configured may change a result, and no test touches a real home."""
    for name in list(os.environ):
        if name.startswith("HOLDFAST_") and name not in {"HOLDFAST_DATA", "HOLDFAST_TEST_SCALE"}:
            monkeypatch.delenv(name)
    # By words alone, unless a test asks for encoders: loading one takes longer than most tests.
    monkeypatch.setenv("HOLDFAST_SEARCH_EMBEDDER", "none")
    monkeypatch.setenv("HOLDFAST_MODELS", str(Path(tempfile.gettempdir()) / "holdfast-test-models"))
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "default-home"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


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
