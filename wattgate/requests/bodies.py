"""Bodies of requests, which may arrive long after the head that authenticated the caller."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import ParamSpec, TypeVar

from starlette.types import Message, Receive

from wattgate.clock import Clock, utc_now
from wattgate.errors import ENDED_CREDENTIALS, TooLarge, Unauthenticated, Unavailable, UnsupportedMediaType
from wattgate.principal import Principal, Role
from wattgate.requests.fair_share import FairShare, NoFreeSlot, owner_of_caller
from wattgate.requests.request_limits import INLINE_BODY_BYTES, check_anonymous_size, check_structure

CREDENTIAL_CHECK_INTERVAL = timedelta(seconds=1)
"""Age at which a long request checks its credentials again, before it reads or writes the next part."""

FindRevoked = Callable[[Collection[Principal]], Awaitable[Collection[Principal]]]
"""Returns the callers whose credentials are no longer valid."""

ChargeSize = Callable[[int], Awaitable[object]]
"""Charges the caller for a body of this many bytes. Raises an error if the budget does not cover it."""


async def find_none_revoked(principals: Collection[Principal]) -> Collection[Principal]:
    """Return no caller: credentials that no database knows are never revoked."""
    return ()


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Read bodies, and ask again for the caller of one that took long.

    Operations that change records ask in their transaction. Reads and subscriptions do not: without this question, a
    body that waits would let them run long after the end of the credential.
    """

    find_revoked: FindRevoked = find_none_revoked
    clock: Clock = utc_now

    async def read(self, receive: Receive, principal: Principal, charge_size: ChargeSize) -> bytes:
        """Return a body that is paid for. It is neither parsed nor searched before that.

        Raise TooLarge as soon as it exceeds the bounds of the caller or of JSON, after a charge for the bytes that were
        read. Raise Unauthenticated if the credentials have ended while it arrived, and the errors of `charge_size`.
        """
        began_at = self.clock()
        body = await _read(receive, principal, charge_size)
        is_slow = self.clock() - began_at >= CREDENTIAL_CHECK_INTERVAL
        if is_slow and principal.role is not Role.ANONYMOUS and await self.find_revoked([principal]):
            raise Unauthenticated(ENDED_CREDENTIALS)
        await charge_size(len(body))
        check_structure(body)
        return body


DEFAULT_BODIES = BodyReader()
"""The reader of a gateway without a database, where no credential ends."""


async def _read(receive: Receive, principal: Principal, charge_size: ChargeSize) -> bytes:
    chunks: list[bytes] = []
    size, has_more = 0, True
    try:
        while has_more:
            message: Message = await receive()
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if principal.role is Role.ANONYMOUS:
                check_anonymous_size(size)
            has_more = message.get("more_body", False)
    except TooLarge:
        await charge_size(size)
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
