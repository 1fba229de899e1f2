"""Sentence encoders in ONNX: MiniLM with its vendored vocabulary, and any folder."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import ModelUnavailable
from holdfast.models.embedders.described import Described
from holdfast.models.embedders.minilm import minilm
from holdfast.models.embedders.onnx import OnnxEmbedder
from holdfast.models.embedders.pinned import MINILM, Pinned
from holdfast.models.embedders.wordpieces import from_json, uncased
from tests.models import tiny_onnx
from tests.scale import scaled


@pytest.fixture(scope="module")
def latin() -> OnnxEmbedder:
    return minilm()


@pytest.fixture
def tiny(tmp_path: Path) -> OnnxEmbedder:
    return OnnxEmbedder.from_folder(tiny_onnx.folder(tmp_path / "tiny"))


# ── word pieces ─────────────────────────────────────────────────────────────────────────────

# The ids of the published tokenizer of all-MiniLM-L6-v2.
PUBLISHED = {
    "The harbour café opens at 7:30, doesn't it?": [
        *(101, 1996, 7440, 7668, 7480, 2012, 1021, 1024, 2382, 1010, 2987, 1005, 1056, 2009),
        *(1029, 102),
    ],
    "Zürich's snowplough PR-1842 naïvely re-deployed!": [
        *(101, 10204, 1005, 1055, 4586, 24759, 10593, 10975, 1011, 10008, 15743, 2135, 2128),
        *(1011, 7333, 999, 102),
    ],
    "北京 hello 🦀": [101, 1781, 1755, 7592, 100, 102],
}


@pytest.mark.parametrize("text", PUBLISHED)
def test_the_vendored_vocabulary_gives_the_published_ids(text: str) -> None:
    assert uncased().encode(text).ids == PUBLISHED[text]


def test_a_text_that_spells_a_mark_of_the_encoder_is_text() -> None:
    ids = uncased().encode("a [SEP] b [MASK] [CLS]").ids
    assert (ids.count(101), ids.count(102), ids.count(103)) == (1, 1, 0)


def test_a_vocabulary_without_capitals_reads_capitals_whatever_its_file_says() -> None:
    file = json.loads(uncased().to_str())
    file["normalizer"]["lowercase"] = False
    assert from_json(json.dumps(file)).encode("Docker").ids == uncased().encode("docker").ids


def test_a_vocabulary_with_capitals_keeps_them() -> None:
    file = json.loads(uncased().to_str())
    file["normalizer"]["lowercase"] = False
    file["model"]["vocab"]["Docker"] = 30522
    assert from_json(json.dumps(file)).encode("Docker").ids == [101, 30522, 102]


# ── MiniLM ──────────────────────────────────────────────────────────────────────────────────


def test_minilm_gives_the_vectors_of_the_published_model(latin: OnnxEmbedder) -> None:
    vector = latin.embed(["The harbour café opens at 7:30, doesn't it?"]).vectors[0]
    # The first six numbers of the full-precision model; eight bits move them a little.
    assert vector[:6] == pytest.approx([0.076, -0.023, 0.038, 0.043, 0.045, 0.036], abs=0.005)


def test_minilm_finds_what_is_said_in_other_words(latin: OnnxEmbedder) -> None:
    notes = [
        "The landlord raised the rent.",
        "My daughter cannot eat peanuts.",
        "The violin lesson moved to Friday.",
    ]
    question = latin.embed(["which food is dangerous for my child?"]).vectors[0]
    assert int((latin.embed(notes).vectors @ question).argmax()) == 1


def test_minilm_is_what_its_name_promises(latin: OnnxEmbedder) -> None:
    assert (latin.name, latin.dimensions) == (MINILM.name, MINILM.dimensions)
    assert (latin.script, latin.has_tokens) == ("latin", True)


def test_words_carry_their_place_in_the_original_text(latin: OnnxEmbedder) -> None:
    text = "Café Über — 北京! naïve, e\u0301t\u00e9 👩‍👩‍👧 PR-1842 …"
    tokens = latin.embed([text], tokens=True).tokens
    assert tokens is not None
    words = [text[start:end] for start, end in tokens[0].spans]
    assert words[:2] == ["Café", "Über"]
    assert "naïve" in words
    assert "PR" in words
    assert not {"—", "!", ",", "-", "…", ""} & set(words)
    assert len(tokens[0].vectors) == len(words)


def test_a_vector_does_not_depend_on_what_else_is_encoded(latin: OnnxEmbedder) -> None:
    texts = ["short", "a sentence of some more words than that", "x " * 300, "", "一句中文"]
    together = latin.embed(texts, tokens=True)
    assert together.tokens is not None
    for at, text in enumerate(texts):
        alone = latin.embed([text], tokens=True)
        assert alone.tokens is not None
        np.testing.assert_allclose(alone.vectors[0], together.vectors[at], atol=2e-6)
        np.testing.assert_allclose(alone.tokens[0].vectors, together.tokens[at].vectors, atol=2e-5)


@settings(max_examples=scaled(15))
@given(st.lists(st.text(max_size=60), max_size=4))
def test_any_text_has_vectors_of_length_one_and_spans_inside_it(texts: list[str]) -> None:
    encoder = _shared()
    made = encoder.embed(texts, tokens=True)
    assert made.vectors.shape == (len(texts), encoder.dimensions)
    assert made.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(made.vectors, axis=1), 1, atol=1e-5)
    assert made.tokens is not None
    for text, tokens in zip(texts, made.tokens, strict=True):
        assert tokens.vectors.shape == (len(tokens.spans), encoder.dimensions)
        assert all(0 <= start < end <= len(text) for start, end in tokens.spans)
        np.testing.assert_allclose(np.linalg.norm(tokens.vectors, axis=1), 1, atol=1e-5)


_SHARED: list[OnnxEmbedder] = []


def _shared() -> OnnxEmbedder:
    if not _SHARED:
        _SHARED.append(minilm())
    return _SHARED[0]


def test_lone_surrogates_are_encoded_and_do_not_move_the_spans(latin: OnnxEmbedder) -> None:
    tokens = latin.embed(["red \ud800 green"], tokens=True).tokens
    assert tokens is not None
    assert list(tokens[0].spans) == [(0, 3), (6, 11)]


def test_damaged_weights_are_not_loaded(tmp_path: Path) -> None:
    place = tiny_onnx.folder(tmp_path / "tiny")
    with pytest.raises(ModelUnavailable, match="checksum") as caught:
        OnnxEmbedder.from_folder(place, pinned=MINILM)
    assert caught.value.hint


# ── long texts and batches ──────────────────────────────────────────────────────────────────


def test_a_long_text_is_read_in_windows_to_its_end(tiny: OnnxEmbedder) -> None:
    text = "red " * 400 + "blue"
    made = tiny.embed([text], tokens=True)
    assert made.tokens is not None
    assert made.tokens[0].spans[-1] == (1600, 1604)
    assert len(made.tokens[0].spans) == 401
    rows = tiny_onnx.table()
    # Two windows, each with its marks before and after; every piece counts the same.
    total = 400 * rows[4] + rows[6] + 2 * (rows[2] + rows[3])
    np.testing.assert_allclose(made.vectors[0], total / np.linalg.norm(total), atol=1e-5)


def test_a_window_does_not_cut_a_word_in_two(tiny: OnnxEmbedder) -> None:
    words = ["red"] + ["greens"] * 300  # windows of 254 pieces would end inside a word
    tiny_windows = list(tiny._windows(0, " ".join(words)))
    assert len(tiny_windows) > 1
    second = tiny_windows[1].ids[1]
    assert tiny_onnx.WORDS[second] == "green"


def test_what_lies_behind_the_bound_costs_nothing(tiny: OnnxEmbedder) -> None:
    windows = list(tiny._windows(0, "red " * 1_000_000))
    assert len(windows) == 8
    assert max(len(one.ids) for one in windows) <= 256


def test_one_endless_word_is_one_unknown_piece(tiny: OnnxEmbedder) -> None:
    assert len(list(tiny._windows(0, "x" * 1_000_000))) == 1


def test_texts_of_one_length_are_encoded_together(tiny: OnnxEmbedder) -> None:
    windows = [one for at in range(20) for one in tiny._windows(at, "red " * (5 + 30 * (at % 2)))]
    batches = list(tiny._batches(windows))
    assert sorted(at for batch in batches for at in batch) == list(range(20))
    assert [len(batch) for batch in batches] == [8, 2, 8, 2]
    assert all(len({len(windows[at].ids) for at in batch}) == 1 for batch in batches)


def test_a_model_that_scales_by_batch_encodes_one_text_at_a_time(tmp_path: Path) -> None:
    place = tiny_onnx.folder(tmp_path / "scaled", scaled_by_batch=True)
    encoder = OnnxEmbedder.from_folder(place)
    texts = ["red", "blue", "sea", "greens"]
    together = encoder.embed(texts).vectors
    alone = np.concatenate([encoder.embed([text]).vectors for text in texts])
    assert np.array_equal(together, alone)


# ── any folder ──────────────────────────────────────────────────────────────────────────────


def test_the_folder_says_how_words_become_one_vector(tmp_path: Path) -> None:
    place = tiny_onnx.folder(tmp_path / "cls")
    (place / "1_Pooling").mkdir()
    (place / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": 8, "pooling_mode_cls_token": True})
    )
    first = tiny_onnx.table()[2]
    vector = OnnxEmbedder.from_folder(place).embed(["red"]).vectors[0]
    np.testing.assert_allclose(vector, first / np.linalg.norm(first), atol=1e-6)
    told = OnnxEmbedder.from_folder(place, pooling="mean")
    mean = tiny_onnx.table()[[2, 4, 3]].mean(axis=0)
    np.testing.assert_allclose(
        told.embed(["red"]).vectors[0], mean / np.linalg.norm(mean), atol=1e-6
    )


def test_a_graph_that_pools_by_itself_is_believed(tmp_path: Path) -> None:
    encoder = OnnxEmbedder.from_folder(tiny_onnx.folder(tmp_path / "own", finished=True))
    first = tiny_onnx.table()[2]
    made = encoder.embed(["red sea"], tokens=True)
    np.testing.assert_allclose(made.vectors[0], first / np.linalg.norm(first), atol=1e-6)
    assert made.tokens is not None
    assert len(made.tokens[0].spans) == 2


def test_other_weights_or_another_pooling_have_another_name(tmp_path: Path) -> None:
    plain = tiny_onnx.folder(tmp_path / "tiny")
    names = {
        OnnxEmbedder.from_folder(plain).name,
        OnnxEmbedder.from_folder(plain, pooling="cls").name,
        OnnxEmbedder.from_folder(plain, pooling="mean").name,
    }
    tiny_onnx.folder(tmp_path / "tiny", finished=True)
    names.add(OnnxEmbedder.from_folder(plain).name)
    (plain / "vocab.txt").write_text("\n".join([*tiny_onnx.WORDS, "more"]))
    names.add(OnnxEmbedder.from_folder(plain).name)
    (plain / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')
    names.add(OnnxEmbedder.from_folder(plain).name)
    assert len(names) == 6
    assert OnnxEmbedder.from_folder(plain).name in names


def test_pinned_weights_with_other_word_pieces_are_not_loaded(tmp_path: Path) -> None:
    place = tiny_onnx.folder(tmp_path / "tiny")
    (place / "tokenizer.json").write_text(uncased().to_str())
    right = sha256((place / "model.onnx").read_bytes()).hexdigest()
    pinned = Pinned(name="tiny", dimensions=8, sha256=right, tokenizer_sha256="0" * 64)
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json.*checksum"):
        OnnxEmbedder.from_folder(place, pinned=pinned)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda place: (place / "model.onnx").unlink(), "cannot be read"),
        (lambda place: (place / "model.onnx").write_bytes(b"nothing"), "cannot be loaded"),
        (lambda place: (place / "vocab.txt").unlink(), "no tokenizer"),
        (lambda place: (place / "vocab.txt").write_text("a\nb"), "vocabulary"),
        (lambda place: (place / "tokenizer.json").write_text("{"), "not a tokenizer"),
        (
            lambda place: (place / "sentence_bert_config.json").write_text(
                '{"max_seq_length": "x"}'
            ),
            "max_seq_length",
        ),
    ],
)
def test_a_folder_that_is_not_whole_says_what_is_wrong(
    tmp_path: Path, damage: object, said: str
) -> None:
    place = tiny_onnx.folder(tmp_path / "tiny")
    assert callable(damage)
    damage(place)
    with pytest.raises(ModelUnavailable, match=said) as caught:
        OnnxEmbedder.from_folder(place)
    assert caught.value.hint


def test_an_unknown_pooling_is_an_error_and_no_guess(tmp_path: Path) -> None:
    place = tiny_onnx.folder(tmp_path / "max")
    (place / "1_Pooling").mkdir()
    (place / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(ModelUnavailable, match="max_tokens"):
        OnnxEmbedder.from_folder(place)


def test_the_reach_of_the_folder_is_kept(tmp_path: Path) -> None:
    place = tiny_onnx.folder(tmp_path / "short")
    (place / "sentence_bert_config.json").write_text('{"max_seq_length": 16}')
    encoder = OnnxEmbedder.from_folder(place)
    assert {len(one.ids) for one in encoder._windows(0, "red " * 28)} == {16}


def test_nothing_to_encode_gives_no_rows(tiny: OnnxEmbedder) -> None:
    made = tiny.embed([], tokens=True)
    assert made.vectors.shape == (0, 8)
    assert made.tokens == []


def test_the_settings_of_a_model_have_defaults() -> None:
    assert Described().max_tokens == 256
