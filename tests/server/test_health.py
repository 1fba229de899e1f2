"""The index, the models and the check-up by the API."""

from __future__ import annotations

from pathlib import Path

import holdfast
from tests.server.asking import asking


def test_the_index_is_brought_up_to_date_and_built_anew(home: Path) -> None:
    with holdfast.open(home, background=False) as engine, asking(engine) as ask:
        engine.remember("The gate code is 4711.", kind="W")
        assert ask.get("/index")["changed"] == 1
        assert ask.post("/index/sync")["documents"] == 1
        assert (ask.get("/index")["changed"], ask.get("/index")["documents"]) == (0, 1)
        assert ask.post("/index/rebuild")["documents"] == 1
        assert ask.post("/search", query="gate code")["passages"]


def test_the_check_up_finds_and_mends_what_can_be_mended(home: Path) -> None:
    with holdfast.open(home, background=False) as engine, asking(engine) as ask:
        engine.remember("The gate code is 4711.", kind="W")
        (file,) = (home / "agents/main/memory").glob("*.md")
        file.chmod(0o644)

        def privacy(checks: list[dict[str, str]]) -> str:
            return next(each["result"] for each in checks if each["name"] == "privacy")

        found = ask.get("/doctor")["checks"]
        assert privacy(found) == "warning"
        assert all(each["hint"] for each in found if each["result"] != "ok")
        assert privacy(ask.get("/doctor")["checks"]) == "warning"  # asking mends nothing
        assert privacy(ask.post("/doctor/fix")["checks"]) == "ok"
        assert file.stat().st_mode & 0o777 == 0o600


def test_the_models_say_which_answers_and_why_none_does(home: Path) -> None:
    with holdfast.open(home, background=False) as engine, asking(engine) as ask:
        told = ask.get("/models")
        assert told["chosen"]["name"] is None
        assert {each["model"] for each in told["chosen"]["considered"]} == {None}
        assert told["missing"]
        assert all(not each["is_here"] for each in told["weights"])
        assert {each["kind"] for each in told["weights"]} >= {"language"}
