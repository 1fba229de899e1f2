"""Taking "send the user a message" out of a flush prompt, in English and Chinese.

In OpenClaw the flush prompt is the only place to warn the user, so people ask the model to do
two things: write memories, and send a message. Here the engine sends notices and a flush turn
has memory tools only, so the second half must go. Promise: a prompt that asks for no message is
returned byte for byte; after a cut no sending instruction remains and lists are numbered from 1
again, or ``text`` is None and nothing was guessed
(``tests/foundation/test_config_openclaw_prompts.py``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from holdfast.config.openclaw.counts import adjust_counts

__all__ = ["Untangled", "untangle"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Untangled:
    """A prompt without its sending instructions, and what those said.

    ``text`` is None when nothing worth keeping is left, or when saving and sending could not be
    told apart. ``removed`` is empty for a prompt that asks for no message.
    """

    text: str | None
    removed: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    chat_ids: tuple[str, ...] = ()


def untangle(prompt: str) -> Untangled:
    """Split a flush prompt into what the model still has to do and what the engine does now."""
    pieces = _pieces(prompt)
    kept = [_without_sending(piece) for piece in pieces]
    removed = tuple(
        piece.body.strip() for piece, rest in zip(pieces, kept, strict=True) if rest != piece
    )
    if not removed:
        return Untangled(text=prompt)
    sending = "\n".join(removed)
    text = _rebuilt(pieces, kept)
    return Untangled(
        text=None if _asks_to_send(text) or not _SAVES.search(text) else text,
        removed=removed,
        channels=_channels(sending),
        chat_ids=tuple(dict.fromkeys(_CHAT_ID.findall(sending))),
    )


# ── what sending and saving sound like ──────────────────────────────────────────────────────

_CHANNEL_NAMES = {
    r"telegram|电报": "telegram",
    r"whatsapp": "whatsapp",
    r"discord": "discord",
    r"slack": "slack",
    r"\bsignal\b": "signal",
    r"imessage": "imessage",
    r"wechat|微信": "wechat",
    r"\bsms\b|短信": "sms",
    r"\be-?mail|邮件": "email",
    r"feishu|lark|飞书": "feishu",
    r"dingtalk|钉钉": "dingtalk",
}
_ANY_CHANNEL = "|".join(_CHANNEL_NAMES)
_SENDS = re.compile(
    rf"\b(?:send|post|deliver|push)\b[^.\n]{{0,80}}?"
    rf"(?:message|notification|notice|alert|reminder|warning|{_ANY_CHANNEL})"
    r"|\b(?:notify|alert|ping|inform|warn|remind|tell|message|dm|text)\s+"
    r"(?:the\s+|your\s+|my\s+)?(?:user|owner|human|operator|me|him|her|them)\b"
    r"|\bmessage\s+tool\b|消息工具|message\s*工具"
    rf"|(?:发送|发出|发个|发条|发一条|推送|发)[^。\n]{{0,30}}?(?:消息|通知|提醒|警告|{_ANY_CHANNEL})"
    r"|(?:通知|提醒|告知|告诉|警告)(?:一下)?(?:用户|主人|我|他|她)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:do\s+not|don['’]?t|never|without|avoid|no\s+need\s+to|must\s+not)\b[^.,;\n]*$"
    r"|(?:不要|不必|不用|无需|切勿|请勿|禁止|别|勿)[^。，；\n]*$",
    re.IGNORECASE,
)
_SAVES = re.compile(
    r"\b(?:writ|sav|stor|record|persist|captur|append|updat|summari|remember|checkpoint|memor|"
    r"not(?:e|es|ing)\b|log\b|list\b|keep)"
    r"|写|保存|存入|储存|记录|记下|记住|总结|摘要|更新|归纳|整理|记忆|备份",
    re.IGNORECASE,
)
# "to 20000 characters" is no chat: the vague words need the length of a real id.
_CHAT_ID = re.compile(
    r"(?:(?:target|chat[\s_-]?id|recipient|目标|接收者|收件人)\s*(?:is|为|是)?\s*[:=：]?\s*"
    r"[`'\"“]?(?:telegram:)?(?=-?\d{5}|@)"
    r"|(?:\bto\b|\buser\b|发送给|发给|发到|给)\s*[:=：]?\s*[`'\"“]?(?:telegram:)?(?=-?\d{7}|@))"
    r"(-?\d+|@[A-Za-z]\w{3,})",
    re.IGNORECASE,
)


def _asks_to_send(text: str) -> bool:
    """Whether a sending instruction stands in the text that is not a prohibition."""
    return any(not _NEGATED.search(text[: found.start()]) for found in _SENDS.finditer(text))


def _channels(text: str) -> tuple[str, ...]:
    return tuple(
        name for pattern, name in _CHANNEL_NAMES.items() if re.search(pattern, text, re.IGNORECASE)
    )


# ── pieces: list items and sentences ────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class _Piece:
    """A list item or a sentence; ``lead + body + gap`` of all pieces is the prompt again."""

    body: str
    lead: str = ""
    gap: str = ""
    number: int | None = None
    is_item: bool = False


_ITEM = re.compile(r"([ \t]*(?:(\d{1,2})[.)、．]|[（(](\d{1,2})[)）]|[-*•])[ \t]*)(?=\S)")
_INLINE = re.compile(r"(?:^|(?<=[\s:：。；;，,]))(?:[（(](\d)[)）]|(\d)[.)、．](?!\d))[ \t]*")
_PROTECTED = re.compile(
    r"“[^”]*”|‘[^’]*’|「[^」]*」|『[^』]*』|\"[^\"\n]*\"|`[^`\n]*`"
    r"|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w))*'(?!\w)|\([^()]*\)|（[^（）]*）"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+")


def _masked(text: str) -> str:
    """The text with quotations and parentheses blanked, so that no cut falls into them."""

    def blank(found: re.Match[str]) -> str:
        ends_sentence = found[0][-2:-1] in tuple(".!?。！？")
        return "\0" * (len(found[0]) - 1) + ("." if ends_sentence else "\0")

    return _PROTECTED.sub(blank, text)


def _pieces(prompt: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    for line in prompt.splitlines(keepends=True):
        body = line.rstrip()
        gap = line[len(body) :]
        item = _ITEM.match(body)
        if pieces and pieces[-1].is_item and _indent(body) > _indent(pieces[-1].lead):
            last = pieces[-1]  # a further line of the item, or an item below it
            pieces[-1] = replace(last, body=f"{last.body}{last.gap}{body}", gap=gap)
        elif item:
            number = item[2] or item[3]
            piece = _Piece(
                lead=item[1],
                body=body[item.end() :],
                gap=gap,
                number=int(number) if number else None,
                is_item=True,
            )
            pieces.append(piece)
        else:
            pieces.extend(_inline_pieces(body, gap))
    return pieces


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else 0


def _inline_pieces(line: str, gap: str) -> list[_Piece]:
    """The pieces of one line, which may hold a list: "do two things: 1. … 2. …"."""
    marks = list(_INLINE.finditer(line))
    numbers = [int(mark[1] or mark[2]) for mark in marks]
    if len(marks) < 2 or numbers != list(range(1, len(marks) + 1)):
        return _sentences(line, gap)
    pieces = _sentences(line[: marks[0].start()], "")
    ends = [mark.start() for mark in marks[1:]] + [len(line)]
    for number, (mark, end) in enumerate(zip(marks, ends, strict=True), start=1):
        body = line[mark.end() : end]
        rest = _sentences(body, "") if end == len(line) else [_Piece(body=body)]
        first = replace(rest[0], lead=mark[0], number=number, is_item=True)
        pieces += [first, *rest[1:]]
    pieces[-1] = replace(pieces[-1], gap=pieces[-1].gap + gap)
    return pieces


def _sentences(text: str, gap: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    start = 0
    for end in _SENTENCE_END.finditer(_masked(text)):
        if end.start() > start:
            pieces.append(_Piece(body=text[start : end.start()], gap=text[end.start() : end.end()]))
            start = end.end()
    if start < len(text) or not pieces:
        pieces.append(_Piece(body=text[start:]))
    pieces[-1] = replace(pieces[-1], gap=pieces[-1].gap + gap)
    return pieces


# ── cutting ─────────────────────────────────────────────────────────────────────────────────

_CLAUSE = re.compile(
    r"(?:\s*\n\s*(?:[-*•]\s+)?|,?\s+and\s+then\s+|,?\s+then\s+|,?\s+and\s+also\s+|,?\s+and\s+|,?\s+plus\s+|\s+&\s+|;\s+|,\s+"
    r"|[，；、]\s*(?:并且|并|然后|同时|再|还要|接着)?|并且|然后|同时|并(?=[^行]))",
    re.IGNORECASE,
)


def _without_sending(piece: _Piece) -> _Piece | None:
    """The piece as it was, with its sending clause cut, or None when nothing of it is left."""
    if not _asks_to_send(piece.body):
        return piece
    clauses = _clauses(piece.body)
    kept: list[str] = []
    has_sent = False
    for joint, clause in clauses:
        sends = _asks_to_send(clause)
        has_sent = has_sent or sends
        # What follows the request (", target 5, saying …") belongs to it unless it saves.
        if not sends and (not has_sent or _SAVES.search(clause)):
            kept.append((joint if kept else "") + clause)
    body = "".join(kept).rstrip(" ,，;；、")
    if not _SAVES.search(body):
        return None
    end = re.search(r"[.!?。！？]\s*$", piece.body)
    if end and not re.search(r"[.!?。！？]$", body):
        body += end[0].strip()
    return replace(piece, body=body)


def _clauses(body: str) -> list[tuple[str, str]]:
    """The clauses, each with the joint before it."""
    clauses: list[tuple[str, str]] = []
    start, joint = 0, ""
    for found in _CLAUSE.finditer(_masked(body)):
        clauses.append((joint, body[start : found.start()]))
        joint, start = body[found.start() : found.end()], found.end()
    return [*clauses, (joint, body[start:])]


def _rebuilt(pieces: list[_Piece], kept: list[_Piece | None]) -> str:
    """The text of what was kept: lists renumbered, words like "two things" corrected."""
    texts: list[str] = []
    for run in _runs(pieces, kept):
        left = [piece for piece in run if piece is not None]
        if len(left) < len(run):
            left = _renumbered(left)
        texts.extend(piece.lead + piece.body + piece.gap for piece in left)
    items_before = sum(piece.is_item for piece in pieces)
    items_after = sum(piece is not None and piece.is_item for piece in kept)
    text = "".join(texts)
    if items_after < items_before:
        text = adjust_counts(text, before=items_before, after=items_after)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _runs(pieces: list[_Piece], kept: list[_Piece | None]) -> list[list[_Piece | None]]:
    """What was kept in runs: a list is one run, every other piece one of its own."""
    runs: list[list[_Piece | None]] = []
    inside = False
    for before, after in zip(pieces, kept, strict=True):
        if inside and before.is_item:
            runs[-1].append(after)
        else:
            runs.append([after])
        inside = before.is_item
    return runs


def _renumbered(items: list[_Piece]) -> list[_Piece]:
    """A list that lost items: numbers from 1, none at all for a single one, a proper end."""
    if not items:
        return []
    if len(items) == 1 and items[0].number is not None:
        items = [replace(items[0], lead="", number=None)]
    items = [
        replace(item, lead=re.sub(r"\d+", str(position), item.lead))
        for position, item in enumerate(items, start=1)
    ]
    last = items[-1]
    closed = re.sub(
        r"[；;，,、]\s*$", lambda end: "。" if end[0][0] in "；，、" else ".", last.body
    )
    gap = last.gap or ("" if closed.endswith("。") else " ")
    return [*items[:-1], replace(last, body=closed, gap=gap)]
