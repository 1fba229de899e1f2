"""Texts to be erased, a home that holds them everywhere, and a look at its bytes of our own.

The scanner shares no code with the one it judges.
"""

from __future__ import annotations

import base64
import json
import random
import re
import subprocess
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

import holdfast
from holdfast.context.flush import entry_hash
from holdfast.disk import Directory
from holdfast.engine.facade import Engine
from holdfast.memory.workspace import Workspace
from holdfast.memory.workspace.versions import Versions
from holdfast.retain import RetainLine, render
from holdfast.sessions.transcript import Draft, Transcript
from holdfast.testing import FixedClock, SequentialIds
from holdfast.types import Image, Json, Message, Text, Thinking, ToolCall, ToolResult

SHAPES = (
    "Quetzal{n}corn", "password is hunter{n}!", "张伟的护照号{n}码", "Ёлки-палки {n} Ж",
    "ΟΔΥΣΣΕΥΣ{n}ς", "Groß-Straße {n}", "مرحبا {n} بالعالم", "שלום{n}עולם", "한국어비밀{n}호",
    "ｶﾀｶﾅ{n}ガギグ", "👩‍🚀 mission {n} 🚀", "İstanbul{n}ıj",
    "cafe\u0301 n{n} re\u0301sume\u0301", "ＦＵＬＬ{n}ｗｉｄｔｈ", 'he said "no{n}" twice',
    "C:\\new\\tab{n}", "a/b/c{n}?x=1&y=2", "50%{n} off+more", "zoe{n}@example.org",
    "+49 151 {n}", "two  words\t{n}", "ﬁne oﬃce {n}", "𝕄𝕒𝕥𝕙{n}", "नमस्ते {n} दुनिया",
    "สวัสดี{n}ครับ", "<b>bold{n}</b>", "- list {n} item", "# head{n} line", "x_{n}_y-z",
    "Nguyễn {n} Văn",
)  # fmt: skip


def canaries(count: int, *, seed: int = 7) -> list[str]:
    chance = random.Random(seed)
    numbers = chance.sample(range(100_000, 999_999), count)
    return [SHAPES[index % len(SHAPES)].format(n=number) for index, number in enumerate(numbers)]


# ── planting ────────────────────────────────────────────────────────────────────────────────


def plant(home: Path, texts: Sequence[str], *, git: bool = True) -> None:
    """Put every text into every store there is, in several places."""
    with open_engine(home) as engine:
        _plant_sessions(engine, texts)
        _plant_files(home / "agents" / "main", texts, git=git)
    for options in ({"agent": "other"}, {"user": "bob"}, {"chat": "team", "chat_type": "group"}):
        with open_engine(home, **options) as engine:
            engine.session("s1").append_all({"role": "user", "content": t} for t in texts)
            base = engine._rooms.base.path
        _write(base / "MEMORY.md", "# Memory\n\n" + "".join(f"- W: {_line(t)}\n" for t in texts))
        _write(base / ".index" / "cache.bin", "\n".join(texts))
    for index, text in enumerate(texts):
        with (home / "events.jsonl").open("a") as events:
            told = {"event": "session_started", "at": "2026-03-14T09:26:53+00:00", "session": text}
            events.write(json.dumps(told | {"entries": index}) + "\n")


def open_engine(home: Path, **options: Json) -> Engine:
    _opened.append(1)
    ids = SequentialIds(f"id{len(_opened)}x")  # as unique as real ones
    return holdfast.open(home, clock=FixedClock(), ids=ids, **options)


_opened: list[int] = []


