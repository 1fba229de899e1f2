"""A copy of an encoder as its runtime has prepared it, which the next process maps into memory.

The runtime unpacks the weights of a quantised model into 90 MB of numbers at every start, which
takes ten times as long as reading them back. Promise: the copy is the very graph that the runtime
would make, so the vectors are the same to the last bit; it is used only if it is whole
(``copies``), of these weights and of this version of the runtime; otherwise the model is prepared
as ever, and the copy is made anew. Proved by ``tests/models/test_embedders_copies.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from holdfast.models.embedders.copies import keep_copy, read_copy
from holdfast.models.embedders.files import read_checked
from holdfast.models.embedders.pinned import Pinned

__all__ = ["OnnxCopy"]

_LAYOUT: Final = 1
_GRAPH: Final = "graph.onnx"
_WEIGHTS: Final = "weights.bin"
_FROM_BYTES: Final = "1024"
"""What is larger lies in the file of weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnnxCopy:
    """Of the model in ``source``, in the folder ``cache``, or nowhere."""

    source: Path
    pinned: Pinned
    cache: Path | None = None

    def read(self) -> bytes:
        """The model as it was published.

        Raises:
            ModelUnavailable: it cannot be read, or is not the pinned one.
        """
        return read_checked(self.source, self.pinned.sha256)

    def open(self, runtime: Any, options: Any) -> tuple[Any, bool] | None:
        """A session with the copy, and what ``keep`` was told of it; None if there is none."""
        if self._folder is None:
            return None
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            told = read_copy(self._folder, self._of(runtime))
            if told is None:
                return None
            options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
            is_scaling = bool(told["scales_by_batch"])
            with suppress(Exception):  # its exceptions share no base class: prepared as ever then
                return _session(runtime, str(self._folder / _GRAPH), options), is_scaling
        return None

    def prepare(
        self, runtime: Any, options: Callable[[], Any], model: bytes, *, scales_by_batch: bool
    ) -> Any | None:
        """A session with the model that leaves a copy behind; None if it left none."""
        if self._folder is None:
            return None
        try:
            with TemporaryDirectory(prefix="holdfast-") as made:
                saving = options()
                saving.optimized_model_filepath = str(Path(made) / _GRAPH)
                for key, value in (
                    ("session.optimized_model_external_initializers_file_name", _WEIGHTS),
                    (
                        "session.optimized_model_external_initializers_min_size_in_bytes",
                        _FROM_BYTES,
                    ),
                ):
                    saving.add_session_config_entry(key, value)
                session = _session(runtime, model, saving)
                files = {name: (Path(made) / name).read_bytes() for name in (_GRAPH, _WEIGHTS)}
            told = {"scales_by_batch": scales_by_batch}
            keep_copy(self._folder, self._of(runtime), files, told)
        except Exception:  # noqa: BLE001 - no room for it, or another runtime: no copy then
            return None
        return session

    @property
    def _folder(self) -> Path | None:
        return None if self.cache is None else self.cache / self.pinned.name.replace("/", "-")

    def _of(self, runtime: Any) -> dict[str, Any]:
        found = self.source.stat()
        return {
            "layout": _LAYOUT,
            "runtime": str(runtime.__version__),
            "sha256": self.pinned.sha256,
            "source": [found.st_size, found.st_mtime_ns],
        }


def _session(runtime: Any, model: bytes | str, options: Any) -> Any:
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
