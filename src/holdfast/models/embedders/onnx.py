"""Sentence encoders in ONNX: one vector for a text, and one for each of its words.

Promise: vectors of length 1 in the order of the texts, the same whatever else is encoded with
them; the vectors of words carry their place in the original text; a text longer than the
encoder's reach is read in windows; one thread unless told. Proved by
``tests/models/test_embedders_onnx.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelUnavailable
from holdfast.models.embedders.described import Described, Pooling, described
from holdfast.models.embedders.files import read_checked
from holdfast.models.embedders.onnx_copy import OnnxCopy
from holdfast.models.embedders.pinned import Pinned
from holdfast.models.embedders.scripts import well_formed
from holdfast.models.embedders.vectors import Floats, unit
from holdfast.models.embedders.wordpieces import from_folder
from holdfast.ports import Embedded, Script, Tokens
from holdfast.text import cut

__all__ = ["OnnxEmbedder"]

_MAX_WINDOWS: Final = 8
# What lies behind this is not read: eight windows of English, more than eight of Chinese.
_MAX_CHARACTERS: Final = 12_288
_MAX_BATCH: Final = 8
# Texts of nearly one length are encoded together: at most this part of a batch is padding.
_MAX_PADDING: Final = 0.15
# Operators that scale a whole batch by its largest value: a neighbour would change a vector.
_SCALES_BY_BATCH: Final = (b"DynamicQuantizeLinear", b"DynamicQuantizeMatMul")


@dataclass(frozen=True, slots=True)
class _Window:
    text: int
    """The place of its text among the texts."""
    ids: list[int]
    """With the marks before and after."""
    kept: list[int]
    """The rows that are words."""
    spans: list[tuple[int, int]]
    """Of the kept rows, in the text."""


class OnnxEmbedder:
    """A sentence encoder: the file of a model, its tokenizer, and how a text becomes a vector.

    >>> OnnxEmbedder.from_folder(Path("models/bge-small-zh-v1.5"))  # doctest: +SKIP
    """

    def __init__(
        self,
        model: bytes | OnnxCopy,
        tokenizer: Any,
        *,
        name: str,
        settings: Described,
        script: Script = "any",
        threads: int = 1,
    ) -> None:
        self._tokenizer = tokenizer
        self._name = name
        self._script: Script = script
        self._session, scales_by_batch = _session(model, name, threads)
        self._inputs = frozenset(one.name for one in self._session.get_inputs())
        self._hidden, self._pooled = _outputs(self._session, settings.pooling)
        self._pooling = settings.pooling or "mean"
        self._reach = settings.max_tokens
        self._frame = _frame(tokenizer)
        self._max_batch = 1 if scales_by_batch else _MAX_BATCH
        self._dimensions = self._measured_dimensions()

    @classmethod
    def from_folder(
        cls,
        folder: Path,
        *,
        pooling: Pooling | None = None,
        script: Script = "any",
        threads: int = 1,
        pinned: Pinned | None = None,
    ) -> OnnxEmbedder:
        """The model of a folder: ``model.onnx`` (also in ``onnx/``) and its tokenizer.

        Its name tells its files apart by their checksums, unless they are ``pinned`` ones.

        Raises:
            ModelUnavailable: something is missing, is not a model, or has another checksum.
        """
        model = read_checked(_model_file(folder), pinned.sha256 if pinned else None)
        if pinned and pinned.tokenizer_sha256:
            read_checked(folder / "tokenizer.json", pinned.tokenizer_sha256)
        settings = described(folder, pooling)
        return cls(
            model,
            from_folder(folder),
            name=pinned.name if pinned else _name(folder, model, settings),
            settings=settings,
            script=script,
            threads=threads,
        )

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def script(self) -> Script:
        return self._script

    @property
    def has_tokens(self) -> bool:
        return self._hidden is not None

    def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
        windows = [one for at, text in enumerate(texts) for one in self._windows(at, text)]
        sums = np.zeros((len(texts), self._dimensions), np.float32)
        wants_tokens = tokens and self.has_tokens
        words: list[Floats] = [_NO_ROWS] * len(windows)
        for batch in self._batches(windows):
            hidden, pooled = self._run([windows[at].ids for at in batch], wants_tokens)
            for row, at in enumerate(batch):
                window = windows[at]
                # Each window counts by its length, so a short last one does not weigh more.
                sums[window.text] += pooled[row] * len(window.ids)
                if wants_tokens and hidden is not None:
                    words[at] = unit(hidden[row, window.kept])
        return Embedded(
            vectors=unit(sums),
            tokens=self._tokens(len(texts), windows, words) if wants_tokens else None,
        )

    def _tokens(
        self, count: int, windows: Sequence[_Window], words: Sequence[Floats]
    ) -> list[Tokens]:
        rows: list[list[Floats]] = [[] for _ in range(count)]
        spans: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        for window, found in zip(windows, words, strict=True):
            rows[window.text].append(found)
            spans[window.text] += window.spans
        return [
            Tokens(
                vectors=np.concatenate(found) if len(found) > 1 else found[0],
                spans=places,
            )
            for found, places in zip(rows, spans, strict=True)
        ]

    def _windows(self, at: int, text: str) -> Iterator[_Window]:
        text = well_formed(cut(text, _MAX_CHARACTERS))
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        ids: list[int] = encoding.ids
        offsets: list[tuple[int, int]] = encoding.offsets
        before, after = self._frame
        for start, end in _parts(encoding.word_ids, self._reach - len(before) - len(after)):
            kept = [
                row
                for row in range(start, end)
                if any(map(str.isalnum, text[offsets[row][0] : offsets[row][1]]))
            ]
            yield _Window(
                at,
                [*before, *ids[start:end], *after],
                [row - start + len(before) for row in kept],
                [offsets[row] for row in kept],
            )

    def _batches(self, windows: Sequence[_Window]) -> Iterator[list[int]]:
        """Windows of nearly one length together, the longest first: memory is known at once."""
        batch: list[int] = []
        for at in sorted(range(len(windows)), key=lambda one: -len(windows[one].ids)):
            if batch and (
                len(batch) == self._max_batch
                or len(windows[at].ids) < (1 - _MAX_PADDING) * len(windows[batch[0]].ids)
            ):
                yield batch
                batch = []
            batch.append(at)
        if batch:
            yield batch

    def _run(
        self, batch: Sequence[Sequence[int]], wants_tokens: bool
    ) -> tuple[Floats | None, Floats]:
        """The rows of the words, if they are wanted, and one row for each window."""
        width = max(map(len, batch))
        ids = np.zeros((len(batch), width), np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(batch):
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = [self._pooled] if self._pooled else []
        if self._hidden and (wants_tokens or not self._pooled):
            wanted.append(self._hidden)
        answers = self._session.run(
            wanted, {name: value for name, value in given.items() if name in self._inputs}
        )
        hidden = answers[-1] if wanted[-1] == self._hidden else None
        if self._pooled:
            return hidden, unit(answers[0])
        if self._pooling == "cls":
            return hidden, unit(answers[0][:, 0])
        return hidden, _mean(answers[0], mask)

    def _measured_dimensions(self) -> int:
        before, after = self._frame
        return int(self._run([[*before, *after] or [0]], wants_tokens=False)[1].shape[1])


_NO_ROWS: Final[Floats] = np.zeros((0, 0), np.float32)


def _mean(hidden: Floats, mask: NDArray[np.int64]) -> Floats:
    weights = mask.astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("bt,btd->bd", weights, hidden), np.float32)


def _parts(words: Sequence[int | None], reach: int) -> Iterator[tuple[int, int]]:
    """Windows of at most ``reach`` pieces, cut before a word where one begins near enough."""
    start = 0
    for _ in range(_MAX_WINDOWS):
        end = min(start + reach, len(words))
        if end < len(words):
            floor = start + reach // 2
            while end > floor and words[end] is not None and words[end] == words[end - 1]:
                end -= 1
            end = end if end > floor else start + reach  # one endless word: cut it anywhere
        yield start, end
        start = end
        if start >= len(words):
            return


def _frame(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The marks that the encoder expects before and after a text."""
    marked = tokenizer.encode("a").ids
    plain = tokenizer.encode("a", add_special_tokens=False).ids
    for at in range(len(marked) - len(plain) + 1):
        if marked[at : at + len(plain)] == plain:
            return marked[:at], marked[at + len(plain) :]
    return [], []


