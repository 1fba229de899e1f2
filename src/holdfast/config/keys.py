"""Every setting there is: one class per section, and the class *is* the table.

A field says all there is to know about its key: type, default, what is allowed, one sentence
of documentation, whether it is secret. Loading, error messages, ``holdfast config`` and the
reference page (``docs/configuration.md``) are derived from it and from nothing else, so a new
key is one new field here. Promise: the defaults of the design, and every default is a value
its own kind accepts (``tests/foundation/test_config_keys.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, Literal

from holdfast.config.sections import Key, Section, Source, key, keys_of, tables_of, unknown_key
from holdfast.config.values import (
    Action,
    Below,
    ScopeMatch,
    ScopeRule,
    Threshold,
    argv,
    boolean,
    chat_id,
    choice,
    duration,
    hosts,
    number,
    optional,
    scope_rules,
    strings,
    text,
    threshold,
    url,
    whole,
    zone,
)

__all__ = [
    "IN_EFFECT",
    "KEYS",
    "TABLES",
    "Compaction",
    "Context",
    "Cost",
    "Flush",
    "Forget",
    "Index",
    "Memory",
    "Model",
    "Notices",
    "Prune",
    "Recall",
    "Restore",
    "Scope",
    "Search",
    "Settings",
    "Transcripts",
]


class Model(Section):
    """Which model answers in ``holdfast chat`` and ``session.run``, and how long it may take."""

    name: str | None = key(
        None,
        optional(text),
        "The model that answers, such as anthropic:claude-sonnet-5, ollama:qwen3 or "
        "embedded:qwen2.5-coder-1.5b; none: no model; unset: the first that is there of a key in "
        "the environment, a server on this machine, an embedded model.",
    )
    base_url: str | None = key(
        None,
        optional(url),
        "Where an OpenAI-compatible server answers; unset: the usual places of Ollama, llama.cpp "
        "and LM Studio on this machine.",
    )
    api_key: str | None = key(
        None,
        optional(text),
        "The key that the server at base_url asks for; unset: it gets none. Hosted models take "
        "theirs from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY …).",
        secret=True,
    )
    look_for_servers: bool = key(
        True, boolean, "Ask on this machine whether such a server is there, if no model is named."
    )
    timeout_seconds: float = key(
        60.0,
        number(1, 3600),
        "How long a hosted model or a server may be silent, before its first word and between "
        "words.",
    )
    retries: int = key(
        2,
        whole(),
        "How often a call is made again that was refused for a moment or never arrived; never "
        "after the first word.",
    )
    threads: int | None = key(
        None, optional(whole(1)), "Threads of the embedded model; unset: one for each core."
    )


class Context(Section):
    """How much the model can read, and how much of that is used."""

    window: int | None = key(
        None,
        optional(whole(2000)),
        "The model's context window in tokens; unset: the model table, lowered by an overflow "
        "once observed, 200 000 for an unknown model.",
    )
    context_tokens: int | None = key(
        None,
        optional(whole(1)),
        "Tokens in use from which pruning may start; unset: 60 % of the window.",
    )
    reserve_tokens_floor: int = key(
        20_000,
        whole(),
        "The least room kept free for the answer and for compaction itself, in tokens; never "
        "more than a quarter of the window.",
    )
    ingest_cap_chars: int = key(
        65_536,
        whole(1000),
        "A tool result longer than this is stored as an artifact when it arrives and shown as "
        "head, tail and id.",
    )


class PruneTools(Section):
    """Which tools' results pruning may shorten."""

    allow: tuple[str, ...] = key(
        (), strings, "Only results of these tools (patterns such as web_*); empty: of every tool."
    )
    deny: tuple[str, ...] = key(
        (), strings, "Never results of these tools (patterns such as read*); deny wins over allow."
    )


PruneMode = Literal["cache-ttl", "always", "off"]


