"""Task records on disk: opened, updated and closed once, found again, never overwritten."""

from __future__ import annotations

import multiprocessing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from holdfast.disk import Directory
from holdfast.errors import NotFound, UsageError
from holdfast.memory.tasks import Lesson, Mishap, Tasks
from holdfast.memory.workspace import Workspace
from holdfast.testing import FixedClock, SequentialIds

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 3, 14, 15, 30, tzinfo=UTC)  # half past eleven in the evening there


class Place:
    def __init__(self, home: Path, prefix: str = "w", language: str = "auto") -> None:
        self.clock = FixedClock(NOW)
        ids = SequentialIds(prefix)
        self.workspace = Workspace(Directory.open(home), clock=self.clock, ids=ids)
        self.tasks = Tasks(
            self.workspace, now=self.clock.now, zone=ZONE, ids=ids, language=language
        )


@pytest.fixture
def place(home: Path) -> Place:
    return Place(home)


def test_a_task_from_beginning_to_end(place: Place, home: Path) -> None:
    task = place.tasks.open("Fix the login crash", request="It crashes on Safari.", sources=["s#1"])
    assert task.path == "tasks/2026-03-14-fix-the-login-crash.md"
    assert (task.type, task.status) == ("bug_fix", "open")
    place.clock.advance(seconds=3600)
    place.tasks.update(task.id, note="Found the cause.", errors=["timeout"], sources=["s#2"])
    place.clock.advance(seconds=1800)
    done = place.tasks.close(
        task.id,
        result="Fixed by a longer timeout.",
        errors=["timeout → 30 s instead of 3 s"],
        patterns=["failed: clearing the cache", "read the log first"],
    )
    assert done == place.tasks.show(task.id)
    assert done.seconds == 5400
    assert done.progress == ("2026-03-15 00:30: Found the cause.",)
    assert done.errors == (Mishap(what="timeout", fix="30 s instead of 3 s"),)
    assert done.patterns == (
        Lesson(text="clearing the cache", outcome="failed"),
        Lesson(text="read the log first"),
    )
    assert done.sources == ("s#1", "s#2")
    assert (home / task.path).stat().st_mode & 0o777 == 0o600


def test_doing_it_again_changes_nothing(place: Place, home: Path) -> None:
    task = place.tasks.open("Book a flight", id="t-1")
    assert place.tasks.open("Another title", id="t-1") == task
    place.tasks.update("t-1", note="asked the airline", errors=["no seats"])
    place.tasks.close("t-1", "failed", result="none left")
    text = (home / task.path).read_bytes()
    steps = len(place.workspace.operations())
    place.clock.advance(seconds=60)
    place.tasks.update("t-1", note="asked the airline", errors=["no seats"])
    place.tasks.close("t-1", "failed", result="none left")
    assert (home / task.path).read_bytes() == text
    assert len(place.workspace.operations()) == steps
    assert place.tasks.reopen("t-1").closed is None
    again = (home / task.path).read_bytes()
    place.tasks.reopen("t-1")
    assert (home / task.path).read_bytes() == again


def test_every_change_can_be_undone(place: Place, home: Path) -> None:
    task = place.tasks.open("Book a flight")
    text = (home / task.path).read_text()
    place.tasks.close(task.id, result="booked")
    place.workspace.undo()
    assert (home / task.path).read_text() == text
    assert place.tasks.show(task.id).is_open


def test_two_tasks_of_one_title_have_two_files(place: Place) -> None:
    paths = [place.tasks.open("写周报").path for _ in range(3)]
    assert len(set(paths)) == 3
    assert paths[1] == paths[0].replace(".md", "-2.md")


def test_a_record_written_by_hand_counts(place: Place, home: Path) -> None:
    place.tasks.open("Ours")
    mine = home / "tasks" / "by-hand.md"
    mine.write_text("# 整理书架\n\n随便写写\n")
    (task,) = place.tasks.list(text="书架")
    place.tasks.update(task.id, note="done half")
    closed = place.tasks.close(task.id)
    text = mine.read_text()
    assert text.startswith("# 整理书架\n\n")
    assert "随便写写\n" in text
    assert "- 状态: 已完成\n" in text
    assert closed.id == task.id == place.tasks.show(task.id).id


def test_lists_are_filtered_and_open_tasks_come_first(place: Place) -> None:
    old = place.tasks.open("Fix the login")
    place.tasks.close(old.id)
    place.clock.advance(days=2)
    new = place.tasks.open("Book a hotel in Oslo")
    place.tasks.close(new.id, "failed")
    place.clock.advance(days=-5)
    now = place.tasks.open("Fix the logout")
    assert [task.id for task in place.tasks.list()] == [now.id, new.id, old.id]
    assert [task.id for task in place.tasks.list(type="Bug fix")] == [now.id, old.id]
    assert [task.id for task in place.tasks.list(status="failed")] == [new.id]
    assert [task.id for task in place.tasks.list(text="OSLO")] == [new.id]
    with pytest.raises(UsageError, match="status"):
        place.tasks.list(status="finished")
    with pytest.raises(UsageError, match="open"):
        place.tasks.close(now.id, "open")


def test_an_id_may_be_shortened_while_it_is_the_only_one(place: Place) -> None:
    place.tasks.open("one", id="abc-1")
    place.tasks.open("two", id="abd-1")
    assert place.tasks.show("abc").title == "one"
    with pytest.raises(UsageError, match="abc-1, abd-1"):
        place.tasks.show("ab")
    with pytest.raises(NotFound, match="no task"):
        place.tasks.close("zzz")


