"""Session logs of Claude Code: the path to the last line, whole answers, all results."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.formats import to_anthropic
from holdfast.formats.logs import Recorded
from holdfast.types import Json
from tests.foundation.provider_messages import Wire
from tests.foundation.test_logs import BLOCKS, ndjson, read, read_one, texts
from tests.scale import scaled


class Log:
    """Lines as Claude Code writes them, each below the one before unless told otherwise."""

    def __init__(self, session: str = "s1") -> None:
        self.session = session
        self.lines: list[Wire] = []
        self.last: str | None = None

    def add(self, kind: str, message: Wire | None = None, **fields: Json) -> str:
        uuid = f"{self.session}-{len(self.lines)}"
        line: Wire = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": self.last,
            "sessionId": self.session,
            "isSidechain": False,
            "timestamp": f"2026-01-01T00:{len(self.lines):02}:00.000Z",
        }
        if message is not None:
            line["message"] = message
        self.lines.append(line | fields)
        if not fields.get("isSidechain"):
            self.last = uuid
        return uuid

    def user(self, text: str, **fields: Json) -> str:
        return self.add("user", {"role": "user", "content": text}, **fields)

    def answer(self, answer_id: str, block: Wire, **fields: Json) -> str:
        envelope = {"id": answer_id, "type": "message", "role": "assistant", "model": "m"}
        return self.add("assistant", {**envelope, "content": [block], "usage": {}}, **fields)

    def says(self, answer_id: str, text: str, **fields: Json) -> str:
        return self.answer(answer_id, {"type": "text", "text": text}, **fields)

    def calls(self, answer_id: str, call_id: str, **fields: Json) -> str:
        block = {"type": "tool_use", "id": call_id, "name": "Read", "input": {"p": call_id}}
        return self.answer(answer_id, block, **fields)

    def result(self, call_id: str, text: str, **fields: Json) -> str:
        block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        message = {"role": "user", "content": [block]}
        return self.add("user", message, toolUseResult={"stdout": text}, **fields)

    def read(self) -> list[Recorded]:
        return read(*ndjson(*self.lines))

    def read_one(self) -> Recorded:
        [recorded] = self.read()
        return recorded


def test_the_lines_of_an_answer_are_one_message_with_its_time() -> None:
    log = Log()
    log.user("read it")
    log.answer("m1", {"type": "thinking", "thinking": "hm", "signature": "sig=="})
    log.says("m1", "I will.")
    log.calls("m1", "t1")
    log.result("t1", "content")
    log.says("m2", "Done.")
    recorded = log.read_one()
    assert (recorded.id, recorded.format, recorded.problems) == ("s1", "anthropic", ())
    assert to_anthropic(recorded.messages).messages == [
        {"role": "user", "content": "read it"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig=="},
                {"type": "text", "text": "I will."},
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"p": "t1"}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "content"}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ]
    minutes = [at.minute for at in recorded.at if at is not None]
    assert minutes == [0, 1, 4, 5]


def test_all_results_of_parallel_calls_are_kept_although_the_path_leads_past_them() -> None:
    log = Log()
    log.user("read both")
    first = log.calls("m1", "t1")
    log.result("t1", "one", parentUuid=first)  # written before the second call is
    second = log.calls("m1", "t2", parentUuid=first)
    log.result("t2", "two", parentUuid=second)
    log.says("m2", "Both read.")
    recorded = log.read_one()
    assert recorded.problems == ()
    assert [len(message.tool_calls) for message in recorded.messages] == [0, 2, 0, 0]
    assert [result.text for result in recorded.messages[2].tool_results] == ["one", "two"]


def test_a_call_written_twice_is_one_and_a_result_is_never_dropped() -> None:
    log = Log()
    log.user("read it")
    log.calls("m1", "t1")
    log.calls("m1", "t1")
    log.result("t1", "one", isMeta=True)
    log.says("m2", "Done.")
    recorded = log.read_one()
    assert [call.id for call in recorded.messages[1].tool_calls] == ["t1"]
    assert texts(recorded) == ["read it", "", "one", "Done."]


def test_a_branch_that_was_rewound_is_left_out_and_counted() -> None:
    log = Log()
    log.user("start")
    fork = log.says("m1", "Yes?")
    log.user("the wrong way")
    log.calls("m2", "t1")
    log.result("t1", "wrong")
    log.user("the right way", parentUuid=fork)
    log.says("m3", "Right.")
    recorded = log.read_one()
    assert texts(recorded) == ["start", "Yes?", "the right way", "Right."]
    assert recorded.problems == ("3 messages of branches that were abandoned are left out",)


def test_a_conversation_that_was_begun_anew_is_the_new_one() -> None:
    log = Log()
    log.user("first try")
    log.says("m1", "Hm.")
    log.user("second try", parentUuid=None)
    log.says("m2", "Yes.")
    assert texts(log.read_one()) == ["second try", "Yes."]


def test_subagents_are_left_out_and_counted() -> None:
    log = Log()
    log.user("delegate")
    log.calls("m1", "t1")
    log.user("you are a subagent", isSidechain=True, parentUuid=None, agentId="a1")
    log.says("m9", "found it", isSidechain=True, agentId="a1")
    log.result("t1", "found it")
    log.says("m2", "It is found.")
    recorded = log.read_one()
    assert texts(recorded) == ["delegate", "", "found it", "It is found."]
    assert recorded.problems == ("2 messages of subagents are left out",)


def test_the_log_of_a_subagent_alone_is_its_conversation() -> None:
    log = Log()
    one = log.user("you are one", isSidechain=True, parentUuid=None, agentId="a1")
    log.user("you are two", isSidechain=True, parentUuid=None, agentId="a2")
    log.says("m1", "one", isSidechain=True, parentUuid=one, agentId="a1")
    found = log.read()
    assert {each.id: texts(each) for each in found} == {
        "s1-a1": ["you are one", "one"],
        "s1-a2": ["you are two"],
    }


def test_what_the_program_wrote_for_itself_is_no_part_of_the_conversation() -> None:
    log = Log()
    log.lines.append({"type": "summary", "summary": "old", "leafUuid": "elsewhere"})
    log.lines.append({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}})
    log.user("caveat", isMeta=True)
    log.user("hi")
    log.add("progress", data={"type": "hook_progress"})
    log.says("m1", "API Error: 529", isApiErrorMessage=True)
    log.says("m2", "hello")
    log.add("system", subtype="turn_duration", durationMs=1)
    log.user("only shown", isVisibleInTranscriptOnly=True)
    log.lines.append({"type": "queue-operation", "sessionId": "s1", "operation": "enqueue"})
    recorded = log.read_one()
    assert texts(recorded) == ["hi", "hello"]
    assert recorded.problems == ("1 notes of failed calls are left out",)


def test_a_compaction_does_not_cut_off_what_came_before_it() -> None:
    log = Log()
    log.user("before")
    before = log.says("m1", "yes")
    log.add("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=before)
    log.user("summary of before", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.user("after")
    log.says("m2", "still here")
    assert texts(log.read_one()) == ["before", "yes", "after", "still here"]


def test_a_summary_is_kept_where_nothing_it_stands_for_is_in_the_log() -> None:
    log = Log()
    log.add("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid="gone")
    log.user("summary of before", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.says("m2", "still here")
    recorded = log.read_one()
    assert texts(recorded) == ["summary of before", "still here"]
    assert recorded.problems == ("line 1: what it follows is not in this log; it begins here",)


def test_a_damaged_line_does_not_break_the_path() -> None:
    log = Log()
    for number in range(4):
        log.user(f"question {number}")
        log.says(f"m{number}", f"answer {number}")
    lines = ndjson(*log.lines)
    lines[3] = lines[3][:50]
    recorded = read_one(*lines)
    assert texts(recorded) == [
        *("question 0", "answer 0", "question 1"),
        *("question 2", "answer 2", "question 3", "answer 3"),
    ]
    assert [problem.split(":")[0] for problem in recorded.problems] == ["line 4", "line 5"]


def test_sessions_of_one_log_are_told_apart_in_their_order() -> None:
    one, two = Log("one"), Log("two")
    one.user("一")
    two.last = one.last  # resumed: it follows a line of the other session
    two.user("二")
    one.says("m1", "eins")
    two.says("m2", "zwei")
    lines = [one.lines[0], two.lines[0], one.lines[1], one.lines[1], two.lines[1]]
    found = read(*ndjson(*lines))
    assert [(each.id, texts(each)) for each in found] == [
        ("one", ["一", "eins"]),
        ("two", ["二", "zwei"]),
    ]
    assert [each.problems for each in found] == [(), ()]


def test_lines_that_cannot_be_messages_are_named() -> None:
    log = Log()
    log.user("hi")
    log.add("user")
    log.add("assistant", {"role": "assistant", "content": 5})
    log.says("m1", "hello")
    recorded = log.read_one()
    assert texts(recorded) == ["hi", "hello"]
    assert any(problem.startswith("line 2: a line of the user") for problem in recorded.problems)
    assert any(problem.startswith("line 3: the message.content") for problem in recorded.problems)


def test_a_stream_without_parents_is_read_in_its_order() -> None:
    envelope = {"session_id": "s9", "parent_tool_use_id": None}
    lines: list[Wire] = [
        {"type": "system", "subtype": "init", "session_id": "s9"},
        {"type": "user", "message": {"role": "user", "content": "hi"}, **envelope},
        {"type": "user", "message": BLOCKS[0], "session_id": "s9", "parent_tool_use_id": "t1"},
        {"type": "assistant", "message": {**BLOCKS[3], "id": "m1"}, **envelope},
        {"type": "result", "subtype": "success", "session_id": "s9"},
    ]
    recorded = read_one(*ndjson(*lines))
    assert (recorded.id, texts(recorded)) == ("s9", ["hi", "Ten."])


@settings(max_examples=scaled(60))
@given(st.data())
def test_parents_of_any_kind_lead_to_an_end(data: st.DataObject) -> None:
    log = Log()
    count = data.draw(st.integers(1, 8))
    parents = st.sampled_from([None, "gone", *(f"s1-{number}" for number in range(count))])
    for number in range(count):
        if data.draw(st.booleans()):
            log.user(f"u{number}", parentUuid=data.draw(parents))
        else:
            answer_id = data.draw(st.sampled_from(["m1", "m2"]))
            log.says(answer_id, f"a{number}", parentUuid=data.draw(parents))
    recorded = log.read_one()
    said = "".join(texts(recorded))
    assert log.lines[-1]["message"]["role"] == "assistant" or f"u{count - 1}" in said
    assert len(recorded.at) == len(recorded.messages) > 0
