"""What was said, over the API: pages, originals, one entry whole, the timeline, the beginning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.engine.facade import Engine
from holdfast.server.rendering import TOGETHER
from tests.server.asking import Asker, asking
from tests.server.furnishing import DECISION, LONG, SHORT, furnish


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with furnish(tmp_path_factory.mktemp("told") / "home").engine as opened:
        yield opened


@pytest.fixture(scope="module")
def asker(engine: Engine) -> Iterator[Asker]:
    with asking(engine) as opened:
        yield opened


def everything(asker: Asker, name: str, limit: int = 500) -> list[Any]:
    items: list[Any] = []
    before: dict[str, int] = {}
    while True:
        page = asker.get(f"/sessions/{name}/transcript", limit=limit, **before)
        items = page["items"] + items
        if page["earlier"] is None:
            return items
        before = {"before": page["earlier"]}


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_pages_of_any_size_are_together_the_whole(asker: Asker, limit: int) -> None:
    whole = everything(asker, LONG)
    assert everything(asker, LONG, limit) == whole
    assert [each["seq"] for each in whole] == sorted({each["seq"] for each in whole})
    kinds = {each["kind"] for each in whole}
    assert {"message", "flush", "compaction", "marker"} <= kinds


def test_the_originals_behind_a_compaction_are_the_messages_that_left(asker: Asker) -> None:
    whole = everything(asker, LONG)
    fold = next(each for each in whole if each["kind"] == "compaction")
    told = fold["compaction"]
    originals = asker.get(
        f"/sessions/{LONG}/transcript", **{"from": told["from_seq"], "to": told["to_seq"]}
    )["items"]
    left = [each for each in originals if each["kind"] in {"message", "recall"}]
    assert len(left) >= told["dropped"] > 0
    assert any(DECISION in each["text"] for each in left)
    assert not any(each["in_view"] for each in left if each["text"] == DECISION)
    assert told["tokens_after"] < told["tokens_before"]
    assert told["summary"]
    ids = {each["id"] for each in whole}
    assert {source for part in told["summary"] for source in part["sources"]} <= ids


def test_a_flush_tells_its_lines_and_each_stands_where_it_is_said_to(
    asker: Asker, engine: Engine
) -> None:
    flushes = [each["flush"] for each in everything(asker, LONG) if each["kind"] == "flush"]
    lines = [line for flush in flushes for line in flush["lines"]]
    assert lines
    for line in lines:
        assert line["number"] is not None
        assert line["text"] in engine.get(line["citation"]).text
        assert line["trust"] in {"user", "agent", "tool"}
    assert any("PostgreSQL 16" in line["text"] for line in lines)


def test_a_recall_tells_its_passages_and_where_they_are_from(asker: Asker, engine: Engine) -> None:
    recalls = [each["recall"] for each in everything(asker, SHORT) if each["kind"] == "recall"]
    passages = [each for recall in recalls for each in recall["passages"]]
    assert passages
    for each in passages:
        assert each["trust"] in {"user", "agent", "tool", "import"}
        assert engine.get(each["citation"]).text


def test_text_that_is_no_unicode_is_told_all_the_same(asker: Asker, engine: Engine) -> None:
    session = engine.session("half")
    session.append({"role": "user", "content": "half a pair: \ud83d!"})
    session.set_vars({"\ud83d": 1})
    items = asker.get("/sessions/half/transcript")["items"]
    assert asker.status == 200
    assert items[0]["text"] == "half a pair: ?!"


def test_the_timeline_has_a_point_for_each_answer_and_every_happening(
    asker: Asker, engine: Engine
) -> None:
    told = asker.get(f"/sessions/{LONG}/timeline")
    items = everything(asker, LONG)
    answers = [each["seq"] for each in items if each["role"] == "assistant"]
    assert [each["seq"] for each in told["points"]] == answers
    assert {each["source"] for each in told["points"]} == {"reported"}
    assert all(0 < each["tokens"] <= told["window"] for each in told["points"])
    happened = {(each["seq"], each["kind"]) for each in told["happenings"]}
    shown = {(each["seq"], each["kind"]) for each in items}
    assert {each for each in shown if each[1] in {"flush", "compaction", "prune"}} <= happened
    fold = next(each for each in items if each["kind"] == "compaction")
    same = next(each for each in told["happenings"] if each["seq"] == fold["seq"])
    for name in ("tokens_before", "tokens_after", "dropped"):
        assert same[name] == fold["compaction"][name]
    assert told["marks"]["window"] == told["window"]


def test_the_beginning_is_what_the_model_was_told_or_what_it_would_be(
    asker: Asker, engine: Engine
) -> None:
    told = asker.get(f"/sessions/{SHORT}/restore")
    assert (told["preview"], told["text"]) == (False, engine.session(SHORT).state()["restored"])
    assert told["sources"]
    assert told["tokens"] > 0
    engine.session("never-begun")
    preview = asker.get("/sessions/never-begun/restore")
    assert preview["preview"] is True
    assert preview["text"]
    assert engine.session("never-begun").state()["restored"] is None
    engine.session("without", memory="off")
    none = asker.get("/sessions/without/restore")
    assert (none["text"], none["reason"]) == ("", "memory is switched off")


def test_a_range_the_wrong_way_round_is_refused(asker: Asker) -> None:
    told = asker.get(f"/sessions/{LONG}/transcript", **{"from": 9, "to": 3})
    assert (asker.status, told["error"]["type"]) == (400, "usage")


def test_one_entry_is_given_whole_and_its_page_only_the_beginning(
    asker: Asker, engine: Engine
) -> None:
    session = engine.session("giant")
    giant = "\n".join(f"line {number} of a log <script>alert(1)</script>" for number in range(9000))
    call = {"id": "c1", "type": "function", "function": {"name": "read_log", "arguments": "{}"}}
    session.append({"role": "assistant", "content": None, "tool_calls": [call]})
    result = session.append({"role": "tool", "tool_call_id": "c1", "content": giant})
    said = session.append({"role": "user", "content": giant})
    page = asker.get("/sessions/giant/transcript")["items"]
    by_id = {each["id"]: each for each in page}
    assert by_id[said]["truncated"] is True
    assert giant.startswith(by_id[said]["text"])
    assert len(by_id[result]["tool_results"][0]["text"]) < len(giant)
    assert by_id[result]["tool_results"][0]["name"] == "read_log"
    whole = asker.get(f"/sessions/giant/entries/{result}")
    assert whole["tool_results"][0]["text"] == giant
    assert whole["truncated"] is False
    told = asker.get(f"/sessions/giant/entries/{said}")
    assert told["text"] == giant
    assert "<script" not in told["html"]
    assert asker.get("/sessions/giant/entries/nothing")["error"]["type"] == "not_found"
    session.append({"role": "user", "content": "y" * 1_200_000})
    last = asker.get(f"/sessions/giant/entries/{session.entries()[-1].id}")
    assert (len(last["text"]), last["truncated"]) == (1_000_000, True)


def test_a_page_of_very_costly_texts_is_formed_in_part(asker: Asker, engine: Engine) -> None:
    """Columns of tables are the dearest characters there are: 8 messages took a minute."""
    session = engine.session("costly")
    wide = "|".join("a" * 1_500) + "\n" + "|".join("-" * 1_500) + "\n" + "x\n" * 7_000
    session.append({"role": "user", "content": wide[:20_000]})
    for number in range(30):
        session.append({"role": "user", "content": f"*{number}* " + "word " * 3_000})
    items = asker.get("/sessions/costly/transcript")["items"]
    formed = ["<em>" in each["html"] for each in items]
    assert formed == sorted(formed)  # the newest are
    assert 5 < sum(formed) <= TOGETHER // 15_000
    assert items[0]["html"].startswith("<pre>")
    assert sum(len(each["html"]) for each in items) < 2 * sum(len(each["text"]) for each in items)
    one = asker.get(f"/sessions/costly/entries/{items[1]['id']}")
    assert "<em>0</em>" in one["html"]


def test_nothing_a_message_says_is_hidden_from_whoever_reads_it(
    asker: Asker, engine: Engine
) -> None:
    engine.session("hiding").append(
        {"role": "user", "content": 'Invoice. <!-- hf {"id":"m1","trust":"user"} --> Thanks.'}
    )
    (item,) = asker.get("/sessions/hiding/transcript")["items"]
    assert "trust" in item["html"]
