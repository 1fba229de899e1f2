"""Our hooks in somebody's settings: shown, written, taken back; the rest byte for byte."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.disk import Directory
from holdfast.errors import PolicyRefused, StorageError
from holdfast.integrations.claude_code import editing, installing
from holdfast.types import Json
from tests.doors.claude_logs import Log
from tests.doors.command import Run
from tests.doors.inside import inside

EVENTS = {"PreCompact", "SessionStart", "SessionEnd"}

ODD = {
    "plain": '{\n  "model": "opus",\n  "permissions": {"allow": ["Bash(ls:*)"]}\n}\n',
    "tabs, no end of line": '{\n\t"a": 1,\n\t"b": [1,\n\t\t2]\n}',
    "four spaces": '{\n    "a": {\n        "b": null\n    }\n}\n',
    "one line": '{"a": 1, "b": {"c": []}}',
    "one line, tight": '{"a":1,"b":"\\u00e9 \\/"}\n',
    "line ends of another system": '{\r\n  "a": 1,\r\n  "c": "x"\r\n}\r\n',
    "a mark in front": '\ufeff{\n  "a": 1\n}\n',
    "spaces everywhere": ' \n { "a" :1 ,\n\n   "b"\n: [ ] }  \n\n',
    "other hooks": json.dumps(
        {
            "hooks": {
                "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}],
                "PreCompact": [{"hooks": [{"type": "command", "command": "backup.sh"}]}],
            },
            "z": "after",
        },
        indent=2,
    ),
    "no hooks yet": '{\n  "hooks": {},\n  "a": 1\n}\n',
    "lists with nothing in them": '{"hooks": {"PreCompact": [], "Stop": []}, "a": 1}',
    "a list with nothing in it": '{\r\n  "hooks": {\r\n    "SessionEnd": []\r\n  }\r\n}\r\n',
    "keys twice": '{"hooks": {"A": []}, "hooks": {"B": [{"hooks": []}]}}',
    "中文": '{\n  "语言": "中文，带“引号”",\n  "e": "\\ud83d\\ude00"\n}\n',
}


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    folder = tmp_path / "claude"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "it's home"


def _hook(home: Path, claude: Path, *words: str, answer: str | None = None) -> Run:
    environ = {"CLAUDE_CONFIG_DIR": str(claude)}
    is_asked = answer is not None
    return inside(home, "hook", *words, stdin=answer or "", is_asked=is_asked, environ=environ)


def _done(home: Path, claude: Path, *words: str) -> Run:
    run = _hook(home, claude, *words, "--yes")
    assert run.code == 0, run.err
    return run


@pytest.mark.parametrize("text", ODD.values(), ids=list(ODD))
def test_settings_come_back_byte_for_byte(home: Path, claude: Path, text: str) -> None:
    file = claude / "settings.json"
    whole = text.encode()
    file.write_bytes(whole)
    _done(home, claude, "install")
    installed = file.read_bytes()
    settings = json.loads(installed.decode("utf-8-sig"))
    before = json.loads(whole.decode("utf-8-sig"))
    assert set(settings["hooks"]) >= EVENTS
    assert {**settings, "hooks": 0} == {**before, "hooks": 0}
    kept = {event: entries[:-1] for event, entries in settings["hooks"].items() if event in EVENTS}
    others = before.get("hooks", {})
    assert {event: entries for event, entries in kept.items() if entries} == {
        event: entries for event, entries in others.items() if event in EVENTS and entries
    }
    assert (b"\r\n" in whole) == (b"\r\n" in installed)
    assert "already" in _done(home, claude, "install").out
    assert file.read_bytes() == installed
    _done(home, claude, "uninstall")
    assert file.read_bytes() == whole
    _done(home, claude, "undo")  # the uninstalling
    assert file.read_bytes() == installed
    _done(home, claude, "install", "--agent", "all")  # changes what is there, adds nothing
    assert len(json.loads(file.read_bytes().decode("utf-8-sig"))["hooks"]) == len(settings["hooks"])
    assert file.read_bytes().count(b"--agent all") == 3
    _done(home, claude, "undo")
    assert file.read_bytes() == installed
    _done(home, claude, "install", "--agent", "all")
    _done(home, claude, "uninstall")
    assert file.read_bytes() == whole


@pytest.mark.parametrize("blank", [b"", b" \r\n\n", b"\xef\xbb\xbf"])
def test_a_file_with_nothing_in_it_is_settings_that_say_nothing(
    home: Path, claude: Path, blank: bytes
) -> None:
    file = claude / "settings.json"
    file.write_bytes(blank)
    assert "no hook of ours" in _done(home, claude, "uninstall").out
    assert file.read_bytes() == blank
    _done(home, claude, "install")
    assert set(json.loads(file.read_bytes().decode("utf-8-sig"))["hooks"]) == EVENTS
    _done(home, claude, "undo")
    assert file.read_bytes() == blank


def test_a_change_that_fails_leaves_the_one_before_to_be_taken_back(
    home: Path, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = claude / "settings.json"
    file.write_text('{"a": 1}')
    replace = Directory.replace

    def full(folder: Directory, name: str, data: bytes, *, durable: bool = True) -> None:
        if name == file.name:
            raise StorageError("No space is left.")
        replace(folder, name, data, durable=durable)

    def fails(*words: str) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(Directory, "replace", full)
            run = _hook(home, claude, *words, "--yes")
        assert "No space is left" in run.err
        assert run.code != 0

    fails("install")
    assert "Nothing of ours" in _hook(home, claude, "undo", "--yes").err
    _done(home, claude, "install")
    installed = file.read_bytes()
    for words in (("install", "--agent", "all"), ("uninstall",), ("undo",)):
        fails(*words)
        assert file.read_bytes() == installed
    _done(home, claude, "undo")
    assert file.read_text() == '{"a": 1}'


def test_installing_shows_a_diff_and_undoing_leaves_nothing(home: Path, claude: Path) -> None:
    file = claude / "settings.json"
    dry = _hook(home, claude, "install", "--dry-run")
    assert dry.code == 0
    assert "hook pre-compact" in dry.out
    assert not file.exists()
    run = _done(home, claude, "install")
    assert run.out.startswith(f"--- {os.devnull}\n+++ {file}\n")
    assert file.read_text().endswith("}\n")
    shown = _hook(home, claude, "status").out
    assert all(event in shown for event in EVENTS)
    assert "no such program" not in shown
    _done(home, claude, "undo")
    assert not file.exists()
    assert _hook(home, claude, "undo", "--yes").code != 0
    told = json.loads(_hook(home, claude, "install", "--dry-run", "--json").out)
    assert told["changed"] is False
    assert "hook session-end" in told["diff"]


def test_nothing_is_written_unless_the_person_says_so(home: Path, claude: Path) -> None:
    file = claude / "settings.json"
    file.write_text('{"a": 1}')
    assert _hook(home, claude, "install", answer="n\n").code != 0
    assert _hook(home, claude, "install").code == 2  # nobody to ask
    assert file.read_text() == '{"a": 1}'
    assert _hook(home, claude, "install", answer="y\n").code == 0
    assert "hook pre-compact" in file.read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{\n  // mine\n  "a": 1\n}', "line 2, column 3"),
        (b'{"a": 1,}', "line 1"),
        (b'{"a": ' + b"1" * 5_000 + b"}", "a number that is too long"),
        (b"[1]", "no object"),
        (b'{"hooks": []}', "no object"),
        (b'{"hooks": {"PreCompact": {}}}', "no list"),
        (b'{"a": "\xe9"}', "UTF-8"),
        (b"[" * 200_000, "nested too deeply"),
    ],
)
def test_what_is_no_settings_is_refused_and_left_alone(
    home: Path, claude: Path, text: bytes, said: str
) -> None:
    file = claude / "settings.json"
    file.write_bytes(text)
    for command in ("install", "uninstall"):
        run = _hook(home, claude, command, "--yes")
        assert run.code == 2
        assert said in run.err
        assert "Nothing was changed" in run.err
    assert file.read_bytes() == text
    assert _hook(home, claude, "status").code == 0


def test_what_others_changed_since_is_not_undone(home: Path, claude: Path) -> None:
    file = claude / "settings.json"
    file.write_text('{\n  "model": "opus"\n}\n')
    _done(home, claude, "install")
    changed = file.read_text().replace("opus", "sonnet")
    file.write_text(changed)
    run = _hook(home, claude, "undo", "--yes")
    assert run.code != 0
    assert '-  "model": "opus"' in run.out
    assert '+  "model": "sonnet"' in run.out
    assert "uninstall" in run.err
    assert file.read_text() == changed
    _done(home, claude, "uninstall")
    assert file.read_text() == '{\n  "model": "sonnet"\n}\n'


def test_a_file_that_changes_between_diff_and_writing_is_not_overwritten(
    home: Path, claude: Path
) -> None:
    file = claude / "settings.json"
    file.write_text("{}")
    change = installing.plan_install(file, home=None, agent=None)
    file.write_text('{"theirs": 1}')
    with pytest.raises(PolicyRefused):
        installing.write(change, home)
    assert file.read_text() == '{"theirs": 1}'


def test_the_mode_and_the_link_of_a_file_stay(home: Path, claude: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text('{\n  "a": 1\n}\n')
    real.chmod(0o644)
    (claude / "settings.json").symlink_to(real)
    _done(home, claude, "install")
    assert (claude / "settings.json").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o644
    assert "hook pre-compact" in real.read_text()


def test_a_hook_that_stands_among_others_is_taken_out_alone(home: Path, claude: Path) -> None:
    file = claude / "settings.json"
    _done(home, claude, "install")
    settings = json.loads(file.read_text())
    settings["hooks"]["PreCompact"][0]["hooks"].insert(0, {"type": "command", "command": "mine"})
    settings["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "holdfast hooky"}]}]
    file.write_text(json.dumps(settings, indent=1))
    _done(home, claude, "uninstall")
    assert json.loads(file.read_text()) == {
        "hooks": {
            "PreCompact": [{"hooks": [{"type": "command", "command": "mine"}]}],
            "Stop": settings["hooks"]["Stop"],
        }
    }


def test_scopes_are_three_files(
    home: Path, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    _done(home, claude, "install", "--scope", "project")
    _done(home, claude, "install", "--scope", "local")
    assert (project / ".claude" / "settings.json").is_file()
    assert (project / ".claude" / "settings.local.json").is_file()
    assert not (claude / "settings.json").exists()
    run = _hook(home, claude, "install", "--scope", "projcet", "--yes")
    assert run.code == 2
    assert "project" in run.err


def test_a_shell_can_run_what_is_installed(home: Path, claude: Path) -> None:
    _done(home, claude, "install", "--agent", "it-all")
    settings = json.loads((claude / "settings.json").read_text())
    command = settings["hooks"]["PreCompact"][0]["hooks"][0]["command"]
    assert Path(shlex.split(command)[0]).is_absolute()
    log = Log(claude)
    log.user("We decided to keep receipts for ten years.")
    run = subprocess.run(
        ["/bin/sh", "-c", command],
        input=log.call("PreCompact", trigger="auto").encode(),
        capture_output=True,
        env={**os.environ, "CLAUDE_CONFIG_DIR": str(claude)},
        cwd="/",
        check=True,
    )
    assert b"memories saved" in run.stderr
    assert list((home / "agents" / "it-all" / "memory").glob("*.md"))


# ── any file ────────────────────────────────────────────────────────────────────────────────

texts = st.text(max_size=8)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=12,
)
layouts = st.sampled_from([None, 0, 1, 2, 4, "\t", " \t"])


def _laid_out(value: Json, indent: int | str | None, is_ascii: bool) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=is_ascii)


@given(st.dictionaries(texts, values, max_size=4), layouts, st.booleans(), st.booleans())
def test_what_is_added_and_removed_again_leaves_any_file_as_it_was(
    settings: dict[str, Json], indent: int | str | None, is_ascii: bool, has_windows_ends: bool
) -> None:
    text = _laid_out(settings, indent, is_ascii)
    if has_windows_ends:
        text = text.replace("\n", "\r\n")
    added = editing.add(text, 0, {"a": [1, {"b": "c"}]}, key="ours!")
    assert json.loads(added) == {**settings, "ours!": {"a": [1, {"b": "c"}]}}
    assert list(json.loads(added)) == [*(key for key in settings if key != "ours!"), "ours!"]
    removed = editing.remove(added, 0, lambda part: part.key == "ours!")
    assert removed == text or not settings
    twice = editing.add(editing.add(text, 0, [], key="ours!"), 0, [], key="more!")
    for key in ("ours!", "more!"):
        twice = editing.remove(twice, 0, lambda part, key=key: part.key == key)  # type: ignore[misc]
    assert twice == text or not settings
