"""Secrets do not leave the conversation: one choke point for files, summaries, logs, exports.

``redact(text)`` puts a mark in place of every credential and keeps only what its issuer made
public: ``[secret: github token ghp_…]``. More than a hundred shapes that name themselves
(``shapes``), values that only their place gives away (``assigned``: env, YAML, JSON, prose,
English and Chinese), and forms such as private keys and URLs with a password (``blocks``);
also where hidden characters part them (``hidden``).

Promise: linear in the text, idempotent, and quiet on what only looks alike: hashes, ids,
``password=None``. Proven by ``tests/foundation/test_redact.py``.
Not here: the signature fields of provider messages, which nobody may touch.
"""

from __future__ import annotations

from holdfast.redact.scan import Secret, find_secrets, has_secret, redact, redact_json

__all__ = ["Secret", "find_secrets", "has_secret", "redact", "redact_json"]
