"""``holdfast serve``: listen, print the link, open the browser, serve; the token, new links.

Promise: stdout holds the link (or one object with ``--json``) and nothing else; an address that
others reach is refused before anything is opened (``tests/doors/test_cli_serve.py``).
"""

from __future__ import annotations

import html
import json
import logging
import os
import ssl
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast.cli import render
from holdfast.cli.options import Door
from holdfast.cli.speech import Language, filled, language
from holdfast.config import default_home
from holdfast.disk import Directory
from holdfast.errors import HoldfastError, NotFound, UsageError
from holdfast.gatehouse.listening import Tls, check_address, listening
from holdfast.server.presence import Presence, find, refusal
from holdfast.server.tokens import TokenFile

if TYPE_CHECKING:
    from holdfast.server.places import Place
    from holdfast.server.running import Server

__all__ = ["Wish", "host", "is_installed", "link", "opening", "serve", "token"]

_ASK_SECONDS: Final = 10.0
_WORDS: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "serves": "Holdfast serves {url}. Sign in once, within five minutes:",
        "again": "Another browser: {command}. Ctrl-C saves and ends it.",
        "saving": "Saving what was said…",
    },
    "zh": {
        "serves": "Holdfast 正在 {url} 提供服务。请在五分钟内用下面的链接登录（只能用一次）：",
        "again": "换一个浏览器：{command}。按 Ctrl-C 会先保存再结束。",
        "saving": "正在保存对话内容…",
    },
}
_SIGN_IN: Final = ".tmp-sign-in-"  # as of files that no backup holds
_LOOK_SECONDS: Final = 1.0
"""How often is looked whether the browser has signed in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the options of ``serve`` ask for."""

    host: str = "127.0.0.1"
    port: int = 8378
    hosts: tuple[str, ...] = ()
    is_behind_tls: bool = False
    certificate: Path | None = None
    key: Path | None = None
    opens: bool = True
    tour: Callable[[Language], Place] | None = None
    """Opens the tour's place, which is served beside the own one."""
    as_json: bool = False


def is_installed() -> bool:
    """Whether what serving needs is there; it is not loaded."""
    return all(find_spec(each) is not None for each in ("fastapi", "uvicorn", "nh3"))


def serve(door: Door, wish: Wish) -> None:
    """Serve this memory, until a signal comes."""
    host(door, wish, own_first=True)


def host(door: Door, wish: Wish, *, own_first: bool) -> None:
    """Serve until a signal comes; the link leads to the own memory or to the tour."""
    if not is_installed():
        raise UsageError(
            "What the server needs is not installed.", hint="pip install 'holdfast[server]'"
        )
    if door.folder:
        raise UsageError(
            "The console is for the owner of the memory: its events are those of the whole home.",
            hint="For others: holdfast mcp clients add NAME --user NAME, and holdfast mcp --http",
        )
    home = _home(door)
    tls = _tls(wish)
    _check(wish, tls, TokenFile(home))
    if (running := find(Directory.open(home))) is not None:
        raise refusal(running)
    bound = listening(wish.host, wish.port)
    _log_to_stderr()
    with ExitStack() as opened:
        with ExitStack() as undone:  # nothing stays open if it cannot begin
            undone.callback(bound.close)
            places = _places(door, wish)
            for place in places:
                undone.callback(place.engine.close)
            server = _server(places, wish, tls, home)
            undone.callback(server.give_up)
            server.listen(bound)
            link = server.new_link(place=None if own_first or wish.tour is None else "tour")
            _tell(server, link, wish, door)
            if wish.opens and not wish.as_json and _has_screen():
                opened.enter_context(opening(server, link, Directory.open(home)))
            undone.pop_all()
        saving = _WORDS[language(os.environ)]["saving"]
        server.run(bound, ending=lambda: render.note(saving))


def _places(door: Door, wish: Wish) -> list[Place]:
    from holdfast.server.places import OWN, Place

    own = Place(name=OWN, engine=door.open(background=True))
    return [own] if wish.tour is None else [own, wish.tour(language(os.environ))]


def _server(places: list[Place], wish: Wish, tls: Tls | None, home: Path) -> Server:
    from holdfast.server.places import Places
    from holdfast.server.running import Server

    return Server(
        Places(places), home=home, hosts=wish.hosts, tls=tls, language=language(os.environ)
    )


def _home(door: Door) -> Path:
    given = door.home_path()
    return given if given is not None else default_home(os.environ)


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")


# ── before it listens ───────────────────────────────────────────────────────────────────────