def _plant_sessions(engine: Engine, texts: Sequence[str]) -> None:
    session = engine.session("s1")
    store = engine._rooms.store
    transcript = engine._rooms.transcript("s1")
    session.append({"role": "user", "content": "This stays as it is."})
    for index, text in enumerate(texts):
        start = transcript.state().last_seq
        store.append(transcript, list(_messages(text, with_payload=index % 5 == 0)))
        transcript.append(list(_drafts(text)))
        heard = [entry for entry in transcript.entries(last=20) if entry.seq > start]
        said = [entry for entry in heard if entry.type == "message"]
        transcript.append(list(_derived(text, said)))
    last = transcript.entries(last=1)[0]
    store.fork(transcript, last.id, "fork")
    for index, text in enumerate(texts):
        name = re.sub(r"[^\w]", "", unicodedata.normalize("NFKC", text))[:40]
        if index % 10 == 0:
            engine.session(f"n{index}-{name}").append({"role": "user", "content": "hello"})
        if index % 10 == 1:
            engine.session(f"d{index}-{name}").append({"role": "user", "content": "hello"})
            engine.delete_session(f"d{index}-{name}")
    _damage(transcript, texts)


def _messages(text: str, *, with_payload: bool) -> Iterator[Message]:
    yield Message.of("user", f"Please note {text} for me.")
    yield Message(
        role="assistant",
        parts=(
            Thinking(text=f"hm {text}", signature="sig"),
            ToolCall(id="c", name="find", arguments={"q": text, f"k {text}": [text]}),
            ToolCall(id="d", name="find", arguments=json.dumps({"q": text})),
        ),
        form="parts",
    )
    result = ToolResult(call_id="c", content=(Text(text=f"found {text}"),))
    yield Message(role="tool", parts=(result,), form="parts", extra={"name": text})
    if not with_payload:
        return
    yield Message.of("user", "long " * 15_000 + text + " end" * 100)
    image = base64.b64encode(b"\x89PNG" + bytes(1000) + text.encode()).decode()
    yield Message(role="user", parts=(Image(media_type="image/png", data=image),), form="parts")
    wide = base64.b64encode(b"\x89PNG" + b"x" * 1000 + text.encode("utf-16-le")).decode()
    yield Message(role="user", parts=(Image(media_type="image/png", data=wide),), form="parts")


def _drafts(text: str) -> Iterator[Draft]:
    yield Draft(type="marker", data={"kind": "goal", "text": f"find {text}"})
    yield Draft(type="marker", data={"kind": "vars", "set": {"v": text, text: 1}})
    yield Draft(type="thing.new", data={"deep": [{"er": text}]}, extra={"more": {text: text}})


def _derived(text: str, said: Sequence[Json]) -> Iterator[Draft]:
    ids = [entry.id for entry in said]
    yield Draft(
        type="prune",
        data={"shown": [{"entry": ids[2], "part": 0, "text": f"found {text}", "how": "head"}]},
    )
    yield Draft(
        type="flush",
        data={
            "outcome": "flushed", "cycle": "genesis", "owner": "o1", "attempt": 1, "mode": "rules",
            "covers": ids, "hashes": [entry_hash(entry) for entry in said], "saved": 1,
        },
    )  # fmt: skip
    yield Draft(
        type="compaction",
        data={
            "summary": [
                {"text": "Config pin stays.", "sources": [], "kind": "pins"},
                {"text": f"User: note {text}\nUser: Please note", "sources": ids, "kind": "text"},
            ],
            "first_kept": None, "watermark": said[-1].seq, "pins": [], "kept": [],
            "cut_title": f"note {text}",
        },
    )  # fmt: skip


def _damage(transcript: Transcript, texts: Sequence[str]) -> None:
    """Bytes that are no record hold it too, and so does their copy in quarantine."""
    transcript.close()
    folder = transcript._folder.path
    file = folder / "s1.jsonl"
    debris = b"".join(
        b'{"hf":1,"seq":9,"broken":' + json.dumps(text, ensure_ascii=n % 2 == 0).encode() + b"\n"
        + b"\xff" + text.encode() + b"\xfe\n"
        for n, text in enumerate(texts)
    )  # fmt: skip
    file.write_bytes(file.read_bytes() + debris)
    transcript.verify()
    transcript.close()


