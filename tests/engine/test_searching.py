"""Search through the engine: what was acknowledged is found, by those who may read it."""

from __future__ import annotations

import os
import shutil
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.engine.facade import Engine
from holdfast.engine.searching import SearchRoom
from holdfast.errors import UsageError
from holdfast.events import Event, IndexChanged, Searched
from holdfast.search.request import SearchResult
from holdfast.testing import FixedClock
from holdfast.testing.embedders import HashingEmbedder


def texts(found: SearchResult) -> list[str]:
    return [passage.text for passage in found.passages]


def use(engine: Engine, *embedders: HashingEmbedder) -> None:
    """Give the engine these encoders instead of those that are installed."""
    engine._rooms.close_search()
    engine._rooms._search = SearchRoom(engine._rooms, embedders)


# ── found at once ───────────────────────────────────────────────────────────────────────────


def test_a_message_is_found_by_the_next_search(home: Path) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        for number in range(20):
            session.append({"role": "user", "content": f"parcel number{number} has arrived"})
            assert f"number{number}" in texts(engine.search(f"number{number}"))[0]


def test_a_memory_is_found_with_a_citation_that_can_be_read(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("The staging server listens on port 8081.", target="topic:servers")
        engine.remember("Alice prefers green tea.", kind="O", entity="Alice", confidence=0.8)
        found = engine.search("which port does staging use?")
        assert found.passages[0].citation.startswith("memory/topics/servers.md#L")
        assert "8081" in engine.get(found.passages[0].citation).text
        said = engine.search("green tea", kind="O", entity="alice").passages
        assert [each.entities for each in said] == [("Alice",)]


def test_a_message_cites_its_session_and_entry(home: Path) -> None:
    with holdfast.open(home) as engine:
        entry = engine.session("s1").append({"role": "user", "content": "我女儿的生日是五月三号。"})
        [passage] = engine.search("女儿").passages
        assert passage.citation == f"s1#{entry}"
        assert passage.entries == (entry,)
        assert engine.get(passage.citation).text == "我女儿的生日是五月三号。"


def test_edits_by_hand_undo_and_deletion_are_followed(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("The zeppelin lands at noon.", target="memory")
        file = home / "agents" / "main" / "MEMORY.md"
        assert texts(engine.search("zeppelin"))
        file.write_text(file.read_text("utf-8").replace("zeppelin", "submarine"), "utf-8")
        assert not texts(engine.search("zeppelin"))
        assert texts(engine.search("submarine"))
        file.unlink()
        assert not texts(engine.search("submarine"))
        engine.remember("A comet is due.")
        assert texts(engine.search("comet"))
        engine.undo()
        assert not texts(engine.search("comet"))
        engine.session("gone").append({"role": "user", "content": "the walrus sings"})
        assert texts(engine.search("walrus"))
        engine.delete_session("gone")
        assert not texts(engine.search("walrus"))


def test_saves_of_the_same_length_right_after_a_search_are_seen(home: Path) -> None:
    file = home / "agents" / "main" / "MEMORY.md"
    with holdfast.open(home, background=False) as engine:
        for number in range(30):
            for word in (f"aaaa{number:02}", f"bbbb{number:02}"):
                file.write_text(f"- W: The word is {word}.\n", "utf-8")
                assert texts(engine.search(word)) == [f"The word is {word}."]


def test_another_process_s_messages_are_found_too(home: Path) -> None:
    with holdfast.open(home) as one, holdfast.open(home) as other:
        other.session("s1").append({"role": "user", "content": "the ferry leaves at nine"})
        assert texts(one.search("ferry"))
        other.remember("Ferries are cheaper on Mondays.")
        assert len(texts(one.search("ferries"))) == 2


def test_the_index_can_be_deleted_at_any_time(home: Path) -> None:
    index = home / "agents" / "main" / ".index"
    with holdfast.open(home) as engine:
        engine.remember("The lighthouse keeper is called Tom.")
        assert texts(engine.search("lighthouse"))
    shutil.rmtree(index)
    with holdfast.open(home) as engine:
        assert texts(engine.search("lighthouse"))
        assert engine.index.verify() == []


def test_a_damaged_index_is_built_again_and_told(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("The lighthouse keeper is called Tom.")
        engine.search("lighthouse")
    for file in (home / "agents" / "main" / ".index").glob("*.sqlite3"):
        file.write_bytes(b"not a database, whatever its name says" * 200)
    told: list[Event] = []
    with holdfast.open(home) as engine:
        engine.subscribe(told.append)
        assert texts(engine.search("lighthouse"))
    assert [each.what for each in told if isinstance(each, IndexChanged)][:1] == ["given up"]


# ── what is searched ────────────────────────────────────────────────────────────────────────


def test_conversations_that_rested_too_long_are_left_out_until_they_are_opened(
    home: Path, clock: FixedClock
) -> None:
    with holdfast.open(home) as engine:
        engine.session("old").append({"role": "user", "content": "the heron nests in April"})
        file = home / "agents" / "main" / "sessions" / "old.jsonl"
        long_ago = time.time() - 40 * 86_400
        os.utime(file, (long_ago, long_ago))
        assert not texts(engine.search("heron"))
        engine.session("old")
        assert texts(engine.search("heron"))
        os.utime(file, (long_ago, long_ago))
    with holdfast.open(home, config={"index.retention_days": 0}) as engine:
        assert texts(engine.search("heron"))


def test_conversations_and_memory_files_can_be_left_out(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.session("s1").append({"role": "user", "content": "a falcon in the session"})
        engine.remember("A falcon in memory.")
    with holdfast.open(home, config={"index.sessions": False}) as engine:
        assert texts(engine.search("falcon")) == ["A falcon in memory."]
    with holdfast.open(home, config={"index.include_default_memory": False}) as engine:
        assert texts(engine.search("falcon")) == ["a falcon in the session"]


def test_extra_folders_are_searched_for_the_owner_only(home: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / "deep" / "birds.md").write_text("# Birds\n\nThe kingfisher dives.\n", "utf-8")
    (notes / "link.md").symlink_to("/etc/passwd")
    config = {
        "index.extra_paths": [str(notes)],
        "scope.default": "allow",
    }
    with holdfast.open(home, config=config) as engine:
        [passage] = engine.search("kingfisher").passages
        assert passage.source == "extra"
        assert engine.get(passage.citation).text == "The kingfisher dives.\n"
        assert not texts(engine.search("root bash nologin"))
    with holdfast.open(home, chat="team", chat_type="group", config=config) as engine:
        assert not texts(engine.search("kingfisher"))


def test_recalled_text_is_not_found_as_if_it_had_been_said(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("The orchid needs little water.")
        answer = engine.call_tool("memory_search", {"query": "orchid"})
        engine.session("s1").append({"role": "user", "content": f"So?\n{answer['text']}"})
        assert [each.source for each in engine.search("orchid").passages] == ["daily"]


# ── who may ─────────────────────────────────────────────────────────────────────────────────


def test_a_chat_that_no_rule_allows_finds_nothing_and_is_told(home: Path) -> None:
    with holdfast.open(home, chat="team", chat_type="group") as engine:
        engine.session("s1").append({"role": "user", "content": "the badge is green"})
        found = engine.search("badge")
        assert found.passages == ()
        assert found.why_empty is not None
        assert "scope" in found.why_empty


def test_a_group_finds_its_own_and_a_member_finds_the_group_s(home: Path) -> None:
    allow = {"scope.default": "allow"}
    with holdfast.open(home) as owner:
        owner.remember("The owner's badge is red.")
    with holdfast.open(home, chat="team", chat_type="group", config=allow) as group:
        entry = group.session("s1").append({"role": "user", "content": "our badge is green"})
        group.remember("The team's badge is renewed in June.")
        assert len(group.search("badge").passages) == 2
        assert not [each for each in texts(group.search("badge")) if "red" in each]
    with holdfast.open(home) as owner:
        assert texts(owner.search("badge")) == ["The owner's badge is red."]
    with holdfast.open(home, memberships=["team"]) as member:
        found = {passage.citation: passage.text for passage in member.search("badge").passages}
        assert len(found) == 3
        assert found[f"chats/team/s1#{entry}"] == "our badge is green"
        assert member.get(f"chats/team/s1#{entry}").text == "our badge is green"
        for citation in found:
            assert member.get(citation).text
    with holdfast.open(home, user="eve", memberships=["team"]) as eve:
        assert len(eve.search("badge").passages) == 2


def test_the_kind_of_chat_can_only_make_it_fewer(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("The safe opens at dawn.")
        assert texts(engine.search("safe", chat_type="direct"))
        for kind in ("group", "channel"):
            found = engine.search("safe", chat_type=kind)
            assert not found.passages
            assert found.why_empty


def test_memory_that_is_off_is_not_searched(home: Path) -> None:
    with holdfast.open(home, config={"memory.mode": "off"}) as engine:
        engine.session("s1").append({"role": "user", "content": "a quiet word"})
        assert "off" in (engine.search("quiet").why_empty or "")


def test_days_may_be_written_as_people_write_them(home: Path, clock: FixedClock) -> None:
    with holdfast.open(home, clock=clock, background=False) as engine:
        engine.session("s1").append({"role": "user", "content": "the tide was low"})
        today = clock.now().date().isoformat()
        assert texts(engine.search("tide", since=today))
        assert not texts(engine.search("tide", since="2999-01-01"))
        assert texts(engine.search("tide", now="2999-01-01"))
        wrongs: list[dict[str, Any]] = [{"since": "soon"}, {"as_of": 7}, {"limit": "3"}]
        for wrong in (*wrongs, {"now": "later"}):
            with pytest.raises(UsageError):
                engine.search("tide", **wrong)


def test_a_group_that_is_allowed_still_lets_the_owner_in(home: Path) -> None:
    with holdfast.open(home, chat="team", chat_type="group") as engine:
        said = engine.search("x").why_empty or ""
    config = home / "config.toml"
    config.write_text(said[said.index("[[") :], "utf-8")  # as the answer says, word for word
    with holdfast.open(home, chat="team", chat_type="group", background=False) as engine:
        engine.remember("The retro is on Friday.")
        assert texts(engine.search("retro"))
    with holdfast.open(home, background=False) as engine:
        engine.remember("My retro shoes.")
        assert texts(engine.search("retro")) == ["My retro shoes."]
        found = engine.search("retro", chat_type="group")
        assert "--chat" in (found.why_empty or "")


def test_of_two_who_sync_at_once_one_embeds(home: Path) -> None:
    with holdfast.open(home, background=False) as one, holdfast.open(home, background=False) as two:
        use(one, HashingEmbedder())
        use(two, HashingEmbedder())
        one.remember("The tram is late.")
        with one.index.lease() as is_ours:
            assert is_ours
            assert any("another process" in each for each in two.index.sync().problems)
            assert one.index.sync().embedded == 1


@pytest.mark.parametrize("given", [{"kind": "X"}, {"source": "web"}, {"chat_type": "party"}])
def test_what_there_is_not_is_refused_with_what_there_is(home: Path, given: dict[str, str]) -> None:
    with holdfast.open(home) as engine, pytest.raises(UsageError, match="There is no"):
        engine.search("x", **given)  # type: ignore[arg-type]


# ── meaning ─────────────────────────────────────────────────────────────────────────────────


def test_each_text_is_encoded_once_however_often_it_is_searched(home: Path) -> None:
    encoder = HashingEmbedder()
    with holdfast.open(home, background=False) as engine:
        use(engine, encoder)
        session = engine.session("s1")
        for number in range(10):
            session.append({"role": "user", "content": f"the cat number {number} sleeps"})
            engine.search("cats asleep")
        stored = [text for text in encoder.texts if "number" in text]
        assert sorted(stored) == sorted(set(stored))
        assert len(stored) == 10
        assert engine.search("cats asleep").degraded == ()


def test_an_encoder_that_fails_costs_only_meaning(home: Path) -> None:
    class Broken(HashingEmbedder):
        def embed(self, texts, *, tokens=False):  # type: ignore[no-untyped-def]
            raise holdfast.errors.ModelUnavailable("The weights are gone.", hint="Fetch them.")

    with holdfast.open(home, background=False) as engine:
        use(engine, Broken())
        engine.remember("The heater is repaired.")
        found = engine.search("heater")
        assert texts(found) == ["The heater is repaired."]
        assert any("The weights are gone." in each for each in found.degraded)


def test_a_new_encoder_takes_over_once_it_has_seen_everything(home: Path) -> None:
    with holdfast.open(home, background=False) as engine:
        engine.remember("The canoe is in the shed.")
        use(engine, HashingEmbedder(name="one"))
        engine.index.sync()
        use(engine, HashingEmbedder(name="two", dimensions=32))
        assert engine.index.status().encoders[0].embedded == 0
        assert texts(engine.search("canoe"))
        engine.index.sync()
        assert [each.embedder for each in engine.index.index.coverage()] == ["two/32"]


def test_without_an_encoder_the_answer_says_so(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("The kayak is blue.")
        found = engine.search("kayak")
        assert texts(found)
        assert len(found.degraded) == 1
        assert found.degraded[0].startswith("meaning: ")
        assert engine.search("kayak", vectors=False).degraded == ()


# ── care ────────────────────────────────────────────────────────────────────────────────────


def test_rebuilding_gives_the_same_index_and_keeps_the_vectors(home: Path) -> None:
    encoder = HashingEmbedder()
    with holdfast.open(home) as engine:
        use(engine, encoder)
        engine.remember("The anchor weighs two tons.")
        engine.session("s1").append({"role": "user", "content": "the mast is oak"})
        engine.index.sync()
        before = texts(engine.search("anchor mast"))
        calls = len(encoder.texts)
        done = engine.index.rebuild()
        assert done.documents == 2
        assert [text for text in encoder.texts[calls:] if "anchor" in text] == []
        assert texts(engine.search("anchor mast")) == before
        assert engine.index.verify() == []


def test_status_counts_what_waits_and_verify_names_it(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("The gate is open.")
        assert engine.index.status().changed == 1
        assert engine.index.verify() == [f"memory/{engine.today()}.md: not indexed"]
        engine.index.sync()
        assert engine.index.status().changed == 0
        assert engine.index.status().documents == 1


def test_an_erased_text_is_gone_from_the_index_and_the_rest_is_found(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.session("s1").append(
            {"role": "user", "content": "the code is QXJZW7 and snow falls"}
        )
        engine.remember("QXJZW7 opens the vault.")
        assert len(engine.search("QXJZW7").passages) == 2
        engine.forget("QXJZW7", erase=True)
        for file in (home / "agents" / "main" / ".index").iterdir():
            assert b"qxjzw7" not in file.read_bytes().lower()
        assert texts(engine.search("snow falls"))
        assert not texts(engine.search("QXJZW7"))


def test_what_one_user_erases_stays_found_for_the_others_who_said_it(home: Path) -> None:
    for name in ("ann", "bob"):
        with holdfast.open(home, user=name) as engine:
            engine.session("s1").append({"role": "user", "content": "meet me at Quartz Bridge"})
            assert texts(engine.search("quartz"))
    with holdfast.open(home, user="ann") as engine:
        engine.forget("Quartz Bridge", erase=True)
        assert not texts(engine.search("quartz"))
    with holdfast.open(home, user="bob") as engine:
        assert texts(engine.search("quartz"))


def test_a_search_is_told_without_what_was_asked(home: Path) -> None:
    told: list[Event] = []
    with holdfast.open(home) as engine:
        engine.subscribe(told.append)
        engine.search("a very private question")
    assert len([each for each in told if isinstance(each, Searched)]) == 1
    assert "private" not in (home / "events.jsonl").read_text("utf-8")


def test_time_filters_and_as_of(home: Path, clock: FixedClock) -> None:
    with holdfast.open(home, clock=clock) as engine:
        engine.session("s1").append({"role": "user", "content": "the tide was low"})
        clock.advance(days=10)
        engine.session("s1").append({"role": "user", "content": "the tide was high"})
        first = (clock.now() - timedelta(days=10)).date()
        assert texts(engine.search("tide", until=first)) == ["the tide was low"]
        assert texts(engine.search("tide", since=first + timedelta(days=5))) == [
            "the tide was high"
        ]
        assert texts(engine.search("tide", as_of=first + timedelta(days=1))) == ["the tide was low"]
        assert isinstance(first, date)


# ── the tool ────────────────────────────────────────────────────────────────────────────────


def test_a_model_gets_quotes_with_citations(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("The sauna is booked on Fridays.")
        answer = engine.call_tool("memory_search", {"query": "sauna", "limit": 3})
        assert answer["passages"][0]["citation"] in answer["text"]
        assert "> The sauna is booked on Fridays." in answer["text"]
        read = engine.call_tool("memory_get", {"path": answer["passages"][0]["citation"]})
        assert "sauna" in read["text"]


def test_citations_can_be_left_out(home: Path) -> None:
    with holdfast.open(home, config={"search.citations": "off"}) as engine:
        engine.remember("The sauna is booked on Fridays.")
        answer = engine.call_tool("memory_search", {"query": "sauna"})
        assert "citation" not in answer["passages"][0]
        assert "memory/" not in answer["text"]
