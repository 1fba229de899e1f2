"""Which addresses a notice may be sent to: decided on the text, then on what it resolves to.

An address that anybody may write names a public host, over https, on port 443. Hosts the
operator has listed (``notices.allow_hosts``) may be private, on another port, or unencrypted.
Nobody may reach link-local, multicast or metadata addresses, or an IPv4 address that is wrapped
into an IPv6 one.

The text is read strictly, by one grammar: readers that disagree on what the host is are how such
checks are passed by. Promise: whatever is not plainly a host and a port is refused before
anything is resolved, and no message quotes more than the host
(``tests/engine/test_notice_addresses.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from holdfast.errors import PolicyRefused

__all__ = ["Address", "AllowedHosts", "check_ip", "read_address"]

_MOST_CHARACTERS: Final = 2048
_HTTPS_PORT: Final = 443
_PORTS: Final = {"https": _HTTPS_PORT, "http": 80}

_ADDRESS: Final = re.compile(r"(https?)://([^/?#]*)([/?][^#]*)?", re.IGNORECASE)
_AUTHORITY: Final = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?")
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")

_INSIDE: Final = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "home.arpa")
"""Names that mean a machine near this one; they are not even asked for."""

_NEVER_4: Final = tuple(
    IPv4Network(each)
    for each in (
        "0.0.0.0/8",  # this network
        "169.254.0.0/16",  # link-local, with the metadata services of most clouds
        "168.63.129.16/32",  # Azure's host, on an address that looks public
        "100.100.100.200/32",  # Alibaba's metadata
        "192.0.0.192/32",  # Oracle's metadata
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_PRIVATE_4: Final = tuple(
    IPv4Network(each)
    for each in (
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by carriers
        "127.0.0.0/8",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",  # for documentation, as the two further on
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # for measurements between networks
        "198.51.100.0/24",
        "203.0.113.0/24",
    )
)
_LOOPBACK_6: Final = IPv6Network("::1/128")
_PUBLIC_6: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_UNIQUE_LOCAL: Final = IPv6Network("fc00::/7")
_NEVER_6: Final = tuple(
    IPv6Network(each)
    for each in (
        "2001::/23",  # protocol assignments, with Teredo
        "2001:db8::/32",  # for documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # for documentation
        "fd00:ec2::/32",  # Amazon's metadata
        "fd20:ce::/32",  # Google's metadata
    )
)
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a request goes. ``target`` may hold a secret, so it is never shown."""

    scheme: str
    host: str
    port: int
    is_listed: bool
    target: str = field(repr=False)

    @property
    def ip(self) -> str | None:
        """The host, if it is written as a number."""
        return self.host if _literal(self.host) is not None else None

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


class AllowedHosts:
    """The hosts the operator has listed, each with or without a port."""

    def __init__(self, listed: Iterable[str] = ()) -> None:
        self._listed = frozenset(map(_listed, listed))

    def __contains__(self, place: tuple[str, int]) -> bool:
        host, port = place
        return (host, port) in self._listed or (host, None) in self._listed


def _listed(written: str) -> tuple[str, int | None]:
    found = _AUTHORITY.fullmatch(written.strip())
    if found is None:
        return "", None  # matches no host
    return _plain_host(found[1]), int(found[2]) if found[2] else None


def read_address(url: str, allowed: AllowedHosts) -> Address:
    """
    Raises:
        PolicyRefused: it is no plain address, or one that may not be reached.
    """
    found = _parts(url)
    scheme = found[1].lower()
    authority = _AUTHORITY.fullmatch(found[2])
    if authority is None:
        what = "with a user name" if "@" in found[2] else "whose host cannot be read"
        raise PolicyRefused(f"It is an address {what}.")
    port = int(authority[2]) if authority[2] else _PORTS[scheme]
    host = _plain_host(authority[1])
    _check_host(host, authority[1])
    if not 0 < port < 65_536:
        raise PolicyRefused(f"{port} is no port.")
    is_listed = (host, port) in allowed
    if not is_listed:
        _check_unlisted(scheme, host, port)
    target = found[3] or "/"
    return Address(
        scheme=scheme,
        host=host,
        port=port,
        is_listed=is_listed,
        target=target if target.startswith("/") else f"/{target}",
    )


