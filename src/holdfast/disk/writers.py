"""Whether somebody is writing a file right now, where the system can tell (Linux: leases).

Promise: never waits, never ends the process, never keeps a writer waiting for longer than the
question takes; None where nobody can tell (``tests/foundation/test_disk_moves.py``).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import signal
import sys

__all__ = ["is_written"]


def is_written(fd: int) -> bool | None:
    """Whether any process has this file, opened by us for reading, open for writing.

    The kernel grants a lease for reading only if nobody has; it is given back at once. If
    somebody opens the file in between, the kernel sends us a signal, which would end the process
    if it were the usual one; this one is ignored unless the program listens to it.
    """
    if sys.platform != "linux":
        return None
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    with contextlib.suppress(OSError):
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False
