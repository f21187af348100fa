"""Bodies of requests, which may arrive long after the head that authenticated the caller."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ParamSpec, Protocol, TypeVar

from starlette.types import Message, Receive

from wattgate.clock import Clock, has_passed, utc_now
from wattgate.errors import ENDED_CREDENTIALS, TooLarge, Unauthenticated, Unavailable, UnsupportedMediaType
from wattgate.principal import Principal, Role
from wattgate.requests.client import current_client
from wattgate.requests.fair_share import FairShare, NoFreeSlot, owner_of_caller
from wattgate.requests.request_limits import (
    ADDRESS_PART,
    BODY_MEMORY_BYTES,
    FREE_BODY_BYTES,
    INLINE_BODY_BYTES,
    MAX_ANONYMOUS_BODY_BYTES,
    OWNER_PART,
    check_anonymous_size,
    check_structure,
)

CREDENTIAL_CHECK_INTERVAL = timedelta(seconds=1)
"""Age at which a long request checks its credentials again, before it reads or writes the next part.

It also checks them if the clock was set back.
"""

FindRevoked = Callable[[Collection[Principal]], Awaitable[Collection[Principal]]]
"""Returns the callers whose credentials are no longer valid."""


class SizeCharge(Protocol):
    """The charge of a request by the bytes of its body."""

    def add_size(self, size: int) -> Awaitable[None]:
        """Charge a body of this many bytes before it is read. Raise an error if the budget does not cover it."""

    async def begin_parts(self) -> None:
        """Charge the begin of a body of unknown length. Raise an error if earlier work has used up the budget."""

    async def add_part(self, size: int, whole: int) -> None:
        """Charge the last `size` bytes of `whole` bytes that are read, also above the remaining budget.

        Raise an error if the budget does not cover them.
        """

    async def refund_size(self, size: int) -> None:
        """Return the charge of a body that is not read."""


async def find_none_revoked(principals: Collection[Principal]) -> Collection[Principal]:
    """Return no caller: credentials that no database knows are never revoked."""
    return ()


# The memory for bodies. A body of a few kilobytes is not counted: connections have a bound, and each may keep as much.

MAX_WAITING_BODIES = 64
"""Maximum bodies that wait for memory. Nothing of them is read, and their callers have paid for them."""

MAX_MEMORY_SECONDS = 5.0
"""Maximum time for which a body waits for memory."""

UNCOUNTED_BYTES = FREE_BODY_BYTES
"""Maximum bytes of a body that takes no memory of the bound."""

STEP_BYTES = 64 * 1024
"""Memory that a body of unknown length takes at once, and maximum bytes of it that are read before their charge."""


class BodyMemory:
    """A bound for the bytes of all bodies that are kept at a time. Each address and each application has a share."""

    def __init__(self, max_bytes: int = BODY_MEMORY_BYTES, *, max_wait_seconds: float = MAX_MEMORY_SECONDS) -> None:
        self._max_wait_seconds = max_wait_seconds
        self._by_address, self._by_owner = (
            FairShare(
                max_bytes, share=max_bytes // part, max_waiting=MAX_WAITING_BODIES, max_wait_seconds=max_wait_seconds
            )
            for part in (ADDRESS_PART, OWNER_PART)
        )

    def open_hold(self, caller: Principal) -> "BodyHold":
        """Return a hold of no memory for the body of a caller, at the address of the current client."""
        address = current_client().site or ""
        shares = (self._by_address, address), (self._by_owner, owner_of_caller(caller))
        return BodyHold(*shares, max_wait_seconds=self._max_wait_seconds)

    @property
    def is_free(self) -> bool:
        """Whether no body has or waits for memory."""
        return not (self._by_address.owner_count or self._by_owner.owner_count)


class BodyHold:
    """The memory of one body. Release it when the request is answered."""

    __slots__ = ("_max_wait_seconds", "_shares", "size")

    def __init__(self, *shares: tuple[FairShare, str], max_wait_seconds: float) -> None:
        self._shares = shares
        self._max_wait_seconds = max_wait_seconds
        self.size = 0

    async def take(self, size: int) -> None:
        """Take memory of both shares, and wait for it in turn. Raise Unavailable after the maximum time.

        A body that waits keeps none: while it waits for the share of its application, others would lack that of all
        addresses, and bodies that wait for each other would keep all of it. So it waits for one share, and takes the
        other one only if that is free at once. If not, it gives the first one back, and waits for the other one.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._max_wait_seconds
        (share, owner), (other, other_owner) = self._shares
        try:
            while True:
                await share.take(owner, size, max_wait_seconds=max(0.0, ends_at - loop.time()))
                if other.try_take(other_owner, size):
                    break
                share.give_back(owner, size)
                (share, owner), (other, other_owner) = (other, other_owner), (share, owner)
        except NoFreeSlot:
            raise _no_memory() from None
        self.size = size

    def grow(self, needed: int) -> None:
        """Take further memory, in whole steps if they are free. Raise Unavailable if it is not free at once."""
        if not (self._try_grow(-(-needed // STEP_BYTES) * STEP_BYTES) or self._try_grow(needed)):
            raise _no_memory()

    def _try_grow(self, size: int) -> bool:
        (share, owner), (other, other_owner) = self._shares
        if not share.try_take(owner, size):
            return False
        if not other.try_take(other_owner, size):
            share.give_back(owner, size)
            return False
        self.size += size
        return True

    def release(self) -> None:
        """Give the memory back."""
        size, self.size = self.size, 0
        if size:
            for share, owner in self._shares:
                share.give_back(owner, size)


MEMORY_RETRY_SECONDS = 2
"""Value of Retry-After for a body for which there is no memory."""


def _no_memory() -> Unavailable:
    return Unavailable(
        f"The gateway keeps too many request bodies. Retry in {MEMORY_RETRY_SECONDS} s.",
        retry_after=MEMORY_RETRY_SECONDS,
    )


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Read bodies, and ask again for the caller of one that took long.

    Operations that change records ask in their transaction. Reads and subscriptions do not: without this question, a
    body that waits would let them run long after the end of the credential.
    """

    find_revoked: FindRevoked = find_none_revoked
    clock: Clock = utc_now
    memory: BodyMemory = field(default_factory=BodyMemory)

    async def read(
        self, receive: Receive, principal: Principal, charge: SizeCharge, length: int | None
    ) -> tuple[bytes, BodyHold | None]:
        """Return a body that is paid for, and its memory, which the caller releases. It is neither parsed nor searched.

        `length` is that of `announced_length`. A known one is charged before a byte is read, and before the client is
        asked to continue. A body of unknown length is charged as it arrives.

        Raise TooLarge as soon as it exceeds the bounds of the caller or of JSON, Unavailable if there is no memory for
        it, and the errors of `charge`. Raise Unauthenticated if the credentials have ended while it arrived.
        """
        if length is None or length > UNCOUNTED_BYTES:
            return await self._read_large(receive, principal, charge, length)
        await charge.add_size(length)
        began_at = self.clock()
        message = await receive()
        body: bytes = message.get("body", b"")
        while message.get("more_body", False):
            message = await receive()
            body += message.get("body", b"")
            _check_announced(len(body), length)
        if has_passed(CREDENTIAL_CHECK_INTERVAL, began_at, self.clock()):
            await self._check_credentials(principal)
        return body, None

    async def _read_large(
        self, receive: Receive, principal: Principal, charge: SizeCharge, length: int | None
    ) -> tuple[bytes, BodyHold]:
        hold = self.memory.open_hold(principal)
        try:
            if length is None:
                await charge.begin_parts()
                began_at = self.clock()
                body = await _read_parts(receive, principal, charge, hold)
            else:
                await _admit(principal, charge, hold, length)
                began_at = self.clock()
                body = await _read_announced(receive, length)
            if has_passed(CREDENTIAL_CHECK_INTERVAL, began_at, self.clock()):
                await self._check_credentials(principal)
            check_structure(body)
        except BaseException:
            hold.release()
            raise
        return body, hold

    async def _check_credentials(self, principal: Principal) -> None:
        """Raise Unauthenticated if the credentials have ended while a body arrived."""
        if principal.role is not Role.ANONYMOUS and await self.find_revoked([principal]):
            raise Unauthenticated(ENDED_CREDENTIALS)


DEFAULT_BODIES = BodyReader()
"""The reader of a gateway without a database, where no credential ends."""


def announced_length(headers: Mapping[str, str]) -> int | None:
    """Return the bytes of the body that a request announces, and None for a body in chunks.

    The names of headers are in lower case. The HTTP server has checked the number. The first message of a socket has
    headers too, which nobody has checked, and no body.
    """
    if "transfer-encoding" in headers:
        return None
    try:
        return int(headers.get("content-length", 0))
    except ValueError:
        return 0


async def _admit(principal: Principal, charge: SizeCharge, hold: BodyHold, length: int) -> None:
    """Charge a body of known length, and wait for its memory."""
    if principal.role is Role.ANONYMOUS and length > MAX_ANONYMOUS_BODY_BYTES:
        await charge.add_size(0)  # it costs as much as any other request that is refused
        check_anonymous_size(length)
    await charge.add_size(length)
    try:
        await hold.take(length)
    except Unavailable:
        await charge.refund_size(length)
        raise


async def _read_announced(receive: Receive, length: int) -> bytes:
    chunks: list[bytes] = []
    size, has_more = 0, True
    while has_more:
        message: Message = await receive()
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        _check_announced(size, length)
        has_more = message.get("more_body", False)
    return b"".join(chunks)


def _check_announced(size: int, length: int) -> None:
    """Raise TooLarge if a body has more bytes than its request announced. The HTTP server of the gateway sends none."""
    if size > length:
        raise TooLarge(f"The body has more bytes than Content-Length announces: {length:,}.")


async def _read_parts(receive: Receive, principal: Principal, charge: SizeCharge, hold: BodyHold) -> bytes:
    """Return a body of unknown length. Each part is charged when it has arrived, and the first that is not ends it."""
    chunks: list[bytes] = []
    size, paid, has_more = 0, 0, True
    await hold.take(STEP_BYTES)
    try:
        while has_more:
            message: Message = await receive()
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if principal.role is Role.ANONYMOUS:
                check_anonymous_size(size)
            has_more = message.get("more_body", False)
            if size > hold.size:
                hold.grow(size - hold.size)
            if size - paid >= STEP_BYTES or not has_more:
                unpaid, paid = size - paid, size
                await charge.add_part(unpaid, size)
    except (TooLarge, Unavailable):
        if size > paid:
            await charge.add_part(size - paid, size)
        raise
    return b"".join(chunks)


P = ParamSpec("P")
T = TypeVar("T")

MAX_WAITING = 32
"""Maximum large inputs that wait for the thread. Further ones are refused: each may hold megabytes."""


class InputWorker:
    """Validates inputs one after another, the large ones in a thread. Applications take turns there.

    The work of one input is bounded by `request_limits`, so the thread needs no time limit of its own.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="input-validation")
        self._turns = FairShare(1, share=1, max_waiting=MAX_WAITING)

    async def run(self, caller: Principal, size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of a function whose input has `size` bytes.

        Raise Unavailable if too many inputs wait, and the application of the caller has most of them.
        """
        if size <= INLINE_BODY_BYTES:
            return function(*args, **kwargs)
        owner = owner_of_caller(caller)
        try:
            await self._turns.take(owner)
        except NoFreeSlot:
            raise Unavailable("Too many large requests are waiting. Try again.", retry_after=1) from None
        try:
            work = self._executor.submit(function, *args, **kwargs)
        except BaseException:
            self._turns.give_back(owner)
            raise
        work.add_done_callback(lambda _: self._turns.give_back(owner))  # also when the caller waits no longer
        return await asyncio.wrap_future(work)


# The content types of request bodies that an interface accepts.
#
# A page of any origin can send a body without a preflight request if its type is one of a form or plain text, or if
# it has none. Therefore each interface that takes a body checks the type, and a body without a type is refused. No
# page can send a body with GET.

JSON = "application/json"

MAX_SHOWN_CHARACTERS = 100
"""Maximum characters of a wrong header that a message repeats."""

_UTF_8 = ("utf-8", "utf8")


def media_type_of(content_type: str) -> str:
    """Return the media type in a header Content-Type, in lower case and without parameters."""
    return content_type.partition(";")[0].strip().lower()


def announces_body(headers: Mapping[str, str]) -> bool:
    """Return whether a request of HTTP/1.1 has a body. The names of headers are in lower case (RFC 9112, 6.3)."""
    return headers.get("content-length", "0").strip("0 ") != "" or "transfer-encoding" in headers


def check_content(headers: Mapping[str, str], accepted: Collection[str] = (JSON,)) -> None:
    """Raise UnsupportedMediaType unless a body has one of the accepted media types, in UTF-8 and not compressed.

    The names of headers are in lower case.
    """
    content_type = headers.get("content-type", "")
    if content_type != JSON or JSON not in accepted:
        _check_type(content_type, accepted)
    coding = headers.get("content-encoding", "identity")
    if coding != "identity" and coding.strip().lower() != "identity":
        raise UnsupportedMediaType(
            f"The gateway does not decode the content encoding {coding[:MAX_SHOWN_CHARACTERS]!r}. "
            "Send the body without Content-Encoding.",
            accepted=accepted,
        )


def _check_type(content_type: str, accepted: Collection[str]) -> None:
    if media_type_of(content_type) in accepted and _charset_of(content_type) in _UTF_8:
        return
    problem = f"does not accept the content type {content_type[:MAX_SHOWN_CHARACTERS]!r}"
    if not content_type:
        problem = "needs the header Content-Type for a body"
    raise UnsupportedMediaType(f"This path {problem}. Send {' or '.join(accepted)}, in UTF-8.", accepted=accepted)


def _charset_of(content_type: str) -> str:
    """Return the charset of a header in lower case, or UTF-8 without one."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"').lower()
    return "utf-8"
