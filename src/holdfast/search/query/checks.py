"""Requests that make no sense are refused before anything is read.

Promise: every refusal names the value and what would do
(``tests/search/test_pipeline.py``, ``test_pipeline_filters.py``).
"""

from __future__ import annotations

from datetime import tzinfo

from holdfast.errors import UsageError
from holdfast.search.query.filters import first_moment, last_moment
from holdfast.search.request import SearchRequest

__all__ = ["check"]


def check(request: SearchRequest, zone: tzinfo) -> None:
    """Raises ``UsageError`` if a value of the request makes no sense."""
    for name, least in (("limit", 1), ("snippet_chars", 1), ("timeout_ms", 0)):
        if getattr(request, name) < least:
            raise UsageError(f"{name} is {getattr(request, name)}; the least is {least}.")
    for name in ("max_chars", "max_tokens"):
        if (value := getattr(request, name)) is not None and value < 1:
            raise UsageError(f"{name} is {value}; the least is 1, and none is no limit.")
    if request.now.tzinfo is None:
        raise UsageError("now has no time zone.", hint="Use datetime.now(UTC).")
    for name in ("entity", "session"):
        if (text := getattr(request, name)) is not None and not text.strip():
            raise UsageError(f"{name} is empty.", hint=f"Name one, or leave {name} out.")
    since, until = request.since, request.until
    if since is None or until is None:
        return
    if first_moment(since, zone) > last_moment(until, zone):
        raise UsageError(
            f"since {since.isoformat()} is after until {until.isoformat()}.",
            hint="Give the earlier one as since.",
        )
