"""Parts of an index, taken in by several processes."""

from __future__ import annotations

from pathlib import Path

import holdfast
from holdfast.engine.searching.sharing import Share, catch_up_share


def test_the_parts_together_are_all_and_none_is_taken_for_gone(home: Path) -> None:
    with holdfast.open(home, background=False) as engine:
        for number in range(12):
            session = engine.session(f"s{number}")
            session.append({"role": "user", "content": f"parcel number{number} has arrived"})
        engine.remember("Tea is in the cupboard.")
        engine.index.catch_up()
        for number in range(12):
            session = engine.existing_session(f"s{number}")
            session.append({"role": "user", "content": f"it weighs {number}0 kilos"})
        parts = [catch_up_share(engine._rooms, Share(number=n, of=3)) for n in range(3)]
        # The note was written in the same moment as it was read: it may be looked at once more.
        assert 12 <= sum(part.documents for part in parts) <= 13
        assert all(part.documents for part in parts)
        assert sum(part.removed for part in parts) == 0
        assert engine.index.verify() == []
        assert engine.search("110 kilos").passages[0].citation.startswith("s11#")
