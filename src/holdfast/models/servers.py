"""Servers of models on this machine, and the one that is configured: who is there, with what.

Only 127.0.0.1 and localhost are asked unasked, at the ports that Ollama, llama.cpp and LM Studio
use; another address only if ``model.base_url`` names it. No proxy, no redirect, no cookie.

Promise: whatever listens there, also something else entirely, costs at most the time that was
given and is never taken for a server of models; nothing but the standard library is loaded
(``tests/models/test_servers.py``).
"""

from __future__ import annotations

import json
import re
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from threading import Thread
from typing import Final, TypeVar
from urllib.parse import urlsplit

from holdfast.models.names import SERVER_KINDS
from holdfast.models.names import ServerKind as Kind
from holdfast.text import one_line
from holdfast.types import Json

__all__ = [
    "SERVER_KINDS",
    "Kind",
    "Served",
    "Server",
    "find_servers",
    "is_loopback",
    "is_loopback_host",
    "look_at",
    "shown_address",
]

T = TypeVar("T")

_PORTS: Final[Mapping[Kind, int]] = {"ollama": 11434, "llamacpp": 8080, "lmstudio": 1234}
_HOSTS: Final = ("127.0.0.1", "localhost")
_MOST_BYTES: Final = 4_000_000
_MOST_MODELS: Final = 1_000
_SHOWN: Final = 200
_OLLAMA_WINDOW: Final = 4_096
"""What Ollama reads of a request unless it was told otherwise; the rest it cuts without a word."""
_NO_TEXT: Final = re.compile(r"embed|rerank|whisper|tts|\bbge\b|\bclip\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that answered, and the language models it has."""

    kind: Kind
    base_url: str
    """Where it is, without the path of an API: ``http://127.0.0.1:11434``."""
    models: tuple[str, ...] = ()

    @property
    def openai_url(self) -> str:
        """Where it speaks as OpenAI does."""
        is_versioned = re.search(r"/v\d{1,2}$", self.base_url) is not None
        return self.base_url if is_versioned else f"{self.base_url}/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a server says of one of its models."""

    window: int | None = None
    tool_calls: bool = True


def find_servers(
    *, base_url: str | None = None, seconds: float = 0.5, api_key: str | None = None
) -> list[Server]:
    """Who answers: at ``base_url``, else at the usual places on this machine, in their order."""
    if base_url is not None:
        places: list[tuple[Kind, str]] = [("server", base_url.rstrip("/"))]
    else:
        places = [(kind, f"http://{h}:{port}") for kind, port in _PORTS.items() for h in _HOSTS]
    found = _at_once([_Look(kind, url, seconds, api_key) for kind, url in places], seconds)
    kept: dict[tuple[Kind, int | None], Server] = {}
    for server in found:
        if server is not None:  # the same under its other name
            kept.setdefault((server.kind, urlsplit(server.base_url).port), server)
    return list(kept.values())


def look_at(
    server: Server, model: str, *, seconds: float = 2.0, api_key: str | None = None
) -> Served:
    """What a server says of a model; what it does not say is not known."""

    def look() -> Served:
        ask = _Ask(server.base_url, seconds, api_key)
        match server.kind:
            case "ollama":
                return _of_ollama(ask, model)
            case "llamacpp":
                return Served(window=_of_llamacpp(ask))
            case "lmstudio":
                return Served(window=_of_lmstudio(ask, model))
            case "server":
                return Served(window=_of_any(ask, server, model) or _of_llamacpp(ask))

    return _at_once([look], seconds * 2)[0] or Served()


def is_loopback(url: str) -> bool:
    """Whether the address of something is this machine's own."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    return is_loopback_host(host or "")


def is_loopback_host(host: str) -> bool:
    """Whether a host is this machine; only ``localhost`` is believed to be by its name."""
    bare = host.removeprefix("[").removesuffix("]")
    if bare.lower() == "localhost":
        return True
    try:
        return ip_address(bare).is_loopback
    except ValueError:
        return False


def shown_address(url: str) -> str:
    """An address as it may be shown: without the password or token that may be in it."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # no number there: a password that ends the host too early
    except ValueError:
        return "an address that cannot be read"
    if not parts.netloc:
        return one_line(url.rpartition("@")[2].partition("?")[0].partition("#")[0], _SHOWN)
    host = parts.netloc.rpartition("@")[2]
    return one_line(f"{parts.scheme}://{host}{parts.path}", _SHOWN)


# ── who is there ────────────────────────────────────────────────────────────────────────────


class _Look:
    def __init__(self, kind: Kind, url: str, seconds: float, api_key: str | None) -> None:
        self._kind = kind
        self._url = url
        self._ask = _Ask(url, seconds, api_key)

    def __call__(self) -> Server | None:
        kind = self._kind
        if kind == "server":
            return self._configured()
        models = self._ollama() if kind == "ollama" else self._openai()
        return None if models is None else Server(kind=kind, base_url=self._url, models=models)

    def _configured(self) -> Server | None:
        """At the address that was configured anything may be; Ollama is known by its own API."""
        if not re.search(r"/v\d{1,2}$", self._url) and (models := self._ollama()) is not None:
            return Server(kind="ollama", base_url=self._url, models=models)
        models = self._openai()
        if models is None and not self._ask.is_answered:
            return None
        # It may have a list for those only who have a key, or none at all.
        return Server(kind="server", base_url=self._url, models=models or ())

    def _ollama(self) -> tuple[str, ...] | None:
        match self._ask("/api/tags"):
            case {"models": list(models)}:
                return _names(models, "name")
        return None

    def _openai(self) -> tuple[str, ...] | None:
        path = "/models" if re.search(r"/v\d{1,2}$", self._url) else "/v1/models"
        match self._ask(path):
            case {"data": list(models)} | {"object": "list", "models": list(models)}:
                return _names(models, "id")
        return None


def _names(models: Sequence[Json], field: str) -> tuple[str, ...]:
    """What can answer in words, as the server orders them."""
    names = [each.get(field) for each in models[:_MOST_MODELS] if isinstance(each, dict)]
    texts = [name for name in names if isinstance(name, str) and 0 < len(name) < 500]
    return tuple(dict.fromkeys(name for name in texts if not _NO_TEXT.search(name)))


# ── what it can read ────────────────────────────────────────────────────────────────────────


def _of_ollama(ask: _Ask, model: str) -> Served:
    """What is loaded says how much it was loaded with. What is not will be loaded with the number
    in its parameters, else with Ollama's own; not with what the model could read."""
    shown = ask("/api/show", {"model": model})
    shown = shown if isinstance(shown, dict) else {}
    able = shown.get("capabilities")
    return Served(
        window=_loaded(ask("/api/ps"), model) or _window_in(shown),
        tool_calls=not isinstance(able, list) or "tools" in able,
    )


def _loaded(running: Json, model: str) -> int | None:
    match running:
        case {"models": list(models)}:
            for each in models:
                if isinstance(each, dict) and model in (each.get("name"), each.get("model")):
                    return _count(each.get("context_length"))
    return None


def _window_in(shown: Mapping[str, Json]) -> int | None:
    given = shown.get("parameters")
    if isinstance(given, str):
        found = re.search(r"^num_ctx[ \t]{1,80}(\d{1,9})", given[:20_000], re.MULTILINE)
        if found is not None:
            return _count(int(found[1]))
    about = shown.get("model_info")
    if not isinstance(about, dict):
        return None
    most = next((_count(v) for k, v in about.items() if k.endswith(".context_length")), None)
    return min(most, _OLLAMA_WINDOW) if most is not None else None


def _of_llamacpp(ask: _Ask) -> int | None:
    match ask("/props"):
        case {"default_generation_settings": {"n_ctx": window}} | {"n_ctx": window}:
            return _count(window)
    return None


def _of_lmstudio(ask: _Ask, model: str) -> int | None:
    match ask("/api/v0/models"):
        case {"data": list(models)}:
            for each in models:
                if isinstance(each, dict) and each.get("id") == model:
                    return _count(each.get("loaded_context_length"))
    return None


def _of_any(ask: _Ask, server: Server, model: str) -> int | None:
    """vLLM and those who follow it say it in the list of their models."""
    path = "/models" if server.openai_url == server.base_url else "/v1/models"
    match ask(path):
        case {"data": list(models)}:
            for each in models:
                if isinstance(each, dict) and each.get("id") == model:
                    named = (each.get(name) for name in ("max_model_len", "context_length"))
                    return next(filter(None, map(_count, named)), None)
    return None


def _count(value: Json) -> int | None:
    return value if type(value) is int and value > 0 else None


# ── asking ──────────────────────────────────────────────────────────────────────────────────


class _Ask:
    """Questions to one place; whatever is no JSON answer is None."""

    def __init__(self, url: str, seconds: float, api_key: str | None) -> None:
        self._parts = urlsplit(url)
        self._deadline = time.monotonic() + seconds
        self._headers = {"Accept": "application/json"}
        self.is_answered = False
        """Somebody speaks HTTP there, whatever was said."""
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"

    def __call__(self, path: str, body: Json = None) -> Json:
        left = self._deadline - time.monotonic()
        if left <= 0:
            return None
        try:
            return self._asked(path, body, left)
        except (OSError, HTTPException, ValueError, RecursionError):
            return None

    def _asked(self, path: str, body: Json, seconds: float) -> Json:
        connection = self._connection(seconds)
        try:
            data = None if body is None else json.dumps(body).encode()
            headers = self._headers | ({"Content-Type": "application/json"} if data else {})
            method = "GET" if data is None else "POST"
            connection.request(method, self._parts.path.rstrip("/") + path, data, headers)
            answer = connection.getresponse()
            self.is_answered = True
            if answer.status != 200:
                return None
            told = answer.read(_MOST_BYTES + 1)
            return json.loads(told) if len(told) <= _MOST_BYTES else None
        finally:
            connection.close()

    def _connection(self, seconds: float) -> HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            context = ssl.create_default_context()
            return HTTPSConnection(host, port, timeout=seconds, context=context)
        return HTTPConnection(host, port, timeout=seconds)


def _at_once(jobs: Sequence[Callable[[], T]], seconds: float) -> list[T | None]:
    """What each returned, in their order; None of one that has not come to its end in time.

    A limit on single reads does not stop a server that says a byte at a time: it is left behind.
    """
    futures: list[Future[T]] = [Future() for _ in jobs]

    def run(job: Callable[[], T], future: Future[T]) -> None:
        try:
            future.set_result(job())
        except Exception as error:  # noqa: BLE001 - told to nobody: whoever is there is not one
            future.set_exception(error)

    for job, future in zip(jobs, futures, strict=True):
        Thread(target=run, args=(job, future), name="holdfast-look", daemon=True).start()
    deadline = time.monotonic() + seconds
    return [_within(future, deadline - time.monotonic()) for future in futures]


def _within(future: Future[T], seconds: float) -> T | None:
    try:
        return future.result(max(0.0, seconds))
    except Exception:  # noqa: BLE001
        return None
