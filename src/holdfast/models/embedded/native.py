"""The library that runs the weights, behind one call: a chat request in, chunks out.

``xllamacpp`` runs the server of llama.cpp inside this process. That server always listens
somewhere: here on a socket in a folder that only this user can enter, with a key that nobody is
told, and nowhere else. Requests are handed to it directly.

One slot: there is one conversation at a time in the memory of the model. What is pushed out of it
by another request is kept aside (``_ASIDE_MIB``) and put back when the conversation goes on, so
that a flush between two turns costs the chat nothing.

Promise: nothing listens on the network; nothing is written to the terminal
(``tests/models/test_embedded.py``).
"""

from __future__ import annotations

import ctypes
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from holdfast.disk.scratch import remove_scratch, scratch_folder
from holdfast.errors import ModelUnavailable
from holdfast.models.embedded.checking import check_file, check_memory, damaged
from holdfast.types import Json

__all__ = ["Native", "leave_without_cleaning", "load", "usable_threads"]

_BATCH: Final = 128
"""Tokens that are read at once: between two batches a request can be cancelled, and reports how
far it is. Larger ones read a tenth faster at best."""
_ASIDE_MIB: Final = 512
"""Memory for conversations that were pushed out: two of a whole window of the 1.5B model."""
_MOST_THREADS: Final = 8
"""Reading from memory is the limit: more threads wait for one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """Weights that are loaded."""

    server: Any
    folder: Path
    window: int

    def chat(self, asked: dict[str, Json], on_chunk: Callable[[Json], bool]) -> None:
        """Answer in chunks, in this thread; ends early when ``on_chunk`` returns True."""
        self.server.handle_chat_completions(asked, on_chunk)

    def let_go(self, *, for_ever: bool) -> None:
        """Nobody uses it any more. ``for_ever``: what it holds is never freed either."""
        if for_ever:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.server))
        remove_scratch(self.folder)


def leave_without_cleaning() -> None:
    """From now on this process ends without the library's own way of ending.

    For a forked child. The library keeps a thread for the whole process and waits for it at the
    end; the child inherits the wish to wait, and not the thread. What Python does at the end is
    done before, as ever.
    """
    system = ctypes.CDLL(None)
    if hasattr(system, "on_exit"):
        system.on_exit(system._exit, None)


def usable_threads(threads: int | None) -> int:
    """As many as were asked for, else one for each processor that this process may use."""
    if threads is not None:
        return threads
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        count = os.cpu_count() or 1
    return min(count, _MOST_THREADS)


def load(file: Path, *, name: str, window: int, threads: int | None) -> Native:
    """
    Raises:
        ModelUnavailable: the library or the weights are missing, damaged or too large.
    """
    library = _library()
    size = check_file(file, name)
    check_memory(file, name, size=size, window=window)
    folder = scratch_folder()
    try:
        server = library.Server(_parameters(library, file, folder, window, usable_threads(threads)))
    except Exception as error:
        remove_scratch(folder)
        raise damaged(file, name, "the runtime refused it") from error
    return Native(server=server, folder=folder, window=window)


def _library() -> Any:
    try:
        return import_module("xllamacpp")
    except ImportError as error:
        raise ModelUnavailable(
            "The library that runs embedded models is not installed, or not for this system "
            f"({error}).",
            hint="pip install 'holdfast[embedded]'",
        ) from error


def _parameters(library: Any, file: Path, folder: Path, window: int, threads: int) -> Any:
    asked = library.CommonParams()
    asked.model.path = str(file)
    asked.n_ctx = window
    asked.n_parallel = 1
    asked.n_batch = asked.n_ubatch = _BATCH
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = threads
    asked.cache_ram_mib = _ASIDE_MIB
    asked.fit_params = False  # the window is what was asked for, not what happens to fit
    asked.warmup = False
    asked.verbosity = 0
    asked.offline = True
    asked.ui = False
    asked.hostnames = [str(folder / "s.sock")]
    asked.api_keys = [secrets.token_urlsafe(32)]
    return asked
