"""Every error Holdfast raises on purpose, in one tree.

    HoldfastError(message, *, hint)        str() = message + next command      exit 1
    ├── UsageError                         the caller must change something    exit 2
    │   ├── ConfigError                    names key, value and source
    │   └── InvalidMessage                 not a message or entry we can store
    ├── IrreducibleContext                 what must be sent does not fit      exit 4
    ├── NotFound                           session, entry, artifact            exit 3
    │   └── SessionGone                    deleted or renamed while open
    ├── ModelUnavailable                   not installed, not reachable        exit 7
    ├── StorageError                       path, what is safe, what to run     exit 5
    │   └── Locked                         by which process, if that is known
    └── PolicyRefused                      path escape, symlink, bad name      exit 6

Promise: a message says what happened and why; the hint is the next thing to do, ready to
paste. Exit codes are stable: scripts may rely on them (``tests/doors/test_cli_contract.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

__all__ = [
    "ConfigError",
    "HoldfastError",
    "InvalidMessage",
    "IrreducibleContext",
    "Locked",
    "ModelUnavailable",
    "NotFound",
    "PolicyRefused",
    "SessionGone",
    "StorageError",
    "UsageError",
    "did_you_mean",
]


class HoldfastError(Exception):
    """Base of all errors raised on purpose."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  → {self.hint}" if self.hint else self.message


class UsageError(HoldfastError):
    """The caller must change something: an argument, a file, a call."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting is unknown, of the wrong type or contradicts another one."""


class InvalidMessage(UsageError):
    """What was given is not a message that can be stored and sent again."""


class IrreducibleContext(HoldfastError):
    """What may never be shortened is larger than the window allows; ``blocks`` names it."""

    exit_code = 4

    def __init__(
        self, message: str, *, blocks: Sequence[tuple[str, int]] = (), hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.blocks = tuple(blocks)


class NotFound(HoldfastError):
    """No session, entry or artifact of that name."""

    exit_code = 3


class SessionGone(NotFound):
    """The session was deleted or renamed while somebody still had it open."""


class ModelUnavailable(HoldfastError):
    """A model or encoder is not installed, cannot be loaded, or does not answer."""

    exit_code = 7


class StorageError(HoldfastError):
    """The disk refused. What was acknowledged before is safe; this operation is not."""

    exit_code = 5


class Locked(StorageError):
    """Another process holds the lock for longer than we were willing to wait."""


class PolicyRefused(HoldfastError):
    """A name or path that could leave its folder, or a link where a file must be."""

    exit_code = 6


def did_you_mean(wanted: str, known: Iterable[str]) -> str | None:
    """The nearest known name as a sentence, or None when nothing is near."""
    near = get_close_matches(wanted, list(known), n=1, cutoff=0.6)
    return f"Did you mean {near[0]!r}?" if near else None