class Prune(Section):
    """Stale tool results are shown shortened; the transcript keeps them whole."""

    mode: PruneMode = key(
        "cache-ttl",
        choice(PruneMode),
        "Prune when the provider's prompt cache has expired or pruning pays for its loss, "
        "whenever it is due, or never.",
    )
    ttl: timedelta = key(
        timedelta(minutes=5), duration, "How long the provider keeps a prompt cache that is idle."
    )
    keep_last_assistants: int = key(
        3, whole(), "Tool results after this many last assistant messages are left alone."
    )
    soft_trim_chars: int = key(
        4000, whole(200), "Results longer than this are shown as head and tail."
    )
    head: int = key(1500, whole(), "Characters kept from the start of a trimmed result.")
    tail: int = key(1500, whole(), "Characters kept from the end of a trimmed result.")
    min_clear_chars: int = key(
        50_000,
        whole(),
        "Old results are replaced by a placeholder only if this many characters can be cleared "
        "at once.",
    )
    tools: PruneTools = PruneTools()


FlushMode = Literal["auto", "agent", "extract", "rules"]
HardWhen = Literal["unflushed", "always"]


class Flush(Section):
    """What is about to be lost is written to memory first."""

    enabled: bool = key(
        True,
        boolean,
        "Let a model write memories ahead of a loss; off: what must be dropped is still saved, "
        "by rules.",
    )
    mode: FlushMode = key(
        "auto",
        choice(FlushMode),
        "Who writes: the agent in a silent turn, a model that extracts, rules without a model, "
        "or the best that is available.",
    )
    soft_threshold_tokens: Threshold = key(
        Below(tokens=4000), threshold, "Where the flush is due, seen from the compaction mark."
    )
    hard_threshold_tokens: Threshold = key(
        Below(tokens=1000),
        threshold,
        "Where memory is saved without a model if the cycle has not been flushed by then.",
    )
    hard_threshold_command: tuple[str, ...] = key(
        (),
        argv,
        "A command to run at the hard threshold, once per cycle; empty: none.",
        file_only="it starts a program, and neither a caller nor an inherited environment may "
        "decide which",
    )
    hard_when: HardWhen = key(
        "unflushed",
        choice(HardWhen),
        "Run the command only when the cycle has not been flushed, or at every hard threshold.",
    )
    prompt: str | None = key(
        None,
        optional(text),
        "The instruction of the flush turn; unset: the built-in one. A hint for the silent reply "
        "is added when it is missing.",
    )
    system_prompt: str | None = key(
        None, optional(text), "The system text of the flush turn; unset: the built-in one."
    )
    model: str | None = key(
        None, optional(text), "The model that writes memories; unset: the conversation's own."
    )
    inline_seconds: float = key(
        15.0, number(0, 600), "How long a turn waits for a flush when it must drop something."
    )
    total_seconds: float = key(
        60.0, number(1, 3600), "How long one flush may take in all, in the background."
    )
    attempts: int = key(3, whole(1, 20), "How often a flush is tried before rules take over.")
    max_lines: int = key(
        40, whole(1, 1000), "The most memory lines a flush may write for every 100 messages."
    )
    share: float = key(
        0.25,
        number(0, 1),
        "How much of what was said rules may write, by length: 0.25 is a quarter.",
    )


Strategy = Literal["layered", "summary", "selective"]


class Compaction(Section):
    """Old messages leave the view and a shorter account takes their place."""

    strategy: Strategy = key(
        "layered",
        choice(Strategy),
        "Recent verbatim and older in ever shorter layers, one model summary, or the important "
        "messages only.",
    )
    max_messages: int = key(500, whole(), "Compact above this many messages; 0: no limit.")
    max_interval_seconds: int = key(
        3600,
        whole(),
        "Compact when the last time is longer ago than this and the prompt cache is cold; "
        "0: never by time.",
    )
    inline_seconds: float = key(
        30.0, number(0, 600), "How long a turn waits for a compaction by a model."
    )
    pins: tuple[str, ...] = key(
        (), strings, "Texts that every compaction repeats word for word outside the summary."
    )
    model: str | None = key(
        None, optional(text), "The model that writes summaries; unset: the conversation's own."
    )


Citations = Literal["auto", "on", "off"]