def _parts(url: str) -> re.Match[str]:
    if len(url) > _MOST_CHARACTERS:
        raise PolicyRefused(f"The address is longer than {_MOST_CHARACTERS} characters.")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise PolicyRefused(
            "The address holds characters that do not belong in one.",
            hint="Write hosts in their xn-- form and the rest percent-encoded.",
        )
    found = _ADDRESS.fullmatch(url)
    if found is None:
        raise PolicyRefused("It is not an https:// address without a fragment.")
    return found


def _plain_host(written: str) -> str:
    host = written.lower().removesuffix(".")
    literal = _literal(host[1:-1] if host.startswith("[") else host)
    return host if literal is None else str(literal)


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _check_host(host: str, written: str) -> None:
    literal = _literal(host)
    if written.startswith("["):
        if not isinstance(literal, IPv6Address) or "%" in host:
            raise PolicyRefused("What stands in brackets is not an IPv6 address.")
    elif literal is None:
        if not _NAME.fullmatch(host) or len(host) > 253:
            raise PolicyRefused("The address has no host, or one that is no name.")
        if _NUMBER.fullmatch(host.rpartition(".")[2]):
            raise PolicyRefused(
                f"{host} is a number in a spelling that readers understand differently.",
                hint="Write the address as four decimal numbers.",
            )


def _check_unlisted(scheme: str, host: str, port: int) -> None:
    is_inside = "." not in host and ":" not in host
    if is_inside or host.endswith(tuple(f".{each}" for each in _INSIDE)):
        raise _unlisted(host, "is a name of this machine or its network")
    if scheme != "https":
        raise _unlisted(host, "would be reached without encryption")
    if port != _HTTPS_PORT:
        raise _unlisted(f"{host}:{port}", "is not on port 443")


def _unlisted(host: str, why: str) -> PolicyRefused:
    return PolicyRefused(
        f"{host} {why}.", hint="If that is meant, list it in notices.allow_hosts of config.toml."
    )


# ── what it resolves to ─────────────────────────────────────────────────────────────────────


def check_ip(written: str, *, host: str, is_listed: bool) -> str:
    """The address as a connection may use it.

    Raises:
        PolicyRefused: it may not be reached: by nobody, or only by hosts that are listed.
    """
    ip = _literal(written.partition("%")[0])
    if ip is None:
        raise PolicyRefused(f"{host} resolves to something that is no address.")
    if isinstance(ip, IPv6Address) and ip in _NAT64:
        _check_4(IPv4Address(int(ip) & 0xFFFFFFFF), host=host, is_listed=False)
    elif isinstance(ip, IPv6Address):
        _check_6(ip, host=host, is_listed=is_listed)
    else:
        _check_4(ip, host=host, is_listed=is_listed)
    return str(ip)


def _check_4(ip: IPv4Address, *, host: str, is_listed: bool) -> None:
    if any(ip in network for network in _NEVER_4):
        raise PolicyRefused(f"{host} leads to {ip}, which no notice may reach.")
    if not is_listed and any(ip in network for network in _PRIVATE_4):
        raise _unlisted(host, f"leads to {ip}, which is not a public address")


def _check_6(ip: IPv6Address, *, host: str, is_listed: bool) -> None:
    is_near = ip in _LOOPBACK_6 or ip in _UNIQUE_LOCAL
    is_wrapped = (int(ip) >> 32) & 0xFFFFFFFF in _ISATAP
    if is_wrapped or any(ip in network for network in _NEVER_6):
        raise PolicyRefused(f"{host} leads to {ip}, which no notice may reach.")
    if is_near and not is_listed:
        raise _unlisted(host, f"leads to {ip}, which is not a public address")
    if not is_near and ip not in _PUBLIC_6:
        raise PolicyRefused(f"{host} leads to {ip}, which no notice may reach.")
