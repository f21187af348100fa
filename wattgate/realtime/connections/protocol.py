"""The graphql-transport-ws protocol, without any IO: what may be said when, and what follows from it.

Source: PROTOCOL.md of the npm package graphql-ws. The codes from 4503 on are ours; its clients come back after them.
"""

from collections.abc import Mapping
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

SUBPROTOCOL = "graphql-transport-ws"


class State(Enum):
    """Where a connection stands."""

    NEW = "new"
    AUTHENTICATING = "authenticating"
    READY = "ready"
    CLOSED = "closed"


class Close(IntEnum):
    """Why the server closes a connection. The names are the protocol's own where it has one."""

    BAD_REQUEST = 4400
    UNAUTHORIZED = 4401
    FORBIDDEN = 4403
    SUBPROTOCOL_NOT_ACCEPTABLE = 4406
    CONNECTION_INITIALISATION_TIMEOUT = 4408
    SUBSCRIBER_ALREADY_EXISTS = 4409
    TOO_MANY_INITIALISATION_REQUESTS = 4429
    GOING_AWAY = 4503
    TOO_SLOW = 4508
    DISPLACED = 4509
    TOO_MANY_MESSAGES = 4510


class Do(Enum):
    """What a message makes the server do, if it does not close the connection."""

    AUTHENTICATE = "authenticate, then acknowledge"
    START = "start the operation"
    STOP = "stop the operation"
    PONG = "reply with pong"
    HEAR = "record that the client is alive"
    IGNORE = "ignore it"


class _Message(msgspec.Struct, frozen=True, tag_field="type", gc=False):
    """A message of a client. Members that the protocol does not know are ignored."""


class ConnectionInit(_Message, frozen=True, tag="connection_init"):
    payload: dict[str, Any] | None = None


class Ping(_Message, frozen=True, tag="ping"):
    payload: dict[str, Any] | None = None


class Pong(_Message, frozen=True, tag="pong"):
    payload: dict[str, Any] | None = None


PERSISTED_QUERY = "persistedQuery"
"""The extension by which a request names a document that was sent before."""


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """An operation that is asked for: by its document, or by the name of one that the gateway has."""

    query: str | None = None
    operation_name: str | None = None
    variables: dict[str, Any] | None = None
    extensions: dict[str, Any] | None = None
    document_id: str | None = None

    def __post_init__(self) -> None:
        if self.query is None and self.document_id is None and not (self.extensions or {}).get(PERSISTED_QUERY):
            raise ValueError("there is no query")  # which is told as any other fault of the message


MAX_ID = 256
"""Characters of the longest id of an operation."""

Id = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]


class Subscribe(_Message, frozen=True, tag="subscribe"):
    id: Id
    payload: Request


class Complete(_Message, frozen=True, tag="complete"):
    id: Id


Message = ConnectionInit | Ping | Pong | Subscribe | Complete

_DECODER: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)

_ALWAYS: Mapping[type[_Message], Do | Close] = {Ping: Do.PONG, Pong: Do.HEAR, Complete: Do.STOP}

TABLE: Mapping[State, Mapping[type[_Message], Do | Close]] = MappingProxyType(
    {
        State.NEW: {**_ALWAYS, ConnectionInit: Do.AUTHENTICATE, Subscribe: Close.UNAUTHORIZED},
        State.AUTHENTICATING: {
            **_ALWAYS,
            ConnectionInit: Close.TOO_MANY_INITIALISATION_REQUESTS,
            Subscribe: Close.UNAUTHORIZED,
        },
        State.READY: {
            **_ALWAYS,
            ConnectionInit: Close.TOO_MANY_INITIALISATION_REQUESTS,
            Subscribe: Do.START,
        },
        State.CLOSED: dict.fromkeys((ConnectionInit, Ping, Pong, Subscribe, Complete), Do.IGNORE),
    }
)
"""State by state, what each message leads to. Everything else is malformed: Close.BAD_REQUEST."""

MEANINGS: Mapping[Close, tuple[str, str]] = MappingProxyType(
    {
        Close.BAD_REQUEST: ("a message is malformed", "fix the client; do not reconnect"),
        Close.UNAUTHORIZED: ("an operation was requested before the acknowledgement", "fix the client"),
        Close.FORBIDDEN: (
            "the credentials are missing, invalid, expired or revoked",
            "log in again and reconnect with the new token",
        ),
        Close.SUBPROTOCOL_NOT_ACCEPTABLE: (f"the client did not offer the subprotocol {SUBPROTOCOL}", "offer it"),
        Close.CONNECTION_INITIALISATION_TIMEOUT: ("no connection_init arrived in time", "reconnect"),
        Close.SUBSCRIBER_ALREADY_EXISTS: ("the id of an operation is in use", "fix the client"),
        Close.TOO_MANY_INITIALISATION_REQUESTS: ("connection_init arrived twice", "fix the client"),
        Close.GOING_AWAY: ("the gateway shuts down or has failed", "reconnect after a random part of 5 s and resume"),
        Close.TOO_SLOW: ("the client does not read its messages", "reconnect and resume"),
        Close.DISPLACED: (
            "newer connections of the same account or application replaced it",
            "reconnect after 30 s at the earliest, or not at all",
        ),
        Close.TOO_MANY_MESSAGES: ("the client sends too many messages", "reconnect after 30 s at the earliest"),
    }
)
"""The meaning of each code, and what the client should do."""


LONGEST_REASON = 120
"""Bytes of the reason of a close frame, which has 123 at most."""


def reason(text: str) -> str:
    """As much of a text as fits into a close frame."""
    return text.encode()[:LONGEST_REASON].decode(errors="ignore")


class Malformed(ValueError):
    """What the client sent is no message of the protocol."""


def parse(data: bytes) -> Message:
    """The message of these bytes. Malformed, with the reason, where they are none."""
    try:
        return _DECODER.decode(data)
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(str(error)) from None


# What the server says: bytes, because most of it is made for many at once.

ACKNOWLEDGEMENT = b'{"type":"connection_ack"}'
PING = b'{"type":"ping"}'


def prefix(operation_id: str) -> bytes:
    """How a `next` message of an operation begins; the payload and one closing brace follow."""
    return b'{"id":' + msgspec.json.encode(operation_id) + b',"type":"next","payload":'


def error(operation_id: str, errors: bytes) -> bytes:
    """The message that ends an operation by its errors, a JSON list."""
    return b'{"id":' + msgspec.json.encode(operation_id) + b',"type":"error","payload":' + errors + b"}"


def complete(operation_id: str) -> bytes:
    return b'{"id":' + msgspec.json.encode(operation_id) + b',"type":"complete"}'


def pong(payload: Mapping[str, Any] | None) -> bytes:
    return msgspec.json.encode({"type": "pong"} if payload is None else {"type": "pong", "payload": payload})


def ping(payload: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"type": "ping", "payload": payload})