def _tls(wish: Wish) -> Tls | None:
    if wish.certificate is None and wish.key is None:
        return None
    if wish.certificate is None or wish.key is None:
        raise UsageError("TLS needs both: --tls-cert FILE --tls-key FILE.")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(wish.certificate, wish.key)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"The certificate {str(wish.certificate)!r} and its key cannot be used: {error}.",
            hint="Both are PEM files, the key without a password.",
        ) from None
    return Tls(certificate=wish.certificate.absolute(), key=wish.key.absolute())


def _check(wish: Wish, tls: Tls | None, file: TokenFile) -> None:
    check_address(
        wish.host,
        is_behind_tls=wish.is_behind_tls,
        hosts=wish.hosts,
        is_ready=file.read() is not None,
        otherwise="no token was made for it yet",
        hint="holdfast serve token",
        tls=tls,
    )


# ── what is said ────────────────────────────────────────────────────────────────────────────


def _tell(server: Server, link: str, wish: Wish, door: Door) -> None:
    if wish.as_json:
        render.json_line(
            {
                "url": server.url,
                "link": link,
                "token_file": str(server.token_file),
                "pid": os.getpid(),
            }
        )
    else:
        words = _WORDS[language(os.environ)]
        render.note(filled(words["serves"], url=server.url))
        render.say(link)
        render.note(filled(words["again"], command=door.command("serve", "link")))
    sys.stdout.flush()


# ── the browser ─────────────────────────────────────────────────────────────────────────────


@contextmanager
def opening(server: Server, link: str, home: Directory) -> Iterator[None]:
    """Open the link in a browser, by way of a file that only its owner can read: everybody on
    this machine sees what a program is started with. The file goes when the code is used or too
    old, at the latest at the end."""
    name = f"{_SIGN_IN}{os.getpid()}.html"
    code = link.partition("#code=")[2].partition("&")[0]
    ended = threading.Event()
    home.replace(name, _forwarding(link), durable=False)

    def open_and_watch() -> None:
        webbrowser.open((home.path / name).as_uri())
        while not ended.wait(_LOOK_SECONDS) and server.is_open(code):
            pass
        home.remove(name)

    threading.Thread(target=open_and_watch, name="holdfast-browser", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        home.remove(name)


def _forwarding(link: str) -> bytes:
    to = html.escape(link)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Holdfast</title>'
        '<meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0;url={to}"><a href="{to}">Holdfast</a></html>\n'
    ).encode()


def _has_screen() -> bool:
    """Whether somebody sits before it who would see a browser open."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()) or "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform == "darwin" or any(
        os.environ.get(each) for each in ("DISPLAY", "WAYLAND_DISPLAY")
    )


# ── the token, and links to a server that runs ──────────────────────────────────────────────


def token(door: Door, *, rotate: bool, as_json: bool) -> None:
    """The token of this home, or another one from now on."""
    file = TokenFile(_home(door))
    found = file.rotate() if rotate else file.make()
    if as_json:
        render.json_line({"token": found, "file": str(file.path), "rotated": rotate})
        return
    render.say(found)
    render.note(f"It is in {file.path}." + (" The old one is void." if rotate else ""))


def link(door: Door, *, as_json: bool) -> None:
    """Ask the server that runs for one more code."""
    home = _home(door)
    running = find(Directory.open(home))
    if running is None:
        raise NotFound("No server of this home runs.", hint=door.command("serve"))
    found = _asked(running, TokenFile(home).make())
    if as_json:
        render.json_line(found)
    else:
        render.say(found["url"])
        render.note("It signs one browser in, within five minutes.")


def _asked(running: Presence, master: str) -> dict[str, str]:
    connection = _connection(running)
    headers = {"Host": running.host, "Authorization": f"Bearer {master}"}
    try:
        connection.request("POST", "/api/v1/sign-in-codes", headers=headers)
        answer = connection.getresponse()
        told = json.loads(answer.read(1 << 16))
        if answer.status == 200:
            return {key: str(told[key]) for key in ("code", "url", "expires_at")}
        why = str(told["error"]["message"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        why = str(error) or type(error).__name__
    finally:
        connection.close()
    raise HoldfastError(
        f"The server at {running.url} gave no link: {why}",
        hint=f"End process {running.pid} if it hangs, and start it again: holdfast serve",
    )


def _connection(running: Presence) -> HTTPConnection:
    if running.certificate is None:
        return HTTPConnection(running.address, running.port, timeout=_ASK_SECONDS)
    # The very certificate it was started with, whatever name is in it.
    pinned = ssl.create_default_context(cafile=running.certificate)
    pinned.check_hostname = False
    pinned.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return HTTPSConnection(running.address, running.port, timeout=_ASK_SECONDS, context=pinned)
