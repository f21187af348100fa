"""The Redis servers of a URL: a single server, the sentinels of a primary, or nodes of a Redis Cluster."""

import re
import ssl
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from wattgate.realtime.server_address import ServerAddress, read_port
from wattgate.tls import client_context

FORMS = (
    "redis://user:password@host:6379/0, redis+sentinel://user:password@host:26379,host2:26379/0?master=NAME or "
    "redis+cluster://user:password@host:6379,host2:6379"
)

SENTINEL_OPTIONS = {"master", "sentinel_username", "sentinel_password"}


class RedisMode(Enum):
    """How the server that accepts changes is found."""

    SINGLE = "single"
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


_MODES = {
    scheme + suffix: mode
    for scheme in ("redis", "rediss")
    for suffix, mode in (("", RedisMode.SINGLE), ("+sentinel", RedisMode.SENTINEL), ("+cluster", RedisMode.CLUSTER))
}
_AUTHORITY_END = re.compile("[/?#]")
_DEFAULT_PORTS = {RedisMode.SINGLE: 6379, RedisMode.SENTINEL: 26379, RedisMode.CLUSTER: 6379}


@dataclass(frozen=True, slots=True)
class RedisServers:
    """The servers of a URL.

    `seeds` are the addresses in the URL with the credentials for these servers: one server, sentinels or nodes.
    `login` has the credentials and the database for the primary; its host and port are those of the first seed.
    `primary_name` is the name under which the sentinels know the primary.
    """

    mode: RedisMode
    seeds: tuple[ServerAddress, ...]
    login: ServerAddress
    primary_name: str = ""

    @classmethod
    def from_url(cls, url: str) -> "RedisServers":
        """Parse a URL in one of the FORMS. Raise ValueError if it is invalid."""
        parts = _split_url(url)
        mode = _MODES.get(parts.scheme)
        database = parts.path.removeprefix("/") or "0"
        if mode is None or parts.fragment or not (database.isascii() and database.isdigit()):
            raise _invalid()
        options = _parse_options(parts, mode)
        login, *others = _parse_addresses(parts, mode, int(database))
        if others and mode is RedisMode.SINGLE:
            raise ValueError("names several servers. Write redis+sentinel:// or redis+cluster://, or name one server")
        if mode is RedisMode.CLUSTER and login.database:
            raise ValueError(
                "names a database, but Redis Cluster has only database 0. Remove the number after the last slash"
            )
        if mode is not RedisMode.SENTINEL:
            return cls(mode, (login, *others), login)
        name = options.get("master")
        if not name:
            raise ValueError("names no primary: add ?master=NAME, with the name in the configuration of the sentinels")
        username, password = options.get("sentinel_username"), options.get("sentinel_password")
        sentinels = (replace(seed, username=username, password=password, database=0) for seed in (login, *others))
        return cls(mode, tuple(sentinels), login, name)

    def __str__(self) -> str:
        servers = ",".join(map(str, self.seeds))
        return f"{servers} ({self.primary_name})" if self.primary_name else servers


def _split_url(url: str) -> SplitResult:
    """Return the parts of a URL whose authority may have several hosts.

    `urlsplit` of some releases of Python refuses an IPv6 address in brackets that does not follow the credentials.
    """
    scheme, separator, rest = url.partition("://")
    authority = _AUTHORITY_END.split(rest, maxsplit=1)[0]
    return urlsplit(f"{scheme}{separator}{rest[len(authority) :]}")._replace(netloc=authority)


def _parse_options(parts: SplitResult, mode: RedisMode) -> dict[str, str]:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = options.keys() - (SENTINEL_OPTIONS if mode is RedisMode.SENTINEL else set())
    if unknown:
        raise ValueError(f"has the unknown option {sorted(unknown)[0]!r}. Write an address such as {FORMS}")
    return options


def _parse_addresses(parts: SplitResult, mode: RedisMode, database: int) -> list[ServerAddress]:
    """Return the address of each host in the URL, with its credentials."""
    credentials, _, hosts = parts.netloc.rpartition("@")
    username, has_password, password = credentials.partition(":")
    addresses = []
    for written in hosts.split(","):
        host = urlsplit(f"//{written}")
        if not host.hostname:
            raise _invalid()
        port = read_port(host)
        addresses.append(
            ServerAddress(
                host=host.hostname,
                port=port or _DEFAULT_PORTS[mode],
                tls=parts.scheme.startswith("rediss"),
                username=unquote(username) if credentials else None,
                password=unquote(password) if has_password else None,
                database=database,
            )
        )
    return addresses


def _invalid() -> ValueError:
    return ValueError(f"is not an address of Redis. Write one such as {FORMS}")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files for TLS: trusted authorities, and the certificate and key of this client. None means: the default."""

    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None

    def create_context(self) -> ssl.SSLContext:
        """Return a context that verifies servers. Raise OSError if a file cannot be read."""
        context = client_context(self.ca_file)
        if self.certificate_file is not None:
            context.load_cert_chain(self.certificate_file, self.key_file)
        return context


SYSTEM_TLS = TlsFiles()