def _session(model: bytes | OnnxCopy, name: str, threads: int) -> tuple[Any, bool]:
    """The model in its runtime, and whether it scales a batch as one."""
    runtime = _runtime(name)

    def options() -> Any:
        made = runtime.SessionOptions()
        made.intra_op_num_threads = threads
        made.inter_op_num_threads = 1
        made.log_severity_level = 3  # its warnings are about itself, not about the user's data
        return made

    if isinstance(model, OnnxCopy) and (opened := model.open(runtime, options())) is not None:
        return opened
    weights = model.read() if isinstance(model, OnnxCopy) else model
    scales = any(mark in weights for mark in _SCALES_BY_BATCH)
    if isinstance(model, OnnxCopy):
        session = model.prepare(runtime, options, weights, scales_by_batch=scales)
        if session is not None:
            return session, scales
    try:
        providers = ["CPUExecutionProvider"]
        return runtime.InferenceSession(weights, options(), providers=providers), scales
    except Exception as error:  # its exceptions share no base class
        raise ModelUnavailable(
            f"The encoder {name!r} cannot be loaded: {str(error).splitlines()[0]}",
            hint="The file is damaged or no ONNX model; install or fetch it again.",
        ) from error


def _runtime(name: str) -> Any:
    # Its builds report each start and model to their maker; read when it is first loaded. What
    # is remembered here is nobody else's business, not even that it is.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        runtime = import_module("onnxruntime")
        runtime.disable_telemetry_events()
    except ImportError as error:
        raise ModelUnavailable(
            f"The package 'onnxruntime', which runs the encoder {name!r}, is not installed.",
            hint="Run: pip install 'holdfast[local]'",
        ) from error
    return runtime


