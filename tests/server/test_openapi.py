"""The description of the API, and that the API keeps to it.

Schemathesis thinks of requests for every operation of the description; ids and names in them are
taken from a home that has been lived in half of the time, so that routes are not only asked for
what is not there.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from holdfast.engine.facade import Engine
from holdfast.gatehouse.heads import gate_for
from holdfast.server.app import build
from holdfast.server.describing import FAILURES
from holdfast.server.desk import Desk
from holdfast.server.entrance import Counted, Entrance
from holdfast.server.pages import Pages
from holdfast.server.places import OWN, Place, Places
from holdfast.server.tokens import TokenFile, Tokens
from tests.scale import scaled
from tests.server.furnishing import LONG, furnish
from tests.server.speaking import Speaker

CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
_PORT: Final = 8378
_URL: Final = f"http://127.0.0.1:{_PORT}"
_ENDLESS: Final = "/api/v1/events/stream"
_EXAMPLES: Final = 6
"""Of each operation; more of them in the long run."""
_LOOSE: Final = frozenset({"trace", "about", "details", "arguments"})
"""Fields that hold what differs from case to case; every other one has a type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    client: TestClient
    engine: Engine
    token: str
    described: dict[str, Any]
    answered: Counter[tuple[str, int]] = field(default_factory=Counter)

    def known(self) -> dict[str, list[str]]:
        """Values that lead somewhere, by the name of the parameter or of what owns it."""
        facts = self.engine.facts.list(ended=True)
        names = [each.name for each in self.engine.sessions()]
        talk = self.engine.session(LONG if LONG in names else "another")
        entries = [each.id for each in talk.entries()]
        return {
            "name": [talk.name],
            "session": [talk.name],
            "path": self.engine.files(),
            "entry": entries,
            "entries": entries,
            "operation": [each.id for each in self.engine.changes()],
            "citation": [*(fact.citation for fact in facts), f"{talk.name}#{entries[-1]}"],
            "facts": [fact.id for fact in facts],
            "tasks": [task.id for task in self.engine.tasks.list()],
            "conflicts": [each.id for each in self.engine.conflicts()],
            "entity": ["Peter", "Anna"],
        }


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The app behind its entrance, as it is reached."""
    home = tmp_path_factory.mktemp("described") / "home"
    speaker = Speaker()
    with furnish(home, speaker).engine as engine:
        file = TokenFile(home)
        token = file.make()
        tokens = Tokens(file, lambda: datetime.now(UTC))
        desk = Desk(tokens=tokens, started_at=datetime.now(UTC), url=_URL)
        app = build(Places([Place(name=OWN, engine=engine)]), desk=desk)
        entrance = Entrance(
            app,
            gate=gate_for(_PORT, []),
            tokens=tokens,
            pages=Pages({}),
            counted=Counted(answered=lambda status: None, metrics=lambda: "holdfast_up 1\n"),
        )

        async def front(scope: Any, receive: Any, send: Any) -> None:
            """The client begins with what no web server sends to an entrance."""
            await (app if scope["type"] == "lifespan" else entrance)(scope, receive, send)

        with TestClient(front, base_url=_URL, raise_server_exceptions=False) as client:
            yield Served(client=client, engine=engine, token=token, described=app.openapi())


def _put_known(draw: Any, values: Any, known: dict[str, list[str]]) -> None:
    """Put what is there in the place of what was made up, most of the time."""
    for key in list(values) if isinstance(values, dict) else ():
        if (wanted := known.get(key)) and draw(st.integers(0, 3)) < 3:
            values[key] = draw(st.sampled_from(wanted))


def _ask(served: Served, draw: Any, case: Any, known: dict[str, list[str]]) -> None:
    owner = case.path.split("/")[5 if "/entries/" in case.path else 3 : 6]
    known_ids = known.get(owner[0], []) if owner else []
    _put_known(draw, case.path_parameters, known | {"id": known_ids})
    _put_known(draw, case.query, known)
    _put_known(draw, case.body, {key: known[key] for key in known if key != "name"})
    if draw(st.integers(0, 9)) < 9:
        case.headers.pop("holdfast-place", None)  # a place that is not there is soon told
    if draw(st.integers(0, 19)) < 19:
        case.headers["Authorization"] = f"Bearer {served.token}"
    sent = case.as_transport_kwargs(base_url=_URL)
    sent.pop("cookies", None)
    if isinstance(data := sent.get("data"), bytes | str):
        sent["content"] = data
        del sent["data"]
    response = served.client.request(**sent)
    served.answered[f"{case.method} {case.path}", response.status_code] += 1
    case.validate_response(response, checks=CHECKS)


def _last_comes_what_destroys(operation: Any) -> tuple[int, str]:
    ranks = {"get": 0, "delete": 3}
    rank = 2 if operation.path.endswith("/forget") else ranks.get(operation.method, 1)
    return rank, operation.path


def _keeps_to_its_description(served: Served, operation: Any) -> None:
    known = served.known()

    @settings(
        max_examples=scaled(_EXAMPLES),
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=operation.as_strategy(), data=st.data())
    def keeps_to_it(case: Any, data: Any) -> None:
        _ask(served, data.draw, case, known)

    keeps_to_it()


def test_every_operation_answers_as_described(served: Served) -> None:
    schema = schemathesis.openapi.from_dict(served.described)
    operations: list[Any] = [each.ok() for each in schema.get_all_operations()]  # type: ignore[union-attr]
    operations = [each for each in operations if each.path != _ENDLESS]  # its own tests follow it
    wrong: list[str] = []
    for operation in sorted(operations, key=_last_comes_what_destroys):
        try:
            _keeps_to_its_description(served, operation)
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - all are told at the end
            wrong.append(f"{operation.label}: {_told(error)}")
    assert not wrong, "\n\n".join(wrong)
    assert len(operations) >= 50
    succeeded = {label for label, status in served.answered if status < 300}
    assert len(succeeded) > 0.8 * len(operations), "most of what was asked led nowhere"


def _told(error: BaseException) -> str:
    """What was wrong; of several things at once all of them."""
    if isinstance(error, BaseExceptionGroup):
        return "\n".join(map(_told, error.exceptions))
    return "\n".join((str(error), *getattr(error, "__notes__", ())))


# ── the description itself ──────────────────────────────────────────────────────────────────


def _operations(described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_every_operation_says_what_it_does_and_what_it_answers(served: Served) -> None:
    names: Counter[str] = Counter()
    titles: Counter[str] = Counter()
    tags = {each["name"] for each in served.described["tags"] if each["description"]}
    for label, operation in _operations(served.described):
        names[operation["operationId"]] += 1
        titles[operation["summary"]] += 1
        assert re.fullmatch(r"[a-z_]+", operation["operationId"]), label
        by_name = operation["operationId"].replace("_", " ")
        assert operation["summary"].casefold() != by_name, f"{label}: made of the function's name"
        assert len(operation["tags"]) == 1, label
        assert tags.issuperset(operation["tags"]), label
        good = {code: each for code, each in operation["responses"].items() if code < "300"}
        assert good, label
        for code, each in good.items():
            assert code == "204" or _is_typed(each), f"{label} {code}"
        for code, each in operation["responses"].items():
            if code >= "400":
                schema = each["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/FailureBody"}, f"{label} {code}"
        sent = operation.get("requestBody", {}).get("content", {})
        assert set(sent) <= {"application/json"}, label
    assert max(names.values()) == 1
    assert max(titles.values()) == 1
    assert served.described["info"]["description"]


def test_everything_needs_the_token_but_what_is_public(served: Served) -> None:
    (scheme,) = served.described["components"]["securitySchemes"].items()
    assert (scheme[1]["type"], scheme[1]["scheme"]) == ("http", "bearer")
    assert served.described["security"] == [{scheme[0]: []}]
    public = {label for label, each in _operations(served.described) if "security" in each}
    assert public == {"POST /sign-in", "GET /healthz"}


def test_an_operation_names_the_failures_that_it_has_and_no_others(served: Served) -> None:
    failures = {
        label: {int(code) for code in each["responses"] if code >= "400"}
        for label, each in _operations(served.described)
    }
    assert set().union(*failures.values()) == set(FAILURES)
    assert failures["GET /api/v1/stats"] == {400, 401, 403, 404, 422, 500, 507}
    assert {409, 410, 413, 415, 423, 503} <= failures["POST /api/v1/sessions/{name}/messages"]
    assert 429 in failures["POST /sign-in"]
    types = served.described["components"]["schemas"]["Failure"]["properties"]["type"]["enum"]
    assert {"changed", "too_many", "model_unavailable"} <= set(types)


def test_a_field_that_is_none_is_refused_in_every_body(served: Served) -> None:
    """``dryrun`` for ``dry_run``: what was only to be looked at would be done."""
    schemas = served.described["components"]["schemas"]
    assert [name for name in schemas if "__" in name] == [], "two of one name"
    bodies = 0
    for label, operation in _operations(served.described):
        if "requestBody" not in operation or label == "POST /sign-in":
            continue
        told = json.dumps(operation["requestBody"])
        for name in re.findall(r"#/components/schemas/(\w+)", told):
            bodies += 1
            assert schemas[name].get("additionalProperties") is False, f"{label}: {name}"
    assert bodies >= 15
    before = len(served.engine.facts.list())
    answer = served.client.post(
        "/api/v1/memory/forget",
        json={"targets": ["Peter"], "dryrun": True},
        headers={"Authorization": f"Bearer {served.token}"},
    )
    assert answer.status_code == 422
    assert answer.json()["error"]["details"]["fields"][0]["field"] == "body.dryrun"
    assert len(served.engine.facts.list()) == before


def _is_typed(response: dict[str, Any]) -> bool:
    content = response["content"]
    if "application/json" not in content:
        return set(content) <= {"text/event-stream", "text/plain"}
    schema = content["application/json"]["schema"]
    return "$ref" in schema or set(schema["required"]) == set(schema["properties"])


def test_every_field_has_a_type_but_those_that_differ_from_case_to_case(served: Served) -> None:
    loose = {
        f"{name}.{field}"
        for name, schema in served.described["components"]["schemas"].items()
        for field, described in schema.get("properties", {}).items()
        if field not in _LOOSE and _is_loose(described)
    }
    assert loose == set()


def _is_loose(schema: dict[str, Any]) -> bool:
    """Whether it says nothing of what the value is, here or inside of it."""
    if "$ref" in schema or "enum" in schema or "const" in schema:
        return False
    inner = [*schema.get("anyOf", ()), *schema.get("allOf", ()), *schema.get("oneOf", ())]
    if inner:
        return any(map(_is_loose, inner))
    match schema.get("type"):
        case "array":
            return _is_loose(schema.get("items", {}))
        case "object":
            more = schema.get("additionalProperties", True)
            return more is True or (isinstance(more, dict) and _is_loose(more))
        case None:
            return True
    return False
