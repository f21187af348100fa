"""The interface through which connections authenticate callers and execute operations."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

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
