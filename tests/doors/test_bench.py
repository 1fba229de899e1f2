"""``holdfast bench``: loaders, arithmetic, and the way of a corpus through a home and back."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.cli.benching.corpora import Turn, as_message, items
from holdfast.cli.benching.retrieval import CorpusClock, measure, read, run
from holdfast.engine.facade import Engine, open_engine
from holdfast.errors import HoldfastError, NotFound, UsageError
from holdfast.sessions.shapes import message_of
from holdfast.types import Entry, Json
from tests.doors.inside import inside
from tests.scale import scaled

# ── a searcher of its own: words in common, over the real transcripts ───────────────────────


@dataclass(frozen=True)
class Found:
    text: str
    entries: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    passages: tuple[Found, ...]
    degraded: tuple[str, ...] = ()


def text_of(entry: Entry) -> str:
    message = message_of(entry)
    assert message is not None
    return message.text


@dataclass
class Overlap:
    """Stands where the engine does: real sessions on disk, a ranking anyone can work out."""

    engine: Engine
    config: Mapping[str, Json]
    per_passage: int = 1
    synced: int = 0
    asked: list[dict[str, Any]] = field(default_factory=list)

    @property
    def index(self) -> Overlap:
        return self

    def sync(self) -> None:
        self.synced += 1

    def session(self, name: str) -> Any:
        return self.engine.session(name)

    def entries(self) -> list[Entry]:
        names = sorted(each.name for each in self.engine.sessions())
        return [
            entry
            for name in names
            for entry in self.engine.existing_session(name).entries()
            if entry.type == "message"
        ]

    def search(self, query: str, *, limit: int, vectors: bool, now: datetime | None) -> Answer:
        self.asked.append({"query": query, "limit": limit, "vectors": vectors, "now": now})
        wanted = set(query.lower().split())
        said = [(entry, text_of(entry)) for entry in self.entries()]
        said = [pair for pair in said if wanted & set(pair[1].lower().split())]
        said.sort(key=lambda pair: -len(wanted & set(pair[1].lower().split())))
        step = self.per_passage
        groups = [said[at : at + step] for at in range(0, len(said), step)][:limit]
        return Answer(
            tuple(
                Found(" ".join(text for _, text in group), tuple(entry.id for entry, _ in group))
                for group in groups
            ),
            () if vectors else ("nothing",),
        )


class Bench:
    """Opens the searcher above, and remembers each that was opened."""

    def __init__(self, per_passage: int = 1) -> None:
        self.opened: list[Overlap] = []
        self.times: list[list[tuple[str, str]]] = []
        self.per_passage = per_passage

    @contextmanager
    def __call__(
        self, home: Path, clock: CorpusClock, config: Mapping[str, Json]
    ) -> Iterator[Overlap]:
        kept = {key: value for key, value in config.items() if not key.startswith("search.e")}
        with open_engine(home, config=kept, clock=clock) as engine:
            self.opened.append(Overlap(engine, config, self.per_passage))
            yield self.opened[-1]
            self.times.append(
                [(text_of(entry), entry.at.isoformat()) for entry in self.opened[-1].entries()]
            )


def corpus(name: str, *texts: str, gold: Iterable[str], query: str) -> dict[str, Any]:
    return {
        "id": name,
        "lang": "en",
        "turns": [
            {
                "id": f"T{at}",
                "session": str(at // 2),
                "time": f"2023-05-0{at // 2 + 1}T10:00:00",
                "speaker": ("Anna Lee", "小明")[at % 2],
                "text": text,
            }
            for at, text in enumerate(texts)
        ],
        "queries": [
            {"id": f"{name}-q0", "text": query, "gold": list(gold), "category": "single"},
            {"id": f"{name}-q1", "text": "nothing is gold", "gold": [], "category": "none"},
        ],
    }


DOGS = corpus(
    "dogs",
    "my dog likes the lake",
    "which lake is it",
    "the lake in the north with my dog",
    "we met a cat",
    gold=["T2"],
    query="my dog north lake",
)
CATS = corpus(
    "cats/群", "a cat sat on my lap", "so nice", "dog hair everywhere", gold=["T0"], query="cat lap"
)


def write(file: Path, *values: Mapping[str, Any]) -> Path:
    text = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in values)
    if file.suffix == ".gz":
        file.write_bytes(gzip.compress(text.encode()))
    else:
        file.write_text(text, encoding="utf-8")
    return file


def lines_of(*arguments: Any, **options: Any) -> list[dict[str, Any]]:
    out = StringIO()
    with patch("sys.stdout", out):
        run(*arguments, as_json=True, **options)
    return [json.loads(line) for line in out.getvalue().splitlines()]


# ── the command ─────────────────────────────────────────────────────────────────────────────


def test_each_corpus_gets_a_line_and_the_summary_comes_last(tmp_path: Path) -> None:
    bench = Bench()
    file = write(tmp_path / "two.jsonl.gz", DOGS, CATS)

    first, second, total = lines_of(file, opener=bench)

    assert (first["corpus"], second["corpus"]) == ("dogs", "cats/群")
    assert total["summary"] is True
    assert list(total)[-11:] == [
        "degraded",
        "r@5",
        "r@10",
        "r@20",
        "all@10",
        "mrr",
        "by_category",
        "recall_at_1000_tokens",
        "p50_ms",
        "p95_ms",
        "ingest_turns_per_s",
    ]
    assert (total["corpora"], total["turns"], total["queries"], total["skipped"]) == (2, 7, 2, 2)
    assert total["r@10"] == total["mrr"] == 1.0
    assert total["by_category"] == {"single": 1.0}
    assert len(bench.opened) == 2
    assert all(each.synced == 1 for each in bench.opened)


def test_turns_are_appended_at_their_times_and_searched_at_the_last(tmp_path: Path) -> None:
    bench = Bench()

    lines_of(write(tmp_path / "one.jsonl", DOGS), opener=bench)

    last = datetime(2023, 5, 2, 10, tzinfo=UTC)
    assert bench.times[0][0] == ("my dog likes the lake", "2023-05-01T10:00:00+00:00")
    assert bench.times[0][3][1] == last.isoformat()
    assert {each["now"] for each in bench.opened[0].asked} == {last}
    assert all(each["limit"] >= 20 for each in bench.opened[0].asked)


def test_a_corpus_without_times_is_imported_and_searched_now(tmp_path: Path) -> None:
    bench = Bench()
    timeless = json.loads(json.dumps(DOGS))
    for turn in timeless["turns"]:
        turn["time"] = ""
    begun = datetime.now(UTC)

    lines_of(write(tmp_path / "one.jsonl", timeless), opener=bench)

    assert all(datetime.fromisoformat(at) >= begun for _, at in bench.times[0])
    assert {each["now"] for each in bench.opened[0].asked} == {
        datetime.fromisoformat(bench.times[0][-1][1])
    }


def test_people_keep_their_names_and_a_role_is_a_role(home: Path) -> None:
    said = [
        Turn(id="1", session="1", speaker="Anna Lee", text="hi"),
        Turn(id="2", session="1", speaker="小明", text="你好"),
        Turn(id="3", session="1", speaker="assistant", text="hello"),
        Turn(id="4", session="1", speaker="user", text="hey"),
    ]
    with open_engine(home) as engine:
        session = engine.session("s")
        session.append_all(map(as_message, said))
        shown = json.loads(session.export("openai"))["messages"]

    assert [each.get("name") for each in shown] == ["Anna Lee", "小明", None, None]
    assert [each["role"] for each in shown] == ["user", "user", "assistant", "user"]


def test_joined_corpora_share_one_home_and_name_what_is_not_theirs(tmp_path: Path) -> None:
    bench = Bench()
    out = tmp_path / "ranked.jsonl"
    file = write(tmp_path / "two.jsonl", DOGS, CATS)

    lines = lines_of(file, joined=True, dump=out, opener=bench)

    assert len(bench.opened) == 1
    assert [line.get("corpus") for line in lines] == ["dogs", "cats/群", None]
    dumped = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [(each["corpus"], each["query"]) for each in dumped] == [
        ("dogs", "dogs-q0"),
        ("cats/群", "cats/群-q0"),
    ]
    assert dumped[0]["ranked"][:2] == ["T2", "T0"]
    assert "cats/群/T0" in dumped[0]["ranked"]  # "my"
    assert "dogs/T3" in dumped[1]["ranked"]  # "cat"


def test_without_vectors_nothing_is_embedded_and_every_search_says_so(tmp_path: Path) -> None:
    bench = Bench()

    *_, total = lines_of(write(tmp_path / "one.jsonl", DOGS), vectors=False, opener=bench)

    assert bench.opened[0].config["search.embedder"] == "none"
    assert not any(each["vectors"] for each in bench.opened[0].asked)
    assert total["degraded"] == 1


def test_a_passage_of_several_turns_takes_as_many_places(tmp_path: Path) -> None:
    file = write(tmp_path / "one.jsonl", DOGS)
    (alone,) = measure(read(file), opener=Bench())
    (together,) = measure(read(file), opener=Bench(per_passage=2))

    assert [hit.ids for hit in together.answers[0].hits] == [("T2", "T0"), ("T1",)]
    assert together.answers[0].ranked == alone.answers[0].ranked


def test_the_dump_can_be_packed_and_has_nothing_of_the_text(tmp_path: Path) -> None:
    out = tmp_path / "ranked.jsonl.gz"

    lines_of(write(tmp_path / "one.jsonl", DOGS), dump=out, opener=Bench())

    (line,) = [json.loads(each) for each in gzip.decompress(out.read_bytes()).splitlines()]
    assert line == {"corpus": "dogs", "query": "dogs-q0", "ranked": ["T2", "T0", "T1"]}


def test_people_get_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(write(tmp_path / "two.jsonl", DOGS, CATS), opener=Bench())

    head, first, second, total = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["corpus", "queries", "r@5", "r@10"]
    assert (first.split()[0], second.split()[0], total.split()[0]) == ("dogs", "cats/群", "all")


def test_the_real_engine_finds_what_was_said(tmp_path: Path) -> None:
    file = write(tmp_path / "two.jsonl", DOGS, CATS)

    alone = lines_of(file, vectors=False)
    together = lines_of(file, vectors=False, joined=True)

    for *_, total in (alone, together):
        assert (total["queries"], total["empty"]) == (2, 0)
        assert total["r@10"] == total["recall_at_1000_tokens"] == 1.0


def test_the_command_reads_a_file_and_writes_the_ranking(tmp_path: Path) -> None:
    file, out = write(tmp_path / "two.jsonl", DOGS, CATS), tmp_path / "ranked.jsonl"
    arguments = ["bench", "retrieval", str(file), "--no-vector", "--dump", str(out), "--json"]

    done = inside(tmp_path / "home", *arguments)

    assert done.code == 0, done.err
    assert [line.get("corpus") for line in done.lines] == ["dogs", "cats/群", None]
    ranked = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [each["ranked"][0] for each in ranked] == ["T2", "T0"]
    assert not (tmp_path / "home").exists()  # nobody's home is touched


# ── files ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"turns": {}}, "'turns' is not a list"),
        ({"queries": ["what"]}, "'queries' is not a list"),
        ({"id": None}, "there is no text 'id'"),
        ({"queries": [{"id": "q", "text": "?", "gold": ["T9"]}]}, "'T9' that is not there"),
        ({"queries": [{"id": "q", "text": "?"}]}, "no list 'gold'"),
        ({"turns": [{"id": "a", "text": "b", "time": "noon"}]}, "'noon' is no time"),
        ({"turns": [{"id": "a", "text": "b"}] * 2}, "same id"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    file = write(tmp_path / "one.jsonl", DOGS, DOGS | change)

    with pytest.raises(UsageError, match=complaint) as told:
        list(read(file))
    assert "line 2" in str(told.value)


def test_a_file_that_is_none_is_told_as_such(tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl.gz"
    torn.write_bytes(gzip.compress(json.dumps(DOGS).encode() * 50)[:-20])
    (tmp_path / "words.txt").write_text("once upon a time")
    (tmp_path / "empty").write_text("")

    with pytest.raises(NotFound, match="There is no file"):
        list(read(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="folder"):
        list(read(tmp_path))
    with pytest.raises(UsageError, match=r"cannot be read to its end|not JSON"):
        list(read(torn))
    with pytest.raises(UsageError, match="not JSON"):
        list(read(tmp_path / "words.txt"))
    with pytest.raises(UsageError, match="no corpus"):
        run(tmp_path / "empty", as_json=True)


@settings(max_examples=scaled(60))
@given(st.binary(max_size=200))
def test_no_file_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any"
    file.write_bytes(data)
    with suppress(HoldfastError):
        list(read(file))


@settings(max_examples=scaled(40))
@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=30), max_size=4), max_size=6),
    st.sampled_from([None, 1]),
    st.integers(1, 40),
)
def test_a_list_is_read_item_by_item_whatever_its_layout(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[dict[str, str]],
    indent: int | None,
    piece: int,
) -> None:
    file = tmp_path_factory.getbasetemp() / "list.json"
    file.write_text("\ufeff " + json.dumps(values, indent=indent), encoding="utf-8")

    with patch("holdfast.cli.benching.corpora._PIECE", piece):
        assert [item for _, item in items(file)] == values


# ── LongMemEval ─────────────────────────────────────────────────────────────────────────────


def question(id: str, **change: Any) -> dict[str, Any]:
    """One item as the set's authors publish it."""
    return {
        "question_id": id,
        "question_type": "multi-session",
        "question": "which dog did I see at the lake",
        "answer": "a husky",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["sharegpt_1", "answer_2_1", "answer_2_2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 03:00", "2023/05/29 (Mon)"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "write a poem"},
                {"role": "assistant", "content": "roses are red"},
                {"role": "user", "content": ""},
            ],
            [{"role": "user", "content": "I saw a husky dog at the lake", "has_answer": True}],
            [{"role": "user", "content": "the lake again", "has_answer": True}],
        ],
        "answer_session_ids": ["answer_2_1", "answer_2_2"],
    } | change


