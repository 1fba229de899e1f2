"""Forks writers and kills them; run by test_kill.py in a process of its own.

Prints one line per acknowledged append: ``<round> <number> <entry id>``. A writer sends each
line through a pipe only after ``append`` has returned; what is in the pipe when it dies was
acknowledged.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import threading
import time

import holdfast


def write(home: str, turn: int, pipe: int) -> None:
    """Append until killed; odd rounds with four threads, so that commits are shared."""
    chance = random.Random(turn)
    engine = holdfast.open(home)
    session = engine.session("s1")

    def keep_writing(thread: int) -> None:
        for number in range(1_000_000):
            size = chance.choice([10, 100, 3000, 70_000])
            name = f"{turn} {thread}-{number}"
            entry_id = session.append({"role": "user", "content": f"{name} " + "x" * size})
            os.write(pipe, f"{name} {entry_id}\n".encode())

    others = [
        threading.Thread(target=keep_writing, args=(thread,), daemon=True)
        for thread in range(1, 4 if turn % 2 else 1)
    ]
    for each in others:
        each.start()
    keep_writing(0)


def main(home: str, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    holdfast.open(home).session("s1")  # loads every module once, before the forks
    for turn in range(kills):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            try:
                write(home, turn, writer)
            finally:
                os._exit(1)
        os.close(writer)
        if chance.random() < 0.7:  # else it may die while it is still opening
            select.select([reader], [], [], 10)
        time.sleep(chance.uniform(0, 0.02))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with open(reader, "rb") as pipe:
            lines = pipe.read().splitlines(keepends=True)
        # A line that is cut off was on its way: its append had returned, but not its telling.
        sys.stdout.write("".join(line.decode() for line in lines if line.endswith(b"\n")))
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
