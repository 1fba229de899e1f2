"""An OpenClaw configuration → ``config.toml``, with a note on every single setting.

    document     JSON5 text → leaves by path          rules       one to one, and the reasons
    draft        settings and notes so far            access      scope rules, never wider
    thresholds   distances or counts?                 commands    shell line → argument list
    prompts      "… and send a Telegram message" → the engine's notice (counts: "two things")

Promise: pure; nothing is dropped without a note; the result loads
(``tests/foundation/test_config_openclaw.py``). Imported by name only: it needs ``json5``.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.config.keys import KEYS
from holdfast.config.openclaw.access import translate_scope
from holdfast.config.openclaw.commands import argv_of
from holdfast.config.openclaw.document import leaves_of, parse
from holdfast.config.openclaw.draft import DEFAULTS, Draft, Leaf, Note, Path, Translation, path
from holdfast.config.openclaw.prompts import Untangled, untangle
from holdfast.config.openclaw.rules import BUILTIN, COMMON, QMD, Rule, count, reason_for
from holdfast.config.openclaw.thresholds import translate_thresholds
from holdfast.types import Json

__all__ = ["Note", "Translation", "translate_openclaw"]

_COMPACTION = (*DEFAULTS, "compaction")
_FLUSH = (*_COMPACTION, "memoryFlush")
_SOFT_TRIM = (*DEFAULTS, "contextPruning", "softTrim")
_HYBRID = (*DEFAULTS, "memorySearch", "query", "hybrid")
_BOT_TOKEN = path("channels.telegram.botToken")


def translate_openclaw(text: str) -> Translation:
    """Translate the text of an ``openclaw.json`` (JSON5); ``ConfigError`` when it is none.

    1. What means the same on both sides, the active search backend first.
    2. What takes several values to decide: reserve, window, thresholds, command, trim, ranking,
       scope.
    3. Prompts, whose sending instructions become notices.
    4. A note for everything that is left.
    """
    leaves, repeated = leaves_of(parse(text))
    draft = Draft(leaves)
    backend = draft.peek(path("memory.backend"))
    searches = (QMD, BUILTIN) if backend == "qmd" else (BUILTIN, QMD)
    for rules in (COMMON, *searches):
        _translate_rules(draft, rules)
    _translate_reserve(draft)
    window = _translate_window(draft)
    _translate_command(draft)  # before the thresholds: it looks at the hard one
    translate_thresholds(draft, window=window)
    _translate_soft_trim(draft)
    _translate_ranking(draft)
    translate_scope(draft)
    _translate_prompts(draft)
    _explain_the_rest(draft, repeated)
    return draft.finished()


def _translate_rules(draft: Draft, rules: Iterable[Rule]) -> None:
    for rule in rules:
        leaf = draft.take(rule.source)
        if leaf is not None:
            value, why = rule.convert(leaf.value)
            draft.put(leaf.source, rule.target, value, why)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# ── what takes several values to decide ─────────────────────────────────────────────────────


def _translate_reserve(draft: Draft) -> None:
    """OpenClaw reserves the larger of two settings; here there is one floor."""
    floor = draft.take((*_COMPACTION, "reserveTokensFloor"))
    wanted = draft.take((*_COMPACTION, "reserveTokens"))
    target = "context.reserve_tokens_floor"
    least = floor.value if floor and _is_number(floor.value) else KEYS[target].default
    is_larger = wanted is not None and _is_number(wanted.value) and wanted.value > least
    if wanted is not None and is_larger:
        why = "the larger of reserveTokens and reserveTokensFloor is what OpenClaw reserves"
        draft.put(wanted.source, target, count(wanted.value)[0], why)
    if floor is not None:
        draft.put(floor.source, target, *count(floor.value))
    if wanted is not None and not is_larger:
        draft.leave_out(wanted.source, f"the floor of {least} is larger and decides", target)


def _translate_window(draft: Draft) -> int | None:
    """The window of the primary model, where the document describes that model itself."""
    found = _primary_model(draft)
    if found is None:
        return None
    source, tokens = found
    why = "the window of the primary model"
    return tokens if draft.put(source, "context.window", tokens, why) else None


def _primary_model(draft: Draft) -> tuple[str, int] | None:
    name = draft.peek((*DEFAULTS, "model", "primary")) or draft.peek((*DEFAULTS, "model"))
    provider, _, model = name.partition("/") if isinstance(name, str) else ("", "", "")
    where = ("models", "providers", provider, "models")
    listed = draft.peek(where)
    for position, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, dict) and entry.get("id") == model:
            tokens = entry.get("contextWindow")
            if isinstance(tokens, int) and not isinstance(tokens, bool):
                return f"{'.'.join(where)}[{position}].contextWindow", tokens
    return None


def _translate_command(draft: Draft) -> None:
    leaf = draft.take((*_FLUSH, "hardThresholdCommand"))
    if leaf is None:
        return
    target = "flush.hard_threshold_command"
    if not isinstance(leaf.value, str):
        draft.leave_out(leaf.source, "not a command line", target)
        return
    if not draft.peek((*_FLUSH, "hardThresholdTokens")):
        draft.to_do(
            leaf.source,
            "OpenClaw never ran it, for hardThresholdTokens is not set; set it by hand if it "
            "shall run",
            target,
        )
        return
    try:
        words = argv_of(leaf.value)
    except ValueError as error:
        draft.to_do(
            leaf.source,
            f"the line {error}, and no shell reads it here; put it into an executable script and "
            f'set {target} = ["/path/to/the/script"]',
            target,
        )
        return
    why = "program and arguments apart: it is started without a shell, once per cycle"
    draft.put(leaf.source, target, words, why)


def _translate_soft_trim(draft: Draft) -> None:
    """Head and tail must fit into what is trimmed; OpenClaw does not trim otherwise."""
    limit = draft.take((*_SOFT_TRIM, "maxChars"))
    ends = (("headChars", "prune.head"), ("tailChars", "prune.tail"))
    taken = [(draft.take((*_SOFT_TRIM, name)), target) for name, target in ends]
    for leaf, target in taken:
        if leaf is not None:
            draft.put(leaf.source, target, *count(leaf.value))
    kept = sum(_set_or_default(draft, target) for _, target in ends)
    target = "prune.soft_trim_chars"
    wanted: Json = None
    why = ""
    if limit is not None:
        wanted, why = count(limit.value)
    in_force: float = wanted if _is_number(wanted) else KEYS[target].default
    cause = limit or next((leaf for leaf, _ in taken if leaf is not None), None)
    if cause is not None and kept > in_force:
        why = "OpenClaw leaves alone what is not longer than head and tail together"
        draft.put(cause.source, target, kept, why)
    elif limit is not None:
        draft.put(limit.source, target, wanted, why)


def _set_or_default(draft: Draft, target: str) -> int:
    value = draft.value_of(target)
    return int(KEYS[target].default if value is None else value)


def _translate_ranking(draft: Draft) -> None:
    weights = [
        (leaf, target)
        for name, target in (("vectorWeight", "vector_weight"), ("textWeight", "text_weight"))
        if (leaf := draft.take((*_HYBRID, name))) is not None
    ]
    are_all_zero = len(weights) == 2 and all(leaf.value == 0 for leaf, _ in weights)
    for leaf, target in weights:
        if are_all_zero:
            draft.leave_out(leaf.source, "without any weight nothing can be ranked")
        else:
            draft.put(leaf.source, f"search.{target}", leaf.value)
    _translate_switched(draft, "mmr", "lambda", "search.mmr", on=0.7, off=1)
    _translate_switched(
        draft, "temporalDecay", "halfLifeDays", "search.half_life_days", on=30, off=0
    )


def _translate_switched(
    draft: Draft, table: str, name: str, target: str, *, on: float, off: float
) -> None:
    """A switch and an amount there, one number here: ``off`` is what means "not at all"."""
    switch, amount = draft.take((*_HYBRID, table, "enabled")), draft.take((*_HYBRID, table, name))
    if switch is not None and switch.value is True:
        chosen = on if amount is None else amount.value
        source = switch.source if amount is None else amount.source
        draft.put(source, target, chosen, "switched on there" if amount is None else "")
        if amount is not None:
            draft.leave_out(switch.source, f"{target} being set is the switch", target)
        return
    if switch is not None:
        draft.put(switch.source, target, off, f"{off} means not at all")
    if amount is not None:
        draft.leave_out(amount.source, "not switched on in OpenClaw", target)


# ── prompts ─────────────────────────────────────────────────────────────────────────────────


def _translate_prompts(draft: Draft) -> None:
    cut: list[tuple[Leaf, Untangled]] = []
    for name, target in (("prompt", "flush.prompt"), ("systemPrompt", "flush.system_prompt")):
        leaf = draft.take((*_FLUSH, name))
        if leaf is None:
            continue
        untangled = untangle(leaf.value) if isinstance(leaf.value, str) else None
        if untangled is None or not untangled.removed:
            draft.put(leaf.source, target, leaf.value)
            continue
        cut.append((leaf, untangled))
        removed = " … ".join(" ".join(part.split()) for part in untangled.removed)
        if untangled.text is None:
            why = (
                "asks to send a message, and too little else to keep; the built-in one stays "
                f"({removed})"
            )
            draft.leave_out(leaf.source, why, target)
        else:
            why = (
                "the instruction to send a message was taken out, for a flush turn has memory "
                f"tools only and the engine sends notices itself ({removed})"
            )
            draft.put(leaf.source, target, untangled.text, why)
    if cut:
        _translate_notices(draft, cut)


def _translate_notices(draft: Draft, cut: list[tuple[Leaf, Untangled]]) -> None:
    source = cut[0][0].source
    chats = list(dict.fromkeys(chat for _, found in cut for chat in found.chat_ids))
    channels = {channel for _, found in cut for channel in found.channels}
    if "telegram" in channels:
        _translate_telegram(draft, source, chats)
    for channel in sorted(channels - {"telegram"}):
        why = f"there are no notices by {channel}; notices.webhook can carry them there"
        draft.to_do(source, why, "notices.webhook.url")
    if not channels:
        why = "the user was to be told; choose a way: notices.telegram, webhook, desktop or log"
        draft.to_do(source, why)


def _translate_telegram(draft: Draft, source: str, chats: list[str]) -> None:
    target = "notices.telegram.chat_id"
    if not chats:
        draft.to_do(source, "the chat that receives notices was not named; set it", target)
    for chat in chats:
        why = "the engine sends the notice, in the language of the conversation"
        draft.put(source, target, chat, why)
    token = draft.leaves.get(_BOT_TOKEN)
    has_it = f" ({token.source} has it; secrets are not copied)" if token else ""
    named = KEYS["notices.telegram.token"]
    draft.to_do(
        source, f"set the bot's token in {named.environment} or as {named.name}{has_it}", named.name
    )


# ── the rest ────────────────────────────────────────────────────────────────────────────────


def _explain_the_rest(draft: Draft, repeated: list[Leaf]) -> None:
    for leaf in repeated:
        draft.leave_out(leaf.source, "given twice; the full name decides")
    groups: dict[tuple[Path, str], list[str]] = {}
    for where, leaf in draft.leaves.items():
        prefix, why = reason_for(where)
        inside = "".join(f".{part}" for part in where[len(prefix) :])
        groups.setdefault((prefix, why), []).append(leaf.source.removesuffix(inside))
    for (_, why), sources in groups.items():
        many = f" ({len(sources)} settings)" if len(sources) > 1 else ""
        draft.leave_out(sources[0], f"{why}{many}")
