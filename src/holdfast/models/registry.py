"""The model of a name, and which one to use when none is named.

The order: what is configured, a key in the environment, a server on this machine that answers, an
embedded model that was fetched, none. Whatever is chosen is chosen with its reason, and what was
passed over with why.

Promise: a name gives a model or an error with the next command, never another model; nothing is
loaded, fetched or asked for until it is used, but a server on this machine, whether it is there;
two uses of a name are the same model (``tests/models/test_registry.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from holdfast.config import default_home, load_settings
from holdfast.errors import ModelUnavailable, did_you_mean
from holdfast.models.folder import models_folder
from holdfast.models.names import SERVER_KINDS, split_name
from holdfast.models.servers import Server, find_servers, shown_address

if TYPE_CHECKING:
    from holdfast.ports import Model

__all__ = ["NONE", "Choice", "Considered", "Registry", "Wanted"]

NONE: Final = "none"
_EMBEDDED: Final = "embedded"
FETCH: Final = "holdfast model get qwen2.5-coder-1.5b"


class Wanted(Protocol):
    """What the settings say of the model: ``settings.model``."""

    @property
    def name(self) -> str | None: ...
    @property
    def base_url(self) -> str | None: ...
    @property
    def api_key(self) -> str | None: ...
    @property
    def look_for_servers(self) -> bool: ...
    @property
    def timeout_seconds(self) -> float: ...
    @property
    def retries(self) -> int: ...
    @property
    def threads(self) -> int | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """One place where a model could have come from."""

    place: str
    model: str | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which model is used when none is named; None: there is none."""

    model: str | None
    why: str
    considered: tuple[Considered, ...] = ()


