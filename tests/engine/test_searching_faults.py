"""What goes wrong around a search costs what it must and no more, and nobody reads too much."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import holdfast
from holdfast.disk import Directory, FileLock
from holdfast.engine.facade import Engine
from holdfast.engine.searching import SearchRoom
from holdfast.engine.searching.extras import Extras
from holdfast.errors import ModelUnavailable, NotFound, PolicyRefused, StorageError
from holdfast.ports import Embedded
from holdfast.retain import RetainLine, render
from holdfast.search.request import SearchResult
from holdfast.testing.embedders import HashingEmbedder

ALLOW = {"scope.default": "allow"}


def texts(found: SearchResult) -> list[str]:
    return [passage.text for passage in found.passages]


def use(engine: Engine, *embedders: HashingEmbedder) -> SearchRoom:
    """Give the engine these encoders instead of those that are installed."""
    engine._rooms.close_search()
    room = engine._rooms._search = SearchRoom(engine._rooms, embedders)
    return room


def eventually(is_true: Callable[[], bool], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_true():
            return True
        time.sleep(0.02)
    return False


def own(home: Path) -> Path:
    return home / "agents" / "main"


def remove_index(home: Path) -> None:
    """In one step: a thread may be writing into it."""
    away = (own(home) / ".index").rename(home / f"gone-{time.time_ns()}")
    shutil.rmtree(away, ignore_errors=True)


# ── who may read ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("who", [{"chat": "team", "chat_type": "group"}, {"user": "bob"}])
def test_the_owner_s_files_outside_are_read_by_nobody_else(
    home: Path, tmp_path: Path, who: dict[str, str]
) -> None:
    diary = tmp_path / "notes" / "diary.md"
    diary.parent.mkdir()
    diary.write_text("the zanzibar secret\n", "utf-8")
    config = ALLOW | {"index.extra_paths": [str(diary.parent)]}
    with holdfast.open(home, config=config) as owner:
        [passage] = owner.search("zanzibar").passages
        assert "zanzibar" in owner.get(passage.citation).text
        with pytest.raises(PolicyRefused):
            owner.get(str(tmp_path / "other.md"))
    with holdfast.open(home, config=config, **who) as other:  # type: ignore[arg-type]
        assert not texts(other.search("zanzibar"))
        with pytest.raises(PolicyRefused):
            other.get(str(diary))


def test_what_is_inside_a_narrowed_line_is_neither_found_nor_read_by_others(home: Path) -> None:
    line = render(RetainLine(kind="W", entity="Bob", text="the salary", user="bob"))
    text = (
        f"# Memory\n\n- W: open lemming\n{line}\n  below lemur\n  - nested quokka\n\n"
        f"  indented wombat\n\n      code echidna\n- open item\n\n> {line} quoll\n\n"
        f"1. {line}\n   ocelot\n\nA numbat. {line[line.index('<!--') :]}\n\nopen end\n"
    )
    with holdfast.open(home, config=ALLOW, chat="team", chat_type="group") as group:
        file = own(home) / "chats" / "team" / "MEMORY.md"
        group.remember("x", target="memory")
        file.write_text(text, "utf-8")
        shown = group.get("MEMORY.md").text
        for word in ("salary", "lemur", "quokka", "wombat", "echidna", "quoll", "ocelot", "numbat"):
            assert not texts(group.search(word)), word
            assert word not in shown
        for word in ("lemming", "item", "end"):
            assert texts(group.search(word)), word
            assert word in shown
        assert len(shown.splitlines()) == len(text.splitlines())
    with holdfast.open(home, user="bob", memberships=["team"], config=ALLOW) as bob:
        assert "wombat" in bob.get("chats/team/MEMORY.md").text
        assert texts(bob.search("wombat"))


def test_a_chat_that_no_rule_allows_reads_as_little_as_it_finds(home: Path) -> None:
    with holdfast.open(home, chat="team", chat_type="group") as group:
        entry = group.session("s1").append({"role": "user", "content": "the badge is green"})
        group.remember("The badge is green.", target="memory")
        for path in ("MEMORY.md", f"s1#{entry}"):
            with pytest.raises(PolicyRefused, match="No rule lets"):
                group.get(path)
            with pytest.raises(PolicyRefused, match="No rule lets"):
                group.call_tool("memory_get", {"path": path})
        assert group.session("s1").view().messages


def test_only_the_exact_name_of_a_chat_s_conversation_leads_to_it(home: Path) -> None:
    with holdfast.open(home, chat="team", chat_type="group") as group:
        entry = group.session("s1").append({"role": "user", "content": "the badge is green"})
    with holdfast.open(home, memberships=["team"]) as member:
        assert member.get(f"chats/team/s1#{entry}").text == "the badge is green"
        for wrong in ("chats/team/x/y/s1", "chats/team/sessions/s1"):
            with pytest.raises(NotFound):
                member.get(f"{wrong}#{entry}")


# ── files outside ───────────────────────────────────────────────────────────────────────────


def test_a_link_in_the_place_of_an_outside_file_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("narwhal\n", "utf-8")
    notes = tmp_path / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / "deep" / "a.md").write_text("plain\n", "utf-8")
    os.link(secret, notes / "hard.md")
    extras = Extras([str(notes)], tmp_path)
    [(path, _)] = extras.found([])
    assert extras.read(path) == "plain\n"
    path.unlink()
    assert extras.read(path) is None
    path.symlink_to(secret)
    with pytest.raises(PolicyRefused):
        extras.read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(PolicyRefused):
        extras.read(path)
    shutil.rmtree(notes / "deep")
    (notes / "deep").symlink_to(tmp_path)
    with pytest.raises(PolicyRefused):
        extras.read(notes / "deep" / "secret.md")
    with pytest.raises(PolicyRefused):
        extras.read(notes / "hard.md")


def test_outside_paths_without_a_root_are_below_the_home_wherever_one_is(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "notes").mkdir(parents=True)
    (home / "notes" / "a.md").write_text("a kingfisher\n", "utf-8")
    for where in (tmp_path, home):
        monkeypatch.chdir(where)
        with holdfast.open(home, config={"index.extra_paths": ["notes"]}) as engine:
            [passage] = engine.search("kingfisher").passages
            assert passage.citation == f"{home.resolve()}/notes/a.md#L1"
            assert engine.get(passage.citation).text == "a kingfisher\n"


def test_erasing_names_the_outside_files_that_still_hold_the_text(
    home: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("the code is QXJZW7\n", "utf-8")
    (notes / "b.md").write_text("nothing\n", "utf-8")
    with holdfast.open(home, config={"index.extra_paths": [str(notes)]}) as engine:
        engine.remember("QXJZW7 opens the vault.")
        engine.search("QXJZW7")
        for dry_run in (True, False):
            done = engine.forget("QXJZW7", erase=True, dry_run=dry_run)
            assert [each.path for each in done.remaining] == [str(notes / "a.md")]
        (notes / "a.md").unlink()
        assert engine.forget("QXJZW7", erase=True).remaining == ()


# ── the index and its files ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("background", [False, True])
def test_an_index_that_is_removed_under_an_open_engine_is_made_again(
    home: Path, background: bool
) -> None:
    engine = holdfast.open(home, background=background)
    engine.remember("The zeppelin lands at noon.")
    assert texts(engine.search("zeppelin"))
    remove_index(home)
    assert texts(engine.search("zeppelin"))
    engine.session("s1").append({"role": "user", "content": "the walrus sings"})
    assert texts(engine.search("walrus"))
    assert engine.index.verify() == []
    remove_index(home)
    engine.close()


def test_the_background_goes_on_with_the_index_that_took_the_place_of_a_removed_one(
    home: Path,
) -> None:
    with holdfast.open(home) as engine:
        room = use(engine, HashingEmbedder())
        engine.remember("The zeppelin lands at noon.")
        engine.search("zeppelin")
        assert eventually(lambda: not engine.search("zeppelin").degraded)
        remove_index(home)
        engine.search("zeppelin")
        assert eventually(lambda: not engine.search("zeppelin").degraded)
        assert eventually(lambda: room.is_leased)


def test_a_search_does_not_wait_for_whoever_writes_the_index(home: Path) -> None:
    with holdfast.open(home, background=False) as engine:
        engine.remember("The canoe is in the shed.", target="memory")
        engine.session("s1").append({"role": "user", "content": "the kayak is blue"})
        assert len(texts(engine.search("canoe kayak"))) == 2
        (own(home) / "MEMORY.md").unlink()
        engine.session("s1").append({"role": "user", "content": "the ferry is late"})
        folder = Directory.open(own(home) / ".index")
        with FileLock(folder, "writer", timeout_seconds=5).hold():
            found = engine.search("kayak ferry")
        assert texts(found) == ["the kayak is blue"]
        assert any("2 changed documents are" in each for each in found.degraded)
        assert "the ferry is late" in texts(engine.search("kayak ferry"))


def test_a_folder_that_cannot_be_listed_costs_no_other_and_is_not_taken_for_gone(
    home: Path,
) -> None:
    for chat in ("one", "two"):
        with holdfast.open(home, chat=chat, chat_type="group") as group:
            group.session("s1").append({"role": "user", "content": f"a walrus in {chat}"})
    with holdfast.open(home, memberships=["one", "two"], background=False) as member:
        assert len(texts(member.search("walrus"))) == 2
        sessions = own(home) / "chats" / "one" / "sessions"
        sessions.rename(sessions.with_name("away"))
        sessions.symlink_to(sessions.with_name("away"))
        member.session("mine").append({"role": "user", "content": "my walrus"})
        found = member.search("walrus")
        assert "my walrus" in texts(found)
        assert any("chats/one could not be looked at" in each for each in found.degraded)
        assert "chats/one/sessions/s1" in member.index.index.known()
        assert any("chats/one" in each for each in member.index.status().problems)


def test_an_edit_that_keeps_length_and_time_is_noticed(home: Path) -> None:
    file = own(home) / "MEMORY.md"
    with holdfast.open(home, background=False) as engine:
        engine.remember("The word is aaaa.", target="memory")
        long_ago = time.time_ns() - 10**12
        os.utime(file, ns=(long_ago, long_ago))
        time.sleep(0.1)
        assert texts(engine.search("aaaa"))
        assert texts(engine.search("aaaa"))
        with file.open("r+b") as opened:
            data = opened.read().replace(b"aaaa", b"bbbb")
            opened.seek(0)
            opened.write(data)
        os.utime(file, ns=(long_ago, long_ago))
        assert engine.index.verify() == ["MEMORY.md: changed since it was indexed"]
        assert texts(engine.search("bbbb"))
        assert engine.index.verify() == []


def test_a_file_from_the_future_is_read_once(home: Path) -> None:
    file = own(home) / "MEMORY.md"
    with holdfast.open(home, background=False) as engine:
        engine.remember("The word is aaaa.", target="memory")
        ahead = time.time_ns() + 10**15
        os.utime(file, ns=(ahead, ahead))
        time.sleep(0.1)
        assert texts(engine.search("aaaa"))
        assert engine.index.index.known()["MEMORY.md"].mtime_ns == ahead
        assert engine.index.catch_up().documents == 0


def test_a_chat_folder_that_was_replaced_is_followed(home: Path) -> None:
    with holdfast.open(home, chat="team", chat_type="group") as group:
        group.remember("The giraffe is tall.", target="memory")
    team = own(home) / "chats" / "team"
    with holdfast.open(home, memberships=["team"], background=False) as member:
        assert texts(member.search("giraffe"))
        shutil.copytree(team, team.with_name("copy"))
        file = team.with_name("copy") / "MEMORY.md"
        file.write_text(file.read_text("utf-8").replace("giraffe", "elephant"), "utf-8")
        team.rename(home / "away")
        team.with_name("copy").rename(team)
        assert texts(member.search("elephant"))
        assert not texts(member.search("giraffe"))
        assert "elephant" in member.get("chats/team/MEMORY.md").text


def test_an_engine_that_was_closed_opens_nothing_again(home: Path) -> None:
    class Slow(HashingEmbedder):
        inside, gate = threading.Event(), threading.Event()

        def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
            if threading.current_thread().name == "holdfast-index":
                self.inside.set()
                self.gate.wait(60)
            return super().embed(texts, tokens=tokens)

    slow = Slow()
    engine = holdfast.open(home)
    room = use(engine, slow)
    engine.remember("The zeppelin lands at noon.")
    engine.search("zeppelin")
    assert slow.inside.wait(60)
    engine.close()
    assert room._index is not None  # the thread still uses it
    slow.gate.set()
    assert eventually(lambda: room._index is None)
    with pytest.raises(StorageError, match="closed"):
        room.index  # noqa: B018
    with holdfast.open(home) as other:
        assert other.index.index.lease.take()


# ── encoders ────────────────────────────────────────────────────────────────────────────────


def test_a_new_encoder_that_is_down_leaves_what_the_old_one_made(home: Path) -> None:
    class Down(HashingEmbedder):
        def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
            raise ModelUnavailable("The weights are gone.", hint="Fetch them.")

    with holdfast.open(home, background=False) as engine:
        engine.remember("The canoe is in the shed.")
        use(engine, HashingEmbedder(name="one"))
        engine.index.sync()
        use(engine, Down(name="two"))
        assert engine.index.sync().problems == ("two/64: The weights are gone.",)
        assert [each.embedder for each in engine.index.index.coverage()] == ["one/64"]


ANSWERS: dict[str, Callable[[int], object]] = {
    "too few": lambda count: Embedded(vectors=np.ones((count + 1, 64), np.float32)),
    "too short": lambda count: Embedded(vectors=np.ones((count, 3), np.float32)),
    "flat": lambda count: Embedded(vectors=np.ones(64, np.float32)),
    "no numbers": lambda count: Embedded(vectors=np.full((count, 64), np.nan, np.float32)),
    "nothing": lambda count: None,
    "an error": lambda count: [][count],
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_whatever_an_encoder_answers_the_words_are_found_and_it_is_named(
    home: Path, kind: str
) -> None:
    class Odd(HashingEmbedder):
        def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
            if "heater?" in texts:  # what is asked is encoded elsewhere
                return super().embed(texts, tokens=tokens)
            return ANSWERS[kind](len(texts))  # type: ignore[return-value]

    with holdfast.open(home, background=False) as engine:
        use(engine, Odd())
        engine.remember("The heater is repaired.")
        found = engine.search("heater?")
        assert texts(found) == ["The heater is repaired."]
        assert any(each.startswith("meaning: hashing/64: ") for each in found.degraded)
        assert engine.index.index.missing("hashing/64") == 1  # to be tried again


def test_one_text_that_an_encoder_cannot_take_costs_only_its_own_meaning(home: Path) -> None:
    class Picky(HashingEmbedder):
        def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
            self.calls += 1
            if any("poison" in text for text in texts):
                raise ValueError("cannot tokenize this")
            return super().embed(texts, tokens=tokens)

    picky = Picky()
    with holdfast.open(home, background=False) as engine:
        use(engine, picky)
        session = engine.session("s1")
        for number in range(40):
            session.append({"role": "user", "content": f"a harmless line {number}"})
        session.append({"role": "user", "content": "the poison is here"})
        done = engine.index.sync()
        assert done.embedded == 40
        assert done.problems == (
            "hashing/64: 1 passage(s) could not be encoded, and are found by their words only: "
            "cannot tokenize this",
        )
        assert picky.calls < 40
        [coverage] = engine.index.index.coverage()
        assert (coverage.embedded, coverage.passed_over, coverage.missing) == (40, 1, 0)
        assert texts(engine.search("poison", vectors=False))[0] == "the poison is here"
        picky.calls = 0
        assert engine.index.sync().problems == ()
        assert picky.calls == 0  # not tried again and again


def test_what_stops_an_encoder_in_the_background_is_said_by_search_and_status(home: Path) -> None:
    class Down(HashingEmbedder):
        def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
            if threading.current_thread().name == "holdfast-index":
                raise ModelUnavailable("Your key has expired.")
            return super().embed(texts, tokens=tokens)

    with holdfast.open(home) as engine:
        use(engine, Down())
        engine.remember("The heater is repaired.")
        said = "meaning: hashing/64: Your key has expired."
        assert eventually(lambda: said in engine.search("heater").degraded)
        assert said in engine.index.status().problems


def test_a_search_does_not_wait_for_an_encoder_and_loses_none_of_its_work(home: Path) -> None:
    class Slow(HashingEmbedder):
        gate = threading.Event()

        def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
            if any("kayak is" in text for text in texts):
                self.gate.wait(60)
            return super().embed(texts, tokens=tokens)

    slow = Slow()
    with holdfast.open(home, background=False) as engine:
        use(engine, slow)
        engine.remember("The kayak is blue.")
        engine.search("load what is needed", vectors=False)
        found = engine.search("kayak", timeout_ms=400)
        assert texts(found) == ["The kayak is blue."]
        assert any("took longer than" in each for each in found.degraded)
        assert found.took_ms >= 100  # counted from when it was asked for, with the waiting
        slow.gate.set()
        assert eventually(lambda: not engine.search("kayak").degraded)
        assert len([text for text in slow.texts if "kayak is" in text]) == 1


def test_an_encoder_that_is_switched_off_is_not_told_as_missing(home: Path) -> None:
    with holdfast.open(home, config={"search.embedder": "none"}) as engine:
        engine.remember("The kayak is blue.")
        said = 'meaning: switched off (search.embedder = "none")'
        assert engine.search("kayak").degraded == (said,)
        assert said in engine.index.status().problems


def test_aliases_that_cannot_be_read_are_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object) -> None:
        raise StorageError("the bank cannot be read")

    with holdfast.open(home, background=False) as engine:
        engine.remember("Ana moves to Porto.", entity="Ana")
        monkeypatch.setattr(type(engine.facts), "entities", fail)
        found = engine.search("Porto", entity="Ana")
    assert found.passages
    assert "aliases: the bank cannot be read" in found.degraded
