"""The interface through which connections authenticate callers and execute operations."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from wattgate.errors import Unavailable
from wattgate.principal import Principal
from wattgate.realtime.operation_request import OperationRequest
from wattgate.realtime.subscriptions.subscription import Subscription
from wattgate.requests.fair_share import FairShare, NoFreeSlot


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
    """The turns of log-ins. Network addresses are served in turn, and the log-ins of each in the order of arrival."""

    def __init__(self, max_concurrent: int, max_waiting: int) -> None:
        self.slots = FairShare(max_concurrent, share=max_concurrent, max_waiting=max_waiting)

    @asynccontextmanager
    async def turn(self, address: str) -> AsyncIterator[None]:
        """Wait for the turn of a log-in, and keep it until the context exits. Raise Unavailable if too many wait.

        If the queue is full, the address with most log-ins in it loses its last one.
        """
        try:
            await self.slots.take(address)
        except NoFreeSlot:
            raise Unavailable("Too many connections log in at the moment. Try again.", retry_after=1) from None
        try:
            yield
        finally:
            self.slots.give_back(address)


def uses_password(headers: Mapping[str, str]) -> bool:
    """Return whether the credentials in headers are a name and a password. Header names are in lower case."""
    return not headers.get("token") and headers.get("authorization", "").lstrip()[:6].lower() == "basic "
