"""Sentence encoders of a few bytes, written by hand: a table of vectors and nothing else.

They are real ONNX models that the real runtime loads, so a test of pooling, windows or batches
needs no weights.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

_INT64, _FLOAT = 7, 1
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "##s", "sea", "!", "[", "]")


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(data + bytes([value]))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _node(kind: str, given: list[str], made: list[str], axis: int | None = None) -> bytes:
    body = b"".join(_bytes(1, one) for one in given) + b"".join(_bytes(2, one) for one in made)
    body += _bytes(4, kind)
    if axis is not None:
        body += _bytes(5, _bytes(1, "axis") + _number(3, axis) + _number(20, 2))
    return _bytes(1, body)


def _tensor(name: str, shape: tuple[int, ...], kind: int, raw: bytes) -> bytes:
    dims = b"".join(_number(1, one) for one in shape)
    return _bytes(5, dims + _number(2, kind) + _bytes(8, name) + _bytes(9, raw))


def _value(field: int, name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    dims = b"".join(
        _bytes(1, _bytes(2, one) if isinstance(one, str) else _number(1, one)) for one in shape
    )
    tensor = _number(1, kind) + _bytes(2, dims)
    return _bytes(field, _bytes(1, name) + _bytes(2, _bytes(1, tensor)))


def table(dimensions: int = 8) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(7).normal(size=(len(WORDS), dimensions)).astype(np.float32)


def model(*, scaled_by_batch: bool = False, finished: bool = False, dimensions: int = 8) -> bytes:
    """Looks up each piece; ``scaled_by_batch`` squeezes a batch into 8 bits as int8 models do;
    ``finished`` also gives the first row as the vector of the text."""
    rows = "rows" if scaled_by_batch else "last_hidden_state"
    nodes = _node("Gather", ["table", "input_ids"], [rows])
    if scaled_by_batch:
        nodes += _node("DynamicQuantizeLinear", ["rows"], ["q", "s", "z"])
        nodes += _node("DequantizeLinear", ["q", "s", "z"], ["last_hidden_state"])
    outputs = _value(12, "last_hidden_state", _FLOAT, ("b", "t", dimensions))
    tensors = _tensor("table", (len(WORDS), dimensions), _FLOAT, table(dimensions).tobytes())
    if finished:
        tensors += _tensor("first", (), _INT64, struct.pack("<q", 0))
        nodes += _node("Gather", ["last_hidden_state", "first"], ["sentence_embedding"], axis=1)
        outputs += _value(12, "sentence_embedding", _FLOAT, ("b", dimensions))
    inputs = _value(11, "input_ids", _INT64, ("b", "t"))
    graph = nodes + _bytes(2, "tiny") + tensors + inputs + outputs
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _number(2, 17))


def folder(path: Path, **options: bool) -> Path:
    """A folder as one finds them: ``model.onnx`` and ``vocab.txt``."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "model.onnx").write_bytes(model(**options))
    (path / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return path
