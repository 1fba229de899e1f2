"""Search by the API: what to jump to, and why it is there."""

from __future__ import annotations

from pathlib import Path

import holdfast
from holdfast.engine.facade import Engine
from tests.server.asking import asking


def _filled(home: Path) -> Engine:
    engine = holdfast.open(home, background=False)
    session = engine.session("trip")
    session.append({"role": "user", "content": "The flight to Marrakech leaves on Friday at nine."})
    session.append({"role": "assistant", "content": "Then we pack for Marrakech on Thursday."})
    engine.remember("The hotel in Marrakech is the Riad Zitoun.", kind="W", entity="Riad Zitoun")
    return engine


def test_every_passage_says_where_to_jump_to(home: Path) -> None:
    with _filled(home) as engine, asking(engine) as ask:
        found = ask.post("/search", query="Marrakech", limit=3)
        assert (len(found["passages"]), found["why_empty"], found["trace"]) == (3, None, None)
        for passage in found["passages"]:
            assert passage["stages"] == []
            if passage["session"]:
                entry = {each.id: each for each in engine.session("trip").entries()}
                assert entry[passage["entry"]].seq == passage["seq"]
                assert passage["path"] is None
            else:
                first, last = passage["lines"]
                text = ask.get("/memory/file", path=passage["path"])["text"].splitlines()
                assert "Riad Zitoun" in "\n".join(text[first - 1 : last])
        sources = {each["source"] for each in found["passages"]}
        assert sources == {"session", "daily"}


def test_an_explanation_compares_all_passages_of_an_answer(home: Path) -> None:
    with _filled(home) as engine, asking(engine) as ask:
        found = ask.post("/search", query="flight to Marrakech", explain=True)
        assert found["trace"]["parts"]
        stages = [each for passage in found["passages"] for each in passage["stages"]]
        largest = max(abs(each["value"]) for each in stages)
        for each in stages:
            assert 0 < each["share"] <= 1
            assert abs(each["share"] - abs(each["value"]) / largest) < 0.001
        for passage in found["passages"]:
            values = [each["value"] for each in passage["stages"]]
            assert values == sorted(values, reverse=True)
            assert abs(passage["steps"][-1]["value"] - passage["score"]) < 0.001
            assert abs(sum(values) - passage["steps"][0]["value"]) < 0.05
        assert found["passages"][0]["exact"] is True


def test_filters_narrow_and_an_empty_answer_says_why(home: Path) -> None:
    with _filled(home) as engine, asking(engine) as ask:
        only = ask.post("/search", query="Marrakech", source="session")["passages"]
        assert {each["session"] for each in only} == {"trip"}
        assert ask.post("/search", query="Marrakech", kind="W")["passages"][0]["kind"] == "W"
        nothing = ask.post("/search", query="Marrakech", until="2001-01-01")
        assert nothing["passages"] == []
        assert nothing["why_empty"]
        ask.post("/search", query="Marrakech", since="yesteryear")
        assert ask.status == 400
        for wrong in ({"limit": 0}, {"kind": "X"}, {"source": "web"}, {"query": "x" * 5_000}):
            ask.post("/search", **({"query": "Marrakech"} | wrong))
            assert ask.status == 422
