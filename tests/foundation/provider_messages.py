"""Generators of messages as OpenAI and Anthropic write them, with everything odd they allow.

Unknown fields and parts, parts of a known type with a missing or wrong field, empty forms,
NUL and lone surrogates: whatever a provider, a proxy or a later version might put there.
"""

from __future__ import annotations

from hypothesis import strategies as st

from holdfast.types import Json

Wire = dict[str, Json]

texts = st.one_of(
    st.sampled_from(["", " ", "\0", "\ud800", "a\udfffb", "héllo 你好 🙂", '{"a": 1}']),
    st.text(st.characters(exclude_categories=()), max_size=12),
)

values: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts | st.just("type"), inner, max_size=3)
    ),
    max_leaves=5,
)

unknown_fields = st.dictionaries(
    st.sampled_from(["x_new", "cache_control", "shape", "openai", "anthropic", "extra", "index"]),
    values,
    max_size=2,
)

ids = st.sampled_from(["call_1", "call_2", "toolu_01A", "call_1 ", "函数"])
names = st.sampled_from(["search", "read_file", "x"])
media_types = st.sampled_from(["image/png", "image/jpeg", "image/svg+xml"])
base64 = st.sampled_from(["", "iVBORw0KGgo=", "AAAA//+="])
web_urls = st.sampled_from(["https://example.org/a.png", "http://example.org/?q=data:,"])

argument_objects = st.dictionaries(texts, values, max_size=3)

argument_texts = st.one_of(
    st.sampled_from(["", "{}", '{"a": ', ' {"b" :\t1.10} ', "[1]", "null", "NaN", '{"x": 1e999}']),
    texts,
)


_further: st.SearchStrategy[Wire] = st.builds(Wire) | unknown_fields


def wires(required: dict[str, st.SearchStrategy[Json]]) -> st.SearchStrategy[Wire]:
    """A dictionary of the given fields, sometimes with unknown ones before them."""
    known = st.fixed_dictionaries(required)
    return st.builds(lambda known, further: {**further, **known}, known, _further)


def said(*parts: st.SearchStrategy[Wire], most: int = 3) -> st.SearchStrategy[list[Wire]]:
    """A list of parts, seldom empty: one draw chooses the size, so that it does not lean to 0."""
    part = st.one_of(*parts)
    return st.sampled_from([0, 1, 1, 2, most]).flatmap(
        lambda size: st.lists(part, min_size=size, max_size=size)
    )


strange_parts = st.one_of(
    wires({"type": st.sampled_from(["hologram", "", "audio"])}),
    wires({"type": st.sampled_from(["text", "image", "image_url", "refusal", "thinking"])}),
    wires({"type": st.sampled_from(["tool_use", "tool_result", "text"]), "text": values}),
    unknown_fields,
)


# ── OpenAI ──────────────────────────────────────────────────────────────────────────────────

openai_texts = wires({"type": st.just("text"), "text": texts})

openai_images = wires(
    {
        "type": st.just("image_url"),
        "image_url": st.one_of(
            wires({"url": web_urls}),
            wires({"url": st.builds("data:{};base64,{}".format, media_types, base64)}),
            wires({"url": st.sampled_from(["data:text/plain,x", "data:;base64,AA", ""])}),
            wires({"url": web_urls, "detail": st.sampled_from(["low", "high"])}),
            values,
        ),
    }
)

openai_parts = st.one_of(
    openai_texts,
    openai_images,
    wires({"type": st.just("refusal"), "refusal": texts}),
    wires(
        {
            "type": st.just("input_audio"),
            "input_audio": st.just({"data": "UklGRg==", "format": "wav"}),
        }
    ),
    wires({"type": st.just("file"), "file": st.just({"file_id": "file-1"})}),
    strange_parts,
)

openai_contents = st.one_of(texts, said(openai_parts), st.none())

openai_calls = st.one_of(
    wires(
        {
            "id": ids,
            "type": st.just("function"),
            "function": wires({"name": names, "arguments": argument_texts}),
        }
    ),
    wires(
        {
            "id": ids,
            "type": st.just("custom"),
            "custom": wires({"name": names, "input": argument_texts}),
        }
    ),
)

strange_openai_calls = st.one_of(
    wires({"id": ids, "function": wires({"name": names, "arguments": argument_objects})}),
    wires(
        {
            "id": ids,
            "type": st.sampled_from([None, "function", "custom", "new"]),
            "function": wires({"name": names, "arguments": argument_texts | argument_objects}),
        }
    ),
    wires({"id": values, "type": st.just("function"), "function": values}),
    unknown_fields,
)


def _with_content(required: dict[str, st.SearchStrategy[Json]]) -> st.SearchStrategy[Wire]:
    return wires({**required, "content": openai_contents}) | wires(required)


