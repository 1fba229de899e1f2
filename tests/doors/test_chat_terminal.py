"""``holdfast chat`` in a real terminal: what a person sees, and what their keys do."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import holdfast
from holdfast.text import columns
from tests.doors.terminal import chat_terminal

WINDOW = 6000
LONG = (121, 122, 123, 124, 125, 126)
"""Answers of a twentieth of that window each; the tools take half of it."""


def said(home: Path, session: str) -> list[tuple[str, str]]:
    with holdfast.open(home, background=False) as engine:
        return [(m.role, m.text) for m in engine.existing_session(session).view().messages]


def test_ctrl_c_stops_the_answer_and_not_the_program(home: Path) -> None:
    with chat_terminal(home) as terminal:
        terminal.wait_for("test:obedient", "›", "0 of 8,000")
        terminal.type("forever\r")
        terminal.wait_for("tick30 ")
        terminal.put_back()  # Ctrl-Z, and the shell has the terminal
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.wait_for("tick60 ")
        terminal.type("typed ahead\x03")
        shown = terminal.wait_for("stopped; what came is kept", "› typed ahead")
        assert "^C" not in shown, "keys are not drawn into an answer"
        terminal.type("\x03")  # clears the line
        terminal.type("my name is Ada\r")
        terminal.wait_for("Heard: my name is Ada")
        terminal.settle()
        terminal.type("\x03")
        terminal.settle()
        terminal.type("\x03")
        terminal.wait_for("To leave: Ctrl-D or /quit.")
        terminal.type("/hel")
        terminal.wait_for("/help")
        terminal.type("\x15")

        terminal.resize(40, 20)
        terminal.settle()
        terminal.type("深圳" * 15 + "\r")
        terminal.wait_for("Heard:")
        terminal.settle()
        (bar,) = [line for line in terminal.screen.lines if line.endswith("8k") or "8k ·" in line]
        assert all(mark in bar for mark in "pfhc")
        assert columns(bar) <= 40
        for press in range(60):  # at every moment of a prompt: it begins, reads, ends, is away
            os.kill(terminal.process.pid, signal.SIGINT)
            terminal.type("pressed\r" if press % 7 == 0 else "")
            terminal.read(0.01)
        terminal.settle()
        terminal.type("\x15ready\r")
        terminal.wait_for("Heard: ready")
        terminal.wait_until(lambda: any("/8k" in line for line in terminal.screen.lines))
        before = terminal.screen.text.count("stopped;")
        terminal.type("forever\r\x03")  # Ctrl-C right behind Enter is for the answer
        terminal.wait_until(lambda: terminal.screen.text.count("stopped;") > before)
        terminal.type("still here\r")
        shown = terminal.wait_for("Heard: still here")
        assert "Traceback" not in shown
        assert "Exception" not in shown
        terminal.type("\x04")
        terminal.wait_for("is saved. Go on with:")
        assert terminal.end() == 0
    (name,) = [file.stem for file in home.glob("agents/main/sessions/chat-*.jsonl")]
    talk = [each for each in said(home, name) if "⟦" not in each[1]]
    assert [role for role, _ in talk[:6]] == ["user", "assistant"] * 3
    assert ("user", "forever") in talk[6:]
    assert talk[1][1].startswith("tick0 tick1 ")
    assert talk[1][1].endswith("[The user stopped this answer here.]")
    assert talk[3] == ("assistant", "Heard: my name is Ada")


def test_in_chinese_a_small_window_is_saved_compacted_and_restored(home: Path) -> None:
    options = ("--window", str(WINDOW))
    with chat_terminal(home, *options, wide=60, high=40, language="zh_CN.UTF-8") as terminal:
        terminal.wait_for("/help 查看命令", f"0 / {WINDOW:,}")
        terminal.type("我叫李雷，我们决定把网关改到端口8443。\r")
        terminal.wait_for("Heard: 我叫李雷")
        for number in LONG:
            terminal.type(f"count {number}\r")
            terminal.wait_for(f"counted-{number}")
        terminal.wait_for("已保存", "快满了", "已压缩")
        terminal.type("/new\r")
        shown = terminal.wait_for("已关闭；现在是", "带回了")
        assert "memory/" in shown
        terminal.type("/status\r")
        terminal.wait_for("c 压缩", "用在")
        terminal.type("/quit\r")
        terminal.wait_for("已保存。继续对话")
        assert terminal.end() == 0
    memory = "".join(file.read_text() for file in home.glob("agents/main/memory/*.md"))
    assert "8443" in memory
    assert len(list(home.glob("agents/main/sessions/*.jsonl"))) == 2
