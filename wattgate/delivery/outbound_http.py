"""HTTP client for URLs that users provide. It resolves a host, checks its addresses and connects to a checked one.

It follows no redirects, uses no proxy of the environment, and reads a limited part of a response.
"""

import asyncio
import errno
import logging
import socket
import ssl
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import h11

from wattgate.delivery.egress import (
    PUBLIC_HTTPS_ONLY,
    BlockedDestination,
    Destination,
    EgressPolicy,
    IpAddress,
    check_address,
    parse_destination,
)
from wattgate.requests.fair_share import FairThreads, NoFreeSlot
from wattgate.tls import client_context

# Look-ups of host names that users provide: in threads, with a share for each owner, and a memory of failed names.

LOOKUP_THREADS = 64
"""Maximum number of concurrent look-ups. Each uses a thread for as long as the name's DNS servers take."""

MAX_OWNER_LOOKUPS = 4
"""Maximum number of concurrent look-ups of one owner. Names that hang thus leave threads for all other owners."""

MAX_PLACE_SECONDS = 4.0
"""Maximum seconds that a look-up waits for a place of its owner. It ends before the time to resolve a name does."""

FAILURE_SECONDS = 30.0
"""Time for which a name that has failed or timed out is not looked up again for its owner."""

MAX_FAILURES = 10_000
"""Maximum number of failed names in memory. Above it, the oldest is dropped."""

ResolveHost = Callable[[str, str], Awaitable[Sequence[str]]]
"""A function that resolves a host name for an owner to addresses as text. It raises OSError if there are none."""

LookUp = Callable[[str], Sequence[str]]
"""A function that blocks until a name is resolved."""


def look_up_in_system(host: str) -> list[str]:
    """Return the addresses of a name, as the operating system resolves it."""
    entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


class NotLookedUp(Exception):
    """A name was not looked up, because of earlier look-ups of its owner. This says nothing about the name."""


