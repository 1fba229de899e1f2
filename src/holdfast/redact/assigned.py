"""Secrets that only their place gives away: ``password = …``, ``"apiKey": "…"``, 密码是….

A password may be anything, so the place must be certain; behind ``token`` or ``secret`` the
value must look random. What a value is like is judged in ``values``.

Promise: linear. A place is found by one expression of bounded repetitions, and a value is
read to a bounded length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from holdfast.redact.found import Found, encoded
from holdfast.redact.values import is_password, is_placeholder, is_random

__all__ = ["find_assigned"]

# Every alternative starts with a plain character: so the search skips from one to the next.
# What must stand before the shorter ones is looked at when there is something behind them.
_NAME: Final = (
    "p(?:ass(?:w(?:or)?d|phrase|code|wort)?+|wd?+|hpsessid)"
    r"|s(?:ecret|essionid(?==)|ig(?:nature)?+(?==))|token|key|c(?:redential|onnect\.sid"
    r"|ookie(?=[\"'=]))|auth|jsessionid"
    "|密(?:码|碼|钥|鑰)|口令|通行码|秘钥|金鑰|令牌|權杖|私(?:钥|鑰)|授(?:权码|權碼)"
)
_STRONG: Final = encoded(
    "password passwd passphrase passcode passwort pwd pw pass 密码 密碼 口令 通行码"
)
_MUST_FOLLOW: Final = {
    b"pass": re.compile(rb"[_-]$"),
    b"pw": re.compile(rb"(?:^|[^a-z])$"),
    b"auth": re.compile(rb"[_\"']$"),
    b"sig": re.compile(rb"[?&]$"),
    b"signature": re.compile(rb"[?&-]$"),
    b"cookie": re.compile(rb"session[_-]?$"),
    b"key": re.compile(
        rb"(?:api|access|private|account|auth|signing|encryption|master|shared|storage|license|app"
        rb"|session|deploy|webhook|service|consumer|subscription|secret)[ _.-]?$"
    ),
}
# What may follow the word in a name. Anything else (``password_reset_url``, ``token_count``,
# ``secretary``) makes it the name of something that is no secret.
_SUFFIX: Final = (
    r"(?:s(?![a-z]))?(?:[ _.-]?(?:access[ _-]?key|key|value|val|string|base64|b64|base|prod"
    r"|production|dev|development|test|testing|staging|live|db|database|root|admin|user|main"
    r"|primary|secondary|new|old|current|default|confirmation|confirm|repeat|again)"
    r"(?![a-z])){0,3}[_-]?[0-9]{0,3}"
)
_OF: Final = r"(?:[ \t](?:for|of|on|at|to)[ \t][^\n\r:.=,;\"']{1,40}?)?"
_SIGN: Final = r"(?:=>|:=|={1,3}|:|：|＝|->|→|-(?=[ \t]))"
_TYPE: Final = r"(?:(?:&?str|string|text|secretstr|char ?\*)[ \t]{0,3}=[ \t]{0,3})?"
_SEPARATOR: Final = (
    r"(?:\\{0,3}[\"'`*_\])]{0,3}[ \t]{0,8}+(?P<sign>" + _SIGN + r")[*_ \t]{0,8}+" + _TYPE + "|"
    r"(?P<says>" + _OF + r"[ \t](?:is|was|=|to)[ \t]{1,3}(?:now |set to |still |just |simply )?"
    r"(?::[ \t]{0,3})?)|"
    r"(?P<zh>[ \t]?(?:已经)?(?:就是|还是|是|为|為|改成了?|改为|改為|设为|設為|设成|用的是)"
    r"[ \t]{0,3}(?::|：)?[ \t]{0,3})|"
    r"(?P<tag>>)|"
    r"(?P<cell>[*_`]{0,2}[ \t]{0,20}+\|[ \t]{0,20}+(?=[^|\s]{6}))|"
    r"(?P<bare>[ \t]{1,3}(?=[\"'`]|“|「))|"
    r"(?P<beside>[ \t]?(?=[A-Za-z0-9]))"
    ")"
)
_NO_VALUE: Final = (
    r"(?![ \t]{0,4}\\{0,3}[\"'`]?(?:none|null|nil|true|false|undefined|str|string|optional|required"
    r"|os\.|process\.|env|self\.|this\.|config|settings|getpass|input|request|args|params|\$[{(]|<|\{"
    r"|xxx|\*\*\*|your|\[secret|password\b|token\b|secret\b)"
    r"(?![a-z0-9]{3}))"
)
# A first word that speaks of secrets and has no digit is no value, whatever follows it. Said here
# too because texts made of nothing else would be judged at every word.
_WORD: Final = r"[!#-&(-/:-_a-~]"
_ABOUT: Final = (
    rf"(?!\\{{0,3}}[\"'`]?{_WORD}{{0,16}}?(?:pass(?:w|phrase|code)|secret|token|credential)"
    rf"{_WORD}{{0,24}}+(?:[\s\"'`]|\Z))"
)


@cache
def _places() -> re.Pattern[bytes]:
    """Atomic: where no value follows, no other way to read the name is tried."""
    place = f"(?P<name>{_NAME})(?>{_SUFFIX}{_SEPARATOR})"
    return re.compile(f"{place}{_NO_VALUE}{_ABOUT}(?=[^\\s,;]{{4}})".encode())


LONGEST_VALUE: Final = 400
_OPENING: Final = re.compile(rb"\\{0,3}([\"'`]|\xe2\x80\x9c|\xe3\x80\x8c)")
_INSIDE: Final = {
    b'"': re.compile(rb'[^"\r\n]{4,400}'),
    b"'": re.compile(rb"[^'\r\n]{4,400}"),
    b"`": re.compile(rb"[^`\r\n]{4,400}"),
}
_ASCII_INSIDE: Final = re.compile(rb"[ -~]{4,400}")  # in quotes of more than one byte
_PLAIN: Final = re.compile(rb"[!#$%*+./0-9:=?@A-Z^_a-z|~-]{4,400}")
_IN_CELL: Final = re.compile(rb"[!#$%&*+./0-9:=?@A-Z^_a-z~-]{4,400}")
_REST: Final = re.compile(rb"[!#$%*+./0-9:=?@A-Z^_a-z|~-]*+")
_TAG: Final = re.compile(rb"<[A-Za-z0-9_.:-]{0,40}$")
_NO_SECRET_BEFORE: Final = re.compile(
    rb"(?:page|next|prev|continuation|sync|cursor|cancel(?:lation)?|csrf|xsrf|eos|bos|pad|unk|sep"
    rb"|cls|mask|stop|special|public|max|min|num|sub|change|resume|primary|foreign)[_. -]?$"
)
_KINDS: Final = (
    (b"pass", "password"),
    (b"pw", "password"),
    (b"token", "token"),
    (b"key", "key"),
    (b"sess", "session cookie"),
    (b"sid", "session cookie"),
    (b"sig", "signature"),
    (b"auth", "credential"),
    (b"credential", "credential"),
    ("码".encode(), "password"),
    ("碼".encode(), "password"),
    ("口令".encode(), "password"),
    ("令牌".encode(), "token"),
    ("權杖".encode(), "token"),
    ("钥".encode(), "key"),
    ("鑰".encode(), "key"),
)


def find_assigned(data: bytes, lower: bytes) -> Iterator[Found]:
    """Every value behind the name of a secret. ``lower`` is ``data.lower()``."""
    done = 0
    for place in _places().finditer(lower):
        if place.start() < done or not _is_name(lower, place):
            continue
        if (value := _value(data, place)) is None:
            continue
        start, end, quoted = value
        if _is_secret(data, lower, place, start, end, quoted=quoted):
            if end - start >= LONGEST_VALUE and (rest := _REST.match(data, end)) is not None:
                end = rest.end()
            done = end
            yield Found(_kind(place), start, end)


def _is_name(lower: bytes, place: re.Match[bytes]) -> bool:
    before = _MUST_FOLLOW.get(place["name"])
    return (
        before is None
        or before.search(lower[max(0, place.start() - 16) : place.start()]) is not None
    )


def _kind(place: re.Match[bytes]) -> str:
    return next((kind for part, kind in _KINDS if part in place["name"]), "secret")


def _value(data: bytes, place: re.Match[bytes]) -> tuple[int, int, bool] | None:
    """Where the value starts and ends, and whether it stands in quotes."""
    at = place.end()
    if (opening := _OPENING.match(data, at)) is not None:
        inside = _INSIDE.get(opening[1], _ASCII_INSIDE).match(data, opening.end())
        if inside is None:
            return None
        length = len(inside[0].rstrip(b"\\"))  # of a quote that was escaped
        return inside.start(), inside.start() + length, True
    plain = (_PLAIN if place["cell"] is None else _IN_CELL).match(data, at)
    if plain is None or data[plain.end() : plain.end() + 1] in (b"(", b"[", b"{"):
        return None
    return plain.start(), plain.start() + len(plain[0].rstrip(b".,;:?")), False


def _is_secret(
    data: bytes, lower: bytes, place: re.Match[bytes], start: int, end: int, *, quoted: bool
) -> bool:
    value = data[start:end].decode("utf-8", "replace")
    if place["tag"] is not None and not _is_element(data, place, end):
        return False
    if place["cell"] is not None and not _is_cell(data, value, end):
        return False
    is_chinese = not place["name"].isascii()
    if place["beside"] is not None:
        return is_chinese and is_random(value, least=6)
    if place["name"] not in _STRONG:
        if place["bare"] is not None or not is_random(value, least=12 if place["sign"] else 16):
            return False
        before = lower[max(0, place.start() - 16) : place.start()]
        return _NO_SECRET_BEFORE.search(before) is None
    if place["cell"] is not None:
        return is_password(value, quoted=False, sure=False)
    if is_chinese and value.isdigit():
        return not is_placeholder(value)
    return is_password(value, quoted=quoted, sure=_is_sure(data, place, end, quoted=quoted))


def _is_element(data: bytes, place: re.Match[bytes], end: int) -> bool:
    """``<password>…</password>``"""
    before = data[max(0, place.start() - 48) : place.start()]
    return data[end : end + 2] == b"</" and _TAG.search(before) is not None


_CELL_ENDS: Final = re.compile(rb"[`\"']?[ \t]{0,200}+(?:\||[\r\n]|\Z)")
_LETTER: Final = re.compile(r"[A-Za-z]")
_LEAST_IN_CELL: Final = 6


def _is_cell(data: bytes, value: str, end: int) -> bool:
    """``| password | … |``: all of a cell. Tables about passwords hold figures and dates too."""
    return (
        len(value) >= _LEAST_IN_CELL
        and _LETTER.search(value) is not None
        and _CELL_ENDS.match(data, end) is not None
    )


def _is_sure(data: bytes, place: re.Match[bytes], end: int, *, quoted: bool) -> bool:
    """Whether even a plain word here is a password, and not a variable or a description."""
    if quoted:
        return place["bare"] is None
    if place["says"] is not None or place["zh"] is not None:
        return _is_told(data, place, end)
    if place["sign"] is None:
        return place["tag"] is not None
    after = data[end : end + 2]
    if after[:1] not in (b"", b"\n", b"\r", b"&", b"\\", b" ") or after == b" #":
        return False
    is_tight = data[place.end() - 1 : place.end()] == b"="
    return after[:1] != b" " and (is_tight or place["sign"] == b":")


# "my password is swordfish." tells one; "the password is required" and "… is wrong" do not.
_WHOSE: Final = re.compile(
    rb"(?i)\b(?:my|our|his|her|their|wi-?fi|admin|root|login|account|router|server|ssh|vpn|email)\b"
    rb"[^.\r\n]{0,32}$"
)
_ENDS: Final = re.compile(
    rb"[ \t]{0,8}(?:[\r\n]|$)|[.,;!?)]{1,2}(?:\s|$)|[ \t]?(?:"
    + "。|，|；|！|？|）".encode()
    + rb")"
)
_ADJECTIVES: Final = frozenset(
    encoded(
        "safe secure forgotten long short simple complicated different same fine good okay lost"
        " compromised leaked easy hard complex unique rejected accepted below above attached gone"
        " broken blocked locked visible private confidential ready working public known shared"
    )
)


def _is_told(data: bytes, place: re.Match[bytes], end: int) -> bool:
    """Whether a sentence about somebody's password ends with it."""
    about = data[max(0, place.start() - 32) : place.end()]
    return (
        (place["zh"] is not None or _WHOSE.search(about) is not None)
        and _ENDS.match(data, end) is not None
        and data[place.end() : end].lower() not in _ADJECTIVES
    )
