"""What other ways of keeping a conversation in a window do to the recorded conversations.

python -m benchmarks.context_peers --limit 5                         three sets, five runs each
python -m benchmarks.context_peers --data mini-swe --window 32000

Before every answer of the log one request is made, as an agent would, by LangChain's own
middleware (its real hooks, its state put together by LangGraph's own reducer), by plain
trimming, and by sending everything. What can be chosen is chosen in the peers' favour: the
system text is handed over apart and so never summarised; every answer reports the usage a
provider would report; the summary, from a model made up for this, is a list of the most
mentioned identifiers of all it was given, more than prose of that length would carry; and its
time is not counted.
"""

from __future__ import annotations

import argparse
import html
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, cast

from langchain.agents.middleware import (
    AgentState,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelRequest,
    ModelResponse,
    SummarizationMiddleware,
)
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from pydantic import PrivateAttr

from benchmarks.context_data import (
    Count,
    Meter,
    PeerRun,
    Wire,
    cached,
    conversations,
    o200k,
    ranked_identifiers,
    together,
)

__all__ = ["COLUMNS", "PEERS", "PeerRun", "run_peer"]

PEERS: Final[tuple[str, ...]] = (
    "summarization",
    "summarization-notrim",
    "clear-tool-uses",
    "trim",
    "full",
)
_PROVIDER: Final = "replay"


def run_peer(
    peer: str, messages: list[Wire], window: int, *, count: Count, mark: int | None = None
) -> PeerRun:
    """A recorded conversation through one peer that is to act at ``mark`` (3/4 of the window)."""
    mark = window * 3 // 4 if mark is None else mark
    meter = Meter(messages, window=window, count=count, mark=mark)
    model = _Summariser(chars=window // 5, count=count)  # 5 % of the window, in characters
    side = _side(peer, mark, meter, model)
    for message in messages:
        if message["role"] != "assistant":
            side.hear(message)
            continue
        request, seconds = side.request()
        side.hear(message, read=meter.request(request, seconds=seconds))
    return meter.result(summariser_calls=model.calls, summariser_tokens=model.tokens)


class _Side(Protocol):
    def hear(self, message: Wire, *, read: int = 0) -> None:
        """One message of the log; for an answer, how many tokens its request had."""

    def request(self) -> tuple[list[Wire], float]:
        """The messages to send now, and the seconds it took to decide that."""


def _side(peer: str, mark: int, meter: Meter, model: _Summariser) -> _Side:
    match peer:
        case "summarization":
            return _Summarising(
                model, meter, SummarizationMiddleware(model, trigger=("tokens", mark))
            )
        case "summarization-notrim":
            untrimmed = SummarizationMiddleware(
                model, trigger=("tokens", mark), trim_tokens_to_summarize=None
            )
            return _Summarising(model, meter, untrimmed)
        case "clear-tool-uses":
            return _Clearing(model, meter, mark)
        case "trim":
            return _Trimming(meter, mark)
        case "full":
            return _Full()
        case _:
            raise ValueError(f"There is no peer {peer!r}; there are: {', '.join(PEERS)}.")


# ── by hand ─────────────────────────────────────────────────────────────────────────────────


class _Full:
    """Everything, whatever the window."""

    def __init__(self) -> None:
        self._messages: list[Wire] = []

    def hear(self, message: Wire, *, read: int = 0) -> None:
        self._messages.append(message)

    def request(self) -> tuple[list[Wire], float]:
        return list(self._messages), 0.0


class _Trimming:
    """System text and the newest messages that fit; a call is never parted from its results."""

    def __init__(self, meter: Meter, mark: int) -> None:
        self._meter, self._mark = meter, mark
        self._system: list[Wire] = []
        self._groups: list[list[Wire]] = []
        self._sizes: list[int] = []
        self._system_size = 0

    def hear(self, message: Wire, *, read: int = 0) -> None:
        size = self._meter.tokens(message)
        if message["role"] == "system" and not self._groups:
            self._system.append(message)
            self._system_size += size
        elif message["role"] == "tool" and self._groups:
            self._groups[-1].append(message)
            self._sizes[-1] += size
        else:
            self._groups.append([message])
            self._sizes.append(size)

    def request(self) -> tuple[list[Wire], float]:
        start = time.perf_counter()
        left, first = self._mark - self._system_size, len(self._groups)
        while first and (left >= self._sizes[first - 1] or first == len(self._groups)):
            first -= 1
            left -= self._sizes[first]
        shown = [*self._system, *(m for group in self._groups[first:] for m in group)]
        return shown, time.perf_counter() - start


# ── LangChain ───────────────────────────────────────────────────────────────────────────────


class _Summariser(BaseChatModel):
    """Writes the same number of characters whatever it is given, and keeps count.

    It lists the identifiers of what it was given, the most mentioned first.
    """

    chars: int
    count: Count
    _calls: int = PrivateAttr(default=0)
    _tokens: int = PrivateAttr(default=0)
    _seconds: float = PrivateAttr(default=0.0)

    @property
    def calls(self) -> int:
        return self._calls

    @property
    def tokens(self) -> int:
        return self._tokens

    @property
    def seconds(self) -> float:
        return self._seconds

    @property
    def _llm_type(self) -> str:
        return _PROVIDER

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        # The middleware believes reported usage only if it comes from the model it manages.
        return LangSmithParams(ls_provider=_PROVIDER, ls_model_type="chat")

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        start = time.perf_counter()
        prompt = "\n".join(message.text for message in messages)
        self._calls += 1
        self._tokens += self.count(prompt)
        summary = _exactly(ranked_identifiers(_conversation_of(prompt)), self.chars)
        self._seconds += time.perf_counter() - start
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=summary))])


