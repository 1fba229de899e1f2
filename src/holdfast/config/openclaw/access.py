"""OpenClaw's scope rules → ours, never wider than they were.

A condition Holdfast does not have (a channel, a session key prefix) cannot simply be dropped:
that would open an allow rule to everybody. An allow rule with such a condition is left out; a
deny rule keeps what can be said and so denies more. Proof:
``tests/foundation/test_config_openclaw.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.config.openclaw.draft import Draft, path
from holdfast.types import Json

__all__ = ["translate_scope"]

_SCOPE = path("memory.qmd.scope")
_CHAT_TYPES = {"direct": "direct", "dm": "direct", "group": "group", "channel": "channel"}


def translate_scope(draft: Draft) -> None:
    """Translate the default action and the rules."""
    default = draft.take((*_SCOPE, "default"))
    if default is not None:
        draft.put(default.source, "scope.default", default.value)
    rules = draft.take((*_SCOPE, "rules"))
    if rules is None:
        return
    if not isinstance(rules.value, list):
        draft.leave_out(rules.source, "not a list of rules", "scope.rules")
        return
    translated = [
        rule
        for position, raw in enumerate(rules.value)
        if (rule := _translate_rule(draft, f"{rules.source}[{position}]", raw)) is not None
    ]
    uses_chat_type = any("chat_type" in rule["match"] for rule in translated)
    why = "chatType is called chat_type here" if uses_chat_type else ""
    draft.put(rules.source, "scope.rules", translated, why)


def _translate_rule(draft: Draft, source: str, raw: Json) -> dict[str, Json] | None:
    action = raw.get("action") if isinstance(raw, Mapping) else None
    if not isinstance(raw, Mapping) or action not in ("allow", "deny"):
        draft.to_do(source, "not a rule with the action allow or deny", "scope.rules")
        return None
    match, unknown = _translate_match(raw.get("match"))
    unknown += [str(name) for name in raw if name not in ("action", "match")]
    if not unknown:
        return {"action": action, "match": match}
    missing = f"the condition {', '.join(unknown)} has no counterpart"
    if action == "allow":
        draft.to_do(
            source,
            f"{missing}; without it the rule would allow more, so it is left out",
            "scope.rules",
        )
        return None
    draft.to_do(source, f"{missing}; without it the rule denies more than before", "scope.rules")
    return {"action": action, "match": match}


def _translate_match(given: Json) -> tuple[dict[str, str], list[str]]:
    """The conditions we have, and the names of those we do not."""
    if given is None:
        return {}, []
    if not isinstance(given, Mapping):
        return {}, ["match"]
    match: dict[str, str] = {}
    unknown: list[str] = []
    for name, value in given.items():
        chat_type = _CHAT_TYPES.get(value) if isinstance(value, str) else None
        if name == "chatType" and chat_type is not None:
            match["chat_type"] = chat_type
        else:
            unknown.append(str(name))
    return match, unknown
