"""Memories without a model: the ``rules`` extractor.

``extract`` turns messages into memory lines: clauses of what was said, values of whom they were
said of, records of what tools did. ``key_clauses`` ranks the same pieces for whoever writes a
summary. Both are pure and deterministic, bounded for any input, and never write what came out
of memory, greetings, or templates that stand in several places. The figures they reach on
public conversations are kept by ``benchmarks/extraction.py``; the promises are proven by
``tests/context/test_extract_*.py``.
"""

from __future__ import annotations

from holdfast.context.extract.extraction import extract, key_clauses
from holdfast.context.extract.heard import Extraction, Heard, KeyClause

__all__ = ["Extraction", "Heard", "KeyClause", "extract", "key_clauses"]
