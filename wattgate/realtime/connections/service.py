"""What the connections need of the rest of the house."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from wattgate.principal import Principal
from wattgate.realtime.connections.protocol import Request
from wattgate.realtime.subscriptions.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a query or mutation, in JSON."""

    payload: bytes


class Refused(Exception):
    """An operation cannot be begun. `errors` is the list of errors, in JSON."""

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


class Service(Protocol):
    """Authenticates callers and executes their operations."""

    async def authenticate(self, credentials: Mapping[str, str]) -> Principal:
        """The caller, by headers with lower-case names. Unauthenticated where they are not good."""

    async def prepare(self, principal: Principal, request: Request) -> PreparedOperation:
        """Resolve and validate the document of a request. Raise Refused if it is invalid."""

    async def begin(
        self, principal: Principal, request: Request, prepared: PreparedOperation | None = None
    ) -> Answer | Subscription:
        """Return the result of a query or mutation, or the subscription to follow. Raise Refused if it cannot begin.

        `prepared` is what `prepare` returned for this request; without it the document is resolved here.
        """

    async def ended(self, principals: Collection[Principal]) -> set[Principal]:
        """Those of these callers whose token or account is good no longer."""

    def now(self) -> datetime:
        """The present instant."""
