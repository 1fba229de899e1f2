"""The conversation a route is about.

Promise: a name that is not a conversation's any more is not one, also if this process still
could reach it by that name; the answer says what became of it (``tests/server/test_sessions.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import NotFound

if TYPE_CHECKING:
    from holdfast.engine.session import Session
    from holdfast.server.places import Place

__all__ = ["conversation"]


def conversation(here: Place, name: str) -> Session:
    """
    Raises:
        NotFound: there is none of that name; says what became of it.
    """
    if not any(each.name == name and each.is_incognito for each in here.open_sessions()):
        # An engine lets those go on who have it by its old name; here nobody has, also if it was
        # another process that renamed it.
        try:
            here.engine._rooms.store.open(name)
        except NotFound:
            here.let_go(name)
            raise
    return here.session(name)
