"""Files of models, read whole and checked before anything runs them.

Proved by ``tests/models/test_embedders_onnx.py``.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from holdfast.errors import ModelUnavailable

__all__ = ["read_checked"]


def read_checked(file: Path, sha256_hex: str | None) -> bytes:
    """The bytes of a model.

    Raises:
        ModelUnavailable: it cannot be read, or is not the file it should be.
    """
    try:
        model = file.read_bytes()
    except OSError as error:
        raise ModelUnavailable(
            f"The model {str(file)!r} cannot be read: {error.strerror}.",
            hint="Check the path: it names the folder that holds model.onnx.",
        ) from error
    if sha256_hex is not None and sha256(model).hexdigest() != sha256_hex:
        raise ModelUnavailable(
            f"The model {str(file)!r} is damaged or another version: its checksum is wrong.",
            hint="Install it again. It is not used, because its vectors would not fit.",
        )
    return model
