"""The tour: a long conversation led through the real engine, shown while it happens.

script    the conversation, English and Chinese, read from ``data/``
telling   the steps of leading it, for the two that do
journey   leads it through the engine and tells what happened, fact by fact
playing   leads it message by message, in a place of the console of its own
facts     what is told: numbers, names and quotations, also as JSON
words     what is said about it, in both languages
page      the facts on a terminal
choosing  which model a person has, their home unopened
showing   ``holdfast demo``: a journey and a page, or JSON lines
offering  ``holdfast start``: the console, or in the terminal the chat, the tour, ways to a model
proofs    ``holdfast demo --proofs``: the plug pulled, a bit flipped, a text erased

Promise: offline, without a key and without a model; in a folder of its own, never in a person's
home; every number was counted while it ran, and what went wrong is said
(``tests/doors/test_demo.py``, ``tests/doors/test_start.py``, ``tests/server/test_tour_place.py``).
"""

from __future__ import annotations
