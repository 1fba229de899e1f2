"""Holdfast: the memory and context engine for LLM agents.

>>> import holdfast
>>> with holdfast.open("~/.holdfast", agent="main") as engine:
...     session = engine.session("s1")
...     entry_id = session.append({"role": "user", "content": "hi"})

Everything public is named here; it is loaded when it is first used, so that importing the
package stays cheap (``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from holdfast._version import __version__

if TYPE_CHECKING:
    from holdfast.context.accounting import Reported
    from holdfast.engine.aio import AsyncEngine, AsyncSession
    from holdfast.engine.aio import aopen_engine as aopen
    from holdfast.engine.facade import Engine
    from holdfast.engine.facade import open_engine as open
    from holdfast.engine.session import Expanded, Session
    from holdfast.engine.turn import Prepared
    from holdfast.errors import (
        ConfigError,
        HoldfastError,
        IrreducibleContext,
        NotFound,
        PolicyRefused,
        StorageError,
        UsageError,
    )
    from holdfast.events import Event
    from holdfast.types import Citation, Entry, Message, Scope, Usage, View

__all__ = [
    "AsyncEngine",
    "AsyncSession",
    "Citation",
    "ConfigError",
    "Engine",
    "Entry",
    "Event",
    "Expanded",
    "HoldfastError",
    "IrreducibleContext",
    "Message",
    "NotFound",
    "PolicyRefused",
    "Prepared",
    "Reported",
    "Scope",
    "Session",
    "StorageError",
    "Usage",
    "UsageError",
    "View",
    "__version__",
    "aopen",
    "open",
]

if sys.platform == "win32":  # pragma: no cover - not a platform we run on
    raise ImportError("Holdfast runs on Linux and macOS. On Windows, use it inside WSL.")

_WHERE = {
    "AsyncEngine": "engine.aio:AsyncEngine",
    "AsyncSession": "engine.aio:AsyncSession",
    "Citation": "types:Citation",
    "ConfigError": "errors:ConfigError",
    "Engine": "engine.facade:Engine",
    "Entry": "types:Entry",
    "Event": "events:Event",
    "Expanded": "engine.session:Expanded",
    "HoldfastError": "errors:HoldfastError",
    "IrreducibleContext": "errors:IrreducibleContext",
    "Message": "types:Message",
    "NotFound": "errors:NotFound",
    "PolicyRefused": "errors:PolicyRefused",
    "Prepared": "engine.turn:Prepared",
    "Reported": "context.accounting:Reported",
    "Scope": "types:Scope",
    "Session": "engine.session:Session",
    "StorageError": "errors:StorageError",
    "Usage": "types:Usage",
    "UsageError": "errors:UsageError",
    "View": "types:View",
    "aopen": "engine.aio:aopen_engine",
    "open": "engine.facade:open_engine",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    module, _, attribute = _WHERE[name].partition(":")
    value = getattr(import_module(f"holdfast.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
