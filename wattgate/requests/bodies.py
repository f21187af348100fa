"""Bodies of requests, which may arrive long after the head that authenticated the caller."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import timedelta

from starlette.types import Message, Receive

from wattgate.clock import Clock, utc_now
from wattgate.errors import ENDED_CREDENTIALS, Unauthenticated
from wattgate.principal import Principal, Role
from wattgate.requests.request_limits import check_anonymous_size, check_structure

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

        Raise TooLarge as soon as it exceeds the bounds of the caller or of JSON, Unauthenticated if the credentials
        have ended while it arrived, and the errors of `charge_size`.
        """
        began_at = self.clock()
        body = await _read(receive, principal)
        is_slow = self.clock() - began_at >= CREDENTIAL_CHECK_INTERVAL
        if is_slow and principal.role is not Role.ANONYMOUS and await self.find_revoked([principal]):
            raise Unauthenticated(ENDED_CREDENTIALS)
        await charge_size(len(body))
        check_structure(body)
        return body


DEFAULT_BODIES = BodyReader()
"""The reader of a gateway without a database, where no credential ends."""


async def _read(receive: Receive, principal: Principal) -> bytes:
    chunks: list[bytes] = []
    size, has_more = 0, True
    while has_more:
        message: Message = await receive()
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if principal.role is Role.ANONYMOUS:
            check_anonymous_size(size)
        has_more = message.get("more_body", False)
    return b"".join(chunks)
