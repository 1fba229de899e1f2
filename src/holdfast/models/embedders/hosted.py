"""Encoders behind a server: Ollama, OpenAI (and whatever speaks its API), Voyage.

Promise: one vector for each text, in their order, of length 1 and of one size, or
``ModelUnavailable``: an answer that is short, of another size or not numbers is an error and
never stored. Texts go in batches that the servers accept. Proved by
``tests/models/test_embedders_hosted.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from holdfast.errors import ModelUnavailable
from holdfast.models.embedders.asking import Server
from holdfast.models.embedders.scripts import well_formed
from holdfast.models.embedders.vectors import Floats, unit
from holdfast.ports import Embedded, Script
from holdfast.text import cut

__all__ = ["HostedEmbedder", "OllamaEmbedder", "OpenAIEmbedder", "VoyageEmbedder"]

_BATCH_TEXTS: Final = 96
_BATCH_CHARACTERS: Final = 80_000
# About the 8 000 tokens that these models read, also where a character is a token.
_MAX_CHARACTERS: Final = 8_000

_KNOWN_DIMENSIONS: Final[Mapping[str, int]] = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "voyage-3.5": 1024,
    "voyage-3.5-lite": 1024,
    "voyage-3-large": 1024,
    "voyage-code-3": 1024,
    "nomic-embed-text": 768,
    "mxbai-embed-large": 1024,
    "bge-m3": 1024,
}


class HostedEmbedder:
    """What the three have in common; each of them knows its path and the form of its answer."""

    has_tokens: Final = False
    script: Final[Script] = "any"
    _path: str
    _default_url: str
    _provider: str

    def __init__(self, model: str, server: Server, *, dimensions: int | None = None) -> None:
        self._model = model
        self._server = server
        self._dimensions = dimensions or _KNOWN_DIMENSIONS.get(model.split(":")[0])

    @property
    def name(self) -> str:
        at = "" if self._server.base_url == self._default_url else f"@{self._server.base_url}"
        return f"{self._provider}:{self._model}{at}"

    @property
    def dimensions(self) -> int:
        """As published; for a model that is not known here, the size of its first answer."""
        if self._dimensions is None:
            self._dimensions = self._vectors(["size"]).shape[1]
        return self._dimensions

    def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
        given = [well_formed(cut(text, _MAX_CHARACTERS)) or " " for text in texts]
        parts = [self._vectors(batch) for batch in _batches(given)]
        if not parts:
            return Embedded(vectors=np.zeros((0, self.dimensions), np.float32))
        return Embedded(vectors=unit(np.concatenate(parts)))

    def _vectors(self, texts: Sequence[str]) -> Floats:
        answer = self._server.ask(self._path, self._question(texts))
        try:
            vectors = np.asarray(self._rows(answer), np.float32)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise self._wrong("has not the form of vectors") from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise self._wrong(f"has not one vector for each of {len(texts)} texts")
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise self._wrong("has a vector without direction")
        if self._dimensions not in (None, vectors.shape[1]):
            raise self._wrong(f"has {vectors.shape[1]} dimensions, not {self._dimensions}")
        self._dimensions = vectors.shape[1]
        return vectors

    def _wrong(self, what: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"The answer of {self.name!r} {what}; nothing of it is used.",
            hint="Check that the model is one for embeddings and that the server is up to date.",
        )

    def _question(self, texts: Sequence[str]) -> Mapping[str, Any]:
        return {"model": self._model, "input": list(texts)}

    def _rows(self, answer: Any) -> Any:
        """As OpenAI and Voyage give them: each with the place of its text."""
        rows = sorted(answer["data"], key=lambda row: int(row["index"]))
        if [row["index"] for row in rows] != list(range(len(rows))):
            raise ValueError("an index is missing or twice there")
        return [row["embedding"] for row in rows]


class OllamaEmbedder(HostedEmbedder):
    """A model of an Ollama server, by default the one on this machine."""

    _path = "/api/embed"
    _default_url = "http://127.0.0.1:11434"
    _provider = "ollama"

    def __init__(
        self,
        model: str = "nomic-embed-text",
        *,
        base_url: str | None = None,
        dimensions: int | None = None,
        seconds: float = 60.0,
    ) -> None:
        url = base_url or _default_ollama(os.environ.get("OLLAMA_HOST")) or self._default_url
        hint = f"Start it and fetch the model: ollama serve; ollama pull {model}"
        server = Server(base_url=url, seconds=seconds, hint=hint)
        super().__init__(model, server, dimensions=dimensions)

    @property
    def name(self) -> str:
        return f"ollama:{self._model}"  # the same model on whichever machine serves it

    def _rows(self, answer: Any) -> Any:
        return answer["embeddings"]


class OpenAIEmbedder(HostedEmbedder):
    """A model of OpenAI, or of any server with its API; the key is in ``OPENAI_API_KEY``."""

    _path = "/embeddings"
    _default_url = "https://api.openai.com/v1"
    _provider = "openai"

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        base_url: str | None = None,
        dimensions: int | None = None,
        seconds: float = 60.0,
    ) -> None:
        url = base_url or os.environ.get("OPENAI_BASE_URL") or self._default_url
        key = os.environ.get("OPENAI_API_KEY")
        if url == self._default_url:
            key = _needed(key, "OPENAI_API_KEY", "OpenAI")
        hint = "Check OPENAI_API_KEY, the name of the model and the address of the server."
        server = Server(base_url=url, key=key, seconds=seconds, hint=hint)
        super().__init__(model, server, dimensions=dimensions)


class VoyageEmbedder(HostedEmbedder):
    """A model of Voyage; the key is in ``VOYAGE_API_KEY``."""

    _path = "/embeddings"
    _default_url = "https://api.voyageai.com/v1"
    _provider = "voyage"

    def __init__(
        self,
        model: str = "voyage-3.5",
        *,
        base_url: str | None = None,
        dimensions: int | None = None,
        seconds: float = 60.0,
    ) -> None:
        key = _needed(os.environ.get("VOYAGE_API_KEY"), "VOYAGE_API_KEY", "Voyage")
        hint = "Check VOYAGE_API_KEY and the name of the model."
        server = Server(base_url=base_url or self._default_url, key=key, seconds=seconds, hint=hint)
        super().__init__(model, server, dimensions=dimensions)


def _needed(key: str | None, variable: str, provider: str) -> str:
    if not key:
        raise ModelUnavailable(
            f"There is no key for {provider}: the environment has no {variable}.",
            hint=f"Run: export {variable}=…",
        )
    return key


def _default_ollama(host: str | None) -> str | None:
    """``OLLAMA_HOST`` as Ollama itself reads it: the scheme and the port may be missing."""
    if not host:
        return None
    url = host if "://" in host else f"http://{host}"
    url = url.replace("//0.0.0.0", "//127.0.0.1")  # what a server listens on, not an address
    return url if url.rsplit(":", 1)[-1].isdigit() else f"{url.rstrip('/')}:11434"


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == _BATCH_TEXTS or size + len(text) > _BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch
