"""The console's files, read as text: nothing inline, nothing remote, nothing that turns a text into
markup or code, and every word in both languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(str(files("holdfast.server"))) / "console"
ALL: Final = sorted(path for path in ROOT.rglob("*") if path.is_file())
SCRIPTS: Final = [path for path in ALL if path.suffix == ".js"]
STYLES: Final = [path for path in ALL if path.suffix == ".css"]
LONGEST: Final = 600
NAMESPACES: Final = ("http://www.w3.org/2000/svg",)
LANGUAGES: Final = ("en", "zh")

_TOKEN: Final = re.compile(
    r"//[^\n]*|/\*.*?\*/"  # comments
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)"
    r"|(?P<mark>[{}\[\]():,])"
    r"|(?P<word>[A-Za-z_$][\w$]*)",
    re.DOTALL,
)
_T_LITERAL: Final = re.compile(r"\bt\(\s*([\"'])([^\"']+)\1")
_TEMPLATE: Final = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_LITERAL: Final = re.compile(r"\"([^\"\\\n]*)\"")
_PLACE: Final = re.compile(r"\{(\w+)\}")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def code_of(path: Path) -> str:
    """Without comments: a comment may name what code may not."""
    return _TOKEN.sub(
        lambda found: found[0] if found.lastgroup else " ", path.read_text(encoding="utf-8")
    )


# ── what may not be there ───────────────────────────────────────────────────────────────────


def test_only_text_that_people_wrote_is_shipped_and_every_file_is_short() -> None:
    assert {path.suffix for path in ALL} <= {".html", ".js", ".css", ".svg"}
    assert {"index.html", "app.js", "icon.svg"} <= {name_of(path) for path in ALL}
    long = [name_of(path) for path in ALL if len(path.read_text("utf-8").splitlines()) > LONGEST]
    assert long == []


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.loaded: list[str] = []
        self._in: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self._in = tag
        self.inline += [f"{tag} {name}" for name in named if name.startswith("on")]
        self.inline += [f"{tag} style"] if "style" in named or tag == "style" else []
        self.loaded += [value for key in ("src", "href") if (value := named.get(key))]

    def handle_endtag(self, tag: str) -> None:
        self._in = None

    def handle_data(self, data: str) -> None:
        if self._in in {"script", "style"} and data.strip():
            self.inline.append(f"text of {self._in}")


def test_the_page_has_nothing_inline_and_loads_only_files_that_are_there() -> None:
    page = _Page()
    page.feed((ROOT / "index.html").read_text("utf-8"))
    assert page.inline == []
    for address in page.loaded:
        if not address.startswith("#"):
            assert (ROOT / address.removeprefix("/console/")).is_file(), address
            assert address.startswith("/console/")
    linked = {each for each in page.loaded if each.endswith(".css")}
    assert linked == {f"/console/{name_of(path)}" for path in STYLES}, "a style nobody loads"


def test_no_file_names_an_address_elsewhere() -> None:
    for path in ALL:
        text = path.read_text("utf-8")
        for namespace in NAMESPACES:
            text = text.replace(namespace, "")
        found = re.findall(r"(?i)\b(?:https?|wss?|ftp):\s*//[^\s\"']*", text)
        found += re.findall(r"""["'(]//[a-z]|@import""", text)
        assert found == [], name_of(path)


_NEVER: Final = {
    "code out of text": r"\beval\s*\(|\bnew\s+Function\b|\bFunction\s*\("
    r"|\b(?:setTimeout|setInterval)\s*\(\s*[\"'`]",
    "markup out of text": r"outerHTML|insertAdjacentHTML|document\.write|DOMParser"
    r"|createContextualFragment|setHTMLUnsafe|parseHTMLUnsafe|srcdoc\s*=|javascript:",
    "styles in attributes": r"cssText|\.style\s*=[^=]|setAttribute\(\s*[\"']style",
    "handlers in attributes": r"setAttribute\(\s*[\"'`]on"
    r"|\.on(?:click|load|error|input|message)\s*=[^=]",
    "ways out": r"XMLHttpRequest|WebSocket|sendBeacon|EventSource|RTCPeerConnection|window\.open"
    r"|importScripts|serviceWorker|new\s+Worker",
    "cookies": r"document\.cookie|cookieStore",
    "other windows": r"postMessage|window\.opener|window\.parent",
}


@pytest.mark.parametrize("what", _NEVER)
def test_no_script_has(what: str) -> None:
    found = {name_of(path): re.findall(_NEVER[what], code_of(path)) for path in SCRIPTS}
    assert {name: hits for name, hits in found.items() if hits} == {}


def test_html_is_parsed_in_one_place_and_the_server_asked_in_one() -> None:
    for word, home in (("innerHTML", "dom.js"), ("createPolicy", "dom.js"), (" fetch(", "api.js")):
        where = {name_of(path): code_of(path).count(word) for path in SCRIPTS}
        assert {name: count for name, count in where.items() if count} == {home: 1}, word


def test_a_script_loads_only_scripts_that_are_there() -> None:
    static = re.compile(r"""(?m)^(?:import|export)\b(?:[^;"']*?\bfrom)?\s*["']([^"']+)["']""")
    for path in SCRIPTS:
        code = code_of(path)
        for found in static.findall(code):
            assert found.startswith("."), (name_of(path), found)
            assert (path.parent / found).resolve().is_file(), (name_of(path), found)
        assert code.count("\nimport ") <= len(static.findall(code)), name_of(path)
        dynamic = re.findall(r"\bimport\s*\(([^)]*)\)", code)
        assert dynamic == (["`./pages/${id}/page.js`"] if name_of(path) == "app.js" else [])