class Search(Section):
    """How memories are found, ranked and shown."""

    embedder: str = key(
        "auto",
        text,
        "What finds by meaning: auto (what is installed), none, minilm, universal, "
        "onnx:FOLDER, ollama:MODEL, openai:MODEL or voyage:MODEL.",
    )

    max_results: int = key(6, whole(1, 200), "The most passages one search returns.")
    max_snippet_chars: int = key(700, whole(20), "The longest passage shown, in characters.")
    max_injected_chars: int = key(
        20_000, whole(), "The most characters of search results put into one request."
    )
    timeout_ms: int = key(
        4000, whole(1), "A search answers within this time with what it has, in milliseconds."
    )
    vector_weight: float | None = key(
        None,
        optional(number(0)),
        "Weight of meaning when results are fused; unset: the engine's measured balance.",
    )
    text_weight: float | None = key(
        None,
        optional(number(0)),
        "Weight of words when results are fused; unset: the engine's measured balance.",
    )
    half_life_days: float | None = key(
        None,
        optional(number(0)),
        "Age at which a dated passage counts half, in days; 0: age does not count; unset: the "
        "engine's measured value.",
    )
    mmr: float | None = key(
        None,
        optional(number(0, 1)),
        "Relevance against variety: 1 is relevance alone; unset: the engine's measured value.",
    )
    rerank: bool | None = key(
        None, optional(boolean), "Rerank the best candidates; unset: where it is known to gain."
    )
    expand: bool | None = key(
        None,
        optional(boolean),
        "Expand the query with aliases and related words; unset: where it is known to gain.",
    )
    citations: Citations = key(
        "auto",
        choice(Citations),
        "Name the source of each passage: in direct chats only, always, or never.",
    )


class Index(Section):
    """What is made searchable, and when."""

    sessions: bool = key(True, boolean, "Make earlier conversations searchable.")
    retention_days: int = key(
        30,
        whole(),
        "Days after its last activity for which a conversation stays searchable; 0: for ever.",
    )
    include_default_memory: bool = key(
        True, boolean, "Index MEMORY.md and the memory folder of the workspace."
    )
    extra_paths: tuple[str, ...] = key(
        (),
        strings,
        "Further Markdown files and folders to index; what is not absolute is below the home.",
    )
    update_interval: timedelta = key(
        timedelta(minutes=5),
        duration,
        "How often files edited by others are looked for besides watching them; 0: never.",
    )
    debounce_ms: int = key(
        15_000,
        whole(),
        "Rest after a change by others before it is indexed, in milliseconds; our own writes "
        "are indexed at once.",
    )
    embedding_cache: bool = key(
        True, boolean, "Keep embeddings by content, so no text is embedded twice."
    )


class Scope(Section):
    """Who may read what is remembered."""

    default: Action = key("deny", choice(Action), "What happens when no rule matches.")
    rules: tuple[ScopeRule, ...] = key(
        (ScopeRule(action="allow", match=ScopeMatch(chat_type="direct")),),
        scope_rules,
        "Rules by tenant, agent, user, chat and chat_type, tried in order.",
    )


class Restore(Section):
    """What a new session starts with."""

    max_tokens: int | None = key(
        None,
        optional(whole()),
        "The most tokens restored at the start of a session; unset: 10 % of the window, at most "
        "8 000, and 1 000 for the embedded model.",
    )


RecallMode = Literal["auto", "tool", "off"]


class Recall(Section):
    """What is brought back before a user message is answered."""

    mode: RecallMode = key(
        "auto",
        choice(RecallMode),
        "Search before each user message, only when the model asks with its tool, or never.",
    )
    max_tokens: int = key(800, whole(), "The most tokens attached to one user message.")
    timeout_ms: int = key(150, whole(1), "The longest a recall may take, in milliseconds.")


MemoryMode = Literal["read-write", "read", "off"]
Language = Literal["auto", "en", "zh"]


class Memory(Section):
    """The memory files themselves."""

    mode: MemoryMode = key(
        "read-write",
        choice(MemoryMode),
        "Read and write memory, read it only, or leave it alone.",
    )
    time_zone: str = key(
        "UTC",
        zone,
        "The user's time zone, which decides the day of a daily file; unset: this system's zone, "
        "UTC when that is unknown.",
        default_words="this system's zone",
    )
    language: Language = key(
        "auto",
        choice(Language),
        "Language of notices and of text the engine writes; auto: that of the conversation.",
    )
    git: bool = key(False, boolean, "Commit every change of the memory files to a Git repository.")


