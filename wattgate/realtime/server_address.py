"""Addresses of Redis servers and MQTT brokers, parsed from the URLs in settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, unquote, urlsplit

REDIS_PORTS = {"redis": 6379, "rediss": 6379}
MQTT_PORTS = {"mqtt": 1883, "mqtts": 8883}
"""Default port of each scheme."""

TLS_SCHEMES = ("rediss", "mqtts")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Address and credentials of a server. `database` is the number of a Redis database."""

    host: str
    port: int
    tls: bool
    username: str | None
    password: str | None = field(repr=False)
    database: int = 0

    @classmethod
    def from_redis_url(cls, url: str) -> "ServerAddress":
        """Parse a URL such as rediss://user:password@host:6379/0. Raise ValueError if it is invalid."""
        parts = urlsplit(url)
        database = parts.path.removeprefix("/") or "0"
        address = _parse_address(parts, REDIS_PORTS)
        if address is None or not (database.isascii() and database.isdigit()):
            raise ValueError("is not an address such as redis://user:password@host:6379/0")
        return replace(address, database=int(database))

    @classmethod
    def from_mqtt_url(cls, url: str) -> "ServerAddress":
        """Parse a URL such as mqtts://user:password@host:8883. Raise ValueError if it is invalid."""
        parts = urlsplit(url)
        address = _parse_address(parts, MQTT_PORTS)
        if address is None or parts.path not in ("", "/"):
            raise ValueError("is not an address such as mqtt://user:password@host:1883")
        return address

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def _parse_address(parts: SplitResult, ports: Mapping[str, int]) -> ServerAddress | None:
    """Return the address in a URL, or None if its scheme is not one of `ports` or the URL has other parts."""
    if parts.scheme not in ports or not parts.hostname or parts.query or parts.fragment:
        return None
    return ServerAddress(
        host=parts.hostname,
        port=parts.port or ports[parts.scheme],
        tls=parts.scheme in TLS_SCHEMES,
        username=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
    )
