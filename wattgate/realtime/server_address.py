"""Addresses of servers with credentials, and those of MQTT brokers, parsed from the URLs in settings."""

from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

MQTT_PORTS = {"mqtt": 1883, "mqtts": 8883}
"""Default port of each scheme."""


def read_port(parts: SplitResult) -> int | None:
    """Return the port of a URL, or None if it has none. Raise ValueError if it is invalid."""
    try:
        return parts.port
    except ValueError:
        raise ValueError("has an invalid port. Write a number from 1 to 65535") from None


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
    def from_mqtt_url(cls, url: str) -> "ServerAddress":
        """Parse a URL such as mqtts://user:password@host:8883. Raise ValueError if it is invalid."""
        parts = urlsplit(url)
        if (
            parts.scheme not in MQTT_PORTS
            or not parts.hostname
            or parts.path not in ("", "/")
            or parts.query
            or parts.fragment
        ):
            raise ValueError("is not an address of an MQTT broker. Write one such as mqtt://user:password@host:1883")
        return cls(
            host=parts.hostname,
            port=read_port(parts) or MQTT_PORTS[parts.scheme],
            tls=parts.scheme == "mqtts",
            username=None if parts.username is None else unquote(parts.username),
            password=None if parts.password is None else unquote(parts.password),
        )

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"
