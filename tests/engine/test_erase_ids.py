"""Forget by id: an id is only an id, whoever wrote it and whatever it spells."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.engine.erase import forget
from holdfast.errors import NotFound, UsageError
from tests.engine.canaries import open_engine


def test_an_id_is_only_an_id_whatever_words_it_is_made_of(home: Path) -> None:
    """A line may claim any id: to forget that line must not be to forget what the id spells."""
    with open_engine(home) as engine:
        rooms = engine._rooms
        theirs = '- W @Eve: harmless two <!-- hf {"id":"lives in"} -->\n'
        named = '- W @Eve: harmless <!-- hf {"id":"Peter"} -->\n'
        short = '- W: odd <!-- hf {"id":"x"} -->\n'
        longer = "- W @Ann: harmless two times a day\n"
        peter = "- W @Peter: lives in Porto, next to Peter\n"
        file = rooms.base.path / "MEMORY.md"
        file.write_text(peter + theirs + named + short + longer, "utf-8")
        facts = {fact.line.text: fact.id for fact in engine.facts.list()}
        assert facts["harmless two"].startswith("h-")
        for text, id in facts.items():
            if text.startswith("lives in"):
                continue
            for erase in (False, True):
                would = forget(rooms, (), ids=[id], erase=erase, dry_run=True)
                assert would.items
                assert not any("Porto" in each.text for each in would.items)
            assert [each.text for each in forget(rooms, (), ids=[id], dry_run=True).items] == [text]
        for wrong in ("lives in", "Pet", "nobody", ""):
            with pytest.raises(NotFound):
                forget(rooms, (), ids=[wrong], dry_run=True)
        with pytest.raises(UsageError):
            forget(rooms, ())
        forget(rooms, (), ids=[facts["harmless two"], "x"])
        assert file.read_text("utf-8") == peter + named + longer