class Transcripts(Section):
    """The record of what was said."""

    redact: Literal["off", "at_close"] = key(
        "off",
        choice(Literal["off", "at_close"]),
        "Keep credentials in transcripts as they were said, or black them out when the session "
        "closes.",
    )


class Forget(Section):
    """What `holdfast forget --stale` moves to the archive; unset: nothing."""

    after_days: int | None = key(
        None, optional(whole(1)), "Archive memories older than this many days; unset: never by age."
    )
    below_importance: float | None = key(
        None,
        optional(number(0, 1)),
        "Archive memories less important than this; unset: never by importance.",
    )
    max_bytes: int | None = key(
        None,
        optional(whole(1)),
        "Archive the least important memories above this size of all files; unset: no limit.",
    )


class TelegramNotices(Section):
    """Notices through a Telegram bot; on when both keys are set."""

    chat_id: str | None = key(
        None, optional(chat_id), "The chat that receives notices; unset: off."
    )
    token: str | None = key(None, optional(text), "The bot's token; unset: off.", secret=True)


class WebhookNotices(Section):
    """Notices as a signed POST; on when the address is set."""

    url: str | None = key(
        None, optional(url), "The address that receives notices; unset: off.", secret=True
    )
    secret: str | None = key(
        None,
        optional(text),
        "The key that signs each request; unset: nothing is sent, because a receiver could not "
        "tell a notice from a forgery.",
        secret=True,
    )


class DesktopNotices(Section):
    """Notices on this computer's desktop."""

    enabled: bool = key(False, boolean, "Show notices on the desktop.")


class LogNotices(Section):
    """Notices as log lines."""

    enabled: bool = key(True, boolean, "Write notices to the log.")


class Notices(Section):
    """How the user hears that the conversation is nearly full."""

    allow_hosts: tuple[str, ...] = key(
        (),
        hosts,
        "Hosts, with or without a port, that notices may reach although they are private, "
        "unencrypted (http) or on another port than 443; empty: none.",
        file_only="it opens private addresses to requests, and neither a caller nor an inherited "
        "environment may decide which",
    )
    telegram: TelegramNotices = TelegramNotices()
    webhook: WebhookNotices = WebhookNotices()
    desktop: DesktopNotices = DesktopNotices()
    log: LogNotices = LogNotices()


class Cost(Section):
    """What the engine may spend by itself."""

    daily_limit: float | None = key(
        None,
        optional(number(0)),
        "US dollars a day for flushes, summaries and embeddings, after which local ways are "
        "used; unset: no limit.",
    )


class Settings(Section):
    """Every setting, and where each value came from.

    ``Settings()`` is the defaults; ``load_settings`` reads file, environment and arguments.
    """

    context: Context = Context()
    prune: Prune = Prune()
    flush: Flush = Flush()
    compaction: Compaction = Compaction()
    search: Search = Search()
    index: Index = Index()
    scope: Scope = Scope()
    restore: Restore = Restore()
    recall: Recall = Recall()
    memory: Memory = Memory()
    transcripts: Transcripts = Transcripts()
    forget: Forget = Forget()
    notices: Notices = Notices()
    cost: Cost = Cost()
    model: Model = Model()
    sources: Mapping[str, Source] = {}

    def source(self, name: str) -> Source:
        """Where the value of a key such as ``flush.enabled`` came from."""
        if name not in KEYS:
            raise unknown_key(name, KEYS)
        return self.sources.get(name, Source(kind="default"))

    def value(self, name: str) -> object:
        """The value of a key given by its dotted name, for code that handles all keys alike."""
        if name not in KEYS:
            raise unknown_key(name, KEYS)
        found: object = self
        for part in name.split("."):
            found = getattr(found, part)
        return found


KEYS: Final[Mapping[str, Key]] = keys_of(Settings)
"""Every key by its dotted name, in the order of the reference page."""

IN_EFFECT: Final = frozenset(KEYS) - {"search.rerank"}
"""The keys that steer something today. The others are read, checked and kept for parts that are
still to come; ``config explain`` and ``doctor`` say so. Whoever builds the part adds its keys."""

TABLES: Final[Mapping[str, type[Section]]] = tables_of(Settings)
"""Every section and sub-section by its dotted name."""
