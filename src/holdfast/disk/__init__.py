"""The only writer of bytes: durable append, atomic replace, locks, folders by handle.

Promises, each with its test in ``tests/foundation/test_disk.py``, ``test_disk_moves.py`` and
``tests/sessions``: what returned is on disk; a write that failed left the old bytes; files are
0600 and folders 0700 whatever the umask; no name leads through a symlink, a hard link or out of
its folder; nothing that is read can make us wait.

Every call that touches a file goes through a ``System``, so that tests can make the disk
fail at any call, or record the calls and replay every state a power loss could leave.
"""

from __future__ import annotations

from holdfast.disk.folders import Directory, Found
from holdfast.disk.growing import PROCESS, GrowingFile
from holdfast.disk.locks import FileLock
from holdfast.disk.outside import new_file
from holdfast.disk.seen import FileStat, Kind, Seen
from holdfast.disk.system import SYSTEM, System

__all__ = [
    "PROCESS",
    "SYSTEM",
    "Directory",
    "FileLock",
    "FileStat",
    "Found",
    "GrowingFile",
    "Kind",
    "Seen",
    "System",
    "new_file",
]
