"""How many threads numpy's linear algebra uses, for as long as a block of code runs.

Small products gain nothing from a second thread and pay for its waiting. The environment
variables that say so are read when numpy is loaded, which is not ours to decide, so the library
is asked directly. Its setting is the process's: it is put back when the last block ends. Where
numpy has another library (Apple's), nothing is done. Proved by
``tests/models/test_embedders_universal.py``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Final

import numpy as np

__all__ = ["blas_threads", "current_threads"]

_FOLDERS: Final = ("../numpy.libs", ".dylibs")
_PREFIXES: Final = ("scipy_openblas", "openblas")
_SUFFIXES: Final = ("64_", "")


class _Limit:
    def __init__(self) -> None:
        self.lock = Lock()
        self.inside = 0
        self.before = 0


_LIMIT: Final = _Limit()


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """At most ``count`` threads inside; blocks may nest and overlap, the first one decides."""
    calls = _library()
    if calls is None:
        yield
        return
    get, put = calls
    with _LIMIT.lock:
        if _LIMIT.inside == 0:
            _LIMIT.before = get()
            if count < _LIMIT.before:
                put(count)
        _LIMIT.inside += 1
    try:
        yield
    finally:
        with _LIMIT.lock:
            _LIMIT.inside -= 1
            if _LIMIT.inside == 0 and get() != _LIMIT.before:
                put(_LIMIT.before)


def current_threads() -> int | None:
    """How many threads it would use now; None where nobody can tell."""
    calls = _library()
    return None if calls is None else calls[0]()


@cache
def _library() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """The two calls of the OpenBLAS that numpy brought along."""
    home = Path(np.__file__).parent
    for folder in _FOLDERS:
        for file in sorted((home / folder).glob("*openblas*")):
            found = _calls(file)
            if found is not None:
                return found
    return None


def _calls(file: Path) -> tuple[Callable[[], int], Callable[[int], None]] | None:
    try:
        library = ctypes.CDLL(str(file.resolve()))  # already loaded: this only finds it
    except OSError:
        return None
    for prefix in _PREFIXES:
        for suffix in _SUFFIXES:
            get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
            put = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
            if get is not None and put is not None:
                get.argtypes, get.restype = [], ctypes.c_int
                put.argtypes, put.restype = [ctypes.c_int], None
                return get, put
    return None