class Registry:
    """The models that can be had here."""

    def __init__(
        self,
        wanted: Wanted,
        *,
        environ: Mapping[str, str],
        folder: Path,
        find_servers: Callable[..., list[Server]] | None = None,
    ) -> None:
        self._wanted = wanted
        self._environ = environ
        self._folder = folder
        self._find_servers = find_servers
        self._found: list[Server] = []
        self._models: dict[str, Model] = {}

    @classmethod
    def at(cls, home: Path | None, environ: Mapping[str, str]) -> Registry:
        """For whoever has no engine open: as the settings of that home want it; none is made."""
        settings = load_settings(home or default_home(environ), environ=environ)
        return cls(settings.model, environ=environ, folder=models_folder(environ))

    def __call__(self, name: str) -> Model:
        """The model of that name.

        Raises:
            ModelUnavailable: there is none, or not here; says what to do.
        """
        # No lock: making one may take seconds, and whoever has one must not wait for that. Of two
        # that are made at once the first that is kept is everybody's.
        if (made := self._models.get(name)) is None:
            made = self._models.setdefault(name, self._make(name))
        return made

    def _make(self, name: str) -> Model:
        provider, model = split_name(name)
        if name == NONE:
            raise ModelUnavailable("The model is set to none.", hint="Name one: --model NAME")
        if provider == _EMBEDDED:
            return self._embedded(model or "")
        if provider in SERVER_KINDS:
            return self._served(provider or "", model or "")
        if provider is None:
            return self._bare(name)
        made: Model = _part("hosted").hosted_model(
            name,
            environ=self._environ,
            timeout_seconds=self._wanted.timeout_seconds,
            retries=self._wanted.retries,
        )
        return made

    def _bare(self, name: str) -> Model:
        """A name without a provider: a server's, if one has it; else the provider is asked for."""
        for server in self._servers(having=name):
            if name in server.models:
                return self._from(server, name)
        known = [f"{each.kind}:{model}" for each in self._servers() for model in each.models]
        raise ModelUnavailable(
            f"Whose model {name!r} is cannot be told from its name.",
            hint=did_you_mean(name, known)
            or f"Put the provider before it: anthropic:{name}, openai:{name}, ollama:{name} …",
        )

    def _served(self, kind: str, model: str) -> Model:
        found = [each for each in self._servers(having=model) if each.kind == kind]
        if not found:
            where = self._where or "its usual place on this machine"
            raise ModelUnavailable(
                f"No {kind} server answers at {where}.",
                hint="Start it, or say where it is: model.base_url in config.toml.",
            )
        return self._from(found[0], model or next(iter(found[0].models), ""))

    def _from(self, server: Server, model: str) -> Model:
        if server.models and model not in server.models:
            near = did_you_mean(model, server.models)
            raise ModelUnavailable(
                f"The {server.kind} server at {shown_address(server.base_url)} has no model "
                f"{model!r}.",
                hint=near or f"It has {', '.join(server.models[:8])}.",
            )
        made: Model = _part("hosted").server_model(
            server,
            model,
            api_key=self._key,
            timeout_seconds=self._wanted.timeout_seconds,
            retries=self._wanted.retries,
        )
        return made

    def _embedded(self, name: str) -> Model:
        weights = _part("weights")
        known = weights.CATALOGUE.get(name)
        is_file = known is None and name.endswith(".gguf")
        if not is_file and (known is None or known.kind != "language"):
            near = did_you_mean(name, weights.CATALOGUE)
            raise ModelUnavailable(
                f"There is no embedded model {name!r}.", hint=near or "holdfast model list"
            )
        file = Path(name).expanduser() if is_file else weights.Shelf(self._folder).path(name)
        if file is None:
            raise ModelUnavailable(
                f"The embedded model {name} is not on this machine.",
                hint=f"holdfast model get {name}",
            )
        made: Model = _part("embedded").embedded_model(
            file, name=f"{_EMBEDDED}:{name}", threads=self._wanted.threads
        )
        return made

    # ── the choice ──────────────────────────────────────────────────────────────────────────

    def choose(self) -> Choice:
        """Which model is used when nobody names one, and why. Loads none."""
        wanted = self._wanted
        if wanted.name == NONE:
            return Choice(model=None, why="model.name is none")
        if wanted.name is not None:
            return Choice(model=wanted.name, why="model.name is set")
        considered: list[Considered] = []
        for each in self._places():
            considered.append(each)
            if each.model is not None:
                return Choice(model=each.model, why=each.why, considered=tuple(considered))
        return Choice(
            model=None,
            why="no key in the environment, no server on this machine, no model fetched",
            considered=tuple(considered),
        )

    def _places(self) -> Iterator[Considered]:
        if self._wanted.base_url is not None:
            yield self._in_servers("model.base_url")
        yield from self._in_keys()
        if self._wanted.look_for_servers and self._wanted.base_url is None:
            yield self._in_servers("a server on this machine")
        yield self._on_the_shelf()

    def _in_keys(self) -> Iterator[Considered]:
        found = False
        for each in _part("keys").keyed_providers(self._environ):
            found = True
            yield Considered(
                place="a key in the environment",
                model=each.default_model if each.is_installed else None,
                why=f"{each.variable} is set"
                if each.is_installed
                else f"{each.variable} is set, but its client is not installed: {each.install}",
            )
        if not found:
            yield Considered(
                place="a key in the environment", model=None, why="no key that is known is set"
            )

    def _in_servers(self, place: str) -> Considered:
        if find_spec("pydantic_ai") is None:
            return Considered(
                place=place, model=None, why="not asked: pip install 'holdfast[hosted]'"
            )
        servers = self._servers()
        for server in servers:
            if server.models:
                return Considered(
                    place=place,
                    model=f"{server.kind}:{server.models[0]}",
                    why=f"{server.kind} answers at {shown_address(server.base_url)}",
                )
        if servers:
            where = shown_address(servers[0].base_url)
            return Considered(place=place, model=None, why=f"{where} has no model")
        where = self._where or "the usual ports"
        return Considered(place=place, model=None, why=f"nobody answers at {where}")

    def _on_the_shelf(self) -> Considered:
        place = "an embedded model"
        weights = _part("weights")
        if find_spec("xllamacpp") is None:
            return Considered(
                place=place, model=None, why="not installed: pip install 'holdfast[embedded]'"
            )
        shelf = weights.Shelf(self._folder)
        for name, each in weights.CATALOGUE.items():
            is_wanted = each.kind == "language" and each.is_for_answers
            if is_wanted and shelf.path(name) is not None:
                return Considered(place=place, model=f"{_EMBEDDED}:{name}", why=f"{name} is here")
        return Considered(place=place, model=None, why=f"none fetched: {FETCH}")

    @property
    def _where(self) -> str | None:
        """The address that is configured, as it may be shown."""
        return None if self._wanted.base_url is None else shown_address(self._wanted.base_url)

    @property
    def _key(self) -> str | None:
        """The key is that of the configured address, and nobody else's who happens to answer."""
        return None if self._wanted.base_url is None else self._wanted.api_key

    def _servers(self, having: str | None = None) -> list[Server]:
        """The servers that answer. One may have been started since, or have fetched a model: they
        are asked again as long as there is none, or none that has what is wanted."""
        known = self._found
        is_enough = having is None or any(having in each.models for each in known)
        if not known or not is_enough:
            find = self._find_servers or find_servers
            self._found = list(find(base_url=self._wanted.base_url, api_key=self._key))
        return self._found


def _part(name: str) -> Any:
    """What a kind of model needs, loaded when one is wanted."""
    return import_module(f"holdfast.models.{name}")
