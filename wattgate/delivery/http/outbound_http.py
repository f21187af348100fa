"""HTTP requests to addresses that users name: resolved, checked, and sent to the very address that was checked.

No redirect is followed, no proxy of the environment is used, and no more of an answer is read than has a use.
"""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import h11

from wattgate.delivery.http.egress import PUBLIC, Address, Destination, Reach, Refused, check, parse

log = logging.getLogger(__name__)

RESOLVING = 5.0
"""Seconds that the look-up of a name may take."""

CONNECTING = 5.0
"""Seconds that a connection to one address may take, without TLS."""

TOTAL = 15.0
"""Seconds that a request may take in all, up to the head of its answer."""

BODY = 5.0
"""Seconds that the body of an answer may take, within the total."""

MAX_HEAD = 16 * 2**10
"""Bytes of the head of an answer."""

MAX_HEADS = 64 * 2**10
"""Bytes of all that comes until then: answers may be told of in advance (1xx)."""

MAX_BODY = 64 * 2**10
"""Bytes of the body of an answer that are read; the connection is cut where more come."""

MAX_ADDRESSES = 4
"""How many addresses of a host are tried, one after the other."""

LOOK_UPS = 16
"""How many names are looked up at once; these are threads, and the names' own servers decide how long they hang."""

USER_AGENT = "wattgate"
REFUSED = "refused"
"""The type of a failure where nothing was sent, for the address may not be sent to."""

NO_ANSWER = 0
"""The status code that is told where no answer came."""

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""From a host's name to its addresses as text; OSError where it has none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: header names are in lower case, and the body is cut off after `MAX_BODY` bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class CalloutFailed(Exception):
    """A request that got no answer. `code` is POSIX's or the resolver's name of what happened, in `syscall`."""

    def __init__(self, message: str, *, type: str, code: str, syscall: str, host: str, port: int) -> None:
        super().__init__(message)
        self.message = message
        self.type = type
        self.code = code
        self.syscall = syscall
        self.host = host
        self.port = port

    @property
    def told(self) -> dict[str, Any]:
        """The member `error` of a failed attempt, as SPEC.md has it."""
        return {
            "type": self.type,
            "error": {"statusCode": NO_ANSWER, "message": self.message},
            "initialError": {
                "errno": self.code,
                "code": self.code,
                "syscall": self.syscall,
                "hostname": self.host,
                "host": self.host,
                "port": self.port,
            },
        }


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a request, which ends by an instant of the loop's clock; `failed` words what went wrong in it."""

    destination: Destination
    syscall: str
    until: float

    def failed(self, message: str, code: str, *, type: str = "connection") -> CalloutFailed:
        to = self.destination
        return CalloutFailed(message, type=type, code=code, syscall=self.syscall, host=to.host, port=to.port)


class Callout:
    """Sends requests to addresses that users name, as far as `reach` goes."""

    def __init__(
        self,
        reach: Reach = PUBLIC,
        *,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
        total: float = TOTAL,
    ) -> None:
        self.reach = reach
        self._resolve = resolve or _system_resolver()
        self._tls = tls or ssl.create_default_context()
        self._total = total

    async def send(self, method: str, url: str, *, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer to one request. CalloutFailed where none came, or where the URL leads to no permitted place."""
        try:
            to = parse(url, self.reach)
        except Refused as refused:
            message = f"the address {refused}"
            raise CalloutFailed(message, type=REFUSED, code="EACCES", syscall="connect", host="", port=0) from None
        until = asyncio.get_running_loop().time() + self._total
        addresses = await self._addresses(to, until)
        connected = await self._connect(to, addresses, until)
        reader, writer = await self._opened(to, connected, until)
        try:
            return await _exchange(reader, writer, _request(method, to, headers, body), body, to, until)
        finally:
            writer.transport.abort()  # what else may come has no use, and nobody waits for a farewell

    async def _addresses(self, to: Destination, until: float) -> list[Address]:
        """Where the host is, if all of that is permitted: one address that is not would be one to be lured to."""
        if to.literal is not None:
            found = [to.literal]
        else:
            step = _Step(to, "getaddrinfo", _at_most(RESOLVING, until))
            async with _telling(step):
                found = [ip_address(one) for one in await self._resolve(to.host)]
            if not found:
                raise step.failed(f"getaddrinfo ENOTFOUND {to.host}", "ENOTFOUND")
        for address in found:
            try:
                check(address, to.port, to.scheme, self.reach)
                self._refuse_own(address)
            except Refused as refused:
                log.warning("nothing is sent to %s, which %s", to.authority, refused)
                step = _Step(to, "connect", until)
                raise step.failed(f"{to.host} {refused}", "EACCES", type=REFUSED) from None
        return found[:MAX_ADDRESSES]

    def _refuse_own(self, address: Address) -> None:
        named = any(address in network for network in self.reach.networks)
        if not named and is_own(address):
            raise Refused("leads to an address that is not public")

    async def _connect(self, to: Destination, addresses: Sequence[Address], until: float) -> socket.socket:
        """A connection to the first address that takes one."""
        for address in addresses[:-1]:
            try:
                return await _connected(to, address, until)
            except CalloutFailed:
                continue
        return await _connected(to, addresses[-1], until)

    async def _opened(
        self, to: Destination, connected: socket.socket, until: float
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Streams over a connection: with TLS for the host that was named, whatever address it is at."""
        tls, name = (self._tls, to.host) if to.scheme == "https" else (None, None)
        try:
            async with _telling(_Step(to, "connect", until)):
                return await asyncio.open_connection(sock=connected, limit=MAX_BODY, ssl=tls, server_hostname=name)
        except BaseException:  # a cancelled request leaves no connection behind either
            connected.close()
            raise


async def _connected(to: Destination, address: Address, until: float) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setblocking(False)
    try:
        async with _telling(_Step(to, "connect", _at_most(CONNECTING, until))):
            await asyncio.get_running_loop().sock_connect(made, (str(address), to.port))
    except BaseException:
        made.close()
        raise
    return made


def _request(method: str, to: Destination, headers: Mapping[str, str], body: bytes) -> h11.Request:
    told = {
        "Host": to.authority,
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "identity",
        "Connection": "close",
        "Content-Length": str(len(body)),
        **headers,
    }
    return h11.Request(method=method, target=to.target, headers=list(told.items()))


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    request: h11.Request,
    body: bytes,
    to: Destination,
    until: float,
) -> Answer:
    """Send a request and read its answer; with the head there is one, whatever becomes of the body."""
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
    async with _telling(_Step(to, "write", until)):
        for event in (request, h11.Data(data=body), h11.EndOfMessage()):
            writer.write(http.send(event) or b"")
        await writer.drain()
    async with _telling(_Step(to, "read", until)):
        head = await _head(http, reader)
    headers = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
    read = bytearray()
    try:
        async with asyncio.timeout_at(_at_most(BODY, until)):
            await _read_body(http, reader, read)
    except (OSError, h11.RemoteProtocolError):
        pass  # the head says how the request was taken
    return Answer(head.status_code, headers, bytes(read[:MAX_BODY]))


