"""Shell lines → argument lists, or the reason why not."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.openclaw.commands import argv_of
from tests.scale import scaled


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        (
            "kernle -a agent checkpoint save 'auto-backup'",
            ["kernle", "-a", "agent", "checkpoint", "save", "auto-backup"],
        ),
        ("  save  ", ["save"]),
        ('save "two words" --at=now', ["save", "two words", "--at=now"]),
        (r"save two\ words", ["save", "two words"]),
        ("save '$HOME' '`x`' '*'", ["save", "$HOME", "`x`", "*"]),
        (r"save \$HOME \; \*", ["save", "$HOME", ";", "*"]),
        (r'save "a \"b\" \\ c"', ["save", 'a "b" \\ c']),
        ("save 备份 it's_not" + "'", ["save", "备份", "its_not"]),
        ("/usr/bin/save a~b x#y 50%", ["/usr/bin/save", "a~b", "x#y", "50%"]),
        ("bash backup.sh", ["bash", "backup.sh"]),
    ],
)
def test_a_plain_command_is_split_as_a_shell_would(line: str, argv: list[str]) -> None:
    assert argv_of(line) == argv


@pytest.mark.parametrize(
    ("line", "feature"),
    [
        ("tar c . | gzip", "a pipe"),
        ("save > log", "redirection"),
        ("save 2>&1", "redirection"),
        ("save < in", "redirection"),
        ("save $HOME", "a variable"),
        ("save ${HOME}", "a variable"),
        ('save "$HOME"', "double quotes"),
        ('save "`date`"', "double quotes"),
        (r'save "costs \$5"', "double quotes"),
        ("save \\\n more", "a continued line"),
        ("save `date`", "command substitution"),
        ("save $(date)", "command substitution"),
        ("a && b", "a chain"),
        ("a || b", "a chain"),
        ("a; b", "several commands"),
        ("a\nb", "several commands"),
        ("save &", "a background job"),
        ("save *.md", "a file pattern"),
        ("save file?", "a file pattern"),
        ("save [ab]", "a file pattern"),
        ("save ~/notes", "~ for the home"),
        ("~/bin/save", "~ for the home"),
        ("save --to=~/x", "~ for the home"),
        ("save {a,b}", "brace expansion"),
        ("save {1..3}", "brace expansion"),
        ("(save)", "a subshell"),
        ("save # later", "a comment"),
        ("A=1 save", "sets a variable"),
        ("cd notes", "shell's own word"),
        (". ./env", "shell's own word"),
        ("bash -c 'a b'", "the shell 'bash'"),
        ("/bin/sh -ec true", "the shell 'sh'"),
        ("save 'open", "cannot be split"),
        ("", "is empty"),
        ("  ", "is empty"),
    ],
)
def test_what_only_a_shell_can_do_is_named(line: str, feature: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        argv_of(line)
    assert feature in str(caught.value)


@settings(max_examples=scaled(120))
@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1))
def test_words_quoted_for_a_shell_come_back_as_they_were(words: list[str]) -> None:
    words = ["save", *words]
    assert argv_of(shlex.join(words)) == words


def accepted(line: str) -> bool:
    try:
        argv_of(line)
    except ValueError:
        return False
    return True


_lines = st.text(st.sampled_from("ab '\"\\$`|;&<>*?[]~#!(){},=:.-\n\t"), max_size=14)


@settings(max_examples=scaled(40))
@given(lines=st.lists(_lines, min_size=20, max_size=60))
def test_a_real_shell_splits_every_accepted_line_the_same_way(lines: list[str]) -> None:
    lines = [line for line in lines if accepted(line)]
    script = "".join(f"set -- {line}\nprintf '%s\\0' \"$@\"\nprintf '\\001\\0'\n" for line in lines)
    ran = subprocess.run(["sh"], input=script, capture_output=True, text=True, check=True)
    words = "".join(f"{word}\0" for line in lines for word in [*argv_of(line), "\001"])
    assert ran.stdout == words
