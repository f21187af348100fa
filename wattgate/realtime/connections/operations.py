"""What one connection has asked for and is still being told."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Protocol

from wattgate.enums import TRACE_ID
from wattgate.errors import GatewayError, Internal, RateLimited
from wattgate.metrics import COMMAND_SECONDS, SUBSCRIPTIONS
from wattgate.principal import Principal
from wattgate.realtime.connections.live import Live
from wattgate.realtime.connections.protocol import Request
from wattgate.realtime.connections.service import Answer, PreparedOperation, Refused
from wattgate.realtime.subscriptions.group import Group
from wattgate.realtime.subscriptions.subscription import Subscriber, Subscription, told
from wattgate.request_context import new_trace_id, traced_as

log = logging.getLogger(__name__)


class Operator(Subscriber, Protocol):
    """A subscriber that knows its place, so that it can be taken from there."""

    group: Group | None
    over: bool


class Asker(Protocol):
    """The connection whose operations these are."""

    @property
    def principal(self) -> Principal:
        """Who asks."""

    def subscriber(self, operation_id: str, resumes: bool) -> Operator:
        """Who is told what a subscription brings."""

    def answer(self, operation_id: str, payload: bytes) -> None:
        """Tell the one result of an operation."""

    def refuse(self, operation_id: str, errors: bytes) -> None:
        """Tell that an operation has ended by errors."""


class Operations:
    """The operations of a connection by their ids. One that has been begun and only waits for events has no task."""

    __slots__ = ("_asker", "_live", "_running")

    def __init__(self, live: Live, asker: Asker) -> None:
        self._live = live
        self._asker = asker
        self._running: dict[str, asyncio.Task[None] | Operator] = {}

    def __len__(self) -> int:
        return len(self._running)

    def __iter__(self) -> Iterator[str]:
        return iter(self._running)

    def __contains__(self, operation_id: object) -> bool:
        return operation_id in self._running

    def begin(
        self,
        operation_id: str,
        request: Request,
        *,
        prepared: PreparedOperation | None = None,
        since: str | None = None,
        trace_id: str = "",
    ) -> None:
        """Begin an operation. Its id is not in use.

        `prepared` is the operation if its document is resolved already. `since` is the position that the client sends
        outside the request. `trace_id` is that of the HTTP request that begins the operation, if there is one.
        """
        most = self._live.limits.operations
        if len(self._running) >= most:
            refused = RateLimited(f"a connection has at most {most} operations at once", retry_after=1)
            self._asker.refuse(operation_id, told(refused))
        else:
            work = self._supervise(operation_id, request, prepared, since, trace_id or _traced(request))
            self._running[operation_id] = asyncio.create_task(work)

    def end(self, operation_id: str, errors: bytes) -> None:
        """Tell that an operation has ended by errors."""
        self._asker.refuse(operation_id, errors)
        self.stop(operation_id)

    def stop(self, operation_id: str) -> None:
        """End an operation without a word; one that is not there may have ended just now."""
        operation = self._running.pop(operation_id, None)
        if isinstance(operation, asyncio.Task):
            operation.cancel()
        elif operation is not None and operation.group is not None:
            SUBSCRIPTIONS.dec()
            self._live.groups.leave(operation.group, operation)

    def clear(self) -> None:
        """End all of them without a word."""
        for operation_id in tuple(self._running):
            self.stop(operation_id)

    async def _supervise(
        self,
        operation_id: str,
        request: Request,
        prepared: PreparedOperation | None,
        since: str | None,
        trace_id: str,
    ) -> None:
        """Execute an operation. What goes wrong ends it."""
        TRACE_ID.set(trace_id)
        try:
            with COMMAND_SECONDS.labels("subscribe").time():
                await self._execute(operation_id, request, prepared, since)
        except Refused as refused:
            self.end(operation_id, refused.errors)
        except GatewayError as error:
            self.end(operation_id, told(error))
        except Exception:  # the supervisor of an operation: the client must hear of it
            log.exception("an operation ended by a fault")
            self.end(operation_id, told(Internal("an unexpected error has occurred")))

    async def _execute(
        self, operation_id: str, request: Request, prepared: PreparedOperation | None, since: str | None
    ) -> None:
        """Answer a query or mutation, or let a subscription begin, which needs no task from then on."""
        begun = await self._live.service.begin(self._asker.principal, request, prepared)
        if isinstance(begun, Answer):
            self._asker.answer(operation_id, begun.payload)
            self._running.pop(operation_id, None)
        else:
            await self._follow(operation_id, begun if since is None else begun.since_then(since))

    async def _follow(self, operation_id: str, subscription: Subscription) -> None:
        subscriber = self._asker.subscriber(operation_id, subscription.resumes)
        group = await self._live.groups.join(subscription, subscriber)
        if subscriber.over:
            self._live.groups.leave(group, subscriber)
        else:
            SUBSCRIPTIONS.inc()
            subscriber.group = group
            self._running[operation_id] = subscriber


def _traced(request: Request) -> str:
    """The trace id of an operation: that which the caller brings as `extensions.traceparent`, or else a new one."""
    given = (request.extensions or {}).get("traceparent")
    return (traced_as(given) if isinstance(given, str) else None) or new_trace_id()
