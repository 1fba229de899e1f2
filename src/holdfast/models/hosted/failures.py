"""What went wrong in a call, in our words: what happened, why, what to do next.

Promise: neither the key nor a password of the address is in a text or body; a refusal for the
moment is told from one for good, and only the first is tried again
(``tests/models/test_hosted_errors.py``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic_ai import exceptions as wire

from holdfast.errors import HoldfastError
from holdfast.models.hosted.errors import BrokenOff, CallFailed
from holdfast.models.servers import shown_address
from holdfast.text import one_line
from holdfast.types import Json

__all__ = ["Called", "TookTooLong", "failure_of", "is_passing", "wait_asked"]

_PASSING: Final = frozenset({408, 409, 425, 429, 529})
_MAY_PASS: Final = (
    wire.ModelConnectionError,
    wire.ModelRateLimitError,
    wire.ModelServerError,
    wire.ModelUnavailableError,
)
_SHOWN: Final = 600
_HIDDEN: Final = "[key]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """Who was called, for the words of an error."""

    name: str
    seconds: float
    """How long it may be silent."""
    key: str | None = None
    variable: str | None = None
    """Where the key is from."""
    place: str | None = None
    """The address of a server."""
    install: str | None = None

    def hidden(self, text: str) -> str:
        """The text without the key, and without what is secret in the address."""
        text = text.replace(self.key, _HIDDEN) if self.key else text
        login, at, _ = (self.place or "").partition("://")[2].rpartition("@")
        return text.replace(login + at, "") if login else text


class TookTooLong(Exception):
    """It went on speaking, and did not come to its end in the time of a whole call."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"not at its end after {seconds:g} s")
        self.seconds = seconds


def is_passing(error: BaseException) -> bool:
    """Whether the same request may be answered a moment later."""
    if isinstance(error, BrokenOff):
        return True  # as if the connection had been lost there
    refused = (wire.ModelQuotaExceededError, wire.ModelContextWindowExceededError)
    if isinstance(error, refused):
        return False
    if isinstance(error, wire.ModelHTTPError):
        if error.provider_retry_hint is not None:
            return error.provider_retry_hint
        return error.status_code in _PASSING or error.status_code >= 500
    if isinstance(error, wire.ModelTimeoutError):
        return error.phase in ("pool", "connect")  # what was heard by nobody; silence costs once
    return isinstance(error, _MAY_PASS)


def wait_asked(error: BaseException) -> float | None:
    """How many seconds the provider asks to wait."""
    asked = getattr(error, "retry_after", None)
    return float(asked) if isinstance(asked, int | float) and asked >= 0 else None


def failure_of(error: Exception, called: Called) -> HoldfastError:
    """The error as it is raised."""
    if isinstance(error, HoldfastError):
        return error
    if isinstance(error, TimeoutError | wire.ModelTimeoutError | wire.ModelRequestTimeout):
        return _silent(called)
    if isinstance(error, TookTooLong):
        return _endless(called, error.seconds)
    if isinstance(error, wire.ModelAPIError):
        return _told(error, called)
    return _unread(error, called)


def _silent(called: Called) -> CallFailed:
    return CallFailed(
        f"{called.name} was silent for {called.seconds:g} s and was left.",
        hint=f"Give it longer: timeout_seconds = {max(1, round(called.seconds * 2))} under [model] "
        "in config.toml; or take another model: --model NAME",
    )


def _endless(called: Called, seconds: float) -> CallFailed:
    return CallFailed(
        f"{called.name} was still speaking after {seconds:g} s, the most that a whole call may "
        "take, and was left.",
        hint=f"Give it longer: timeout_seconds = {max(1, round(called.seconds * 2))} under [model] "
        "in config.toml doubles that as well; or take another model: --model NAME",
    )


def _told(error: wire.ModelAPIError, called: Called) -> CallFailed:
    status = getattr(error, "status_code", None)
    body = _without(error.body, called)
    words = _words(error, called)
    if isinstance(error, wire.ModelConnectionError):
        message, hint = _unreachable(error, words, called)
    else:
        message, hint = _refused(error, status, words, called)
    return CallFailed(
        message,
        hint=hint,
        status_code=status if isinstance(status, int) else None,
        code=error.provider_error_code or error.provider_error_type,
        body=body,
        arrived=getattr(error, "phase", "read") in ("read", "write"),
    )


