"""Whether a value is a secret, or only stands where one would: ``<your-key>``, ``None``, code.

Pure judgement over one value; bounded by its length. Proven over generated credentials and
over look-alikes by ``tests/foundation/test_redact.py``.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log2
from typing import Final

__all__ = [
    "is_card_number",
    "is_pass_phrase",
    "is_password",
    "is_placeholder",
    "is_random",
    "is_seed_phrase",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLACEHOLDER: Final = re.compile(
    r"""(?ix)
    [x*•●._\-#?0/\\]+ | (.)\1+                      # nothing but filling
    | \$[{(]?[A-Za-z_][^$]* | \$\(.* | \{.* | <.* | \[.*   # $KEY ${KEY} {{ key }} <key> [key]
    | %[(]?\w+(?:%|[)]s?) | %[sdv] | !(?:vault|secret|ref|sub|env)\b.*
    | .*(?:(?<![a-z])your|placeholder|example|redacted|replace|hidden|masked|dummy|insert
          |fill[-_]?me|xxxx|\*\*\*|\.\.\.|…|change[-_]?(?:me|it|this)|(?<![a-z])to[-_]?do
          |not[-_]?set|(?<![a-z])here\b).*
    | (?:my|the|a|some|any|new|old|test|fake|mock|sample|demo|default|user|admin|db|root|app|api
        |client|access|auth|bearer|secret|private|public|real|valid|invalid|wrong|bad|good|empty
        |strong|weak|super|top|hashed|encrypted|plain|raw|current|confirm|session|refresh|id
        |pass(?:word|wd|phrase|code)?|pwd|pw|token|key|value|string|text|str|credentials?|[-_.\s])+
      \d{0,3}
    """
)

# Words that describe a value where one could stand: types, states, labels in other languages.
_DESCRIBES: Final = _words(
    """
    none null nil undefined true false yes no on off str string text int integer number bool boolean
    bytes any object optional required varchar char secretstr unicode empty blank missing incorrect
    correct expired unset unknown disabled enabled changed reset set updated removed deleted stored
    saved sent sha256 sha1 md5 sha512 bcrypt scrypt argon2 argon2id pbkdf2 base64 utf8 plaintext
    encrypted hashed prompt stdin env file vault keyring keychain input getpass random generate
    generated passwort kennwort contraseña contrasena senha wachtwoord parola haslo mot lozenka
    username email login signin signup submit register basic digest jwt oauth oauth2 saml ldap
    self this that what which when where why how always never still also only just unique valid
    async await function return const let var new const final static public private void import
    """
)
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*")
_DOTTED: Final = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+")
_ABOUT_SECRETS: Final = re.compile(
    r"(?i)pass(?:w|phrase|code)|(?<![a-z])pwd|secret|token|credential|(?<![a-z])key|keys?\b|密码|口令|required|min:|max:"
)
_PATH: Final = re.compile(
    r"(?:\.{0,2}|~|[A-Za-z]:)[/\\](?:[\w.@ -]+[/\\])*[\w.@ -]*"
    r"|(?:https?|file|ftp|op|vault|arn|ssm|env|secretsmanager|projects|ref)\b:.*"
)
_WORDS: Final = re.compile(r"[A-Za-z]{2,}")
_STOP_WORDS: Final = _words(
    "the and for are was were but not from has its their our your been which these those his her "
    "of to is in be it as at by an or if on we"
)


_LEAST_DISTINCT: Final = 5


def is_placeholder(value: str) -> bool:
    """Whether the value only holds the place of one."""
    return _PLACEHOLDER.fullmatch(value[:200]) is not None or value.casefold() in _DESCRIBES


def is_random(value: str, *, least: int = 16) -> bool:
    """Whether nobody would write this as words: long, mixed, of high entropy."""
    value = value[:200]
    if len(value) < least or len(set(value)) < _LEAST_DISTINCT:
        return False
    if is_placeholder(value) or (_is_of_words(value) and _PATH.fullmatch(value)):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    if not digits or not letters or not value.isascii():
        return False
    if _is_of_words(value):
        return False
    counts = Counter(value)
    entropy = -sum(n / len(value) * log2(n / len(value)) for n in counts.values())
    return entropy >= (2.8 if len(value) < 20 else 3.0)


def _is_of_words(value: str) -> bool:
    """``my-service-token-2024``: words and small numbers with something between them."""
    parts = [part for part in re.split(r"[^A-Za-z0-9]+", value) if part]
    wordy = sum(len(part) for part in parts if _is_wordy(part))
    return wordy >= 0.7 * sum(map(len, parts))


def _is_wordy(part: str) -> bool:
    if part.isdigit():
        return len(part) <= 4
    word = part.rstrip("0123456789")
    is_one_case = word[1:].islower() or word.isupper() or len(word) == 1
    return word.isalpha() and is_one_case and len(part) - len(word) <= 4 and len(word) <= 14


def is_password(value: str, *, quoted: bool, sure: bool) -> bool:
    """Whether this would be typed as a password.

    ``sure`` when the place leaves no doubt (``PASSWORD=…``): there a plain word counts too.
    What costs least is asked first: hostile texts have a value at every word.
    """
    if not 4 <= len(value) <= 200:
        return False
    has_digit = _DIGIT.search(value) is not None
    if not has_digit and not value.isascii():
        return False  # a label in another language
    if " " in value.strip():
        return quoted and _is_spaced_password(value) and not _holds_a_place(value)
    if _ABOUT_SECRETS.search(value) and not (sure and has_digit):
        return False
    is_plain = not has_digit and _SIGN.search(value.rstrip(".,;:!?")) is None
    if is_plain and not (sure and (quoted or _IDENTIFIER.fullmatch(value) is not None)):
        return False
    return (quoted or _DOTTED.fullmatch(value) is None) and not _holds_a_place(value)


def _holds_a_place(value: str) -> bool:
    return is_placeholder(value) or _PATH.fullmatch(value) is not None


_DIGIT: Final = re.compile(r"\d")
_SIGN: Final = re.compile(r"[^\w.-]")  # the underscore is a letter there


def _is_spaced_password(value: str) -> bool:
    """Four words of a pass phrase, or words with digits; not a sentence about passwords."""
    words = value.split()
    if any(word.strip(".,").casefold() in _STOP_WORDS for word in words):
        return False
    if _ABOUT_SECRETS.search(value) or not value.isascii():
        return False
    plain = sum(_WORDS.fullmatch(word) is not None for word in words)
    return plain < len(words) <= 8 if len(words) != 4 else True


_IN_SENTENCES: Final = _STOP_WORDS | _words(
    "with without about into this that they them you must should can could will would may have had "
    "does did stored saved kept written required needed asked ask use used using made generated "
    "very too only also again now then than more most all any each every same still longer shorter"
)


def is_pass_phrase(value: str) -> bool:
    """Four words or more that make no sentence: ``correct horse battery staple``."""
    words = re.split(r"[ -]", value)
    return len({*words}) >= 4 and not any(word.casefold() in _IN_SENTENCES for word in words)


def is_card_number(digits: str) -> bool:
    """Whether a number is of a payment card: a known issuer, the right length, the check digit."""
    if _CARD.fullmatch(digits) is None:
        return False
    plain = sum(map(int, digits[::-2]))
    doubled = sum(map(int, digits[-2::-2].translate(_DOUBLED)))
    return (plain + doubled) % 10 == 0 and len(set(digits)) > 1


_DOUBLED: Final = str.maketrans("0123456789", "0246813579")
_CARD: Final = re.compile(
    r"4\d{15}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d)\d{12}|35\d{14}|62\d{14,17}"
    r"|3[068]\d{12}"
)


def is_seed_phrase(words: list[str]) -> bool:
    """Whether words could be a wallet's: enough of them, and none that only sentences need."""
    if not 12 <= len(words) <= 24:
        return False
    return not any(word in _STOP_WORDS for word in words)
