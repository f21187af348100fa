"""Subscriptions, their subscribers, and the messages that subscribers receive."""

from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import msgspec

from wattgate.db.rows.rows import Rows
from wattgate.errors import GatewayError
from wattgate.realtime.events import POSITION_PLACEHOLDER
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource
from wattgate.requests.fair_share import NO_OWNER
from wattgate.requests.request_context import log_access_error

_PLACEHOLDER = POSITION_PLACEHOLDER.encode()
_ENCODER = msgspec.json.Encoder()

ReadRows = Callable[[Callable[[Rows], Awaitable[Any]]], Awaitable[Any]]
"""Run a function of the caller's rows in a database session and return its result. Raise GatewayError if that fails."""


class RequiresAsync(Exception):
    """The selection cannot be executed on this payload synchronously."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The GraphQL selection of a subscription, as functions from a payload to an execution result.

    A result is JSON without its last brace, so that extensions can follow. `execute_sync` needs only the payload. It is
    None if the selection needs more, such as the database. It raises RequiresAsync for a payload for which GraphQL
    needs more. `execute_async` handles every payload. `empty_result` is the result without a payload. `key` is the
    response key of the only root field.
    """

    execute_sync: Callable[[Any], bytes] | None
    execute_async: Callable[[Any], Awaitable[bytes]]
    empty_result: bytes
    key: str

    def build_error_result(self, errors: Iterable[GatewayError]) -> bytes:
        """Return the result without a payload, with errors at the root field. Access errors are logged."""
        encoded = []
        for error in errors:
            log_access_error(error)
            encoded.append({"message": error.message, "path": [self.key], "extensions": error.extensions})
        return self.empty_result + (b',"errors":' + msgspec.json.encode(encoded) if encoded else b"")


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription that the caller may have.

    Subscriptions with equal keys receive the same payloads. `resumes` is true if the client passed `since`, also with
    null, and thus handles positions. `since` is the last position that the client received, if any. `owner` is the
    application of the caller, as `fair_share` counts it.
    """

    key: Hashable
    source: SubscriptionSource
    selection: Selection
    read: ReadRows
    resumes: bool = False
    since: str | None = None
    owner: str = NO_OWNER

    def with_since(self, position: str) -> "Subscription":
        """Return a copy for a client that sends its position outside the operation. Its `since` has priority."""
        return replace(self, resumes=True, since=self.since or position)


class Message(msgspec.Struct, frozen=True, gc=False):
    """An encoded payload, built once for all subscribers of a group.

    `websocket_tail` is the payload and the brace that ends a message of graphql-transport-ws. For a slow reader, a
    later message with the same key replaces this one.
    """

    key: tuple[str, str]
    websocket_tail: bytes
    position: str

    @property
    def payload(self) -> bytes:
        return self.websocket_tail[:-1]

    @property
    def size(self) -> int:
        """The number of bytes of the payload."""
        return len(self.websocket_tail) - 1


class Subscriber(Protocol):
    """A receiver of messages. `buffer` collects new messages while it receives the missed ones; else it is None."""

    resumes: bool
    buffer: list[Message] | None

    def send(self, message: Message) -> None:
        """Send a message to the client, or queue it."""

    async def wait_until_writable(self) -> None:
        """Wait until the client reads its messages or is gone. Backfills use it, so that they do not fill the queue."""

    def fail(self, error: GatewayError) -> None:
        """End the subscription with an error."""


def build_message(key: tuple[str, str], result: bytes, **extensions: Any) -> Message:
    """Build a message from a result without its last brace, and from the extensions to add.

    The position in the extensions also replaces its placeholder in the data.
    """
    position = extensions.get("position", "")
    if _PLACEHOLDER in result:
        result = result.replace(_PLACEHOLDER, _ENCODER.encode(position)[1:-1])
    if extensions:
        return Message(key, b'%b,"extensions":%b}}' % (result, _ENCODER.encode(extensions)), position)
    return Message(key, result + b"}}", position)


def encode_errors(error: GatewayError) -> bytes:
    """Return a JSON list with this error. Access errors are logged."""
    log_access_error(error)
    return msgspec.json.encode([{"message": error.message, "extensions": error.extensions}])
