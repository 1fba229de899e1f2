"""What the server adds to a turn, how soon an event is seen, how much a browser loads.

The peer is the same turn in the same process without a server: ``session.run`` with the same
model, which answers at once. The floor of a request is one to ``/healthz``.

python -m benchmarks serve
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import httpx

import holdfast
from holdfast.ports import Model, ModelReply, ModelRequest, Traits
from holdfast.server.places import OWN, Place, Places
from holdfast.server.running import Server
from holdfast.types import Message, Usage

_TURNS: Final = 60
_LOOKS: Final = 100
_EVENTS: Final = 40
_AT_ONCE: Final = 50
_ADDED_MS: Final = 10.0
_SEEN_MS: Final = 50.0
_CONSOLE_KB: Final = 700.0


class _Quick:
    """Answers at once, so that only we are measured."""

    name = "bench:quick"
    traits = Traits(window=200_000)

    async def complete(self, request: ModelRequest) -> ModelReply:
        usage = Usage(input_tokens=100, output_tokens=5)
        return ModelReply(message=Message.of("assistant", "Understood, it is done."), usage=usage)


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        home = Path(folder)
        config = {"search.embedder": "none", "recall.mode": "off", "flush.mode": "rules"}
        model: Model = _Quick()
        engine = holdfast.open(home, config=config, models=lambda name: model)
        with Server(Places([Place(name=OWN, engine=engine)]), home=home) as server:
            head = {"Authorization": f"Bearer {server.token}"}
            with httpx.Client(base_url=server.url, headers=head, timeout=60) as client:
                return list(_figures(engine, model, client))


def _figures(
    engine: holdfast.Engine, model: Model, client: httpx.Client
) -> Iterator[dict[str, Any]]:
    session = engine.session("alone", model=model)
    alone = _median(_TURNS, lambda: [*session.run("Please note that the work is done.")])
    served = _median(_TURNS, _turn(client, "served", model.name))
    yield _figure("a turn in process, p50", alone, "ms", None)
    yield _figure("what the server adds to it, p50", served - alone, "ms", _ADDED_MS)
    floor = _median(_LOOKS, lambda: client.get("/healthz"))
    look = _median(_LOOKS, lambda: client.get("/api/v1/sessions/served/context"))
    yield _figure("a request that does nothing, p50", floor, "ms", None)
    yield _figure("how full the window is, p50", look, "ms", 2 * _ADDED_MS)
    yield _figure(
        "a memory, until a browser sees it was written, p50", _seen(client), "ms", _SEEN_MS
    )
    yield _figure(
        f"turns a second, {_AT_ONCE} conversations at once",
        _many(client, model.name),
        "turns/s",
        None,
    )
    yield _figure("the console, all its files", _console(client), "kB", _CONSOLE_KB)


def _turn(client: httpx.Client, name: str, model: str) -> Callable[[], object]:
    client.post("/api/v1/sessions", json={"name": name, "model": model}).raise_for_status()
    asked = {"text": "Please note that the work is done."}

    def ask() -> str:
        answer = client.post(f"/api/v1/sessions/{name}/messages", json=asked)
        assert '"kind":"end"' in answer.text, answer.text
        return answer.text

    return ask


def _median(times: int, work: Callable[[], object]) -> float:
    """Milliseconds, after three that load what is loaded once."""
    took: list[float] = []
    for _ in range(times + 3):
        begun = time.perf_counter()
        work()
        took.append((time.perf_counter() - begun) * 1000)
    return statistics.median(took[3:])


def _seen(client: httpx.Client) -> float:
    """From asking for something to be remembered until the stream tells that it was written."""
    heard: list[float] = []
    is_open, arrived = Event(), Event()

    def listen() -> None:
        with client.stream("GET", "/api/v1/events/stream") as stream:
            for line in stream.iter_lines():
                is_open.set()
                if line.startswith("data:") and "memory_written" in line:
                    heard.append(time.perf_counter())
                    arrived.set()
                    if len(heard) >= _EVENTS:
                        return

    listener = Thread(target=listen)
    listener.start()
    is_open.wait(10)
    took: list[float] = []
    for number in range(_EVENTS):
        arrived.clear()
        said = {"text": f"Box {number} stands on shelf {number * 7 + 3}."}
        begun = time.perf_counter()
        client.post("/api/v1/memory/remember", json=said).raise_for_status()
        if not arrived.wait(10):
            raise RuntimeError("An event did not arrive.")
        took.append((heard[-1] - begun) * 1000)
    listener.join(10)
    return statistics.median(took)


def _many(client: httpx.Client, model: str) -> float:
    asks = [_turn(client, f"many-{number}", model) for number in range(_AT_ONCE)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        begun = time.perf_counter()
        for _ in range(3):
            list(pool.map(lambda ask: ask(), asks))
        return 3 * _AT_ONCE / (time.perf_counter() - begun)


def _console(client: httpx.Client) -> float:
    """Kilobytes of everything that the page may load."""
    folder = Path(holdfast.__file__).parent / "server" / "console"
    files = [each for each in folder.rglob("*") if each.suffix in {".js", ".css", ".html", ".svg"}]
    sizes = [
        len(client.get("/console/" + each.relative_to(folder).as_posix()).content)
        for each in files
        if each.name != "index.html"
    ]
    return (sum(sizes) + len(client.get("/").content)) / 1000


def _figure(what: str, value: float, unit: str, goal: float | None) -> dict[str, Any]:
    return {
        "what": what,
        "value": round(value, 2),
        "unit": unit,
        "goal": "none" if goal is None else f"≤ {goal:g}",
        "met": goal is None or value <= goal,
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
