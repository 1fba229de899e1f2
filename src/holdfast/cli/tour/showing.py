"""``holdfast demo``: the tour on a terminal, or its facts as JSON lines.

Promise: exit code 0 only if nothing went wrong on the way; pauses only where somebody watches;
Ctrl-C leaves with a word about the files (``tests/doors/test_demo.py``).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.render import json_line, note
from holdfast.cli.speech import Language, filled, spoken
from holdfast.cli.terminal import has_colour
from holdfast.cli.tour.choosing import chosen_model
from holdfast.cli.tour.facts import Ended
from holdfast.cli.tour.journey import journey
from holdfast.cli.tour.page import Ink, Page
from holdfast.cli.tour.words import words_in

if TYPE_CHECKING:
    from holdfast.cli.options import Door

__all__ = ["run"]

_INTERRUPTED = 130


def run(
    door: Door, *, is_fast: bool = False, with_model: bool = False, as_json: bool = False
) -> int:
    """Lead somebody through the tour; the exit code."""
    told_in = spoken(os.environ)
    model = chosen_model(door) if with_model else None
    home = Path(tempfile.mkdtemp(prefix="holdfast-tour-"))
    page = None if as_json else _page(told_in, is_fast)
    try:
        for fact in journey(home, told_in, model=model):
            if page is None:
                json_line(fact.to_json())
            else:
                page.show(fact)
    except KeyboardInterrupt:
        note("\n" + filled(words_in(told_in).left, home=str(home)))
        return _INTERRUPTED
    return 1 if isinstance(fact, Ended) and fact.problems else 0


def _page(told_in: Language, is_fast: bool) -> Page:
    is_watched = sys.stdout.isatty() and not is_fast
    return Page(
        language=told_in,
        ink=Ink(is_on=sys.stdout.isatty() and has_colour(os.environ)),
        pause=time.sleep if is_watched else _go_on,
    )


def _go_on(seconds: float) -> None:
    """Nobody watches: no pause."""
