"""Secrets with a form of their own: private keys, URLs with a password, headers, cards.

Promise: linear. Each search starts at something fixed (``-----BEGIN``, ``://``) and reads a
bounded number of bytes, or up to the next such start.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, NamedTuple

from holdfast.redact.found import Found, encoded
from holdfast.redact.values import (
    is_card_number,
    is_pass_phrase,
    is_password,
    is_placeholder,
    is_random,
    is_seed_phrase,
)

__all__ = ["digits_of", "find_blocks", "has_card_digits"]

LONGEST_KEY: Final = 64 << 10


def find_blocks(data: bytes, lower: bytes) -> Iterator[Found]:
    """Everything that is a secret by its form. ``lower`` is ``data.lower()``."""
    if b"-----begin" in lower or b"private-lines" in lower:
        yield from _private_keys(data)
    if b"://" in data:
        yield from _urls(data)
    for line in _LINES:
        for word in line.words:
            if word in lower:
                yield from _values_behind(word, line, data, lower)
    if has_card_digits(digits_of(data)):
        yield from _cards(data, lower)


# ── private keys ────────────────────────────────────────────────────────────────────────────

_KEY_START: Final = re.compile(
    rb"-----BEGIN ((?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY)(?: BLOCK)?-----(?!\s{0,8}-----)"
    rb"|Private-Lines: \d{1,3}"
)
_KEY_LINES: Final = re.compile(rb"(?:[\s\\nr\"',+>|]{0,8}[A-Za-z0-9+/=]{16,}){1,2000}+")
_KEY_BODY: Final = re.compile(rb"[A-Za-z0-9+/]{16}")


def _private_keys(data: bytes) -> Iterator[Found]:
    for start in _KEY_START.finditer(data):
        head = start.end()
        end = data.find(b"-----", head, head + LONGEST_KEY) if start[1] else -1
        is_closed = end >= 0 and data.startswith(b"-----END", end)
        if not is_closed:
            lines = _KEY_LINES.match(data, head, head + LONGEST_KEY)
            if lines is None:
                continue
            end = lines.end()
        elif _KEY_BODY.search(data, head, end) is None:
            continue  # only told about: -----BEGIN PRIVATE KEY-----…-----END PRIVATE KEY-----
        yield Found("private key", head, end)


# ── URLs ────────────────────────────────────────────────────────────────────────────────────

_URL: Final = re.compile(
    rb"://(?P<user>[^\s/?#@:\"'<>]{0,128}+):(?P<password>[^\s/\"'<>]{1,256})@(?=[^\s@])"
)
_URL_TOKEN: Final = re.compile(rb"://(?P<password>[A-Za-z0-9_.~-]{20,256})@(?=[A-Za-z0-9])")
_OTP: Final = re.compile(
    rb"otpauth://[^\s?]{1,200}\?[^\s]{0,200}?secret=(?P<password>[A-Za-z2-7=]{8,200})"
)


def _urls(data: bytes) -> Iterator[Found]:
    for match in _URL.finditer(data):
        password = match["password"].decode("utf-8", "replace")
        if len(password) >= 3 and not is_placeholder(password):
            yield Found("password", *match.span("password"))
    for match in _URL_TOKEN.finditer(data):
        if is_random(match["password"].decode()):
            yield Found("credential", *match.span("password"))
    if b"otpauth" in data:
        for match in _OTP.finditer(data):
            yield Found("one-time password secret", *match.span("password"))


# ── lines ───────────────────────────────────────────────────────────────────────────────────


def _is_credential(value: bytes) -> bool:
    return is_random(value.decode("utf-8", "replace"), least=12)


def _is_no_placeholder(value: bytes) -> bool:
    return not is_placeholder(value.decode("utf-8", "replace"))


def _is_basic(value: bytes) -> bool:
    """Base64 of ``user:password``: anything else behind ``Basic`` is a word."""
    try:
        decoded = b64decode(value.rstrip(b"=") + b"===")
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded and all(32 <= code < 127 for code in decoded)


def _is_base32(value: bytes) -> bool:
    bare = value.replace(b" ", b"")
    is_one_case = bare.isupper() or any(b"2" <= bytes([code]) <= b"7" for code in bare)
    return is_one_case and _is_no_placeholder(value) and len(set(bare)) >= 6


def _is_flag_value(value: bytes) -> bool:
    text = value.decode("utf-8", "replace")
    return is_password(text, quoted=False, sure=any(char.isdigit() for char in text))


def _is_phrase(value: bytes) -> bool:
    return is_pass_phrase(value.decode("utf-8", "replace"))


def _is_seed(value: bytes) -> bool:
    return is_seed_phrase(re.findall(r"[a-z]+", value.decode()))


class _Line(NamedTuple):
    """``words`` are where the search starts, ``rest`` what must follow; both in lower case."""

    kind: str
    words: frozenset[bytes]
    rest: bytes
    judge: Callable[[bytes], bool]


def _values_behind(word: bytes, line: _Line, data: bytes, lower: bytes) -> Iterator[Found]:
    for match in _compiled(word, line.rest).finditer(lower):
        start, end = match.span("value")
        if line.judge(data[start:end]):
            yield Found(line.kind, start, end)


@cache
def _compiled(word: bytes, rest: bytes) -> re.Pattern[bytes]:
    """One expression per word: a search for a fixed start is many times faster than for any."""
    return re.compile(re.escape(word) + rest)


_LINES: Final = (
    _Line(
        "bearer token",
        encoded("bearer"),
        rb"[ \t]{1,4}(?P<value>[a-z0-9._~+/=-]{12,4096}+)",
        _is_credential,
    ),
    _Line(
        "credential",
        encoded("basic"),
        rb"[ \t]{1,4}(?P<value>[a-z0-9+/]{8,1024}+={0,2})",
        _is_basic,
    ),
    _Line(
        "credential",
        encoded("authorization"),
        rb"\\{0,3}[\"']{0,2}[ \t]{0,4}[:=][ \t]{0,4}\\{0,3}[\"']{0,2}"
        rb"(?:[a-z]{1,12}[ \t]{1,4})?(?P<value>[a-z0-9._~+/=:-]{12,4096}+)",
        _is_credential,
    ),
    _Line(
        "cookie",
        encoded("cookie"),
        rb"[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
        rb"(?P<value>(?:[^\s=;,\"']{1,64}+=[^\s;\"']{4,1024}+(?:;[ \t]?)?+){1,64}+)",
        _is_no_placeholder,
    ),
    _Line(
        "password",
        encoded("identified by|with password", between="|"),
        rb"[ \t]{1,4}'(?P<value>[^'\r\n]{4,200})'",
        _is_no_placeholder,
    ),
    _Line(
        "password",
        encoded("--"),
        rb"(?<!---)(?!-)(?:[a-z]{1,16}+-){0,3}(?:password|passwd|pass|pw|token|secret|api-?key|secret-key)"
        rb"[ \t]{1,3}(?P<value>(?![-$<\"'{%\[])[!-~]{4,400}+)",
        _is_flag_value,
    ),
    _Line(
        "password",
        encoded(" -u| --user| --proxy-user", between="|"),
        rb"[ =]{1,3}[\"']?[^\s:\"'/]{1,64}+:(?P<value>[^\s\"'/]{4,200}+)(?!/)",
        _is_flag_value,
    ),
    _Line(
        "password",
        encoded("sshpass -p|sshpass -p ", between="|"),
        rb"[\"']?(?P<value>[^\s\"']{4,200}+)",
        _is_no_placeholder,
    ),
    _Line(
        "password",
        encoded("mysql mariadb"),
        rb"[a-z]{0,12}+[ \t]{1,3}(?:[^\s|;&]{1,40}+[ \t]{1,3}){0,8}?-p"
        rb"(?=[a-z_.-]{0,40}+[^a-z_.\s-])(?![0-9]{1,5}+(?:\s|\Z))"  # -P3306 is a port
        rb"(?P<value>[^\s\"'$<-][!-~]{3,200}+)",
        _is_flag_value,
    ),
    _Line(
        "password",  # of a .pgpass: host:port:database:user:password
        encoded(":54 :64 :*"),
        rb"(?:[0-9]{2})?:[a-z0-9_.*-]{1,64}+:[a-z0-9_.*@-]{1,64}+:(?P<value>[^\s:]{4,200}+)",
        _is_flag_value,
    ),
    _Line(
        "pass phrase",
        encoded("passphrase|pass phrase|pass-phrase", between="|"),
        rb"(?: (?:for|of|to) [^\n\r:=.]{1,40}?)?(?:[*_\"']{0,3}[ \t]{0,3}[:=][*_ \t]{0,3}"
        rb"|[ \t](?:is|was)[ \t]{1,3}(?:now |still |simply )?:?[ \t]{0,2})[\"'`]?"
        rb"(?P<value>(?:[a-z]{3,12}+[ -]){3,7}+[a-z]{3,12}+)"
        rb"(?=[\"'`]?(?:[.,;!?)\r\n]|\xe3\x80\x82|\Z))",
        _is_phrase,
    ),
    _Line(
        "password",
        encoded("login"),
        rb"[ \t\n]{1,8}\S{1,128}+[ \t\n]{1,8}password[ \t\n]{1,8}(?P<value>\S{3,200})",
        _is_no_placeholder,
    ),
    _Line(
        "one-time password secret",
        encoded("totp 2fa mfa otp authenticator"),
        rb"[ _-]?(?:secret|key|seed)?[^\n\r=:]{0,12}[:= ]{1,4}[\"']?"
        rb"(?P<value>[a-z2-7]{16,64}+=*)(?![a-z0-9])",
        _is_base32,
    ),
    _Line(
        "pin",
        encoded("pin"),
        "(?<![a-z]pin)(?: code| number|码|碼)?[ \\t]{0,2}(?:is|:|=|：|是)[ \\t]{0,2}"
        "(?P<value>[0-9]{4,8})(?![0-9a-z.])".encode(),
        _is_no_placeholder,
    ),
    _Line(
        "seed phrase",
        encoded(
            "seed|mnemonic|recovery phrase|backup phrase|secret phrase|助记词|助記詞|恢复短语",
            between="|",
        ),
        "[^\\n\\r]{0,40}?(?:[:=\\n\\r ]|：|是|为){1,8}[\"'`]{0,2}"
        "(?P<value>(?:[a-z]{3,8}[ ,\\t]{1,3}){11,23}[a-z]{3,8}"
        "|(?:(?:[0-9]{1,2}[.)][ \\t]?)?[a-z]{3,8}[ ,\\t]{0,2}[ \\r\\n]{1,2}){11,23}"
        "(?:[0-9]{1,2}[.)][ \\t]?)?[a-z]{3,8})"
        "(?![a-z])".encode(),
        _is_seed,
    ),
)

# ── cards ───────────────────────────────────────────────────────────────────────────────────

_DIGITS: Final = bytes(
    ord("d") if 48 <= code < 58 else ord(" ") if code in b" -" else 0 for code in range(256)
)
_CARD: Final = re.compile(
    rb"[2-6](?<![0-9A-Za-z.,_-][2-6])(?:[0-9]{3}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?"
    rb"|[0-9]{3}([ -])[0-9]{6}\2[0-9]{5}|[0-9]{13,18})(?![0-9A-Za-z_]|[.,-][0-9])"
)
_CARD_WORD: Final = re.compile("card|visa|amex|卡".encode())


def digits_of(data: bytes) -> bytes:
    """``d`` for each digit: numbers of any length are found at once in it."""
    return data.translate(_DIGITS)


def has_card_digits(digits: bytes) -> bool:
    """Whether a number has the length of a card's, in groups or not."""
    return b"dddd dddd dddd" in digits or b"dddd dddddd ddddd" in digits or b"d" * 14 in digits


def _cards(data: bytes, lower: bytes) -> Iterator[Found]:
    """Card numbers in groups; a bare number only where a card is spoken of: ids look like it."""
    for match in _CARD.finditer(data):
        start, end = match.span()
        digits = match[0].translate(None, b" -").decode()
        if len(digits) == end - start and not _CARD_WORD.search(lower, max(0, start - 48), start):
            continue
        if is_card_number(digits):
            yield Found("card number", start, end)
