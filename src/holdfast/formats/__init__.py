"""Message ⇄ provider messages: OpenAI Chat Completions and Anthropic Messages. Pure.

Promise: a provider's messages come back from us as they were given to us, to the last
unknown field; and a conversation that came from one provider can be sent to another one with
its text, calls, results, images and ids. ``left_out_…`` names what the other has no place for.
Proved by the properties in ``tests/foundation/test_formats_*.py``. Not here: whether the
conversation is valid (that is ``context.validity``), and any SDK.
"""

from __future__ import annotations

from holdfast.formats.anthropic import (
    AnthropicRequest,
    from_anthropic,
    left_out_anthropic,
    to_anthropic,
)
from holdfast.formats.openai import from_openai, left_out_openai, to_openai
from holdfast.formats.parsing import parse_message, plain_json
from holdfast.formats.wire import LeftOut

__all__ = [
    "AnthropicRequest",
    "LeftOut",
    "from_anthropic",
    "from_openai",
    "left_out_anthropic",
    "left_out_openai",
    "parse_message",
    "plain_json",
    "to_anthropic",
    "to_openai",
]
