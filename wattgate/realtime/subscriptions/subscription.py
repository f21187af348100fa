"""What is asked for, who is told, and what they are told."""

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import msgspec

from wattgate.db.rows import Rows
from wattgate.errors import GatewayError
from wattgate.realtime.subscriptions.subscription_source import Watch
from wattgate.request_context import refused

Read = Callable[[Callable[[Rows], Awaitable[Any]]], Awaitable[Any]]
"""Runs a function of the caller's rows in a session, and answers its result. GatewayError where that cannot be."""


class NotAtOnce(Exception):
    """A payload cannot be executed without waiting after all."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a subscriber has selected of each payload: the one place behind which it is executed.

    `at_once` and `in_time` answer an execution result in JSON without its last brace, so that extensions can follow.
    `at_once` is None where the selection needs more than the payload; it raises NotAtOnce for a payload for which the
    rules of GraphQL ask for more. `nothing` is the result where there is no payload.
    """

    at_once: Callable[[Any], bytes] | None
    in_time: Callable[[Any], Awaitable[bytes]]
    nothing: bytes


@dataclass(frozen=True, slots=True)
class Subscription:
    """An operation that was asked for and may be had.

    Subscriptions with equal keys are told the same. `resumes` says that the subscriber has written `since` and
    understands where it stands; `since` is where it was, if it was anywhere.
    """

    key: Hashable
    watch: Watch
    selection: Selection
    read: Read
    resumes: bool = False
    since: str | None = None

    def since_then(self, position: str) -> "Subscription":
        """The same for a subscriber that says in another way where it was."""
        return replace(self, resumes=True, since=self.since or position)


class Message(msgspec.Struct, frozen=True, gc=False):
    """A payload as it is sent, made once for all of a group.

    `tail` is the payload with the brace that ends a message of graphql-transport-ws. A later message of the same key
    may take the place of this one for a slow reader.
    """

    key: tuple[str, str]
    payload: bytes
    tail: bytes
    position: str


class Subscriber(Protocol):
    """One who is told. While it is being caught up, `buffer` holds what comes meanwhile."""

    resumes: bool
    buffer: list[Message] | None

    def next(self, message: Message) -> None:
        """Be told a payload."""

    async def room(self) -> None:
        """Wait until the peer reads what it was told, or is gone: what it has missed is not to pile up here."""

    def fail(self, error: GatewayError) -> None:
        """Be told that the subscription has ended by an error."""


def message(key: tuple[str, str], result: bytes, **extensions: Any) -> Message:
    """The message of a result without its last brace, and what is to be said beside it."""
    payload = result + (b',"extensions":' + msgspec.json.encode(extensions) + b"}" if extensions else b"}")
    return Message(key, payload, payload + b"}", extensions.get("position", ""))


def told(error: GatewayError) -> bytes:
    """The list of errors, in JSON, that tells one. Refusals are logged."""
    refused(error)
    return msgspec.json.encode([{"message": error.message, "extensions": error.extensions}])
