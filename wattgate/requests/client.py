"""The client of a request: its address, device and origin, and the limits of anonymous work for each address."""

from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

CLIENT_HAS_GONE = "wattgate.client_has_gone"
"""The member of an ASGI scope with a function: whether the client has gone. Unread bytes may remain."""


def client_has_gone(scope: Mapping[str, Any]) -> Callable[[], bool]:
    """Return the function of the scope of a request. Another server than the gateway's own has none: `never`."""
    known: Callable[[], bool] = scope.get(CLIENT_HAS_GONE, never)
    return known


def never() -> bool:
    """Return false: nothing ends a wait early."""
    return False


class AddressPolicy(Enum):
    """A kind of work that is limited for each client address. The value names it in errors and metrics."""

    LOGIN = "address-login"
    REGISTRATION = "address-registration"
    CODE = "address-code"
    PAIRING = "address-pairing"
    DOCUMENT = "address-document"
    SHARED_PREVIEW = "address-shared-preview"
    REQUEST = "address-request"
    FILE = "address-file"


@dataclass(slots=True)
class Client:
    """The client of a request. Operations of the gateway itself have none of these values.

    `host` is the address of the client. `address` is the one that limits count: the IPv4 address or the IPv6 network of
    64 bits. `network` is the IPv6 network of 48 bits, which has a higher limit; None for IPv4.
    `device` is the secret that the browser got at an earlier login. `keeps_devices` is true if it would return another
    one. A login then sets `new_device`. `purpose` is the declared purpose of reading households' data. `origin` is the
    address of the gateway in the request, such as https://energy.example. `has_gone` says whether an HTTP client has
    closed its connection, or its direction of it; the server does not cancel the request then.
    """

    host: str | None = None
    address: str | None = None
    network: str | None = None
    device: str | None = None
    keeps_devices: bool = False
    new_device: str | None = None
    purpose: str | None = None
    origin: str | None = None
    has_gone: Callable[[], bool] = field(default=never, compare=False, repr=False)

    @property
    def site(self) -> str | None:
        """The addresses that take turns as one: the IPv6 network of 48 bits, or the IPv4 address.

        With a turn for each network of 64 bits, one site could have most places of a queue.
        """
        return self.network or self.address


NOBODY = Client()
"""The client of an operation that completes without one."""

CURRENT_CLIENT: ContextVar[Client | None] = ContextVar("client", default=None)
"""The client of the current task; None for work of the gateway itself."""


def current_client() -> Client:
    """Return the client of the current task. It has no address if the task does not serve a request."""
    return CURRENT_CLIENT.get() or Client()


@dataclass(frozen=True, slots=True)
class MailboxBound:
    """Maximum mails of a kind to one mailbox at once: from one application, and from all. Both refill in `seconds`."""

    kind: str
    for_application: int
    for_all: int
    seconds: int


class AddressLimiter(Protocol):
    """Limits of work by client address, and of mails by mailbox."""

    async def charge(self, policy: AddressPolicy, client: Client) -> None:
        """Charge an attempt to the client's address. Raise RateLimited if none is left."""

    async def charge_done(self, policy: AddressPolicy, client: Client, attempts: int) -> None:
        """Charge work that is done to the client's address, also above its remaining attempts."""

    async def check(self, policy: AddressPolicy, client: Client) -> None:
        """Raise RateLimited if work that is done has used more attempts than the client's address may use."""

    async def refund(self, policy: AddressPolicy, client: Client) -> None:
        """Return the charge of an attempt that succeeded."""

    async def take_mail(self, bound: MailboxBound, mailbox: str, application_id: str) -> bool:
        """Count a mail to a mailbox. Return False, and count nothing, if the bound is reached."""


class UnlimitedAddresses:
    """No limits."""

    async def charge(self, policy: AddressPolicy, client: Client) -> None:
        return

    async def charge_done(self, policy: AddressPolicy, client: Client, attempts: int) -> None:
        return

    async def check(self, policy: AddressPolicy, client: Client) -> None:
        return

    async def refund(self, policy: AddressPolicy, client: Client) -> None:
        return

    async def take_mail(self, bound: MailboxBound, mailbox: str, application_id: str) -> bool:
        return True


UNLIMITED_ADDRESSES = UnlimitedAddresses()


# Origins of requests: the page of a browser that sends a request, or opens a socket.


def foreign_origin(headers: Mapping[str, str]) -> str | None:
    """Return the origin of the page that sends a request; None for a page of the gateway, and without a page.

    Browsers send the header with every request to another origin. To the own origin, they send it only with some
    methods.
    """
    origin = headers.get("origin")
    is_own = origin is not None and origin.partition("://")[2] == headers.get("host")
    return None if is_own else origin


def is_origin_allowed(headers: Mapping[str, str], allowed: Collection[str]) -> bool:
    """Return whether the page that opens a socket is allowed. Clients other than browsers send no origin."""
    origin = foreign_origin(headers)
    return origin is None or origin in allowed or "*" in allowed
