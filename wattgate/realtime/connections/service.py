"""The interface through which connections authenticate callers and execute operations."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Protocol

from wattgate.errors import Unavailable
from wattgate.principal import Principal
from wattgate.realtime.operation_request import OperationRequest
from wattgate.realtime.subscriptions.subscription import Subscription


@dataclass(frozen=True, slots=True)
class OperationResult:
    """The result of a query or mutation, in JSON."""

    payload: bytes


class OperationRejected(Exception):
    """An operation cannot start. `errors` is a JSON list of GraphQL errors."""

    def __init__(self, errors: bytes) -> None:
        super().__init__(errors)
        self.errors = errors


class PreparedOperation(Protocol):
    """An operation whose document is resolved and valid, ready to begin."""

    @property
    def is_mutation(self) -> bool:
        """Whether the operation is a mutation."""

    @property
    def is_subscription(self) -> bool:
        """Whether the operation is a subscription."""


class OperationService(Protocol):
    """Authenticates callers and executes their operations."""

    async def authenticate(self, credentials: Mapping[str, str]) -> Principal:
        """Return the caller. `credentials` are headers with lower-case names.

        Raise Unauthenticated if they are invalid.
        """

    async def charge_request(self, principal: Principal, size: int) -> None:
        """Charge the caller for a request of this many bytes, before it is parsed.

        Raise RateLimited if the budget of the caller does not cover it.
        """

    async def prepare(self, principal: Principal, request: OperationRequest) -> PreparedOperation:
        """Resolve and validate the document of a request. Raise OperationRejected if it is invalid."""

    async def start_operation(
        self, principal: Principal, request: OperationRequest, prepared: PreparedOperation | None = None
    ) -> OperationResult | Subscription:
        """Return the result of a query or mutation, or the subscription to join.

        `prepared` is the result of `prepare` for this request; without it, the document is resolved here.
        Raise OperationRejected if the operation cannot start.
        """

    async def find_revoked(self, principals: Collection[Principal]) -> set[Principal]:
        """Return the callers whose token or account is no longer valid."""

    def now(self) -> datetime:
        """Return the current time."""


# The log-ins of connections: a bounded number at once, and a bounded queue of others.
#
# After an outage, thousands of displays return in the same second. If all of them logged in at once, none would
# finish before its time limit, and all would begin again. The queue completes them in the order of their arrival. It
# refuses the ones above its length at once, with an error after which a client waits and reconnects.
#
# Log-ins with a password do not use it. They wait for their hash in `passwords.HashPool`, which takes much longer
# than a look-up of a token, and would hold back the displays.


class LoginQueue:
    """A context in which a log-in runs. It is entered in the order of arrival."""

    def __init__(self, max_concurrent: int, max_waiting: int) -> None:
        self._semaphore = asyncio.Semaphore(max_concurrent)
        self._max_waiting = max_waiting
        self.waiting = 0
        """The number of log-ins in the queue."""

    async def __aenter__(self) -> None:
        """Wait for the turn of a log-in. Raise Unavailable if the queue is full."""
        if self._semaphore.locked() and self.waiting >= self._max_waiting:
            raise Unavailable("Too many connections log in at the moment. Try again.", retry_after=1)
        self.waiting += 1
        try:
            await self._semaphore.acquire()
        finally:
            self.waiting -= 1

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._semaphore.release()


def uses_password(headers: Mapping[str, str]) -> bool:
    """Return whether the credentials in headers are a name and a password. Header names are in lower case."""
    return not headers.get("token") and headers.get("authorization", "").lstrip()[:6].lower() == "basic "
