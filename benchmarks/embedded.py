"""What the embedded model does in a second here: loading, reading, remembering, writing.

python -m benchmarks.embedded [--model NAME] [--weights FILE] [--threads N]

Not part of ``make bench``: it needs weights, and figures mean something on an idle machine only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from pathlib import Path

from holdfast.models.embedded import EmbeddedModel, close_embedded, embedded_model
from holdfast.models.folder import models_folder
from holdfast.models.weights import Shelf
from holdfast.ports import ModelReply, ModelRequest
from holdfast.types import Message

STOCK = " ".join(f"Item {number} is in box {number * 7 % 100}." for number in range(64))
SYSTEM = f"You keep a store. {STOCK}"
FLUSH = "Rewrite as one sentence: Anna moved to Lisbon in May 2025 and works as a nurse there. "


async def _asked(model: EmbeddedModel, *texts: str, system: str | None) -> dict[str, float]:
    roles = ("user", "assistant")
    messages = [Message.of(roles[number % 2], text) for number, text in enumerate(texts)]
    began = time.monotonic()
    first: float | None = None
    reply: ModelReply | None = None
    async for heard in model.stream(ModelRequest(messages=messages, system=system, max_tokens=32)):
        first = first if first is not None else time.monotonic() - began
        reply = heard if isinstance(heard, ModelReply) else None
    took = time.monotonic() - began
    assert reply is not None
    assert reply.usage is not None
    assert first is not None
    usage = reply.usage
    return {
        "read": usage.input_tokens,
        "remembered": usage.cache_read_tokens,
        "written": usage.output_tokens,
        "first_word_s": round(first, 2),
        "read_per_s": round(usage.input_tokens / first, 1),
        "written_per_s": round(usage.output_tokens / max(took - first, 1e-3), 1),
    }


async def measured(model: EmbeddedModel) -> dict[str, dict[str, float]]:
    """A first turn, a second one, a flush of another text, and the conversation again."""
    began = time.monotonic()
    await _asked(model, "Hi", system=None)
    loading = {"seconds": round(time.monotonic() - began, 2)}
    talk = ["Where is item 7?", "In box 49.", "And item 8?", "In box 56.", "And item 9?"]
    return {
        "loading and a word": loading,
        "first turn": await _asked(model, *talk[:1], system=SYSTEM),
        "second turn": await _asked(model, *talk[:3], system=SYSTEM),
        "a flush in between": await _asked(model, FLUSH * 6, system=None),
        "third turn": await _asked(model, *talk, system=SYSTEM),
    }


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--model", default="qwen2.5-coder-1.5b")
    asked.add_argument("--weights", type=Path)
    asked.add_argument("--threads", type=int)
    given = asked.parse_args()
    file = given.weights or Shelf(models_folder(os.environ)).path(given.model)
    if file is None:
        asked.error(f"the weights are not there: holdfast model get {given.model}")
    model = embedded_model(file, name=f"embedded:{given.model}", threads=given.threads)
    before = os.getloadavg()[0]
    found = asyncio.run(measured(model))
    close_embedded()
    for name, figures in found.items():
        print(f"{name:20} {json.dumps(figures)}")
    print(f"load average {before:.1f} before, {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