def test_the_token_is_kept_by_one_file_and_only_as_long_as_the_tab() -> None:
    for path in SCRIPTS:
        code = code_of(path)
        assert ("holdfast.token" in code) == (name_of(path) == "api.js"), name_of(path)
        assert "Authorization" not in code or name_of(path) == "api.js"
    assert "localStorage" not in code_of(ROOT / "api.js")


def test_styles_use_the_names_of_colours_so_that_both_themes_are_whole() -> None:
    base = (ROOT / "style/base.css").read_text("utf-8")
    light, dark = (
        re.search(rf"(?m)^{re.escape(start)} \{{(.*?)^\}}", base, re.DOTALL)
        for start in (":root", ':root[data-theme="dark"]')
    )
    assert light
    assert dark
    coloured = re.compile(r"(--[\w-]+):\s*(?:#|rgb|0 )")
    assert set(coloured.findall(light[1])) == set(coloured.findall(dark[1]))
    known = set(re.findall(r"(--[\w-]+)\s*:", "".join(path.read_text("utf-8") for path in STYLES)))
    for path in STYLES:
        text = path.read_text("utf-8")
        used = set(re.findall(r"var\((--[\w-]+)", text))
        by_script = set(re.findall(r"\"(--[\w-]+)\"", "".join(map(code_of, SCRIPTS))))
        assert used <= known | by_script, name_of(path)
        if path.name != "base.css":
            assert re.findall(r":[^;{}]*#[0-9a-fA-F]{3,8}\b", text) == [], name_of(path)


# ── words ───────────────────────────────────────────────────────────────────────────────────


def _object(tokens: Iterator[re.Match[str]]) -> dict[str, object]:
    """An object of strings and objects, as the words are written."""
    made: dict[str, object] = {}
    key: str | None = None
    parts: list[str] = []
    for token in tokens:
        if token["mark"] == ":":
            key, parts = "".join(parts), []
        elif token["mark"] == "{":
            assert key is not None
            made[key], key = _object(tokens), None
        elif token["mark"] in {",", "}"}:
            if key is not None:
                assert key not in made, f"{key} is there twice"
                made[key] = "".join(parts)
            key, parts = None, []
            if token["mark"] == "}":
                return made
        elif token["string"]:
            parts.append(token["string"][1:-1])
        elif token["word"]:
            parts.append(token["word"])
    raise AssertionError("an object that does not end")


@cache
def words() -> dict[str, dict[str, dict[str, object]]]:
    """What each file says: file → language → key → text."""
    told: dict[str, dict[str, dict[str, object]]] = {}
    for path in SCRIPTS:
        code = code_of(path)
        for start in re.finditer(r"(?m)^addWords\(\{", code):
            tokens = (each for each in _TOKEN.finditer(code, start.end()) if each.lastgroup)
            told[name_of(path)] = _object(tokens)  # type: ignore[assignment]
    return told


def _texts(value: object) -> list[str]:
    return list(value.values()) if isinstance(value, dict) else [str(value)]


def test_every_word_is_said_in_both_languages_with_the_same_places() -> None:
    assert len(words()) > 4
    seen: dict[str, str] = {}
    for name, said in words().items():
        assert set(said) == set(LANGUAGES), name
        assert set(said["en"]) == set(said["zh"]), name
        for key, english in said["en"].items():
            assert seen.setdefault(key, name) == name, f"{key} is said by {seen[key]} and {name}"
            chinese = said["zh"][key]
            places = [
                set().union(*(_PLACE.findall(text) for text in _texts(value))) - {"count"}
                for value in (english, chinese)
            ]
            assert places[0] == places[1], key
            assert all(text.strip() for text in (*_texts(english), *_texts(chinese))), key
            if isinstance(english, dict):
                assert set(english) == {"one", "other"}, key


def test_chinese_words_are_chinese_and_english_ones_are_not() -> None:
    han = re.compile(r"[\u4e00-\u9fff]")
    excused = re.compile(r"^(?:app\.name|language\.)|\.(?:other|name|unit)$")
    for name, said in words().items():
        for key in said["en"]:
            if excused.search(key) or not re.search(r"[a-z]{4}", "".join(_texts(said["en"][key]))):
                continue
            assert not han.search("".join(_texts(said["en"][key]))), (name, key)
            without = _PLACE.sub("", "".join(_texts(said["zh"][key])))
            if re.search(r"[A-Za-z]{3}\s+[A-Za-z]{3}\s+[A-Za-z]{3}", without):
                assert han.search(without), (name, key)


def _used() -> tuple[set[str], list[re.Pattern[str]], set[str]]:
    """Keys that are asked for, patterns of keys that are put together, every literal."""
    asked: set[str] = set()
    shaped: list[re.Pattern[str]] = []
    literals: set[str] = set()
    for path in SCRIPTS:
        code = code_of(path)
        start = re.search(r"(?m)^addWords\(\{", code)
        spoken = code[: start.start()] if start else code
        if start:  # what stands after the words
            spoken += code[code.index("\n});", start.start()) :]
        asked |= {found[2] for found in _T_LITERAL.finditer(spoken)}
        literals |= set(_LITERAL.findall(spoken))
        for template in _TEMPLATE.findall(spoken):
            if re.match(r"[a-z]+\.", template) and "${" in template:
                fixed = re.split(r"\$\{[^}]*\}", template)
                shaped.append(re.compile("[^.]+".join(map(re.escape, fixed))))
    return asked, shaped, literals


def test_what_is_asked_for_is_said_and_what_is_said_is_asked_for() -> None:
    known = {key for said in words().values() for key in said["en"]}
    asked, shaped, literals = _used()
    assert asked - known == set(), "asked for and never said"
    unused = {
        key
        for key in known - asked - literals
        if not any(pattern.fullmatch(key) for pattern in shaped)
    }
    assert unused == set(), "said and never asked for"