def _plant_files(base: Path, texts: Sequence[str], *, git: bool) -> None:
    folder = Directory.open(base)
    space = Workspace(folder, clock=FixedClock(), ids=SequentialIds("op"))
    pages = {
        "MEMORY.md": "- W @Peter: {line}\n- W: stays {n}\n",
        "memory/2026-03-14.md": "prose {line} more\n\n- a plain item {line}\n- stays {n}\n\n",
        "memory/topics/travel.md": "## Head {line}\n\n```\ncode {line}\n```\n",
        "bank/entities/Peter.md": "> quote {line}\n\n",
        "archive/memory/2020-01-01.md": "- W: {line}\n",
        "USER.md": "{line}\n\n",
    }
    for path, shape in pages.items():
        body = "".join(shape.format(line=_line(text), n=n) for n, text in enumerate(texts))
        space.edit(path, lambda _, body=body: f"# Page\n\n{body}")  # type: ignore[misc]
    kept = [
        RetainLine(kind="W", text="x", id=f"m{n}", extra={"was": t}) for n, t in enumerate(texts)
    ]
    comments = "".join(render(line) + "\n" for line in kept)
    space.edit("bank/world.md", lambda _: f"# World\n\n{comments}- W: stays\n")
    for n, text in enumerate(texts):
        if n % 5 == 0:
            name = holdfast_slug(text)
            space.edit(f"tasks/2026-03-14-{name}.md", lambda _, t=text: f"# {_line(t)}\n\nx\n")  # type: ignore[misc]
    if git:
        Versions(folder).commit("first", [path for path in space.files() if "tasks" not in path])
    space.edit("MEMORY.md", lambda text: (text or "") + "- W: and one more\n")
    if git:
        Versions(folder).commit("second", ["MEMORY.md"])


def holdfast_slug(text: str) -> str:
    from holdfast.text import slug  # noqa: PLC0415

    return slug(text)


def _line(text: str) -> str:
    return " ".join(text.split())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


# ── looking ─────────────────────────────────────────────────────────────────────────────────


def left(home: Path, texts: Sequence[str]) -> list[str]:
    """Every place where a text still stands: ``file: text``."""
    forms = {text: _forms(text) for text in texts}
    found = []
    for path, data in _everything(home):
        plain = _plain(data.decode("utf-8", "replace"))
        loose = _plain(_unescaped(data.decode("utf-8", "replace")))
        for text in texts:
            wanted = _plain(text)
            hit = wanted in plain or wanted in loose or any(form in data for form in forms[text])
            if hit:
                found.append(f"{path}: {text}")
    return found


def _everything(home: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(home.rglob("*")):
        yield f"name of {path}", path.name.encode()
        if path.is_file() and ".git" not in path.parts:
            yield str(path), path.read_bytes()
        if path.name == ".git" and path.is_dir():
            ask = ["git", "-C", str(path.parent), "cat-file", "--batch-all-objects", "--batch"]
            yield f"objects of {path}", subprocess.run(ask, capture_output=True, check=True).stdout


def _forms(text: str) -> set[bytes]:
    written = {text, text.lower(), text.upper()}
    written |= {unicodedata.normalize(form, each) for form in ("NFC", "NFD") for each in written}
    forms: set[bytes] = set()
    for each in written:
        forms |= {each.encode(), each.encode("utf-16-le"), each.encode("utf-16-be")}
        for shift in range(3):
            whole = base64.b64encode(b"\0" * shift + each.encode())
            forms.add(whole[4:-4])
    return {form for form in forms if len(form) > 7}


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    visible = (
        char for char in folded if unicodedata.category(char) not in ("Cf", "Mn") or char == " "
    )
    return " ".join("".join(visible).split())


def _unescaped(text: str) -> str:
    text = re.sub(
        r"\\+u(d[89ab]\w\w)\\+u(d[c-f]\w\w)",
        lambda m: chr(0x10000 + ((int(m[1], 16) - 0xD800) << 10) + int(m[2], 16) - 0xDC00),
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text)
    return re.sub(r"\\+[nt]", " ", re.sub(r'\\+(["/\\])', r"\1", text))