def _unreachable(error: wire.ModelConnectionError, words: str, called: Called) -> tuple[str, str]:
    where = (
        f"{called.name} at {shown_address(called.place)}"
        if called.place is not None
        else called.name
    )
    if error.phase in ("read", "write"):
        return f"The connection to {where} broke off: {words}", "Ask again."
    hint = "Check the network, then ask again; holdfast doctor"
    if called.place is not None:
        hint = "Is the server running? Start it, then ask again; holdfast doctor"
    return f"{where} cannot be reached, or broke off: {words}", hint


def _refused(
    error: wire.ModelAPIError, status: object, words: str, called: Called
) -> tuple[str, str]:
    name = called.name
    said = f" (HTTP {status})" if isinstance(status, int) else ""
    match error:
        case wire.ModelContextWindowExceededError():
            return f"{name} says that the request is too large{said}: {words}", _SMALLER
        case wire.ModelAuthenticationError():
            where = called.variable or "model.api_key"
            return (
                f"{name} does not accept the key{said}: {words}",
                f"Check {where}: a valid key that may use this model.",
            )
        case wire.ModelNotFoundError():
            near = getattr(error, "suggested_model_id", None)
            hint = f"Did you mean {near!r}?" if near else "Check the name: holdfast doctor"
            return f"{name} is not known to its provider{said}: {words}", hint
        case wire.ModelQuotaExceededError():
            return (
                f"The account behind {name} has nothing left{said}: {words}",
                "Fill it up at the provider, or take another model: --model NAME",
            )
        case wire.ModelRateLimitError():
            asked = wait_asked(error)
            later = f"in {asked:g} s" if asked is not None else "in a minute"
            return f"{name} takes no more calls for now{said}: {words}", f"Ask again {later}."
        case wire.ModelUnavailableError() | wire.ModelServerError():
            return (
                f"{name} cannot answer for now{said}: {words}",
                "Ask again in a minute, or take another model: --model NAME",
            )
        case wire.ModelRequestRejectedError():
            return f"{name} refused the request{said}: {words}", _LOOK
        case _:
            return f"{name} gave no answer{said}: {words}", "Ask again; holdfast doctor"


_SMALLER: Final = "Make the conversation smaller: holdfast compact SESSION"
_LOOK: Final = "Look at what is sent: holdfast context explain SESSION"


def _unread(error: Exception, called: Called) -> CallFailed:
    """What is no answer at all: no JSON, no events, a setting that the client refuses."""
    words = _clean(f"{type(error).__name__}: {error}", called)
    if isinstance(error, ImportError) and called.install is not None:
        return CallFailed(f"What speaks to {called.name} is missing: {words}", hint=called.install)
    if isinstance(error, wire.UserError):
        return CallFailed(f"{called.name} cannot be called so: {words}", hint="holdfast doctor")
    return CallFailed(
        f"{called.name} sent something that is no answer: {words}",
        hint="Ask again. Is this the address of a model? holdfast doctor",
    )


# ── words ───────────────────────────────────────────────────────────────────────────────────


def _words(error: wire.ModelAPIError, called: Called) -> str:
    """What the provider said; else what its client says."""
    return _clean(_message_in(error.body) or error.message, called)


def _message_in(body: object) -> str | None:
    match body:
        case {"error": {"message": str(text)}} | {"message": str(text)} | {"error": str(text)}:
            return text
        case str(text):
            return text
    return None


def _clean(text: str, called: Called) -> str:
    return one_line(called.hidden(text[: _SHOWN * 20]), _SHOWN)


def _without(body: object, called: Called) -> Json:
    """The body without what is secret, as plain JSON or as text."""
    try:
        told = json.dumps(body, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return called.hidden(str(body))
    hidden = called.hidden(told)
    if hidden == told:
        return dict(body) if isinstance(body, Mapping) else body
    return json.loads(hidden)
