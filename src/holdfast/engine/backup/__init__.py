"""The whole home in one verified file, and back.

    backup       make, verify, restore
    backupfile   the format: manifest, seal, sizes that may be
    names        which files a backup holds, and which it never does
    inuse        whether somebody uses a home that is to be moved aside

Promise: see ``backup``.
"""

from __future__ import annotations

from holdfast.engine.backup.backup import (
    BackupChecked,
    BackupMade,
    Progress,
    Restored,
    make_backup,
    restore_backup,
    verify_backup,
)

__all__ = [
    "BackupChecked",
    "BackupMade",
    "Progress",
    "Restored",
    "make_backup",
    "restore_backup",
    "verify_backup",
]
