"""Egress policy for requests to URLs that users provide: permitted URLs, ports and networks. No I/O."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

MAX_URL_LENGTH = 2_048
"""Maximum characters of a URL."""

MAX_HOST_LENGTH = 253
"""Maximum characters of a host name (RFC 1035)."""

ALLOWED_PORTS = {"https": (443, 8443), "http": (80, 8080)}
"""The ports of each scheme, the default port first. Other ports are allowed only in the networks of the settings."""

_IN_PATH = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*"
_IN_QUERY = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*"
_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?P<port>:[0-9]{1,5})?"
    rf"(?P<path>(?:/{_IN_PATH})?)(?P<query>(?:\?{_IN_QUERY})?)"
)
"""RFC 3986 without user names, fragments and zones, and without forms that parsers treat differently."""

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""A host whose last label matches is an IPv4 address, possibly in an unusual form (WHATWG URL, section 3.5)."""

NON_PUBLIC_NETWORKS = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # "this" network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # this machine
        "168.63.129.16/32",  # metadata of a cloud (Azure), at an address that looks public
        "169.254.0.0/16",  # link-local; metadata of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved; broadcast
        "2001::/23",  # protocol assignments; Teredo, which embeds IPv4
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which embeds IPv4
        "3fff::/20",  # documentation
    )
)
"""IANA's registries of special-purpose addresses. For IPv6, only those within `GLOBAL_UNICAST_V6`."""

GLOBAL_UNICAST_V6 = ip_network("2000::/3")
"""All global unicast addresses of IPv6. Mapped, NAT64, unique local, link-local and multicast addresses are outside."""

ISATAP = 0x5EFE
"""The third 32-bit group of an IPv6 address that embeds an IPv4 address for tunnels (RFC 5214), without one bit."""


class BlockedDestination(ValueError):
    """The gateway must not send to a URL or address; the message says why, for the user who provided it."""


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """Permissions beyond https to public addresses: additional networks, and http."""

    allowed_networks: tuple[IpNetwork, ...] = ()
    allow_http: bool = False


PUBLIC_HTTPS_ONLY = EgressPolicy()
"""Only https to public addresses."""

ALLOW_ALL = EgressPolicy((ip_network("0.0.0.0/0"), ip_network("::/0")), allow_http=True)
"""All addresses, and http. Use it only for URLs from the operator's settings."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A parsed URL: `host` is in lower case without brackets, `target` is the path and query as written."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def host_ip(self) -> IpAddress | None:
        """The host as an IP address; None if it is a name."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None

    @property
    def authority(self) -> str:
        """The host and port in the form of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == ALLOWED_PORTS[self.scheme][0] else f"{host}:{self.port}"


def parse_destination(url: str, policy: EgressPolicy) -> Destination:
    """Parse a URL. Raise BlockedDestination if it is not plain or its destination is not permitted."""
    if len(url) > MAX_URL_LENGTH:
        raise BlockedDestination(f"is longer than {MAX_URL_LENGTH} characters")
    parts = _URL.fullmatch(url)
    if parts is None:
        raise BlockedDestination("is not an ASCII URL with only a scheme, a host, a port, a path and a query")
    scheme = parts["scheme"].lower()
    if scheme != "https" and not (scheme == "http" and policy.allow_http):
        raise BlockedDestination("is not an https address")
    port = int(parts["port"][1:]) if parts["port"] else ALLOWED_PORTS[scheme][0]
    if not 0 < port < 65_536 or not (policy.allowed_networks or port in ALLOWED_PORTS[scheme]):
        raise BlockedDestination(f"has a port that is not one of {', '.join(map(str, ALLOWED_PORTS[scheme]))}")
    target = (parts["path"] or "/") + parts["query"]
    destination = Destination(scheme, _normalize_host(parts["host"].lower(), policy), port, target)
    if destination.host_ip is not None:
        check_address(destination.host_ip, port, destination.scheme, policy)
    return destination


def check_address(address: IpAddress, port: int, scheme: str, policy: EgressPolicy) -> None:
    """Raise BlockedDestination if requests to this address and port are not permitted."""
    if any(address in network for network in policy.allowed_networks):
        return
    if not is_public(address):
        raise BlockedDestination("leads to an address that is not public")
    if port not in ALLOWED_PORTS[scheme]:
        raise BlockedDestination(f"has a port that is not one of {', '.join(map(str, ALLOWED_PORTS[scheme]))}")


def is_public(address: IpAddress) -> bool:
    """Return whether an address is global unicast and embeds no IPv4 address."""
    if isinstance(address, IPv6Address):
        if address not in GLOBAL_UNICAST_V6 or address.scope_id is not None:
            return False
        if (int(address) >> 32) & 0xFDFF_FFFF == ISATAP:
            return False
    return not any(address in network for network in NON_PUBLIC_NETWORKS)


def _normalize_host(host: str, policy: EgressPolicy) -> str:
    """Return a lower-case host in its one normal form: an IPv6 or IPv4 address, or a name."""
    if host.startswith("["):
        try:
            return str(IPv6Address(host[1:-1]))
        except ValueError:
            raise BlockedDestination("has a host in brackets that is not an IPv6 address") from None
    labels = host.split(".")
    if _NUMERIC_LABEL.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(host))
        except ValueError:
            raise BlockedDestination("has a numeric host that is not a plain IPv4 address") from None
    if len(host) > MAX_HOST_LENGTH or not all(_LABEL.fullmatch(label) for label in labels):
        raise BlockedDestination("has a host name with other characters than letters, digits, hyphens and single dots")
    if len(labels) == 1 and not policy.allowed_networks:
        raise BlockedDestination("has a host without a domain")
    return host
