"""Typed memories: facts with their time, beliefs with their confidence, contradictions.

    known        what is known in a place, and every change of it
    reading      memory lines of all files, as far as a reader may see them
    identity     which line an id means, where several have it                       pure
    shapes       Fact, Conflict, Entity, windows of time
    beliefs      evidence and decay                                                  pure
    statements   a line taken apart; scanning and lexicon below it                   pure
    conflicts    two lines that cannot both be true                                  pure
    pairs        which facts are worth comparing, and what is an update               pure
    judging      a model's opinion on them, if there is a model                      pure
    entities     names and aliases

Promise: Markdown is the truth; everything here is read from the lines and written into them
(``tests/memory/test_facts.py``).
"""

from __future__ import annotations

from holdfast.memory.facts.known import Facts
from holdfast.memory.facts.shapes import Conflict, Entity, Fact, Judged

__all__ = ["Conflict", "Entity", "Fact", "Facts", "Judged"]