def test_longmemeval_is_read_as_published_and_scored_over_sessions(tmp_path: Path) -> None:
    bench = Bench()
    file = tmp_path / "longmemeval_s.json"
    listed = [question("gpt4_a"), question("gpt4_b_abs", answer_session_ids=[])]
    file.write_text(json.dumps(listed, indent=1), encoding="utf-8")

    first, second, total = lines_of(file, opener=bench)

    assert first["corpus"] == "gpt4_a"
    assert first["recall_any@5"] == first["recall_all@10"] == 1.0
    assert (second["queries"], second["skipped"]) == (0, 1)
    assert (total["queries"], total["skipped"], total["turns"]) == (1, 1, 8)
    assert total["by_category"] == {"multi-session": 1.0}
    assert "r@10" not in total
    asked = datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert {each["now"] for each in bench.opened[0].asked} == {asked}
    assert {at for text, at in bench.times[0] if "husky" in text} == {"2023-05-21T03:00:00+00:00"}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"haystack_dates": []}, "not equally many"),
        ({"question_date": "30 May"}, "'30 May' is no date"),
        ({"haystack_dates": ["2023/13/40 (Sat) 02:21"] * 3}, "is no date"),
        ({"answer_session_ids": ["elsewhere"]}, "'elsewhere' that is not there"),
        ({"haystack_sessions": [[], [], "x"]}, "not a list of turns"),
        ({"haystack_sessions": [[], [], ["x"]]}, "is not an object"),
        ({"haystack_sessions": [[], [], [{"role": "user"}]]}, "no text 'content'"),
        ({"question": None}, "no text 'question'"),
    ],
)
def test_what_longmemeval_lacks_is_named(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    file = tmp_path / "l.json"
    file.write_text(json.dumps([question("a"), question("b", **change)]))

    with pytest.raises(UsageError, match=complaint) as told:
        list(read(file))
    assert "item 1" in str(told.value)


def test_gold_turns_and_gold_sessions_do_not_mix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mixed"):
        list(read(write(tmp_path / "both.jsonl", DOGS, question("a"))))


@pytest.mark.data
def test_the_shared_files_are_of_the_format(data_dir: Path) -> None:
    counts = {}
    for file in sorted((data_dir / "retrieval").glob("*.jsonl.gz")):
        corpora = list(read(file, limit=5))
        counts[file.name.split(".")[0]] = len(corpora)
        assert all(query.gold for each in corpora for query in each.queries)
        assert all(each.turns for each in corpora)
    assert counts["locomo"] == 5
