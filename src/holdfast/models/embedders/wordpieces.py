"""How an encoder cuts a text into word pieces: from the vendored vocabulary, or from a folder.

Promise: the same ids as the published tokenizer; a text that spells ``[SEP]`` is text, never a
mark of the encoder; a vocabulary without capitals reads capitals as small letters, whatever its
file says, because otherwise "Docker" is an unknown word. One thread. Proved by
``tests/models/test_embedders_onnx.py``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from holdfast.errors import ModelUnavailable

__all__ = ["from_folder", "from_json", "from_vocabulary", "uncased"]

_MARK_OPENS: Final = ("[", "<")


def uncased() -> Any:
    """The tokenizer of BERT's English, uncased vocabulary, which MiniLM uses."""
    file = files("holdfast.models") / "vocabularies" / "bert-uncased.txt.gz"
    return from_vocabulary(gzip.decompress(file.read_bytes()).decode("utf-8"))


def from_folder(folder: Path) -> Any:
    """The tokenizer beside a model: ``tokenizer.json``, else ``vocab.txt``.

    Raises:
        ModelUnavailable: neither is there, or it cannot be read.
    """
    for name, read in (("tokenizer.json", from_json), ("vocab.txt", from_vocabulary)):
        file = folder / name
        if not file.is_file():
            continue
        try:
            return read(file.read_text(encoding="utf-8"))
        except ModelUnavailable:
            raise
        except Exception as error:  # the library raises bare exceptions
            raise ModelUnavailable(
                f"{str(file)!r} is not a tokenizer that can be read: {error}",
                hint="Fetch the folder of the model again.",
            ) from error
    raise ModelUnavailable(
        f"There is no tokenizer.json and no vocab.txt in {str(folder)!r}.",
        hint="Put the tokenizer of the model beside its model.onnx.",
    )


def from_json(text: str) -> Any:
    """A tokenizer in the form of Hugging Face; its own padding and cuts are switched off."""
    described = json.loads(text)
    described["truncation"] = described["padding"] = None
    normalizer = described.get("normalizer") or {}
    is_bert = normalizer.get("type") == "BertNormalizer"
    if is_bert and _is_uncased(list(described["model"].get("vocab") or ())):
        normalizer["lowercase"] = True
    return _plain(_library().Tokenizer.from_str(json.dumps(described)))


def from_vocabulary(text: str) -> Any:
    """BERT's tokenizer over a vocabulary of one piece a line; the line number is the id."""
    pieces = text.removesuffix("\n").split("\n")
    library = _library()
    ids = {piece.removesuffix("\r"): number for number, piece in enumerate(pieces)}
    missing = [mark for mark in ("[UNK]", "[CLS]", "[SEP]") if mark not in ids]
    if missing:
        raise ModelUnavailable(
            f"The vocabulary has no {', '.join(missing)}: it is not one of BERT's.",
            hint="Use the vocab.txt, or better the tokenizer.json, that came with the model.",
        )
    tokenizer = library.Tokenizer(library.models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = library.normalizers.BertNormalizer(lowercase=_is_uncased(pieces))
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = library.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    return _plain(tokenizer)


def _plain(tokenizer: Any) -> Any:
    tokenizer.encode_special_tokens = True  # "[SEP]" in a text is five characters
    return tokenizer


def _is_uncased(pieces: Sequence[str]) -> bool:
    return not any(piece != piece.lower() for piece in pieces if not piece.startswith(_MARK_OPENS))


def _library() -> Any:
    try:
        library = import_module("tokenizers")
        for part in ("models", "normalizers", "pre_tokenizers", "processors"):
            import_module(f"tokenizers.{part}")
    except ImportError as error:
        raise ModelUnavailable(
            "The package 'tokenizers', which cuts texts for an encoder, is not installed.",
            hint="Run: pip install 'holdfast[local]'",
        ) from error
    return library
