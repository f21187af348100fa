"""The running operations of one connection."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Protocol

from wattgate.enums import TRACE_ID
from wattgate.errors import ENDED_CREDENTIALS, GatewayError, Internal, RateLimited, Unauthenticated
from wattgate.metrics import COMMAND_SECONDS, OPEN_SUBSCRIPTIONS
from wattgate.principal import Principal
from wattgate.realtime.connections.protocol import CloseCode, MalformedMessage, parse_request
from wattgate.realtime.connections.runtime import RealtimeRuntime
from wattgate.realtime.connections.service import OperationRejected, OperationResult, PreparedOperation
from wattgate.realtime.operation_request import OperationRequest, UnparsedRequest
from wattgate.realtime.subscriptions.subscriber_group import Group
from wattgate.realtime.subscriptions.subscription import Subscriber, Subscription, encode_errors
from wattgate.requests.request_context import new_trace_id, parse_traceparent

log = logging.getLogger(__name__)


class OperationSubscriber(Subscriber, Protocol):
    """A subscriber that knows its group, so that it can leave it. `ended` is true after an error has ended it."""

    group: Group | None
    ended: bool


class OperationClient(Protocol):
    """The connection that runs operations and sends their results."""

    @property
    def principal(self) -> Principal:
        """The caller."""

    def create_subscriber(self, operation_id: str, resumes: bool) -> OperationSubscriber:
        """Return a subscriber that sends payloads with this operation id."""

    def send_result(self, operation_id: str, payload: bytes) -> None:
        """Send the result of a query or mutation, and its completion."""

    def send_errors(self, operation_id: str, errors: bytes) -> None:
        """Send the errors of an operation, which end it."""

    def close(self, code: CloseCode, reason: str) -> None:
        """Close the connection with a code and a reason."""


class Operations:
    """The operations of a connection by their ids. A started subscription that waits for events needs no task."""

    __slots__ = ("_client", "_running", "_runtime")

    def __init__(self, runtime: RealtimeRuntime, client: OperationClient) -> None:
        self._runtime = runtime
        self._client = client
        self._running: dict[str, asyncio.Task[None] | OperationSubscriber] = {}

    def __len__(self) -> int:
        return len(self._running)

    def __iter__(self) -> Iterator[str]:
        return iter(self._running)

    def __contains__(self, operation_id: object) -> bool:
        return operation_id in self._running

    def start(
        self,
        operation_id: str,
        request: OperationRequest | UnparsedRequest,
        *,
        prepared: PreparedOperation | None = None,
        since: str | None = None,
        trace_id: str = "",
        checks_credentials: bool = False,
    ) -> None:
        """Start an operation. Its id must not be in use. A request that is not parsed is charged first.

        `prepared` is the operation if its document is resolved already. `since` is the position that the client sends
        outside the request. `trace_id` is that of the HTTP request that begins the operation, if there is one. With
        `checks_credentials`, the operation fails if the credentials of the connection are no longer valid.
        """
        max_operations = self._runtime.limits.max_operations
        if len(self._running) >= max_operations:
            error = RateLimited(
                f"A connection can run at most {max_operations} operations at once. Stop some first.", retry_after=1
            )
            self._client.send_errors(operation_id, encode_errors(error))
        else:
            execute = partial(self._execute, operation_id, request, prepared, since, checks_credentials)
            coroutine = self._supervise(operation_id, execute, trace_id or _trace_id_of(request))
            self._running[operation_id] = asyncio.create_task(coroutine)

    def end_with_errors(self, operation_id: str, errors: bytes) -> None:
        """Stop an operation, and send its errors."""
        self._client.send_errors(operation_id, errors)
        self.stop(operation_id)

    def stop(self, operation_id: str) -> None:
        """Stop an operation without a message. Do nothing if the id is unknown: it may have ended just now."""
        operation = self._running.pop(operation_id, None)
        if isinstance(operation, asyncio.Task):
            operation.cancel()
        elif operation is not None and operation.group is not None:
            OPEN_SUBSCRIPTIONS.dec()
            self._runtime.groups.leave(operation.group, operation)

    def stop_all(self) -> None:
        """Stop all operations without a message."""
        for operation_id in tuple(self._running):
            self.stop(operation_id)

    async def _supervise(self, operation_id: str, execute: Callable[[], Awaitable[None]], trace_id: str) -> None:
        """Execute an operation. An error ends the operation and is sent to the client."""
        TRACE_ID.set(trace_id)
        try:
            with COMMAND_SECONDS.labels("subscribe").time():
                await execute()
        except MalformedMessage as malformed:
            self._client.close(CloseCode.BAD_REQUEST, f"Invalid message: {malformed}")
        except OperationRejected as rejected:
            self.end_with_errors(operation_id, rejected.errors)
        except GatewayError as error:
            self.end_with_errors(operation_id, encode_errors(error))
        except Exception:  # supervisor: the client must receive an error
            log.exception("An operation failed with an unexpected error")
            self.end_with_errors(operation_id, encode_errors(Internal("an unexpected error has occurred")))

    async def _execute(
        self,
        operation_id: str,
        request: OperationRequest | UnparsedRequest,
        prepared: PreparedOperation | None,
        since: str | None,
        checks_credentials: bool,
    ) -> None:
        """Send the result of a query or mutation, or start a subscription. The task then ends."""
        if checks_credentials and await self._runtime.service.find_revoked([self._client.principal]):
            raise Unauthenticated(ENDED_CREDENTIALS)
        if isinstance(request, UnparsedRequest):
            await self._runtime.service.charge_request(self._client.principal, request.size)
            request = parse_request(request)
            TRACE_ID.set(_trace_id_of(request))
        started = await self._runtime.service.start_operation(self._client.principal, request, prepared)
        if isinstance(started, OperationResult):
            self._client.send_result(operation_id, started.payload)
            self._running.pop(operation_id, None)
        else:
            await self._start_subscription(operation_id, started if since is None else started.with_since(since))

    async def _start_subscription(self, operation_id: str, subscription: Subscription) -> None:
        subscriber = self._client.create_subscriber(operation_id, subscription.resumes)
        group = await self._runtime.groups.join(subscription, subscriber)
        if subscriber.ended:
            self._runtime.groups.leave(group, subscriber)
        else:
            OPEN_SUBSCRIPTIONS.inc()
            subscriber.group = group
            self._running[operation_id] = subscriber


def _trace_id_of(request: OperationRequest | UnparsedRequest) -> str:
    """Return the trace id in `extensions.traceparent` of a request, or a new one, also if it is not parsed yet."""
    traceparent = None if isinstance(request, UnparsedRequest) else (request.extensions or {}).get("traceparent")
    return (parse_traceparent(traceparent) if isinstance(traceparent, str) else None) or new_trace_id()
