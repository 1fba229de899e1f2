"""A shell line → an argument list, or the reason why it needs a shell.

Promise: whatever a shell would do more than split words and take off quotes is noticed, so a
command is never run with a meaning it did not have
(``tests/foundation/test_config_openclaw_commands.py``).
"""

from __future__ import annotations

import re
import shlex

__all__ = ["argv_of"]

# What acts outside quotes, and what it is called in a message. First match names it.
_OPERATORS: tuple[tuple[str, str], ...] = (
    (r"\$\(|`", "command substitution"),
    (r"\$", "a variable"),
    (r"&&|\|\|", "a chain of commands"),
    (r"\|", "a pipe"),
    (r"[<>]", "redirection"),
    (r"\\\n", "a continued line"),
    (r"[;\n]", "several commands"),
    (r"&", "a background job"),
    (r"[*?\[]", "a file pattern"),
    (r"(?:^|[\s=:])~", "~ for the home directory"),
    (r"\{[^}\s]*(?:,|\.\.)[^}\s]*\}", "brace expansion"),
    (r"[()]", "a subshell"),
    (r"(?:^|\s)#", "a comment"),
    (r"(?:^|\s)!", "history or negation"),
)
# With a backslash before it as well: shells take that off, ``shlex`` does not.
_ACTIVE_IN_DOUBLE_QUOTES = re.compile(r"[$`]|\\\n")
_QUOTED = re.compile(r"\\[^\n]|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_SHELL_WORDS = re.compile(
    r"alias|bg|case|cd|eval|exec|exit|export|fg|for|function|if|jobs|popd|pushd|read|return|set"
    r"|shift|source|trap|type|ulimit|umask|unset|until|wait|while|\{|\.|:"
)
_SHELLS = frozenset({"ash", "bash", "dash", "fish", "ksh", "sh", "zsh"})


def argv_of(line: str) -> list[str]:
    """The program and its arguments; ``ValueError`` says what only a shell could do."""
    feature = _shell_feature(line)
    if feature:
        raise ValueError(f"uses {feature}")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ValueError(f"cannot be split into words ({error})") from None
    if not words:
        raise ValueError("is empty")
    program = words[0].rpartition("/")[2]
    if _SHELL_WORDS.fullmatch(words[0]):
        raise ValueError(f"starts with the shell's own word {words[0]!r}")
    if _ASSIGNMENT.match(words[0]):
        raise ValueError("sets a variable")
    if program in _SHELLS and any(re.fullmatch(r"-\w*c", word) for word in words[1:]):
        raise ValueError(f"hands a line to the shell {program!r}")
    return words


def _shell_feature(line: str) -> str | None:
    for quoted in _QUOTED.findall(line):
        if quoted.startswith('"') and _ACTIVE_IN_DOUBLE_QUOTES.search(quoted):
            return "variables, substitution or escapes inside double quotes"
    bare = _QUOTED.sub("_", line)
    for pattern, name in _OPERATORS:
        if re.search(pattern, bare):
            return name
    return None