def test_a_record_is_found_by_its_file_or_title(place: Place, home: Path) -> None:
    task = place.tasks.open("Fix the login crash")
    chinese = place.tasks.open("整理照片")
    for name in (task.path, "2026-03-14-fix-the-login-crash.md", "2026-03-14-fix-the-login-crash"):
        assert place.tasks.show(name).id == task.id
    assert place.tasks.show("fix the LOGIN crash").id == task.id
    assert place.tasks.close("整理照片").id == chinese.id
    place.tasks.open("Fix the login crash")
    with pytest.raises(UsageError, match=task.id):
        place.tasks.show("Fix the login crash")
    with pytest.raises(NotFound):
        place.tasks.show("Fix the login")


def test_a_record_is_in_the_language_that_is_set(home: Path) -> None:
    chinese = Place(home / "zh", language="zh").tasks
    task = chinese.open("Buy milk")
    assert "- 状态: 进行中\n" in (home / "zh" / task.path).read_text()
    chinese.update(task.id, note="went there", errors=["no milk"])
    chinese.close(task.id, result="none")
    text = (home / "zh" / task.path).read_text()
    for line in ("- 状态: 已完成\n", "- 结束: ", "## 进展\n", "## 错误\n", "## 结果\n"):
        assert line in text
    english = Place(home / "en", language="en").tasks
    text = (home / "en" / english.open("买牛奶").path).read_text()
    assert "- status: open\n" in text


def test_credentials_and_hidden_text_do_not_get_in(place: Place, home: Path) -> None:
    key = "sk-ant-api03-" + "A1b2C3d4" * 12
    task = place.tasks.open(f"Use {key}", request=f"with\u202e {key}", type=key)
    place.tasks.update(task.id, note=key, errors=[f"{key} → {key}"], patterns=[f"worked: {key}"])
    place.tasks.close(task.id, result=key)
    text = (home / place.tasks.list()[0].path).read_text()
    assert key not in text
    assert key[13:40].casefold() not in text.casefold()
    assert "\u202e" not in text
    place.tasks.update(task.id, type=key)
    assert key[13:40].casefold() not in (home / task.path).read_text().casefold()


def test_records_of_a_session_are_found_without_reading_all(place: Place) -> None:
    first = place.tasks.open("one", sources=["trip#e1"])
    place.tasks.open("two", sources=["other#e1"])
    assert [task.id for task in place.tasks.of_session("trip")] == [first.id]
    later = place.tasks.open("three", sources=["trip"])
    assert [task.id for task in place.tasks.of_session("trip")] == [first.id, later.id]
    place.tasks.update(place.tasks.list(text="two")[0].id, sources=["trip#e9"])
    assert len(place.tasks.of_session("trip")) == 3
    assert place.tasks.of_session("tri") == []


def test_what_was_opened_once_is_known_after_it_is_gone(place: Place, home: Path) -> None:
    task = place.tasks.open("one", id="t-1")
    assert not place.tasks.was_opened("t-2")
    (home / task.path).unlink()
    assert place.tasks.find("t-1") is None
    assert place.tasks.was_opened("t-1")


def _work(home: Path, worker: int) -> None:
    tasks = Place(home, f"p{worker}-").tasks
    for number in range(4):
        tasks.open("The same title", id=f"t-{number}")
        tasks.update(f"t-{number}", note=f"worker {worker}")


def test_processes_that_work_at_once_share_the_records(home: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_work, args=(home, each)) for each in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    tasks = Place(home).tasks.list()
    assert sorted(task.id for task in tasks) == [f"t-{number}" for number in range(4)]
    for task in tasks:
        assert sorted(line[-8:] for line in task.progress) == ["worker 0", "worker 1"]


def test_similar_tasks_are_found_by_type_words_and_outcome(place: Place) -> None:
    login = place.tasks.open(
        "Fix the crash of the login page", request="TypeError in src/auth/login.py on Safari"
    )
    place.tasks.close(login.id, result="A null check.")
    flight = place.tasks.open("Book a flight to Oslo")
    place.tasks.close(flight.id, "failed")
    cache = place.tasks.open("Fix the cache of the search page", request="It is stale.")
    chinese = place.tasks.open("修复登录页面崩溃")
    found = place.tasks.similar("The login crashes again, see src/auth/login.py")
    assert found[0].id == login.id
    assert found[0].result == "A null check."
    assert "same type (bug_fix)" in found[0].reasons
    assert "same src/auth/login.py" in found[0].reasons
    assert flight.id not in {each.id for each in found}
    assert place.tasks.similar("登录页面又崩溃了")[0].id == chinese.id
    assert [each.id for each in place.tasks.similar("flight", outcome="failed")] == [flight.id]
    assert place.tasks.similar("flight", outcome="done") == []
    assert place.tasks.similar("stale page", type="bug_fix", limit=1)[0].id == cache.id
    assert place.tasks.similar("completely unrelated astronomy") == []
    assert len(place.tasks.similar("", limit=2)) == 2


def test_durations_are_those_of_the_users_clock(place: Place) -> None:
    task = place.tasks.open("x y")
    place.clock.at = NOW + timedelta(days=1)
    place.tasks.close(task.id)
    assert place.tasks.stats().totals.median_seconds == 86_400