_TAG = re.compile(r"<[^<>]{1,500}>")


def _conversation_of(prompt: str) -> str:
    """What was said, without the instructions and the XML they wrap it in."""
    said = prompt.partition("Messages to summarize:")[2] or prompt
    return html.unescape(_TAG.sub(" ", said)).replace("\\n", "\n")


def _exactly(names: Sequence[str], chars: int) -> str:
    """As many whole names as fit, filled up to the length with a character that says nothing."""
    taken: list[str] = []
    left = chars
    for name in names:
        if len(name) + 1 <= left:
            taken.append(name)
            left -= len(name) + 1
    return " ".join(taken).ljust(chars, ".")


class _Conversation:
    """An agent's state as LangChain keeps it, and the way back to the wire.

    A message that comes back as it went in goes out as the log has it, to the byte: only what
    the peer changed is charged to the peer.
    """

    def __init__(self, model: _Summariser, meter: Meter) -> None:
        self.model = model
        self.state: AgentState[Any] = {"messages": []}
        self.system: SystemMessage | None = None
        self._meter = meter
        self._system: list[Wire] = []
        self._log: dict[str, tuple[Wire, AnyMessage]] = {}
        self._written: dict[tuple[str | None, str], Wire] = {}
        self._tools: dict[str | None, str] = {}

    def hear(self, message: Wire, *, read: int = 0) -> None:
        parsed = _parse(message)
        if isinstance(parsed, SystemMessage) and not self.state["messages"]:
            self.system = parsed
            self._system.append(message)
            return
        parsed.id = f"log-{len(self._log)}"
        if isinstance(parsed, AIMessage):
            wrote = self._meter.tokens(message)
            parsed.response_metadata = {"model_provider": _PROVIDER}
            parsed.usage_metadata = {
                "input_tokens": read,
                "output_tokens": wrote,
                "total_tokens": read + wrote,
            }
            self._tools |= {call["id"]: call["name"] for call in parsed.tool_calls}
        elif isinstance(parsed, ToolMessage) and parsed.name is None:
            parsed.name = self._tools.get(parsed.tool_call_id)  # as LangGraph's own tool node does
        self._log[parsed.id] = message, parsed
        self.update([parsed])

    def update(self, messages: list[AnyMessage]) -> None:
        old, new = cast("Any", self.state["messages"]), cast("Any", messages)
        self.state = {"messages": cast("list[AnyMessage]", add_messages(old, new))}

    def wire(self, messages: Sequence[AnyMessage]) -> list[Wire]:
        return [*self._system, *map(self._wire, messages)]

    def _wire(self, message: AnyMessage) -> Wire:
        known = self._log.get(message.id or "")
        if known is not None and _same(message, known[1]):
            return known[0]
        key = message.id, str(message.content)
        if key not in self._written:
            self._written[key] = convert_to_openai_messages(message)
        return self._written[key]


