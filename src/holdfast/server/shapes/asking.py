"""What every body of a request has in common (``tests/server/test_openapi.py``)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Asked"]


class Asked(BaseModel):
    """A field that is none is refused: a wish that was misspelt (``dryrun``) must not be taken
    for none."""

    model_config = ConfigDict(extra="forbid")
