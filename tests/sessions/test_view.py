"""What the model sees is computed from the entries; nothing is ever rewritten."""

from __future__ import annotations

from pathlib import Path

from holdfast.sessions.store import Store
from holdfast.sessions.transcript import Draft, Transcript
from holdfast.types import GENESIS, View
from tests.sessions.rooms import open_store, open_transcript, said


def shown(view: View) -> list[str]:
    return [message.text for message in view]


def reopened(store_folder: Path, name: str = "s1") -> View:
    store = open_store(store_folder)
    return store.view(store.open(name))


def fill(transcript: Transcript, count: int) -> list[str]:
    return [entry.id for n in range(count) for entry in transcript.append([said(f"m{n}")])]


def compaction(**data: object) -> Draft:
    return Draft(type="compaction", data=data)


def test_without_compaction_the_view_is_every_message(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    fill(transcript, 3)
    transcript.append([Draft(type="flush", data={"outcome": "empty"})])
    transcript.append([Draft(type="marker", data={"kind": "goal", "text": "g"})])
    transcript.append([Draft(type="of.the.future", data={"role": "user", "text": "not shown"})])
    view = store.view(transcript)
    assert shown(view) == ["m0", "m1", "m2"]
    assert view.cycle == GENESIS


def test_a_compaction_shows_pins_summary_kept_and_everything_from_its_cut(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    ids = fill(transcript, 10)
    watermark = transcript.state().last_seq
    transcript.append([said("arrived while the summary was written")])
    summary = {"text": "they spoke of m1 to m6", "sources": ids[1:6]}
    (entry,) = transcript.append(
        [
            compaction(
                summary=[summary],
                first_kept=ids[7],
                watermark=watermark,
                pins=[ids[0]],
                kept=[ids[6]],
            )
        ]
    )
    transcript.append([said("after")])
    view = store.view(transcript)
    assert shown(view) == [
        "m0",
        "they spoke of m1 to m6",
        "m6",
        "m7",
        "m8",
        "m9",
        "arrived while the summary was written",
        "after",
    ]
    assert view.cycle == entry.id
    assert [item.kind for item in view.items][:3] == ["pin", "summary", "message"]
    assert view.items[1].stands_for == (entry.id, *ids[1:6])
    assert reopened(tmp_path) == view


def test_a_compaction_that_keeps_nothing_still_shows_what_came_after_its_watermark(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    fill(transcript, 4)
    watermark = transcript.state().last_seq
    transcript.append([said("late")])
    transcript.append([compaction(summary=[{"text": "all"}], first_kept=None, watermark=watermark)])
    assert shown(store.view(transcript)) == ["all", "late"]
    assert reopened(tmp_path) == store.view(transcript)


def test_only_the_newest_compaction_is_shown(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    ids = fill(transcript, 3)
    transcript.append([compaction(summary=[{"text": "old summary"}], first_kept=ids[2])])
    later = fill(transcript, 2)
    transcript.append([compaction(summary=[{"text": "new summary"}], first_kept=later[1])])
    assert shown(store.view(transcript)) == ["new summary", "m1"]
    assert transcript.state().compaction_count == 2
    assert reopened(tmp_path) == store.view(transcript)


def test_a_pruned_result_shows_the_same_bytes_ever_after(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    result = {
        "role": "tool",
        "parts": [
            {"type": "tool_result", "call_id": "c1", "content": [{"type": "text", "text": "long"}]}
        ],
    }
    (entry,) = transcript.append([Draft(type="message", data=result)])
    changes = [{"entry": entry.id, "part": 0, "text": f"[cleared: {entry.id}]"}]
    transcript.append([Draft(type="prune", data={"shown": changes})])
    transcript.append([said("go on")])
    view = store.view(transcript)
    assert shown(view) == [f"[cleared: {entry.id}]", "go on"]
    assert view.items[0].shortened
    assert view[0].tool_results[0].call_id == "c1"
    assert reopened(tmp_path) == view
    assert transcript.find(entry.id).message is not None
    assert transcript.find(entry.id).message.text == "long"  # type: ignore[union-attr]


def test_recalled_passages_and_markers_with_a_message_stand_where_they_came(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    transcript.append([said("question")])
    recalled = {"message": {"role": "user", "text": "> from memory"}, "passages": ["p#L1"]}
    transcript.append([Draft(type="recall", data=recalled)])
    marked = {"kind": "restored", "message": {"role": "user", "text": "resume packet"}}
    transcript.append([Draft(type="marker", data=marked)])
    view = store.view(transcript)
    assert shown(view) == ["question", "> from memory", "resume packet"]
    assert [item.kind for item in view.items] == ["message", "recall", "marker"]


def test_a_reset_marker_starts_the_view_anew(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    ids = fill(transcript, 3)
    transcript.append([compaction(summary=[{"text": "summary"}], first_kept=ids[1])])
    transcript.append([Draft(type="marker", data={"kind": "reset"})])
    transcript.append([said("fresh start")])
    assert shown(store.view(transcript)) == ["fresh start"]
    assert shown(reopened(tmp_path)) == ["fresh start"]


def test_a_view_kept_up_to_date_equals_one_computed_from_the_file(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    store.view(transcript)
    for number in range(30):
        transcript.append([said(f"m{number}")])
        if number % 7 == 6:
            last = transcript.entries(last=2)[0].id
            transcript.append([compaction(summary=[{"text": f"s{number}"}], first_kept=last)])
        assert store.view(transcript) == reopened(tmp_path)


def test_a_view_is_a_sequence_of_messages(tmp_path: Path) -> None:
    store: Store = open_store(tmp_path)
    transcript = open_transcript(store)
    fill(transcript, 3)
    view = store.view(transcript)
    assert len(view) == 3
    assert view[-1].text == "m2"
    assert [message.text for message in view[:2]] == ["m0", "m1"]
    assert view.messages == list(view)


def test_a_pruned_entry_that_is_kept_stays_pruned_after_the_compaction(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    ids = fill(transcript, 3)
    changes = [{"entry": ids[1], "part": 0, "text": "[short]"}]
    transcript.append([Draft(type="prune", data={"shown": changes})])
    last = fill(transcript, 1)[0]
    kept = compaction(summary=[{"text": "s"}], first_kept=last, kept=[ids[1]])
    transcript.append([kept])
    assert shown(store.view(transcript)) == ["s", "[short]", "m0"]
    assert reopened(tmp_path) == store.view(transcript)


def test_a_kept_entry_pruned_between_two_compactions_stays_pruned(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    kept = fill(transcript, 1)[0]
    for number in range(2):
        last = fill(transcript, 2)[1]
        transcript.append(
            [compaction(summary=[{"text": f"s{number}"}], first_kept=last, kept=[kept])]
        )
        if number == 0:
            assert shown(store.view(transcript)) == ["s0", "m0", "m1"]
            changes = [{"entry": kept, "part": 0, "text": "[short]"}]
            transcript.append([Draft(type="prune", data={"shown": changes})])
    live = store.view(transcript)
    assert shown(live) == ["s1", "[short]", "m1"]
    transcript.close()
    assert reopened(tmp_path) == live
    (tmp_path / "sessions" / "s1.state.json").unlink()
    assert reopened(tmp_path) == live