openai_assistant_fields = st.fixed_dictionaries(
    {},
    optional={
        "name": texts,
        "refusal": st.none() | texts,
        "reasoning_content": st.none() | texts,
        "reasoning": st.none() | texts,
        "audio": st.none() | st.just({"id": "audio_1"}),
        "annotations": st.just([]),
        "function_call": st.one_of(
            st.none(), values, wires({"name": names, "arguments": argument_texts})
        ),
        "tool_calls": st.one_of(st.none(), values, said(openai_calls, strange_openai_calls)),
    },
)

_openai_callers = wires(
    {"role": st.just("assistant"), "content": openai_contents, "tool_calls": said(openai_calls)}
)

openai_messages = st.one_of(
    _with_content({"role": st.sampled_from(["system", "developer", "user"])}),
    wires({"role": st.just("user"), "content": openai_contents, "name": texts}),
    st.builds(
        lambda message, fields: {**message, **fields},
        _with_content({"role": st.just("assistant")}),
        openai_assistant_fields,
    ),
    _openai_callers,
    st.builds(
        lambda message, fields: {**fields, **message}, _openai_callers, openai_assistant_fields
    ),
    _with_content({"role": st.just("tool"), "tool_call_id": ids}),
    _with_content({"role": st.just("tool"), "tool_call_id": values}),
    _with_content({"role": st.just("function"), "name": names}),
    _with_content({"role": st.sampled_from(["function", "tool", "critic"])}),
)


# ── Anthropic ───────────────────────────────────────────────────────────────────────────────

anthropic_texts = st.one_of(
    wires({"type": st.just("text"), "text": texts}),
    wires(
        {
            "type": st.just("text"),
            "text": texts,
            "cache_control": st.just({"type": "ephemeral", "ttl": "1h"}),
            "citations": st.none() | st.just([{"type": "char_location", "cited_text": "x"}]),
        }
    ),
)

anthropic_images = wires(
    {
        "type": st.just("image"),
        "source": st.one_of(
            wires({"type": st.just("base64"), "media_type": media_types, "data": base64}),
            wires({"type": st.just("url"), "url": web_urls}),
            wires({"type": st.just("url"), "url": st.just("data:image/png;base64,AA")}),
            wires({"type": st.just("file"), "file_id": st.just("file_1")}),
            unknown_fields,
            values,
        ),
    }
)

anthropic_inner_blocks = st.one_of(
    anthropic_texts,
    anthropic_images,
    wires(
        {
            "type": st.just("document"),
            "source": st.just({"type": "text", "media_type": "text/plain", "data": "d"}),
            "title": texts,
        }
    ),
    wires({"type": st.just("search_result"), "content": st.just([])}),
    strange_parts.filter(lambda wire: wire.get("type") != "tool_result"),
)

anthropic_results = st.one_of(
    wires({"type": st.just("tool_result"), "tool_use_id": ids}),
    wires(
        {
            "type": st.just("tool_result"),
            "tool_use_id": ids,
            "content": st.one_of(texts, said(anthropic_inner_blocks), st.none()),
            "is_error": st.sampled_from([True, False, None, 1]),
        }
    ),
)

anthropic_calls = wires(
    {"type": st.just("tool_use"), "id": ids, "name": names, "input": argument_objects}
)

anthropic_thinking = st.one_of(
    wires({"type": st.just("thinking"), "thinking": texts, "signature": texts}),
    wires({"type": st.just("thinking"), "thinking": texts, "signature": st.none()}),
    wires({"type": st.just("thinking"), "thinking": texts}),
    wires({"type": st.just("redacted_thinking"), "data": texts}),
)

anthropic_server_blocks = st.one_of(
    wires(
        {
            "type": st.just("server_tool_use"),
            "id": st.just("srvtoolu_1"),
            "name": st.just("web_search"),
            "input": argument_objects,
        }
    ),
    wires(
        {
            "type": st.just("web_search_tool_result"),
            "tool_use_id": st.just("srvtoolu_1"),
            "content": st.just([{"type": "web_search_result", "encrypted_content": "E=="}]),
        }
    ),
    wires({"type": st.just("container_upload"), "file_id": st.just("file_1")}),
)


anthropic_messages = st.one_of(
    wires({"role": st.sampled_from(["user", "assistant"]), "content": texts}),
    wires({"role": st.just("user"), "content": said(anthropic_inner_blocks)}),
    wires({"role": st.just("user"), "content": said(anthropic_results, anthropic_inner_blocks)}),
    wires({"role": st.just("user"), "content": said(anthropic_results)}),
    wires({"role": st.just("assistant"), "content": said(anthropic_texts, anthropic_calls)}),
    wires(
        {
            "role": st.just("assistant"),
            "content": said(
                anthropic_thinking,
                anthropic_texts,
                anthropic_calls,
                anthropic_server_blocks,
                strange_parts,
                most=5,
            ),
        }
    ),
    wires({"role": st.just("system"), "content": texts | said(anthropic_texts)}),
)

anthropic_systems = st.one_of(st.none(), texts, said(anthropic_texts, strange_parts))
