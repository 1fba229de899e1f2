"""Settings: one table of keys, read from file, environment and arguments, in that order.

    keys        every key with type, default, range and documentation   (the contract)
    load        file < environment < argument; all problems in one error
    report      what ``holdfast config show`` and ``explain`` print
    zones       the user's day
    openclaw    reading an OpenClaw configuration (imported by name, needs json5)
    reference   the reference page (imported by name)

Promise: every value knows its source (``tests/foundation/test_config_load.py``), and importing
this package loads none of the modules above: a name does, when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.config.keys import IN_EFFECT, KEYS, Settings
    from holdfast.config.load import CONFIG_FILE, default_home, load_settings
    from holdfast.config.report import KeyReport, describe, explain
    from holdfast.config.sections import Key, Source
    from holdfast.config.toml import render_toml
    from holdfast.config.values import At, Below, ScopeMatch, ScopeRule, Share, Threshold
    from holdfast.config.zones import day_of, system_zone

__all__ = [
    "CONFIG_FILE",
    "IN_EFFECT",
    "KEYS",
    "At",
    "Below",
    "Key",
    "KeyReport",
    "ScopeMatch",
    "ScopeRule",
    "Settings",
    "Share",
    "Source",
    "Threshold",
    "day_of",
    "default_home",
    "describe",
    "explain",
    "load_settings",
    "render_toml",
    "system_zone",
]

_HOME_OF = {
    "keys": ("IN_EFFECT", "KEYS", "Settings"),
    "load": ("CONFIG_FILE", "default_home", "load_settings"),
    "report": ("KeyReport", "describe", "explain"),
    "sections": ("Key", "Source"),
    "toml": ("render_toml",),
    "values": ("At", "Below", "ScopeMatch", "ScopeRule", "Share", "Threshold"),
    "zones": ("day_of", "system_zone"),
}
_MODULE_OF = {name: module for module, names in _HOME_OF.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found