class HostResolver:
    """Resolve names in threads. A look-up holds a place of its owner until its thread ends, not only until a timeout.

    A thread in the operating system's resolver cannot be stopped. The caller limits the time that it waits. Failures
    are remembered for each owner, because an owner can let look-ups of any name fail: it cancels them.
    """

    def __init__(
        self,
        look_up: LookUp = look_up_in_system,
        *,
        threads: int = LOOKUP_THREADS,
        max_owner_lookups: int = MAX_OWNER_LOOKUPS,
        max_place_seconds: float = MAX_PLACE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_up = look_up
        share = min(threads, max_owner_lookups)
        self._threads = FairThreads(threads, share=share, name="look-up", max_wait_seconds=max_place_seconds)
        self._clock = clock
        self._failures: OrderedDict[tuple[str, str], float] = OrderedDict()
        """Owners and names that failed, and the times at which they may be looked up again, oldest first."""

    @property
    def owner_count(self) -> int:
        """The number of owners that have or wait for look-ups."""
        return self._threads.slots.owner_count

    async def resolve(self, host: str, owner: str) -> Sequence[str]:
        """Return the addresses of a name. Wait for a place of the owner first.

        Raise OSError if there are none. Raise NotLookedUp if the owner gets no place in time, or if its last look-up
        of the name failed a short time ago.
        """
        if self._failures.get((owner, host), 0.0) > self._clock():
            raise NotLookedUp("the name was not resolved a short time ago")
        try:
            lookup = await self._threads.submit(owner, lambda: self._look_up(host))
        except NoFreeSlot:
            raise NotLookedUp("other look-ups of its owner take long") from None
        return await self._wait(host, owner, lookup)

    async def _wait(self, host: str, owner: str, lookup: "Future[Sequence[str]]") -> Sequence[str]:
        try:
            addresses = await asyncio.wrap_future(lookup)
        except (OSError, asyncio.CancelledError):
            self._remember_failure(host, owner)
            raise
        self._failures.pop((owner, host), None)
        return addresses

    def _remember_failure(self, host: str, owner: str) -> None:
        self._failures[owner, host] = self._clock() + FAILURE_SECONDS
        self._failures.move_to_end((owner, host))
        while len(self._failures) > MAX_FAILURES:
            self._failures.popitem(last=False)


# HTTP client for URLs that users provide.


log = logging.getLogger(__name__)

RESOLVE_TIMEOUT_SECONDS = 5.0
"""Maximum seconds to resolve a host name."""

CONNECT_TIMEOUT_SECONDS = 5.0
"""Maximum seconds to connect to one address, without TLS."""

TOTAL_TIMEOUT_SECONDS = 15.0
"""Maximum seconds of a whole request, including its response."""

BODY_TIMEOUT_SECONDS = 5.0
"""Maximum seconds to read the body of a response, within the total."""

MAX_HEAD_BYTES = 16 * 2**10
"""Maximum bytes of the head of a response."""

MAX_HEAD_LINES = 128
"""Maximum lines of the head of a response. Most servers send 10 to 30."""

MAX_INFORMATIONAL = 8
"""Maximum number of informational responses (1xx) before the response."""

MAX_SMALL_EVENTS, MIN_EVENT_BYTES = 256, 256
"""Number of reads and chunks of a body of any size, and the bytes for which it may have a further one."""

PAUSE_EVENTS = 32
"""Number of reads and chunks of a body after which other tasks run. Each takes about 20 µs."""

MAX_BODY_BYTES = 64 * 2**10
"""Maximum bytes of a response's body that are read, if a client states no other. The connection is then closed."""

MAX_ADDRESSES = 4
"""Maximum number of addresses of a host to try, one after the other."""

USER_AGENT = "wattgate"
DESTINATION_FORBIDDEN = "refused"
"""The type of a failure in which nothing was sent, because the destination is not permitted."""

NO_RESPONSE_STATUS = 0
"""The status code that is reported if there was no response."""


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    """A response. Header names are in lower case, and the body is cut after the bytes that the client reads at most."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class OutboundRequestFailed(Exception):
    """A request failed without a response. `code` is the POSIX or resolver error code of the failed `syscall`."""

    def __init__(self, message: str, *, type: str, code: str, syscall: str, host: str, port: int) -> None:
        super().__init__(message)
        self.message = message
        self.type = type
        self.code = code
        self.syscall = syscall
        self.host = host
        self.port = port

    def to_json(self) -> dict[str, Any]:
        """Return the member `error` of a failed attempt in SPEC.md's form."""
        return {
            "type": self.type,
            "error": {"statusCode": NO_RESPONSE_STATUS, "message": self.message},
            "initialError": {
                "errno": self.code,
                "code": self.code,
                "syscall": self.syscall,
                "hostname": self.host,
                "host": self.host,
                "port": self.port,
            },
        }


class RequestNotTried(OutboundRequestFailed):
    """A request failed because of earlier requests of its owner. This says nothing about its destination."""


@dataclass(frozen=True, slots=True)
class _RequestStep:
    """A step of a request, with a deadline in the time of the event loop's clock. `error` builds its failure."""

    destination: Destination
    syscall: str
    deadline: float

    def error(
        self,
        message: str,
        code: str,
        *,
        type: str = "connection",
        kind: type[OutboundRequestFailed] = OutboundRequestFailed,
    ) -> OutboundRequestFailed:
        destination = self.destination
        return kind(message, type=type, code=code, syscall=self.syscall, host=destination.host, port=destination.port)


class OutboundHttpClient:
    """Sends requests to URLs that users provide, if `policy` permits their destinations."""

    def __init__(
        self,
        policy: EgressPolicy = PUBLIC_HTTPS_ONLY,
        *,
        resolve: ResolveHost | None = None,
        tls: ssl.SSLContext | None = None,
        timeout_seconds: float = TOTAL_TIMEOUT_SECONDS,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self.policy = policy
        self._resolve = resolve or HostResolver().resolve
        self._tls = tls or client_context()
        self._timeout_seconds = timeout_seconds
        self._max_body_bytes = max_body_bytes

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes, owner: str = ""
    ) -> OutboundResponse:
        """Send a request and return its response. `owner` is the application that uses the URL: look-ups are bounded.

        Raise OutboundRequestFailed if there is no response, or if the destination is not permitted.
        """
        try:
            destination = parse_destination(url, self.policy)
        except BlockedDestination as error:
            message = f"the address {error}"
            raise OutboundRequestFailed(
                message, type=DESTINATION_FORBIDDEN, code="EACCES", syscall="connect", host="", port=0
            ) from None
        deadline = asyncio.get_running_loop().time() + self._timeout_seconds
        addresses = await self._resolve_addresses(destination, owner, deadline)
        connection = await self._connect(destination, addresses, deadline)
        reader, writer = await self._open_streams(destination, connection, deadline)
        try:
            request = _build_request(method, destination, headers, body)
            return await _send_and_receive(reader, writer, request, body, destination, deadline, self._max_body_bytes)
        finally:
            writer.transport.abort()  # the rest of the response is not needed, so no orderly close

    async def _resolve_addresses(self, destination: Destination, owner: str, deadline: float) -> list[IpAddress]:
        """Return the addresses of a host, if all of them are permitted.

        One forbidden address blocks the whole host, because a host with such an address may be an attack.
        """
        if destination.host_ip is not None:
            addresses = [destination.host_ip]
        else:
            step = _RequestStep(destination, "getaddrinfo", _deadline_within(RESOLVE_TIMEOUT_SECONDS, deadline))
            async with _translate_errors(step):
                addresses = [ip_address(text) for text in await self._resolve(destination.host, owner)]
            if not addresses:
                raise step.error(f"getaddrinfo ENOTFOUND {destination.host}", "ENOTFOUND")
        for address in addresses:
            try:
                check_address(address, destination.port, destination.scheme, self.policy)
                self._check_not_own_address(address)
            except BlockedDestination as error:
                log.warning("request to %s blocked: the host %s", destination.authority, error)
                step = _RequestStep(destination, "connect", deadline)
                raise step.error(f"{destination.host} {error}", "EACCES", type=DESTINATION_FORBIDDEN) from None
        return addresses[:MAX_ADDRESSES]

    def _check_not_own_address(self, address: IpAddress) -> None:
        is_allowed = any(address in network for network in self.policy.allowed_networks)
        if not is_allowed and is_own_address(address):
            raise BlockedDestination("leads to an address that is not public")

    async def _connect(
        self, destination: Destination, addresses: Sequence[IpAddress], deadline: float
    ) -> socket.socket:
        """Connect to the first address that accepts a connection."""
        for address in addresses[:-1]:
            try:
                return await _connect_socket(destination, address, deadline)
            except OutboundRequestFailed:
                continue
        return await _connect_socket(destination, addresses[-1], deadline)

    async def _open_streams(
        self, destination: Destination, connection: socket.socket, deadline: float
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open streams over a connection. TLS verifies the host of the URL, not the address."""
        tls, name = (self._tls, destination.host) if destination.scheme == "https" else (None, None)
        try:
            async with _translate_errors(_RequestStep(destination, "connect", deadline)):
                return await asyncio.open_connection(
                    sock=connection, limit=MAX_HEAD_BYTES, ssl=tls, server_hostname=name
                )
        except BaseException:  # also close the connection of a cancelled request
            connection.close()
            raise


async def _connect_socket(destination: Destination, address: IpAddress, deadline: float) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    connection = socket.socket(family, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        async with _translate_errors(
            _RequestStep(destination, "connect", _deadline_within(CONNECT_TIMEOUT_SECONDS, deadline))
        ):
            await asyncio.get_running_loop().sock_connect(connection, (str(address), destination.port))
    except BaseException:
        connection.close()
        raise
    return connection


def _build_request(method: str, destination: Destination, headers: Mapping[str, str], body: bytes) -> h11.Request:
    all_headers = {
        "Host": destination.authority,
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "identity",
        "Connection": "close",
        "Content-Length": str(len(body)),
        **headers,
    }
    return h11.Request(method=method, target=destination.target, headers=list(all_headers.items()))


async def _send_and_receive(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    request: h11.Request,
    body: bytes,
    destination: Destination,
    deadline: float,
    max_body_bytes: int,
) -> OutboundResponse:
    """Send a request and read its response. A response counts once its head is complete, even if its body fails."""
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
    async with _translate_errors(_RequestStep(destination, "write", deadline)):
        for event in (request, h11.Data(data=body), h11.EndOfMessage()):
            writer.write(http.send(event) or b"")
        await writer.drain()
    async with _translate_errors(_RequestStep(destination, "read", deadline)):
        head = await _read_head(http, reader)
    headers = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
    content = bytearray()
    try:
        async with asyncio.timeout_at(_deadline_within(BODY_TIMEOUT_SECONDS, deadline)):
            await _read_body(http, reader, content, max_body_bytes)
    except (OSError, h11.RemoteProtocolError):
        pass  # the head has the status, which is enough
    return OutboundResponse(head.status_code, headers, bytes(content[:max_body_bytes]))


async def _read_head(http: h11.Connection, reader: asyncio.StreamReader) -> h11.Response:
    """Read the head of the response. Skip informational responses before it.

    It is read line by line, so that a head with more lines than MAX_HEAD_LINES is refused before it is parsed.
    """
    for _ in range(MAX_INFORMATIONAL + 1):
        size, line = 0, b""
        for _ in range(MAX_HEAD_LINES):
            line = await _read_line(reader)
            size += len(line)
            if size > MAX_HEAD_BYTES:
                raise h11.RemoteProtocolError(f"the head of the response is longer than {MAX_HEAD_BYTES:,} bytes")
            http.receive_data(line)
            if line in (b"\r\n", b"\n"):
                break
        else:
            raise h11.RemoteProtocolError(f"the head of the response has more than {MAX_HEAD_LINES} lines")
        event = http.next_event()
        if isinstance(event, h11.Response):
            return event
    raise h11.RemoteProtocolError("there are too many informational responses")


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    """Return the next line of a head. Raise ConnectionResetError at the end of the connection."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        raise ConnectionResetError(errno.ECONNRESET, "the connection was closed without a response") from None
    except asyncio.LimitOverrunError:
        message = f"a line of the response is longer than {MAX_HEAD_BYTES:,} bytes"
        raise h11.RemoteProtocolError(message) from None


async def _read_body(http: h11.Connection, reader: asyncio.StreamReader, content: bytearray, max_bytes: int) -> None:
    """Append the body of the response to `content`, up to its end or to a number of bytes.

    Stop at a body whose pieces are too small: it takes more bytes or events than any server needs for its content. Let
    other tasks run meanwhile: data that has arrived already is read without a wait.
    """
    raw_bytes, events = MAX_HEAD_BYTES + 2 * max_bytes, MAX_SMALL_EVENTS + max_bytes // MIN_EVENT_BYTES
    for number in range(1, events + 1):
        if len(content) >= max_bytes or raw_bytes <= 0:
            return
        event = http.next_event()
        if event is h11.NEED_DATA:
            data = await reader.read(MAX_HEAD_BYTES)
            raw_bytes -= len(data)
            http.receive_data(data)
        elif isinstance(event, h11.Data):
            content += event.data
        else:
            return
        if number % PAUSE_EVENTS == 0:
            await asyncio.sleep(0)


@asynccontextmanager
async def _translate_errors(step: _RequestStep) -> AsyncIterator[None]:
    """Translate errors in a step of a request into OutboundRequestFailed."""
    destination = step.destination
    try:
        async with asyncio.timeout_at(step.deadline):
            yield
    except TimeoutError:
        raise step.error(f"{step.syscall} ETIMEDOUT {destination.host}:{destination.port}", "ETIMEDOUT") from None
    except NotLookedUp as error:
        message = f"getaddrinfo EAI_AGAIN {destination.host}: {error}"
        raise step.error(message, "EAI_AGAIN", kind=RequestNotTried) from None
    except socket.gaierror as error:
        code = "EAI_AGAIN" if error.errno == socket.EAI_AGAIN else "ENOTFOUND"
        raise step.error(f"getaddrinfo {code} {destination.host}", code) from None
    except ssl.SSLCertVerificationError as error:
        raise step.error(f"the certificate is invalid: {error.verify_message}", "ECERT") from None
    except ssl.SSLError as error:
        raise step.error(f"TLS failed: {error.reason or 'the connection was closed'}", "EPROTO") from None
    except OSError as error:
        code = errno.errorcode.get(error.errno or 0, "ECONNRESET")
        raise step.error(f"{step.syscall} {code} {destination.host}:{destination.port}", code) from None
    except h11.RemoteProtocolError as error:
        raise step.error(f"the response is not valid HTTP: {error}", "EPROTO") from None


def is_own_address(address: IpAddress) -> bool:
    """Return whether an address belongs to this machine, because a socket can be bound to it."""
    return _can_bind(address) and not _can_bind(ip_address("240.0.0.1"))  # some machines let sockets bind to anything


def _can_bind(address: IpAddress) -> bool:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True


def _deadline_within(seconds: float, deadline: float) -> float:
    return min(asyncio.get_running_loop().time() + seconds, deadline)
