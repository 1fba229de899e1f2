"""Stale tool results are shown shortened: rarely, in batches, and always with the same bytes.

``plan_prune`` decides; the engine appends ``PrunePlan.entry_data()`` as a ``prune`` entry, and
from then on every view shows those texts. Nothing leaves the transcript: each shorter text
names the entry that ``expand`` gives back whole.

    parts        what in a view could be shortened, and what may not be touched
    reads        which results a later one has made stale
    shorter      the shorter texts: head and tail, placeholders, JSON that stays JSON
    draft        the decisions of one plan and what they save
    largest      the last resort: the largest blocks first, wherever they stand
    plan         when, what, and how far

Promise: a plan is a pure function of the view and its prices, never makes anything dearer,
and never shortens what was already shortened unless the window leaves no choice
(``tests/context/test_pruning.py``, ``test_pruning_properties.py``). Pure.
"""

from __future__ import annotations

from holdfast.context.pruning.draft import How, Shown
from holdfast.context.pruning.plan import Force, PrunePlan, plan_prune

__all__ = ["Force", "How", "PrunePlan", "Shown", "plan_prune"]
