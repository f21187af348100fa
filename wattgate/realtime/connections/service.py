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


class Service(Protocol):
    """Authenticates callers, and executes what they ask for."""

    async def authenticate(self, credentials: Mapping[str, str]) -> Principal:
        """The caller, by headers with lower-case names. Unauthenticated where they are not good."""

    async def begin(self, principal: Principal, request: Request) -> Answer | Subscription:
        """The result of a query or mutation, or what a subscription follows. Refused where it cannot be begun."""

    async def ended(self, principals: Collection[Principal]) -> set[Principal]:
        """Those of these callers whose token or account is good no longer."""

    def now(self) -> datetime:
        """The present instant."""
