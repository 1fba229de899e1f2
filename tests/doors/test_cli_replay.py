"""``holdfast replay`` and ``holdfast context explain``, as programs and people use them."""

from __future__ import annotations

import gzip
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli import replay_page
from holdfast.engine.facade import open_engine
from holdfast.engine.replay import Replayed, Trimmed
from holdfast.formats import to_anthropic, to_openai
from holdfast.models.registry import Registry
from holdfast.ports import ModelReply, ModelRequest
from holdfast.testing import ScriptedModel
from holdfast.testing.corpus import conversation
from holdfast.text import columns
from holdfast.types import Message
from tests.doors.command import Run, holdfast
from tests.doors.inside import inside

FIELDS = [
    "id",
    "turns",
    "prunes",
    "flushes",
    "compactions",
    "max_view_tokens",
    "over_budget",
    "invalid_views",
    "uncovered_drops",
    "task_text_kept",
    "expandable",
    "tokens_sent",
    "tokens_full",
    "flush_lines",
    "duplicates",
    "receipts_verified",
    "notices",
    "cost_sent",
    "cost_full",
]


def run(
    *arguments: str,
    home: Path | None = None,
    expect: int = 0,
    environ: dict[str, str] | None = None,
    encoding: str = "utf-8",
) -> Run:
    """The command in this process."""
    place = home or Path("unused-home")
    done = inside(place, *arguments, environ=environ, encoding=encoding)
    assert done.code == expect, done.err
    return done


def program(*arguments: str, stdin: str = "") -> Run:
    """The command in a process of its own, where that may make a difference."""
    done = holdfast(Path("unused-home"), *arguments, stdin=stdin)
    assert done.code == 0, done.err
    return done


def said(seed: int) -> list[Message]:
    """Some thirty messages, a few of them long: twice what fits in a window of 6,000."""
    return [message for each in range(seed, seed + 3) for message in conversation(each, 4)]


def write_log(path: Path, conversations: int = 2) -> Path:
    lines = [
        json.dumps({"id": f"c{n}", "messages": to_openai(said(3 + 7 * n))})
        for n in range(conversations)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_one(path: Path, *messages: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"id": "one", "messages": messages}) + "\n")
    return path


