"""The memory files of one place: read, edit, undo, whatever editors do meanwhile.

    workspace   read, edit, operations                 paths     which paths there are
    swapping    one file for another, nothing lost     listing   what is there, what is wrong
    journal     what changed, preimages                versions  Git, if it is wanted
    undoing     merging  taking a change back          late      saves that ended after a swap

Promise: see ``workspace``.
"""

from __future__ import annotations

from holdfast.memory.workspace.workspace import Change, ChangedFile, Operation, Undone, Workspace

__all__ = ["Change", "ChangedFile", "Operation", "Undone", "Workspace"]