def _outputs(session: Any, pooling: Literal["mean", "cls"] | None) -> tuple[str | None, str | None]:
    """The names of the rows of words and of the finished vector, each if the graph has it."""
    shapes = {one.name: len(one.shape) for one in session.get_outputs()}
    rows = [name for name, rank in shapes.items() if rank == 3]
    hidden = "last_hidden_state" if "last_hidden_state" in rows else next(iter(rows), None)
    finished = [name for name, rank in shapes.items() if rank == 2]
    pooled = "sentence_embedding" if "sentence_embedding" in finished else None
    if hidden is None:
        pooled = pooled or next(iter(finished), None)
    if hidden is None and pooled is None:
        raise ModelUnavailable(
            f"The model gives {', '.join(shapes) or 'nothing'}, which is no vector of a text.",
            hint="Use a sentence encoder: one that gives last_hidden_state or sentence_embedding.",
        )
    return hidden, None if pooling and hidden else pooled


def _name(folder: Path, model: bytes, settings: Described) -> str:
    """Whatever changes the vectors changes the name: weights, word pieces, pooling, reach."""
    digest = sha256(sha256(model).digest())
    for file in ("tokenizer.json", "vocab.txt"):
        if (folder / file).is_file():
            digest.update(read_checked(folder / file, None))
            break
    digest.update(f"{settings.pooling} {settings.max_tokens}".encode())
    return f"{folder.resolve().name}/{digest.hexdigest()[:8]}"


def _model_file(folder: Path) -> Path:
    for file in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if file.is_file():
            return file
    return folder / "model.onnx"
