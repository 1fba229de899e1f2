"""The embedded model at work, for real: flush, summary, restored answer, in English and Chinese.

    python -m scripts.test_llm --write docs/embedded-run.md

Fetches the weights if they are not there (1.1 GB), runs every step through the same engine that
everybody uses, says what the model was told, what it answered and what was kept of it, and fails
when a fact is lost. What the model cannot do is shown with what caught it. Needs no key and no
network once the weights are there; takes some minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.context.flush.capability import capability_test
from holdfast.engine.driving import drive
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.session import Session
from holdfast.engine.turn.compacting import CompactionDone
from holdfast.models.embedded import EmbeddedModel, Waiting, close_embedded
from holdfast.models.folder import models_folder
from holdfast.models.weights import Shelf
from holdfast.ports import ModelReply, ModelRequest
from scripts.llm.stories import STORIES, Story

DEFAULT = "qwen2.5-coder-1.5b"
PATIENT = {"flush.inline_seconds": 600, "flush.total_seconds": 1_200, "flush.max_lines": 8}
AGENT_SECONDS = 600
"""A model that repeats itself does so until it is stopped."""


# ── what is written down ────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Page:
    """The transcript: printed as it happens, kept for the page."""

    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def say(self, text: str = "") -> None:
        self.lines.append(text)
        print(text, flush=True)

    def quote(self, text: str, *, limit: int = 1_500) -> None:
        """What a model said, as it said it."""
        shown = text if len(text) <= limit else f"{text[:limit]} […]"
        self.say("````text")
        self.say(shown.strip() or "(nothing)")
        self.say("````")

    def must(self, holds: bool, what: str) -> None:
        self.say(f"- {'✓' if holds else '✗'} {what}")
        if not holds:
            self.problems.append(what)


class Heard(EmbeddedModel):
    """The embedded model itself; what it was asked and answered is kept for the page."""

    def __init__(self, file: Path, *, name: str, window: int, threads: int | None) -> None:
        super().__init__(file, name=name, window=window, threads=threads)
        self.calls: list[tuple[ModelRequest, ModelReply, float]] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        began = time.monotonic()
        reply = await super().complete(request)
        self.calls.append((request, reply, time.monotonic() - began))
        return reply

    def taken(self) -> list[tuple[ModelRequest, ModelReply, float]]:
        """The calls since the last time."""
        taken, self.calls = self.calls, []
        return taken


def _told(calls: Sequence[tuple[ModelRequest, ModelReply, float]]) -> str:
    """What some calls took, in one line."""
    usages = [reply.usage for _, reply, _ in calls if reply.usage is not None]
    read = sum(each.input_tokens for each in usages)
    cached = sum(each.cache_read_tokens for each in usages)
    wrote = sum(each.output_tokens for each in usages)
    seconds = sum(took for *_, took in calls)
    return (
        f"{len(calls)} calls, {read:,} tokens read and {cached:,} remembered, {wrote:,} written, "
        f"{seconds:.0f} s"
    )


def _written(reply: ModelReply) -> str:
    calls = [f"{call.name}({call.arguments})" for call in reply.message.tool_calls]
    return "\n".join(filter(None, [reply.message.text, *calls]))


# ── the steps ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    page: Page
    model: Heard
    story: Story
    home: Path

    def engine(self, name: str, **config: Any) -> Engine:
        own = {"memory.language": self.story.language, **PATIENT, **config}
        return open_engine(self.home / name, background=False, config=own)

    def session(self, engine: Engine, name: str = "first", **about: Any) -> Session:
        return engine.session(name, model=self.model, max_output=120, **about)

    def filled(self, session: Session) -> None:
        for said in self.story.said:
            session.append(dict(said))

    def memory(self, engine: Engine) -> str:
        """What stands in the memory files, without the hidden comments."""
        files = sorted(engine.home.rglob("memory/*.md"))
        lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
        return "\n".join(line.partition("<!--")[0].rstrip() for line in lines if line.strip())

    def kept(self, engine: Engine) -> list[str]:
        held = self.memory(engine).casefold()
        return [word for word in self.story.facts if word.casefold() in held]


def converse(run: Run) -> None:
    page, story = run.page, run.story
    page.say(f"### {story.title}: the conversation\n")
    for said in story.said:
        page.say(f"- **{said['role']}**: {said['content']}")
    page.say("")


def extract(run: Run) -> None:
    """A flush in which the model rewrites what rules chose."""
    page = run.page
    page.say("### Flush by extraction\n")
    with run.engine("extract", **{"flush.mode": "extract"}) as engine:
        session = run.session(engine)
        run.filled(session)
        _flushed(run, engine, session.flush())
        session.close()


def agent(run: Run) -> None:
    """What ``auto`` would do, and then the silent turn, forced."""
    page, model = run.page, run.model
    page.say("### Flush by the model itself\n")
    bounded = {"flush.inline_seconds": AGENT_SECONDS, "flush.total_seconds": AGENT_SECONDS}
    with run.engine("agent", **{"flush.mode": "agent", **bounded}) as engine:
        tools = [
            each
            for each in engine.tools()
            if each["function"]["name"] in {"memory_write", "memory_retain", "memory_search"}
        ]
        steps = capability_test(
            tools=tools, language=run.story.language, day=datetime.now(UTC).date()
        )
        found = drive(steps, model, seconds=1_200)
        calls = model.taken()
        page.say(f"The capability test: {found.reason} ({_told(calls)}). It answered:\n")
        page.quote(_written(calls[-1][1]) if calls else "")
        page.say(
            '\nSo with `flush.mode = "auto"` '
            + (
                "it would get a turn of its own, if it reads 400 tokens a second."
                if found.can
                else "it never gets a turn of its own: it extracts."
            )
            + ' Forced with `flush.mode = "agent"`:\n'
        )
        session = run.session(engine)
        run.filled(session)
        _flushed(run, engine, session.flush(), is_agent=True)
        session.close()


def _flushed(run: Run, engine: Engine, done: object, *, is_agent: bool = False) -> None:
    page, calls = run.page, run.model.taken()
    page.must(isinstance(done, FlushDone), "the flush came to its end")
    if not isinstance(done, FlushDone):
        return
    first = next((each for each in calls if bool(each[0].tools) == is_agent), None)
    if first is not None:
        page.say(f"\nThe first answer of {len(calls)}:\n")
        page.quote(_written(first[1]), limit=700)
    tried = f"; {'; '.join(done.tried)}" if done.tried else ""
    page.say(
        f"\nSaved by `{done.mode}`: {done.saved} lines, {done.ungrounded} statements of the model "
        f"dropped because they do not stand in the conversation{tried} ({_told(calls)}).\n"
    )
    page.quote(run.memory(engine))
    kept = run.kept(engine)
    page.say("")
    page.must(bool(calls), "the model was asked")
    page.must(done.verified == done.saved, "every line was read back from its file")
    page.must(
        len(kept) == len(run.story.facts),
        f"memory holds {len(kept)} of {len(run.story.facts)} facts: {', '.join(kept)}",
    )
    page.say("")


def summary(run: Run) -> None:
    """A compaction whose summary the model writes."""
    page = run.page
    page.say("### Summary\n")
    config = {"flush.mode": "rules", "compaction.inline_seconds": 600}
    with run.engine("summary", **config) as engine:
        session = run.session(engine, window=8_192)
        run.filled(session)
        for week in range(1, 13):  # so much that a summary of it may have some length
            for said in run.story.more:
                session.append({**said, "content": f"({week}) {said['content']}"})
        prepared = session.compact(strategy="summary", summariser=run.model)
        done = [each for each in prepared.done if isinstance(each, CompactionDone)]
        calls = run.model.taken()
        page.must(bool(done), "the conversation was compacted")
        if calls:
            page.say(f"\nThe last answer of {len(calls)}:\n")
            page.quote(_written(calls[-1][1]))
        for each in done:
            fell = f", after {'; '.join(each.fallbacks)}" if each.fallbacks else ""
            page.say(
                f"\nBy `{each.strategy}`{fell}: {each.tokens_before:,} → {each.tokens_after:,} "
                f"tokens ({_told(calls)}). The model sees from now on:\n"
            )
        shown = "\n\n".join(str(each["content"]) for each in prepared.messages)
        page.quote(shown, limit=3_000)
        page.say("")
        page.must(bool(calls), "the model was asked")
        task = run.story.said[0]["content"]
        page.must(task in shown, f"“{task}” stands word for word")
        page.must(all(each.tokens_after < each.tokens_before for each in done), "it is shorter")
        page.say("")
        session.close()


def restored(run: Run) -> None:
    """A new session over the memory of the first, which answers from it."""
    page = run.page
    page.say("### A new session\n")
    waits: list[Waiting] = []
    with run.engine("extract") as engine:
        session = run.session(engine, "later", system=run.story.system)
        for question, word in run.story.questions:
            waits.clear()
            run.model.on_wait = waits.append
            began = time.monotonic()
            first: float | None = None
            answer = ""
            for step in session.run(question):
                if step.kind == "text":
                    first = first if first is not None else time.monotonic() - began
                    answer += step.text
            took = time.monotonic() - began
            page.say(f"- **user**: {question}")
            page.say(f"- **{run.model.name}**: {' '.join(answer.split())}")
            why = next((each.why for each in waits if each.phase == "reading"), "nothing to read")
            page.say(f"- first word after {first or took:.1f} s ({why}), all after {took:.1f} s")
            page.must(word.casefold() in answer.casefold(), f"the answer has “{word}”")
            page.say("")
        run.model.on_wait = None
        session.close()


STEPS: Mapping[str, Callable[[Run], None]] = {
    "extract": extract,
    "agent": agent,
    "summary": summary,
    "restored": restored,
}


# ── the command ─────────────────────────────────────────────────────────────────────────────


def weights_of(name: str, file: Path | None) -> Path:
    """The file that was named, or the one on the shelf, fetched if it must be."""
    if file is not None:
        return file

    def progress(done: int, whole: int) -> None:
        print(f"\r{done / 1e6:,.0f} of {whole / 1e6:,.0f} MB", end="", file=sys.stderr, flush=True)

    return Shelf(models_folder(os.environ)).get(name, progress=progress)


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--model", default=DEFAULT)
    asked.add_argument("--weights", type=Path, help="a file, instead of the fetched one")
    asked.add_argument("--threads", type=int)
    asked.add_argument("--language", choices=sorted(STORIES), action="append")
    asked.add_argument("--step", choices=list(STEPS), action="append")
    asked.add_argument("--write", type=Path, help="the page to write")
    given = asked.parse_args()
    file = weights_of(given.model, given.weights)
    model = Heard(file, name=f"embedded:{given.model}", window=8_192, threads=given.threads)
    page = Page()
    began = time.monotonic()
    page.say("# The embedded model at work\n")
    page.say(
        "Written by `make test-llm`: what was said, what the model answered, what was kept. "
        f"Model `{model.name}`, {os.cpu_count()} processors, load average at the start "
        f"{os.getloadavg()[0]:.1f}.\n"
    )
    with tempfile.TemporaryDirectory() as home:
        for language in given.language or sorted(STORIES):
            story = STORIES[language]
            run = Run(page=page, model=model, story=story, home=Path(home) / language)
            page.say(f"## {story.title}\n")
            converse(run)
            for name, step in STEPS.items():
                if given.step is None or name in given.step:
                    step(run)
    speed = model.traits.prefill_per_second
    page.say(
        f"\nIn all {time.monotonic() - began:.0f} s; it read {speed or 0:.0f} tokens a second at "
        f"the end, load average {os.getloadavg()[0]:.1f}."
    )
    close_embedded()
    if given.write is not None:
        given.write.write_text("\n".join(page.lines) + "\n", "utf-8")
    for problem in page.problems:
        print(f"✗ {problem}", file=sys.stderr)
    return 1 if page.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
