"""How much a message matters, and whether a user has set a rule or corrected something.

Promise: pure and bounded (of a large text the beginning and the end are read), the same in
English and Chinese, and honest: "no errors found" is no error, a pasted log weighs less than
the words of the person who pasted it, and repetitive tool output never outranks a sentence of
the user (``tests/foundation/test_importance.py``). ``is_constraint`` and ``is_correction`` are
precise rather than greedy: what they find is kept word for word by every compaction
(``tests/foundation/test_importance_rules.py``).
"""

from __future__ import annotations

from holdfast.importance.corrections import is_correction
from holdfast.importance.cues import asks_to_remember, is_decision, is_error
from holdfast.importance.rules import is_constraint
from holdfast.importance.samples import own_words
from holdfast.importance.score import Importance, importance

__all__ = [
    "Importance",
    "asks_to_remember",
    "importance",
    "is_constraint",
    "is_correction",
    "is_decision",
    "is_error",
    "own_words",
]
