"""English turns in clauses: the smallest pieces that still say something.

Promise: linear in the text; every word of the turn is in exactly one clause, and a clause with
less than two content words stays with its neighbour (``tests/context/test_extract_english.py``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from holdfast.context.extract.words import content_words

__all__ = ["Clause", "clauses"]

_CAPTION: Final = re.compile(r"\[[^\[\]\n]{3,300}\]")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"'”’)])\s+|\n+")
_BULLET: Final = re.compile(r"(?:[-*•#]{1,6}|\d{1,3}[.)])\s+")
_CLAUSE_END: Final = re.compile(
    r"\s+[-–—]{1,2}\s+|—|;\s+"
    r"|,\s+(?=(?:and|but|so|which|because|'cause|though|although|while|since|where|who|then)\b)"
    r"|,\s+(?=(?:I|we|it|he|she|they|my|our|there)(?:'\w+)?\s)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A piece of a turn. ``sentence`` counts the sentences before it; ``opens`` is whether it
    begins its sentence; a caption describes a picture."""

    text: str
    sentence: int
    opens: bool
    ends: bool
    caption: bool = False

    @property
    def is_question(self) -> bool:
        return self.text.rstrip("\"' )").endswith("?")


def clauses(text: str) -> list[Clause]:
    """The clauses of a turn, in order."""
    found: list[Clause] = []
    done = sentence = 0
    for caption in _CAPTION.finditer(text):
        spoken = _spoken(text[done : caption.start()], sentence)
        found += spoken
        sentence = found[-1].sentence + 1 if found else 0
        inner = caption[0][1:-1].strip()
        found.append(Clause(text=inner, sentence=sentence, opens=True, ends=True, caption=True))
        done = caption.end()
        sentence += 1
    return found + _spoken(text[done:], sentence)


def _spoken(text: str, first: int) -> list[Clause]:
    found: list[Clause] = []
    sentences = [part.strip() for part in _SENTENCE_END.split(text) if part and part.strip()]
    for sentence, said in enumerate(sentences, start=first):
        bare = said[bullet.end() :] if (bullet := _BULLET.match(said)) else said
        pieces = _merged([part for part in _CLAUSE_END.split(bare) if part and part.strip()])
        for place, piece in enumerate(pieces):
            found.append(
                Clause(
                    text=piece,
                    sentence=sentence,
                    opens=place == 0,
                    ends=place == len(pieces) - 1,
                )
            )
    return found


def _merged(pieces: list[str]) -> list[str]:
    """The pieces, those that say too little joined to the one before, else the one after."""
    merged: list[str] = []
    waiting = ""
    for piece in pieces:
        piece = f"{waiting}, {piece.strip()}" if waiting else piece.strip()
        waiting = ""
        if len(content_words(piece)) >= 2:
            merged.append(piece)
        elif merged:
            merged[-1] = f"{merged[-1]}, {piece}"
        else:
            waiting = piece
    return [*merged, waiting] if waiting else merged
