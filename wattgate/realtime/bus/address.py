"""Where Redis is, as settings name it. Pure."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

SCHEMES = ("redis", "rediss")
PORT = 6379


@dataclass(frozen=True, slots=True)
class Address:
    """A Redis server's address, and who the gateway is to it."""

    host: str
    port: int
    tls: bool
    username: str | None
    password: str | None = field(repr=False)
    database: int

    @classmethod
    def at(cls, url: str) -> "Address":
        """The address of a URL such as rediss://user:password@host:6379/0. ValueError where it is none."""
        parts = urlsplit(url)
        database = parts.path.removeprefix("/") or "0"
        number = database.isascii() and database.isdigit()
        if parts.scheme not in SCHEMES or not parts.hostname or not number or parts.query or parts.fragment:
            raise ValueError("is not an address such as redis://user:password@host:6379/0")
        return cls(
            host=parts.hostname,
            port=parts.port or PORT,
            tls=parts.scheme == "rediss",
            username=unquote(parts.username) if parts.username else None,
            password=None if parts.password is None else unquote(parts.password),
            database=int(database),
        )

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"
