"""Writing TOML: the few types that settings use, and comments.

Promise: what is written reads back equal, for every text and comment there is
(``tests/foundation/test_config_toml.py``). Small on purpose: the libraries that write TOML
have no comments, and a translated configuration is mostly comments.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from holdfast.types import Json

__all__ = ["render_comment", "render_toml", "render_value"]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SHORT_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NOT_IN_COMMENT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def render_toml(
    nested: Mapping[str, Mapping[str, Json]],
    *,
    header: Iterable[str] = (),
    comments: Mapping[str, Sequence[str]] | None = None,
    footer: Iterable[str] = (),
) -> str:
    """Sections of settings as TOML text; ``comments`` are put above their dotted key."""
    blocks = [render_comment(header)]
    for section, values in nested.items():
        lines = [f"[{_render_key(section)}]\n"]
        for name, value in values.items():
            lines.append(render_comment((comments or {}).get(f"{section}.{name}", ())))
            lines.append(f"{_render_key(name)} = {render_value(value)}\n")
        blocks.append("".join(lines))
    blocks.append(render_comment(footer))
    return "\n".join(block for block in blocks if block)


def render_comment(lines: Iterable[str]) -> str:
    """Each line as a comment line; what a comment must not contain becomes a space."""
    clean = (
        _NOT_IN_COMMENT.sub(" ", part.encode("utf-8", "replace").decode("utf-8")).rstrip()
        for line in lines
        for part in line.split("\n")
    )
    return "".join(f"# {line}\n" if line else "#\n" for line in clean)


def render_value(value: Json) -> str:
    """One value on one line, except a text of several lines, which keeps them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _render_float(value)
    if isinstance(value, str):
        return _render_lines(value) if "\n" in value else _render_text(value)
    if isinstance(value, Mapping):
        items = (f"{_render_key(name)} = {_render_inline(item)}" for name, item in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_render_inline(item) for item in value)}]"
    raise TypeError(f"TOML has no value for {value!r}")


def _render_inline(value: Json) -> str:
    # Inline tables must stay on one line.
    return _render_text(value) if isinstance(value, str) else render_value(value)


def _render_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _render_text(name)


def _render_float(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)


def _escape(char: str) -> str:
    return _SHORT_ESCAPES.get(char) or f"\\u{ord(char):04x}"


def _render_text(value: str) -> str:
    return '"' + re.sub(r'[\x00-\x1f\x7f"\\]', lambda found: _escape(found[0]), value) + '"'


def _render_lines(value: str) -> str:
    body = value.replace("\\", "\\\\").replace('"""', '""\\"')
    body = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", lambda found: _escape(found[0]), body)
    if body.endswith('"'):
        body = body[:-1] + '\\"'
    return f'"""\n{body}"""'
