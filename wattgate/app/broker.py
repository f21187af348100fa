"""Where an MQTT broker is, as settings name it. Pure."""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

PORTS = {"mqtt": 1883, "mqtts": 8883}

_FILTER = re.compile(r"(?:(?:\+|[^+#/\0]*)/)*(?:\+|#|[^+#/\0]*)")


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker's address, and who the gateway is to it."""

    host: str
    port: int
    tls: bool
    username: str | None
    password: str | None

    @classmethod
    def at(cls, url: str) -> "Broker":
        """The broker of a URL such as mqtts://user:password@host:8883. ValueError where it is none."""
        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname or parts.path not in ("", "/") or parts.query:
            raise ValueError("is not a broker's URL such as mqtt://user:password@host:1883")
        return cls(
            host=parts.hostname,
            port=parts.port or PORTS[parts.scheme],
            tls=parts.scheme == "mqtts",
            username=None if parts.username is None else unquote(parts.username),
            password=None if parts.password is None else unquote(parts.password),
        )

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def is_topic_filter(text: str) -> bool:
    """Whether brokers take a text to subscribe to: `+` and `#` stand alone in their level, `#` in the last one."""
    return bool(text) and _FILTER.fullmatch(text) is not None
