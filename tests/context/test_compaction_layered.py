"""What one summary hands on to the next: the lines of a task that goes on, and key points."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from holdfast.context.blocks import Group, group_blocks
from holdfast.context.compaction import Compacted, CompactionPlan
from holdfast.context.compaction.facts import history_of, history_text
from holdfast.context.compaction.shapes import History
from holdfast.types import Message
from tests.context.compacting import Transcript, done_by, used_tool
from tests.context.test_compaction_contract import check

DECISION = "We decided to use a message queue for the nightly importer job."


def working(*first: Message) -> Transcript:
    transcript = Transcript(first)
    work(transcript, 0)
    return transcript


def work(transcript: Transcript, begin: int) -> None:
    transcript.say(m for step in range(begin, begin + 120) for m in used_tool(step))


def compacted(transcript: Transcript) -> Compacted:
    plan = transcript.plan(8_000)
    assert isinstance(plan, CompactionPlan)
    done = done_by(plan)
    check(transcript, plan, done)
    return done


def telling(done: Compacted, kind: str) -> str:
    return "\n".join(part.text for part in done.summary if part.kind == kind)


def importer() -> Transcript:
    return working(
        Message.of("user", "Please repair the nightly importer, ticket OPS-4711."),
        Message.of("assistant", DECISION),
    )


def test_lines_go_on_while_their_task_goes_on() -> None:
    transcript = importer()
    first = compacted(transcript)
    assert DECISION in telling(first, "decision")
    work(transcript, 120)
    second = compacted(transcript)
    assert DECISION in telling(second, "decision")
    source = next(part.sources for part in second.summary if part.kind == "decision")
    assert source == ("e000001",), "a line that goes on still says where it came from"
    assert "importer" in telling(second, "goal")


def test_a_task_that_is_over_becomes_a_key_point_and_its_lines_end() -> None:
    transcript = importer()
    compacted(transcript)
    transcript.say([Message.of("assistant", "The importer is repaired and OPS-4711 is closed.")])
    transcript.say([Message.of("user", "Thanks, that's all!"), Message.of("assistant", "Bye.")])
    transcript.say([Message.of("user", "Hello! Please plan my holiday trip to Kyoto in May.")])
    work(transcript, 120)
    done = compacted(transcript)
    assert DECISION not in done.text
    assert "Kyoto" in telling(done, "goal")
    finished = telling(done, "finished")
    assert "nightly importer" in finished
    assert "OPS-4711 is closed" in finished
    assert done.history.tasks == 1
    work(transcript, 240)
    again = compacted(transcript)
    assert "OPS-4711 is closed" in telling(again, "finished")
    assert again.history.tasks == 1
    assert again.history.messages > done.history.messages


def test_a_task_that_left_in_two_parts_is_told_once() -> None:
    transcript = importer()
    transcript.say([Message.of("user", "Thanks!"), Message.of("assistant", "Bye.")])
    transcript.say([Message.of("user", "Hello! Please plan my holiday trip to Kyoto in May.")])
    first = transcript.plan(16_000)
    assert isinstance(first, CompactionPlan)
    done = done_by(first)
    check(transcript, first, done)
    assert "nightly importer" in done.text
    work(transcript, 120)
    again = compacted(transcript)
    assert again.text.count("Please repair the nightly importer") == 1


def test_the_previous_compaction_stays_reachable() -> None:
    transcript = importer()
    compacted(transcript)
    earlier = transcript.compaction
    assert earlier is not None
    work(transcript, 120)
    done = compacted(transcript)
    assert earlier.id in {source for part in done.summary for source in part.sources}


def test_identifiers_are_handed_on() -> None:
    transcript = working(
        Message.of("user", "Please repair the importer."),
        Message.of("assistant", "The ticket is OPS-4711."),
    )
    for begin in (120, 240, 360):
        done = compacted(transcript)
        assert "OPS-4711" in done.text
        work(transcript, begin)


def test_files_are_told_over_several_compactions_without_repeats() -> None:
    transcript = importer()
    for begin in (120, 240):
        compacted(transcript)
        work(transcript, begin)
    files = telling(compacted(transcript), "files").split(", ")
    assert len(files) == len(set(files))


def test_chinese_labels_are_read_back_too() -> None:
    transcript = working(
        Message.of("user", "请修复夜间导入任务，工单是 OPS-4711。"),
        Message.of("assistant", "我们决定改用消息队列来导入数据。"),
    )
    compacted(transcript)
    work(transcript, 120)
    done = compacted(transcript)
    assert telling(done, "decision").count("决定：") == 1
    assert "消息队列" in telling(done, "decision")
    assert done.text.count("原样标识：") <= 1


def talked(first: int, count: int) -> tuple[Group, ...]:
    said = [Message.of("user", f"Word {n}.") for n in range(first + count)]
    return group_blocks(Transcript(said).blocks)[first:]


def figures(groups: tuple[Group, ...], earlier: History, *, minutes: int) -> History:
    start = datetime(2025, 5, 14, 9, 0, tzinfo=UTC)
    entries = [block.entry for group in groups for block in group.blocks]
    times = {e: start + timedelta(minutes=minutes * n) for n, e in enumerate(entries)}
    return history_of(groups, earlier, finished=0, times=times)


def test_the_figures_name_a_range_only_while_it_is_that_of_all() -> None:
    first = talked(0, 5)
    history = figures(first, History(), minutes=1)
    told = history_text(history, first, "en")
    assert "5 messages; 5 by the user" in told
    assert "ids e000000–e000004" in told
    second = talked(5, 4)
    history = figures(second, history, minutes=1)
    for language, count in (("en", "9 messages"), ("zh", "9 条消息")):
        told = history_text(history, second, language)  # type: ignore[arg-type]
        assert count in told
        assert "e00000" not in told
        assert "4" not in told.split("2025")[0]


def test_a_span_within_one_minute_is_not_told() -> None:
    groups = talked(0, 3)
    assert "2025" not in history_text(figures(groups, History(), minutes=0), groups, "en")
    assert "2025-05-14T09:00 – 2025-05-14T09:02" in history_text(
        figures(groups, History(), minutes=1), groups, "en"
    )
