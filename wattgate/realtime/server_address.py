"""Where the servers are that the gateway uses, as settings name them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, unquote, urlsplit

REDIS = {"redis": 6379, "rediss": 6379}
MQTT = {"mqtt": 1883, "mqtts": 8883}
"""The usual port of each scheme."""

OVER_TLS = ("rediss", "mqtts")


@dataclass(frozen=True, slots=True)
class Address:
    """A server's address, and who the gateway is to it; `database` is Redis's."""

    host: str
    port: int
    tls: bool
    username: str | None
    password: str | None = field(repr=False)
    database: int = 0

    @classmethod
    def at(cls, url: str) -> "Address":
        """The Redis server of a URL such as rediss://user:password@host:6379/0. ValueError where it is none."""
        parts = urlsplit(url)
        database = parts.path.removeprefix("/") or "0"
        found = _found(parts, REDIS)
        if found is None or not (database.isascii() and database.isdigit()):
            raise ValueError("is not an address such as redis://user:password@host:6379/0")
        return replace(found, database=int(database))

    @classmethod
    def of_broker(cls, url: str) -> "Address":
        """The MQTT broker of a URL such as mqtts://user:password@host:8883. ValueError where it is none."""
        parts = urlsplit(url)
        found = _found(parts, MQTT)
        if found is None or parts.path not in ("", "/"):
            raise ValueError("is not an address such as mqtt://user:password@host:1883")
        return found

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def _found(parts: SplitResult, ports: Mapping[str, int]) -> Address | None:
    """The server that a URL with one of these schemes names."""
    if parts.scheme not in ports or not parts.hostname or parts.query or parts.fragment:
        return None
    return Address(
        host=parts.hostname,
        port=parts.port or ports[parts.scheme],
        tls=parts.scheme in OVER_TLS,
        username=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
    )
