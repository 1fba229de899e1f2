"""The error of a call that was made and did not give an answer.

Promise: it carries what the provider said apart from our words, so that a session can tell
whether the request was too large (``tests/models/test_hosted_errors.py``).
"""

from __future__ import annotations

from holdfast.errors import ModelUnavailable

__all__ = ["BrokenOff", "CallFailed"]


class CallFailed(ModelUnavailable):
    """A model was asked and gave no answer, or none that is one.

    ``status_code``, ``code`` and ``body`` are the provider's; None where it said nothing.
    ``arrived`` is False if it never got there, and so costs nothing.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        status_code: int | None = None,
        code: str | None = None,
        body: object | None = None,
        arrived: bool = True,
    ) -> None:
        super().__init__(message, hint=hint)
        self.arrived = arrived
        self.status_code = status_code
        self.code = code
        self.body = body


class BrokenOff(CallFailed):
    """The answer ended before its end, though nobody said that the connection was lost."""
