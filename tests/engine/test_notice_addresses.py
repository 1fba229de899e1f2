"""Which addresses a notice may go to: every other spelling and place is refused unconnected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engine.notify.addresses import AllowedHosts, check_ip, read_address
from holdfast.errors import PolicyRefused
from tests.engine.receivers import (
    PUBLIC,
    Receiver,
    Watched,
    receiver,
)
from tests.scale import scaled


@pytest.fixture
def here() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


# ── what is refused ─────────────────────────────────────────────────────────────────────────

SPELLINGS = """
http://hooks.example.com/
HTTP://hooks.example.com/
ftp://hooks.example.com/
file:///etc/passwd
gopher://hooks.example.com/
https:hooks.example.com
https:/hooks.example.com
//hooks.example.com/
https://
https:///path
https://?x
https://hooks.example.com:8443/
https://hooks.example.com:80/
https://hooks.example.com:22/
https://hooks.example.com:0/
https://hooks.example.com:65999/
https://hooks.example.com:-1/
https://hooks.example.com:443443/
https://hooks.example.com:4 43/
https://user@hooks.example.com/
https://user:word@hooks.example.com/
https://hooks.example.com:443@127.0.0.1/
https://127.0.0.1#@hooks.example.com/
https://hooks.example.com#fragment
https://hooks.example.com\\@127.0.0.1/
https://hooks.example.com\\.evil.com/
https://hooks.example.com%00.evil.com/
https://%31%32%37.0.0.1/
https://127.0.0.1/
https://127.0.0.1:443/
https://127.0.0.1./
https://127.1/
https://127.0.1/
https://2130706433/
https://0x7f000001/
https://0x7f.0.0.1/
https://0x7f.1/
https://017700000001/
https://0177.0.0.1/
https://127.0.0.01/
https://127.0.0.0x1/
https://0/
https://0.0.0.0/
https://10.0.0.1/
https://172.16.0.1/
https://172.31.255.255/
https://192.168.1.1/
https://100.64.0.1/
https://100.100.100.200/latest/meta-data/
https://169.254.169.254/latest/meta-data/
https://169.254.170.2/v2/credentials
https://168.63.129.16/
https://192.0.0.192/
https://192.0.2.1/
https://198.18.0.1/
https://198.51.100.7/
https://203.0.113.7/
https://224.0.0.1/
https://239.255.255.250/
https://240.0.0.1/
https://255.255.255.255/
https://[::]/
https://[::1]/
https://[::ffff:127.0.0.1]/
https://[::ffff:7f00:1]/
https://[::ffff:0:127.0.0.1]/
https://[::127.0.0.1]/
https://[0:0:0:0:0:ffff:169.254.169.254]/
https://[64:ff9b::7f00:1]/
https://[64:ff9b::169.254.169.254]/
https://[64:ff9b:1::1]/
https://[2002:7f00:1::]/
https://[2002:a9fe:a9fe::]/
https://[2001:0:5ef5:79fd:0:59d:80ff:fffe]/
https://[2001:db8::1]/
https://[3fff::1]/
https://[fe80::1]/
https://[fe80::1%25eth0]/
https://[fe80::5efe:7f00:1]/
https://[2600::5efe:127.0.0.1]/
https://[fec0::1]/
https://[fc00::1]/
https://[fd00:ec2::254]/
https://[fd20:ce::254]/
https://[ff02::1]/
https://[100::1]/
https://[::1/
https://::1/
https://[127.0.0.1]/
https://[]/
https://localhost/
https://LOCALHOST/
https://localhost./
https://a.localhost/
https://printer.local/
https://metadata.google.internal/computeMetadata/v1/
https://metadata.google.internal./
https://intranet/
https://nas.lan/
https://router.home.arpa/
https://-dash.example.com/
https://a..b.example.com/
https://*.example.com/
https://hooks.example.com,evil.com/
https://hooks.example.com;evil.com/
https://１２７.０.０.１/
https://ⓛocalhost/
https://例え.jp/
https://hooks.example.com/\u202e
https://hooks.example.com/a b
https://private.example.com/
https://metadata.example.com/
https://mapped.example.com/
https://mixed.example.com/
https://scoped.example.com/
https://unspecified.example.com/
https://garbage.example.com/
""".strip().splitlines()

CONTROLS = [
    "https://hooks.example.com/\r\nHost: evil.com",
    "https://hooks.example.com\n/",
    "https://hooks.example.com\t/",
    "https://hooks.example.com/\0",
    " https://hooks.example.com/",
    "https://hooks.example.com/" + "a" * 3000,
    "https://" + "a" * 64 + ".example.com/",
    "https://" + "a." * 200 + "com/",
    "",
]

LEADS_TO: dict[str, Sequence[str]] = {
    "hooks.example.com": [PUBLIC],
    "private.example.com": ["10.1.2.3"],
    "metadata.example.com": ["169.254.169.254"],
    "mapped.example.com": ["::ffff:10.1.2.3"],
    "mixed.example.com": [PUBLIC, "127.0.0.1"],
    "scoped.example.com": ["fe80::1%eth0"],
    "unspecified.example.com": ["::"],
    "garbage.example.com": ["not an address"],
}


@pytest.mark.parametrize("url", [*SPELLINGS, *CONTROLS])
def test_what_is_not_plainly_a_public_https_address_is_refused_without_a_connection(
    url: str,
) -> None:
    watched = Watched(LEADS_TO)
    with pytest.raises(PolicyRefused):
        watched.post(url)
    assert watched.connected == []


def test_the_list_of_refused_addresses_is_long_and_only_names_are_ever_resolved() -> None:
    assert len(set(SPELLINGS)) >= 100
    watched = Watched(LEADS_TO)
    for url in [*SPELLINGS, *CONTROLS]:
        with pytest.raises(PolicyRefused):
            watched.post(url)
    assert set(watched.resolved) <= set(LEADS_TO) - {"hooks.example.com"}


NOT_PUBLIC = [
    IPv4Network(each)
    for each in (
        *("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"),
        *("100.64.0.0/10", "0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "198.18.0.0/15"),
    )
]
inner = st.sampled_from(NOT_PUBLIC).flatmap(
    lambda network: st.integers(int(network.network_address), int(network.broadcast_address)).map(
        IPv4Address
    )
)


def spelled(ip: IPv4Address) -> st.SearchStrategy[str]:
    a, b, c, d = ip.packed
    number = int(ip)
    part = st.sampled_from(["{}", "0x{:x}", "0{:o}", "{:03d}"])
    four = st.tuples(part, part, part, part).map(
        lambda f: ".".join(form.format(n) for form, n in zip(f, (a, b, c, d), strict=True))
    )
    return st.one_of(
        four,
        st.sampled_from(
            [
                f"{number}",
                f"0x{number:08X}",
                f"0{number:o}",
                f"{a}.{number & 0xFFFFFF}",
                f"{a}.{b}.{c * 256 + d}",
                f"{ip}.",
                f"[::ffff:{ip}]",
                f"[::{ip}]",
                f"[64:ff9b::{ip}]",
                f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]",
                f"[2620::5efe:{ip}]",
            ]
        ),
    )


@given(data=st.data())
@settings(max_examples=scaled(120))
def test_no_spelling_of_an_inner_address_is_connected_to(data: st.DataObject) -> None:
    host = data.draw(inner.flatmap(spelled))
    watched = Watched()
    with pytest.raises(PolicyRefused):
        watched.post(f"https://{host}/")
    assert watched.connected == []
    assert watched.resolved == []


@given(ip=inner, number=st.integers(0, 2**128 - 1))
@settings(max_examples=scaled(80))
def test_a_name_that_leads_inside_or_to_nowhere_is_refused(ip: IPv4Address, number: int) -> None:
    wide = IPv6Address(number)
    for found in (ip, wide):
        if isinstance(found, IPv6Address) and number >> 125 == 1:
            continue  # public, mostly
        watched = Watched({"hooks.example.com": [PUBLIC, str(found)]})
        with pytest.raises(PolicyRefused):
            watched.post("https://hooks.example.com/")
        assert watched.connected == []


@given(url=st.text(max_size=80) | st.from_regex(r"https?://[ -~]{0,60}", fullmatch=True))
@settings(max_examples=scaled(120))
def test_any_text_is_refused_or_read_as_a_plain_host_on_port_443(url: str) -> None:
    try:
        address = read_address(url, AllowedHosts())
    except PolicyRefused:
        return
    assert address.scheme == "https"
    assert address.port == 443
    assert address.host in url.lower()
    assert not set(address.host) & set("@/\\?#% \t\r\n")
    assert address.target.startswith("/")
    assert address.target.isascii()


@pytest.mark.parametrize("ip", [PUBLIC, "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::5db8:d822"])
def test_public_addresses_may_be_reached(ip: str) -> None:
    assert check_ip(ip, host="hooks.example.com", is_listed=False) == ip


# ── hosts the operator has listed ───────────────────────────────────────────────────────────


def test_a_listed_host_may_be_private_unencrypted_and_on_any_port(here: Receiver) -> None:
    assert Watched(allow_hosts=["127.0.0.1"]).post(here.url) == 200
    assert Watched(allow_hosts=[here.place]).post(here.url) == 200
    by_name = Watched({"nas.lan": ["127.0.0.1"]}, allow_hosts=["NAS.lan"])
    assert by_name.post(f"http://nas.lan:{here.port}/") == 200
    assert here.requests[-1].headers["host"] == f"nas.lan:{here.port}"


@pytest.mark.parametrize(
    ("listed", "url"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8081/"),
        ("nas.lan", "http://other.nas.lan/"),
        ("nas.lan", "http://nas.lan.evil.com/"),
        ("nas.lan", "http://evilnas.lan/"),
        ("127.0.0.1", "http://127.1/"),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]/"),
        ("", "http:///"),
        ("*", "http://intranet/"),
    ],
)
def test_a_list_opens_exactly_what_it_names(listed: str, url: str) -> None:
    watched = Watched({"intranet": ["10.0.0.1"]}, allow_hosts=[listed])
    with pytest.raises(PolicyRefused):
        watched.post(url)
    assert watched.connected == []


@pytest.mark.parametrize(
    "ip",
    [
        *("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "0.0.0.0"),
        *("224.0.0.1", "255.255.255.255", "fd00:ec2::254", "fd20:ce::254", "fe80::1", "ff02::1"),
        *("::", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"),
    ],
)
def test_metadata_and_wrapped_addresses_are_not_reached_even_if_listed(ip: str) -> None:
    watched = Watched({"nas.lan": [ip]}, allow_hosts=["nas.lan", ip, f"[{ip}]"])
    for host in ("nas.lan", f"[{ip}]" if ":" in ip else ip):
        with pytest.raises(PolicyRefused):
            watched.post(f"http://{host}/")
    assert watched.connected == []