def row(page: str, begins: str) -> list[str]:
    """The figures of a row of the page."""
    (line,) = (line for line in page.splitlines() if line.startswith(begins))
    return line.removeprefix(begins).replace(" %", "%").split()


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_one_line_per_conversation_and_the_sums_last(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl")
    done = program("replay", str(log), "--window", "6000", "--json")
    first, second, sums = done.lines
    assert list(first) == FIELDS
    assert [first["id"], second["id"]] == ["c0", "c1"]
    assert sums["summary"] is True
    assert sums["turns"] == first["turns"] + second["turns"]
    assert sums["compactions"] > 0
    for name in ("over_budget", "invalid_views", "uncovered_drops"):
        assert sums[name] == 0
    assert sums["task_text_kept"] == sums["expandable"] == 2
    assert sums["receipts_verified"] == sums["flushes"] > 0
    for name in ("flush_lines", "duplicates", "receipts_verified", "notices"):
        assert sums[name] == first[name] + second[name]


def test_the_dump_can_be_checked_without_our_code(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl")
    out = tmp_path / "dump.jsonl"
    done = run("replay", str(log), "--window", "6000", "--dump", str(out), "--jobs", "1", "--json")
    *_, sums = done.lines
    told = json_lines(out.read_text())
    requests = [line for line in told if line["kind"] == "request"]
    assert len(requests) == sums["turns"]
    assert [line["conversation"] for line in requests] == sorted(
        line["conversation"] for line in requests
    )
    covered: set[str] = set()
    for line in told:
        if line["kind"] == "flush":
            covered |= set(line["covers"])
        elif line["kind"] == "compaction":
            assert set(line["dropped"]) <= covered
        elif line["kind"] == "prune":
            assert line["shortened"]
        else:
            assert line["kind"] == "request"
            assert line["tokens"] <= 4_500
            assert line["format"] == "openai"
            assert line["messages"][0]["role"] == "system"


def test_the_page_compares_with_plain_trimming(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl")
    page = run("replay", str(log), "--window", "6000", "--jobs", "1").out
    for words in (
        "plain trimming",
        "read for memory first, then compacted",
        "lines written to memory",
        "whose lines were read back from the file",
        "lose their task text",
        "What trimming forgets first",
        "What is in memory afterwards",
        "$",
    ):
        assert words in page
    assert "\x1b" not in page, "no colours into a pipe"


def test_a_log_that_fits_is_left_alone_and_says_so(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", conversations=1)
    page = " ".join(run("replay", str(log), "--window", "900000").out.split())
    assert "nothing was dropped, and nothing was touched" in page
    assert "1 conversation, " in page


def test_compressed_logs_and_standard_input_are_read(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", conversations=1)
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    plain = run("replay", str(log), "--window", "6000", "--json").out
    assert run("replay", str(packed), "--window", "6000", "--json").out == plain
    piped = program("replay", "-", "--window", "6000", "--json", stdin=log.read_text()).out
    assert piped == plain


def test_an_anthropic_request_is_replayed_in_its_own_format(tmp_path: Path) -> None:
    request = to_anthropic(said(3))
    log = tmp_path / "request.json"
    log.write_text(json.dumps({"system": request.system, "messages": request.messages}, indent=1))
    out = tmp_path / "dump.jsonl"
    done = run("replay", str(log), "--window", "6000", "--dump", str(out), "--json")
    first, _ = done.lines
    assert first["invalid_views"] == 0
    assert first["compactions"] > 0
    requests = [line for line in json_lines(out.read_text()) if line["kind"] == "request"]
    assert {line["format"] for line in requests} == {"anthropic"}
    assert all(line["system"] for line in requests)


def test_tokens_are_counted_for_the_model_the_log_was_for(tmp_path: Path) -> None:
    chat = to_openai(conversation(3, 4, language="zh"))
    log = write_one(tmp_path / "log.jsonl", *chat)
    sums = [
        run("replay", str(log), "--window", "90000", "--for", name, "--json").lines[-1]
        for name in ("claude-sonnet-4-5", "gpt-4")
    ]
    assert sums[0]["tokens_sent"] != sums[1]["tokens_sent"]


def test_wrong_wishes_are_refused_with_what_to_do(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", conversations=1)
    missing = run("replay", str(tmp_path / "none.jsonl"), "--window", "6000", expect=3)
    assert "There is no file" in missing.err
    folder = run("replay", str(tmp_path), "--window", "6000", expect=2)
    assert "is a folder" in folder.err
    wrong = run("replay", str(log), "--window", "6000", "--strategy", "layerd", expect=2)
    assert "Did you mean 'layered'?" in wrong.err
    model = run("replay", str(log), "--window", "6000", "--model", "gpt", expect=2)
    assert "--model rules" in model.err
    small = run("replay", str(log), "--window", "100", expect=2)
    assert "2000" in small.err
    log.write_text("this is no log\n")
    nothing = run("replay", str(log), "--window", "6000", expect=2)
    assert "→" in nothing.err


def test_what_does_not_fit_is_an_exit_code_and_a_problem(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    giant = [{"role": "user", "content": "unforgettable words " * 4000}]
    log.write_text(json.dumps({"id": "giant", "messages": giant}) + "\n")
    told = run("replay", str(log), "--window", "6000", "--json", expect=1)
    assert told.lines[0]["over_budget"] == 1
    page = run("replay", str(log), "--window", "6000", expect=1).out
    told_once = " ".join(page.split())
    assert "1 problem" in told_once
    assert "may not be shortened" in told_once
    assert "→ Use a model with a larger window" in told_once


def test_what_plain_trimming_cannot_send_is_refused_and_not_charged(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    log = write_one(
        tmp_path / "log.jsonl",
        {"role": "user", "content": "Read the log."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "all is well here\n" * 3000},
        {"role": "assistant", "content": "All is well."},
    )
    page = run("replay", str(log), "--window", "6000").out
    assert row(page, "requests a provider would refuse") == ["1", "0"]
    assert row(page, "dropped messages that come back word for word") == ["0%", "–"]
    trimmed, _ = row(page, "tokens sent")
    assert int(trimmed) < 100, "only the first request went out"
    assert "its tokens and its cost are not counted" in " ".join(page.split())


def test_repairs_are_told_where_nothing_was_dropped(tmp_path: Path) -> None:
    orphan = {"role": "tool", "tool_call_id": "nobody", "content": "42"}
    answer = {"role": "assistant", "content": "ok"}
    log = write_one(tmp_path / "log.jsonl", {"role": "user", "content": "hi"}, orphan, answer)
    page = " ".join(run("replay", str(log), "--window", "6000").out.split())
    assert "1 conversation, 1 call of a model." in page
    assert "nothing was dropped; 1 message was repaired." in page


def test_half_a_character_in_the_task_is_mended_and_not_a_loss(tmp_path: Path) -> None:
    log = write_one(tmp_path / "log.jsonl", {"role": "user", "content": "Fix \ud83d it, 谢谢"})
    told = run("replay", str(log), "--window", "6000", "--json").lines[0]
    assert told["task_text_kept"] is True
    assert "problems" not in told


def test_lines_that_cannot_be_read_are_the_file_s_problem(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", conversations=1)
    log.write_text("{broken\n" + log.read_text())
    page = run("replay", str(log), "--window", "6000").out
    assert "1 problem\n" in page
    assert "! log.jsonl: line 1:" in page
    assert "! c0:" not in page


def test_nothing_is_cut_off_on_a_narrow_terminal(tmp_path: Path) -> None:
    task = "帮我规划去里斯本的旅行，" * 8 + "绝对不要订红眼航班。"
    chat = to_openai([*conversation(3, 4, language="zh")[1:], *said(3)[1:]])
    log = write_one(tmp_path / "log.jsonl", {"role": "user", "content": task}, *chat)
    for width in ("80", "50"):
        page = run("replay", str(log), "--window", "6000", environ={"COLUMNS": width}).out
        for words in ("its cache is lost at every cut", "compaction", "if the window had no end"):
            assert words in page
        assert task in "".join(page.split()), "also a line without blanks is shown whole"
        assert max(map(columns, page.splitlines())) <= int(width)


def test_a_terminal_of_few_characters_gets_bars_it_can_show(tmp_path: Path, home: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", conversations=1)
    page = run("replay", str(log), "--window", "6000", encoding="ascii").out
    assert "plain trimming  ####" in page
    assert "\\u" not in page
    assert "\\xb7" not in page
    fill(home, 3)
    explained = run("context", "explain", "s", home=home, encoding="ascii").out
    assert explained.splitlines()[1].startswith("#")
    assert "\\u" not in explained


LEAD = "A summary of what was said before:"


def shown(*results: Replayed) -> str:
    out = StringIO()
    with redirect_stdout(out):
        replay_page.page(results, "log.jsonl", 6_000)
    return out.getvalue()


def test_the_summary_and_the_memories_that_say_most_are_shown() -> None:
    trimmed = Trimmed(dropped=3, first_dropped=("Book a flight.",))
    poor = Replayed(id="poor", dropped=3, summary=LEAD, trimmed=trimmed)
    rich = Replayed(
        id="rich", dropped=3, summary=f"{LEAD}\n\nGoal: 去里斯本", memories=("- W @用户: 素食",)
    )
    assert "What the model reads instead" not in shown(poor), "no heading over nothing"
    assert "What is in memory" not in shown(poor)
    told = shown(poor, rich)
    assert "What the model reads instead (conversation rich)" in told
    assert "Goal: 去里斯本" in told
    assert "+ W @用户: 素食" in told


def test_every_problem_is_named_or_counted() -> None:
    problems = tuple(f"call {call}: the task text is lost" for call in range(1, 9))
    told = shown(Replayed(id="c", task_text_kept=False, problems=problems))
    assert "8 problems" in told
    assert "! c: call 6: the task text is lost" in told
    assert "! and 2 more, which --json names" in told


# ── context explain ─────────────────────────────────────────────────────────────────────────


def fill(home: Path, seed: int) -> None:
    with open_engine(home) as engine:
        engine.session("s").append_all(said(seed))


def test_the_plan_is_printed_as_one_object(home: Path) -> None:
    fill(home, 3)
    done = run("context", "explain", "s", "--window", "6000", "--json", home=home)
    (told,) = done.lines
    marks = told["marks"]
    assert marks["prune_at"] <= marks["flush_at"] < marks["hard_at"] < marks["compact_at"] < 6_000
    assert told["projected"] > marks["compact_at"]
    assert told["breakdown"]["total"] == told["projected"]
    assert told["plan"]["compaction"]["due"] is True
    assert told["plan"]["compaction"]["drops"]
    assert told["plan"]["flush"]["due"] is True
    assert set(told["plan"]["flush"]["entries"]) <= set(told["plan"]["compaction"]["drops"])


def test_why_nothing_would_be_done_is_said(home: Path) -> None:
    fill(home, 3)
    done = run("context", "explain", "s", "--json", home=home)
    (told,) = done.lines
    for step in ("prune", "flush", "compaction"):
        assert told["plan"][step]["due"] is False
        assert "below" in told["plan"][step]["reason"]
    page = run("context", "explain", "s", home=home).out
    assert "compact at" in page
    assert "of 200,000 tokens" in page
    gauge = page.splitlines()[1]
    assert gauge.index("p") < gauge.index("f") < gauge.index("c")
    assert gauge.endswith("p prune, f flush, c compact")


def test_a_session_that_is_not_there_is_named(home: Path) -> None:
    missing = run("context", "explain", "nope", home=home, expect=3)
    assert "nope" in missing.err


def test_a_model_that_can_be_had_writes_the_summaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Writer(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            asked.append(request.system or "")
            raise TimeoutError("too slow")

    monkeypatch.setattr(Registry, "__call__", lambda self, name: Writer([]))
    log = tmp_path / "log.json"
    talk = [{"role": each.role, "content": each.text} for each in conversation(7, 60) if each.text]
    log.write_text(json.dumps({"messages": [m for m in talk if m["role"] != "tool"]}))
    options = ("--window", "4000", "--strategy", "summary", "--model", "ollama:qwen3", "--json")
    done = inside(tmp_path / "home", "replay", str(log), *options)
    assert done.code == 0, done.err
    assert asked, "the model was asked, and what it did not give the rules gave"
    assert done.lines[-1]["compactions"] >= 1