async def _head(http: h11.Connection, reader: asyncio.StreamReader) -> h11.Response:
    """The head of the answer, after whatever is told in advance of it."""
    left = MAX_HEADS
    while True:
        event = http.next_event()
        if isinstance(event, h11.Response):
            return event
        if event is h11.NEED_DATA:
            data = await reader.read(MAX_HEAD)
            if not data:
                raise ConnectionResetError(errno.ECONNRESET, "the connection was closed without an answer")
            left -= len(data)
            if left < 0:
                raise h11.RemoteProtocolError("what comes in advance of the answer has no end")
            http.receive_data(data)


async def _read_body(http: h11.Connection, reader: asyncio.StreamReader, read: bytearray) -> None:
    """Read up to the end of the answer, or as much of it as has a use."""
    while len(read) < MAX_BODY:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await reader.read(MAX_HEAD))
        elif isinstance(event, h11.Data):
            read += event.data
        else:
            return


@asynccontextmanager
async def _telling(step: _Step) -> AsyncIterator[None]:
    """Tell what goes wrong in a step of a request as CalloutFailed."""
    to = step.destination
    try:
        async with asyncio.timeout_at(step.until):
            yield
    except TimeoutError:
        raise step.failed(f"{step.syscall} ETIMEDOUT {to.host}:{to.port}", "ETIMEDOUT") from None
    except socket.gaierror as error:
        code = "EAI_AGAIN" if error.errno == socket.EAI_AGAIN else "ENOTFOUND"
        raise step.failed(f"getaddrinfo {code} {to.host}", code) from None
    except ssl.SSLCertVerificationError as error:
        raise step.failed(f"the certificate does not hold: {error.verify_message}", "ECERT") from None
    except ssl.SSLError as error:
        raise step.failed(f"TLS failed: {error.reason or 'the connection was closed'}", "EPROTO") from None
    except OSError as error:
        code = errno.errorcode.get(error.errno or 0, "ECONNRESET")
        raise step.failed(f"{step.syscall} {code} {to.host}:{to.port}", code) from None
    except h11.RemoteProtocolError as error:
        raise step.failed(f"the answer is not HTTP: {error}", "EPROTO") from None


def is_own(address: Address) -> bool:
    """Whether an address is one of this machine, which sockets may be bound to."""
    return _binds(address) and not _binds(ip_address("240.0.0.1"))  # some machines let sockets bind to anything


def _binds(address: Address) -> bool:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True


def _at_most(seconds: float, until: float) -> float:
    return min(asyncio.get_running_loop().time() + seconds, until)


def _system_resolver() -> Resolve:
    """The operating system's look-up of names, in threads of its own that nothing else waits for."""
    threads = ThreadPoolExecutor(LOOK_UPS, thread_name_prefix="look-up")

    def look_up(host: str) -> list[str]:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(place[0]) for *_, place in found))

    async def resolve(host: str) -> list[str]:
        return await asyncio.get_running_loop().run_in_executor(threads, look_up, host)

    return resolve
