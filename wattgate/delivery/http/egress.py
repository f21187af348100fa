"""Where requests to addresses that users name may go: how such an address is written, and to which networks. Pure."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

MAX_LENGTH = 2_048
"""The longest address, in characters."""

MAX_HOST = 253
"""The longest name of a host (RFC 1035)."""

PORTS = {"https": (443, 8443), "http": (80, 8080)}
"""The ports of each scheme, the usual one first; others only in networks that the settings name."""

_IN_PATH = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*"
_IN_QUERY = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*"
_WRITTEN = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?P<port>:[0-9]{1,5})?"
    rf"(?P<path>(?:/{_IN_PATH})?)(?P<query>(?:\?{_IN_QUERY})?)"
)
"""RFC 3986 without what is of no use here (user names, fragments, zones), and what parsers disagree on."""

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""A last label of this form makes a host an IPv4 address, however oddly written (WHATWG URL, section 3.5)."""

NOT_PUBLIC = tuple(
    ip_network(one)
    for one in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers
        "127.0.0.0/8",  # this machine
        "168.63.129.16/32",  # what a cloud tells its own machines, at an address that looks public
        "169.254.0.0/16",  # link-local, and the metadata of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "2001::/23",  # protocol assignments; Teredo, which embeds IPv4
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which embeds IPv4
        "3fff::/20",  # documentation
    )
)
"""IANA's registries of special-purpose addresses, of IPv6 only what lies inside of `UNICAST_V6`."""

UNICAST_V6 = ip_network("2000::/3")
"""All global unicast addresses of IPv6; mapped, NAT64, unique local, link-local and multicast ones lie outside."""

ISATAP = 0x5EFE
"""The third quarter of an IPv6 address that embeds an IPv4 address for tunnels (RFC 5214), but for one bit."""


class Refused(ValueError):
    """An address that nothing is sent to; the message says why, for whoever named it."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far requests may reach beyond https to public addresses: further networks, and http."""

    networks: tuple[Network, ...] = ()
    plain: bool = False


PUBLIC = Reach()
"""https to public addresses, and nothing else."""

ANYWHERE = Reach((ip_network("0.0.0.0/0"), ip_network("::/0")), plain=True)
"""For addresses that the operator names, and nobody else."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A parsed address: `host` in lower case and without brackets, `target` the path and query as written."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def literal(self) -> Address | None:
        """The host as an address, where it is one and not a name."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None

    @property
    def authority(self) -> str:
        """The host and port as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme][0] else f"{host}:{self.port}"


def parse(url: str, reach: Reach) -> Destination:
    """The destination that a URL names. Refused where it is no plain one, or leads where nothing may go."""
    if len(url) > MAX_LENGTH:
        raise Refused(f"is longer than {MAX_LENGTH} characters")
    parts = _WRITTEN.fullmatch(url)
    if parts is None:
        raise Refused("is not a URL of a scheme, a host, a port, a path and a query alone, in ASCII")
    scheme = parts["scheme"].lower()
    if scheme != "https" and not (scheme == "http" and reach.plain):
        raise Refused("is not an https address")
    port = int(parts["port"][1:]) if parts["port"] else PORTS[scheme][0]
    if not 0 < port < 65_536 or not (reach.networks or port in PORTS[scheme]):
        raise Refused(f"has a port that is none of {', '.join(map(str, PORTS[scheme]))}")
    target = (parts["path"] or "/") + parts["query"]
    found = Destination(scheme, _host(parts["host"].lower(), reach), port, target)
    if found.literal is not None:
        check(found.literal, port, found.scheme, reach)
    return found


def check(address: Address, port: int, scheme: str, reach: Reach) -> None:
    """Refused where requests may not go to this address and port."""
    if any(address in network for network in reach.networks):
        return
    if not is_public(address):
        raise Refused("leads to an address that is not public")
    if port not in PORTS[scheme]:
        raise Refused(f"has a port that is none of {', '.join(map(str, PORTS[scheme]))}")


def is_public(address: Address) -> bool:
    """Whether an address is a global unicast one that embeds no other one."""
    if isinstance(address, IPv6Address):
        if address not in UNICAST_V6 or address.scope_id is not None:
            return False
        if (int(address) >> 32) & 0xFDFF_FFFF == ISATAP:
            return False
    return not any(address in network for network in NOT_PUBLIC)


def _host(written: str, reach: Reach) -> str:
    """A host in lower case as one thing alone: an IPv6 or IPv4 address in its usual form, or a name."""
    if written.startswith("["):
        try:
            return str(IPv6Address(written[1:-1]))
        except ValueError:
            raise Refused("has a host in brackets that is no IPv6 address") from None
    labels = written.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(written))
        except ValueError:
            raise Refused("has a host of numbers that is no plain IPv4 address") from None
    if len(written) > MAX_HOST or not all(_LABEL.fullmatch(label) for label in labels):
        raise Refused("has a host that is no name of letters, digits, hyphens and single dots")
    if len(labels) == 1 and not reach.networks:
        raise Refused("has a host without a domain")
    return written
