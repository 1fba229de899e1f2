"""``holdfast chat``: a conversation in a terminal, in a pipe, or one question.

    wish       what the options ask for            opening    which model, which session
    loop       prompts, pipes, one question        talk       what happens between two prompts
    turn       one turn, which can be left         commands   what begins with a slash
    console    the prompt (prompt_toolkit)         screen     where it is shown
    meter      the status line                     news       what the engine did, in lines
    shown      untrusted text, and lines that fit  feed       what reaches the thread that draws
    words      everything in English and Chinese   history    what was typed before
    results    what a tool answered, in short      keys       the keyboard between prompts

Promise: see each; ``tests/doors/test_chat*.py``.
"""

from __future__ import annotations

from holdfast.cli.chat.loop import converse, run
from holdfast.cli.chat.wish import Wish

__all__ = ["Wish", "converse", "run"]
