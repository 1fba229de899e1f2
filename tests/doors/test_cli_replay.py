"""``holdfast replay`` and ``holdfast context explain``, as programs and people use them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from holdfast.engine.facade import open_engine
from holdfast.formats import to_anthropic, to_openai
from holdfast.testing.corpus import conversation
from tests.doors.command import Run, holdfast

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
    "cost_sent",
    "cost_full",
]


def run(*arguments: str, home: Path | None = None, expect: int = 0, stdin: str = "") -> Run:
    done = holdfast(home or Path("unused-home"), *arguments, stdin=stdin)
    assert done.code == expect, done.err
    return done


def messages(seed: int) -> list[dict[str, Any]]:
    said = [message for each in range(seed, seed + 5) for message in conversation(each, 8)]
    return to_openai(said)


def write_log(path: Path, conversations: int = 2) -> Path:
    lines = [
        json.dumps({"id": f"c{n}", "messages": messages(10 * n)}) for n in range(conversations)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_one_line_per_conversation_and_the_sums_last(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl")
    done = run("replay", str(log), "--window", "6000", "--json")
    first, second, sums = done.lines
    assert list(first) == FIELDS
    assert [first["id"], second["id"]] == ["c0", "c1"]
    assert sums["summary"] is True
    assert sums["turns"] == first["turns"] + second["turns"]
    assert sums["compactions"] > 0
    for name in ("over_budget", "invalid_views", "uncovered_drops"):
        assert sums[name] == 0
    assert sums["task_text_kept"] == sums["expandable"] == 2


def test_the_dump_can_be_checked_without_our_code(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl")
    out = tmp_path / "dump.jsonl"
    done = run("replay", str(log), "--window", "6000", "--dump", str(out), "--json")
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
        else:
            assert line["tokens"] <= 4_500
            assert line["format"] == "openai"
            assert line["messages"][0]["role"] == "system"


def test_the_page_compares_with_plain_trimming(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl")
    page = run("replay", str(log), "--window", "6000").out
    for words in (
        "plain trimming",
        "saved to memory first",
        "lose their task text",
        "What trimming forgets first",
        "What is in memory afterwards",
        "$",
    ):
        assert words in page
    assert "\x1b" not in page, "no colours into a pipe"


def test_a_log_that_fits_is_left_alone_and_says_so(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", conversations=1)
    page = run("replay", str(log), "--window", "900000").out
    assert "Nothing has to be dropped" in page


def test_compressed_logs_and_standard_input_are_read(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", conversations=1)
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    plain = run("replay", str(log), "--window", "6000", "--json").out
    assert run("replay", str(packed), "--window", "6000", "--json").out == plain
    piped = run("replay", "-", "--window", "6000", "--json", stdin=log.read_text()).out
    assert piped == plain


def test_an_anthropic_request_is_replayed_in_its_own_format(tmp_path: Path) -> None:
    request = to_anthropic([message for seed in range(4) for message in conversation(seed, 8)])
    log = tmp_path / "request.json"
    log.write_text(json.dumps({"system": request.system, "messages": request.messages}, indent=1))
    out = tmp_path / "dump.jsonl"
    done = run("replay", str(log), "--window", "8000", "--dump", str(out), "--json")
    first, _ = done.lines
    assert first["invalid_views"] == 0
    requests = [line for line in json_lines(out.read_text()) if line["kind"] == "request"]
    assert {line["format"] for line in requests} == {"anthropic"}
    assert all(line["system"] for line in requests)


def test_wrong_wishes_are_refused_with_what_to_do(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", conversations=1)
    missing = run("replay", str(tmp_path / "none.jsonl"), "--window", "6000", expect=3)
    assert "There is no file" in missing.err
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
    assert "may not be shortened" in " ".join(page.split())


# ── context explain ─────────────────────────────────────────────────────────────────────────


def fill(home: Path, *, turns: int) -> None:
    with open_engine(home) as engine:
        session = engine.session("s")
        session.append_all(m for seed in range(turns // 8 + 1) for m in conversation(seed, 8))


def test_the_plan_is_printed_as_one_object(home: Path) -> None:
    fill(home, turns=40)
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
    fill(home, turns=2)
    done = run("context", "explain", "s", "--json", home=home)
    (told,) = done.lines
    for step in ("prune", "flush", "compaction"):
        assert told["plan"][step]["due"] is False
        assert "below" in told["plan"][step]["reason"]
    page = run("context", "explain", "s", home=home).out
    assert "compact at" in page
    assert "of 200,000 tokens" in page


def test_a_session_that_is_not_there_is_named(home: Path) -> None:
    missing = run("context", "explain", "nope", home=home, expect=3)
    assert "nope" in missing.err