def _parse(message: Wire) -> AnyMessage:
    try:
        return cast("AnyMessage", convert_to_messages([message])[0])
    except ValueError:  # arguments that are not JSON: what LangChain's own clients do with them
        calls = [
            {
                "name": call["function"]["name"],
                "args": call["function"]["arguments"],
                "id": call["id"],
                "error": None,
            }
            for call in message["tool_calls"]
        ]
        return AIMessage(
            content=message.get("content") or "", invalid_tool_calls=cast("Any", calls)
        )


def _same(message: AnyMessage, original: AnyMessage) -> bool:
    if message is original:
        return True
    if message.content != original.content:
        return False
    calls = getattr(original, "tool_calls", None)
    return calls is None or getattr(message, "tool_calls", None) == calls


class _Summarising(_Conversation):
    def __init__(
        self, model: _Summariser, meter: Meter, middleware: SummarizationMiddleware[Any, Any]
    ) -> None:
        super().__init__(model, meter)
        self._middleware = middleware

    def request(self) -> tuple[list[Wire], float]:
        elsewhere, start = self.model.seconds, time.perf_counter()
        changed = self._middleware.before_model(self.state, Runtime())
        if changed is not None:
            self.update(changed["messages"])
        seconds = time.perf_counter() - start - (self.model.seconds - elsewhere)
        return self.wire(self.state["messages"]), seconds


class _Clearing(_Conversation):
    def __init__(self, model: _Summariser, meter: Meter, mark: int) -> None:
        super().__init__(model, meter)
        self._middleware: ContextEditingMiddleware[Any, Any] = ContextEditingMiddleware(
            edits=[ClearToolUsesEdit(trigger=mark)]
        )

    def request(self) -> tuple[list[Wire], float]:
        sent: list[AnyMessage] = []

        def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
            sent.extend(request.messages)
            return ModelResponse(result=[AIMessage(content="")])

        request: ModelRequest[Any] = ModelRequest(
            model=self.model,
            messages=self.state["messages"],
            system_message=self.system,
            state=self.state,
            runtime=Runtime(),
        )
        start = time.perf_counter()
        self._middleware.wrap_model_call(request, handler)
        seconds = time.perf_counter() - start
        return self.wire(sent), seconds


# ── the table ───────────────────────────────────────────────────────────────────────────────

_SETS: Final = {"mini-swe": 16_000, "joined": 16_000, "tau-airline": 3_000}
COLUMNS: Final[dict[str, Callable[[PeerRun], str]]] = {
    "requests": lambda run: f"{run.requests}",
    "tokens": lambda run: f"{run.tokens_sent / 1e6:.2f}M",
    "cost $": lambda run: f"{run.cost:.3f}",
    "+summaries $": lambda run: f"{run.summariser_cost:.3f}",
    "largest": lambda run: f"{run.max_tokens}",
    ">mark": lambda run: f"{run.over_budget}",
    ">window": lambda run: f"{run.over_window}",
    "invalid": lambda run: f"{run.invalid}",
    "(1st≠user)": lambda run: f"{run.not_user_first}",
    "edits": lambda run: f"{run.edits}",
    "summaries": lambda run: f"{run.summariser_calls}",
    "task": lambda run: f"{run.task_text_kept:.3f}",
    "kept": lambda run: f"{run.kept:.3f}",
    "p50 ms": lambda run: f"{run.p50 * 1e3:.2f}",
    "p95 ms": lambda run: f"{run.p95 * 1e3:.2f}",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="The peers' side of the context benchmark.")
    parser.add_argument("--limit", type=int, help="conversations per set; all if not given")
    parser.add_argument("--data", choices=_SETS, action="append", help="a set; all if not given")
    parser.add_argument("--window", type=int, help="tokens; each set has its own if not given")
    given = parser.parse_args()
    count = cached(o200k())
    for name in given.data or _SETS:
        window = given.window or _SETS[name]
        said = list(conversations(name, given.limit))
        print(f"\n{name}, {len(said)} conversations, window {window}, mark {window * 3 // 4}")
        print(f"{'':22}" + "".join(f"{title:>13}" for title in COLUMNS))
        for peer in PEERS:
            run = together(run_peer(peer, messages, window, count=count) for messages in said)
            print(f"{peer:22}" + "".join(f"{show(run):>13}" for show in COLUMNS.values()))


if __name__ == "__main__":
    main()
