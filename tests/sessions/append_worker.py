"""One of several processes that append to the same session; run by test_concurrent_appends.py."""

from __future__ import annotations

import sys
import threading

import holdfast


def main(home: str, process: str, threads: int, appends: int) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("shared")

        def work(thread: int) -> None:
            for number in range(appends):
                session.append({"role": "user", "content": f"{process} {thread} {number}"})

        workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
