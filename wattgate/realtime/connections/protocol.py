"""The graphql-transport-ws protocol without I/O: messages, states, the state table and close codes.

Source: PROTOCOL.md of the npm package graphql-ws. The close codes from 4503 on are our own. Clients of graphql-ws
reconnect after them.
"""

import logging
from collections.abc import Mapping
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

from wattgate.errors import RateLimited
from wattgate.metrics import SERVER_DISCONNECTS
from wattgate.principal import Principal, Role
from wattgate.realtime.operation_request import OperationRequest, UnparsedRequest
from wattgate.requests.request_context import client_fields
from wattgate.requests.request_limits import FREE_BODY_BYTES, check_encoding

SUBPROTOCOL = "graphql-transport-ws"


class ConnectionState(Enum):
    """The state of a connection."""

    NEW = "new"
    AUTHENTICATING = "authenticating"
    READY = "ready"
    CLOSED = "closed"


class CloseCode(IntEnum):
    """The reason why the server closes a connection. Names follow the protocol where it defines the code."""

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
    RATE_LIMITED = 4511


class Action(Enum):
    """The action of the server on a message that does not close the connection."""

    AUTHENTICATE = "authenticate, then acknowledge"
    START = "start the operation"
    STOP = "stop the operation"
    PONG = "reply with pong"
    MARK_ALIVE = "record that the client is alive"
    IGNORE = "ignore it"


class _ClientMessage(msgspec.Struct, frozen=True, tag_field="type", gc=False):
    """A message of a client. Members that the protocol does not define are ignored."""


class ConnectionInit(_ClientMessage, frozen=True, tag="connection_init"):
    payload: dict[str, Any] | None = None


class Ping(_ClientMessage, frozen=True, tag="ping"):
    payload: dict[str, Any] | None = None


class Pong(_ClientMessage, frozen=True, tag="pong"):
    payload: dict[str, Any] | None = None


MAX_ID_LENGTH = 256
"""Maximum length of an operation id in characters."""

OperationId = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID_LENGTH)]


class _ParsedSubscribe(_ClientMessage, frozen=True, tag="subscribe"):
    id: OperationId
    payload: OperationRequest


class _Envelope(msgspec.Struct, frozen=True, gc=False):
    """The type and the id of a message, whose payload is not parsed."""

    type: str
    id: OperationId | None = None
    payload: msgspec.Raw = msgspec.Raw()


class Subscribe(_ClientMessage, frozen=True, tag="subscribe"):
    """A request for an operation. It is not parsed if the caller pays for its size: see `parse_request`."""

    id: OperationId
    payload: OperationRequest | UnparsedRequest


class Complete(_ClientMessage, frozen=True, tag="complete"):
    id: OperationId


ClientMessage = ConnectionInit | Ping | Pong | Subscribe | Complete

_DECODER: msgspec.json.Decoder[ConnectionInit | Ping | Pong | _ParsedSubscribe | Complete] = msgspec.json.Decoder(
    ConnectionInit | Ping | Pong | _ParsedSubscribe | Complete
)
_ENVELOPE_DECODER = msgspec.json.Decoder(_Envelope)
_REQUEST_DECODER = msgspec.json.Decoder(OperationRequest)

_RENEWING_MEMBERS = frozenset({"token", "authorization"})
"""Members of the payload of a ping that replace the credentials of the connection, in lower case."""

_CREDENTIAL_MEMBERS = _RENEWING_MEMBERS | {"applicationid", "userid", "sharedhomeid"}
"""Members of a payload that say who calls, in lower case."""

MAX_CONTROL_BYTES = 16 * 1024
"""Maximum bytes of a message that requests no operation. Only credentials make one longer than some hundred bytes."""

_IN_EVERY_STATE: Mapping[type[_ClientMessage], Action | CloseCode] = {
    Ping: Action.PONG,
    Pong: Action.MARK_ALIVE,
    Complete: Action.STOP,
}

TABLE: Mapping[ConnectionState, Mapping[type[_ClientMessage], Action | CloseCode]] = MappingProxyType(
    {
        ConnectionState.NEW: {
            **_IN_EVERY_STATE,
            ConnectionInit: Action.AUTHENTICATE,
            Subscribe: CloseCode.UNAUTHORIZED,
        },
        ConnectionState.AUTHENTICATING: {
            **_IN_EVERY_STATE,
            ConnectionInit: CloseCode.TOO_MANY_INITIALISATION_REQUESTS,
            Subscribe: CloseCode.UNAUTHORIZED,
        },
        ConnectionState.READY: {
            **_IN_EVERY_STATE,
            ConnectionInit: CloseCode.TOO_MANY_INITIALISATION_REQUESTS,
            Subscribe: Action.START,
        },
        ConnectionState.CLOSED: dict.fromkeys((ConnectionInit, Ping, Pong, Subscribe, Complete), Action.IGNORE),
    }
)
"""The action or close code for each message in each state. Any other message is malformed: CloseCode.BAD_REQUEST."""

CLOSE_CODE_MEANINGS: Mapping[CloseCode, tuple[str, str]] = MappingProxyType(
    {
        CloseCode.BAD_REQUEST: ("a message is malformed", "fix the client; do not reconnect"),
        CloseCode.UNAUTHORIZED: ("an operation was requested before the acknowledgement", "fix the client"),
        CloseCode.FORBIDDEN: (
            "the credentials are missing, invalid, expired or revoked",
            "log in again and reconnect with the new token",
        ),
        CloseCode.SUBPROTOCOL_NOT_ACCEPTABLE: (f"the client did not offer the subprotocol {SUBPROTOCOL}", "offer it"),
        CloseCode.CONNECTION_INITIALISATION_TIMEOUT: ("no connection_init arrived in time", "reconnect"),
        CloseCode.SUBSCRIBER_ALREADY_EXISTS: ("the id of an operation is in use", "fix the client"),
        CloseCode.TOO_MANY_INITIALISATION_REQUESTS: ("connection_init arrived twice", "fix the client"),
        CloseCode.GOING_AWAY: (
            "the gateway shuts down, has failed, or too many connections log in at once",
            "reconnect after a random part of 5 s and resume",
        ),
        CloseCode.TOO_SLOW: ("the client does not read its messages", "reconnect and resume"),
        CloseCode.DISPLACED: (
            "newer connections of the same account or application replaced it",
            "reconnect after 30 s at the earliest, or not at all",
        ),
        CloseCode.TOO_MANY_MESSAGES: ("the client sends too many messages", "reconnect after 30 s at the earliest"),
        CloseCode.RATE_LIMITED: (
            "a limit of the caller or of its network address is used up; the credentials may be valid",
            "keep the credentials; reconnect after the seconds that the reason names, and a random part of 5 s",
        ),
    }
)
"""The meaning of each code, and what the client should do."""


def waiting_reason(error: RateLimited) -> str:
    """Return the reason of a close with RATE_LIMITED. Clients read the seconds in it: see `reconnection`."""
    return "Retry later." if error.retry_after is None else f"Retry in {error.retry_after} s."


MAX_REASON_BYTES = 120
"""Maximum bytes of the reason in a close frame. The WebSocket protocol permits 123."""


def truncate_reason(text: str) -> str:
    """Cut a text to `MAX_REASON_BYTES`."""
    return text.encode()[:MAX_REASON_BYTES].decode(errors="ignore")


class MalformedMessage(ValueError):
    """The client sent data that is no message of the protocol."""


def parse_message(data: bytes) -> ClientMessage:
    """Parse a message. Raise MalformedMessage, with the reason, if the data is invalid."""
    try:
        check_encoding(data)
        if len(data) > FREE_BODY_BYTES and (large := _read_large(data)) is not None:
            return large
        message = _DECODER.decode(data)
        if isinstance(message, _ParsedSubscribe):
            return Subscribe(message.id, _with_size(message.payload, len(data)))
        if isinstance(message, ConnectionInit) or (isinstance(message, Ping) and has_credentials(message.payload)):
            _check_credentials(message.payload or {})
        return message
    except RecursionError:
        raise MalformedMessage("it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedMessage(str(error)) from None


def parse_request(request: UnparsedRequest) -> OperationRequest:
    """Parse a request whose size is paid for. Raise MalformedMessage, with the reason, if it is invalid."""
    try:
        return _with_size(_REQUEST_DECODER.decode(request.content), request.size)
    except RecursionError:
        raise MalformedMessage("it is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise MalformedMessage(f"{error} - in `$.payload`") from None


def has_credentials(payload: Mapping[str, Any] | None) -> bool:
    """Return whether the payload of a ping has new credentials. Any other payload is only returned."""
    return payload is not None and not _RENEWING_MEMBERS.isdisjoint(map(str.lower, payload))


def _check_credentials(payload: Mapping[str, Any]) -> None:
    """Raise MalformedMessage if a member that says who calls is no text. Null stands for none.

    Without it, the connection would act for another caller or in another home than the client means.
    """
    for name, value in payload.items():
        if value is not None and not isinstance(value, str) and name.lower() in _CREDENTIAL_MEMBERS:
            raise MalformedMessage(f"{name} is no text - in `$.payload`")


def _read_large(data: bytes) -> Subscribe | None:
    """Return the request in a large message, not parsed, or None if the message may be another one."""
    envelope = _ENVELOPE_DECODER.decode(data)
    if envelope.type == "subscribe" and envelope.id is not None:
        return Subscribe(envelope.id, UnparsedRequest(envelope.payload.copy(), len(data)))
    if len(data) > MAX_CONTROL_BYTES:
        raise MalformedMessage(f"a message other than subscribe has at most {MAX_CONTROL_BYTES:,} bytes")
    return None


def _with_size(request: OperationRequest, size: int) -> OperationRequest:
    return msgspec.structs.replace(request, size=size)


# Messages of the server, as bytes: most of them are encoded once for many connections.

ACKNOWLEDGEMENT = b'{"type":"connection_ack"}'
PING = b'{"type":"ping"}'


def encode_next_prefix(operation_id: str) -> bytes:
    """Return the start of a `next` message. The payload and one closing brace follow."""
    return b'{"id":' + msgspec.json.encode(operation_id) + b',"type":"next","payload":'


def encode_error(operation_id: str, errors: bytes) -> bytes:
    """Return the message that ends an operation. `errors` is a JSON list."""
    return b'{"id":' + msgspec.json.encode(operation_id) + b',"type":"error","payload":' + errors + b"}"


def encode_complete(operation_id: str) -> bytes:
    return b'{"id":' + msgspec.json.encode(operation_id) + b',"type":"complete"}'


def encode_pong(payload: Mapping[str, Any] | None) -> bytes:
    return msgspec.json.encode({"type": "pong"} if payload is None else {"type": "pong", "payload": payload})


def encode_ping(payload: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"type": "ping", "payload": payload})


def string_members(payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the text members of a payload, which are used like HTTP headers."""
    return {name.lower(): value for name, value in payload.items() if isinstance(value, str)}


log = logging.getLogger(__name__)

SECURITY_EVENTS = frozenset(CloseCode) - {CloseCode.GOING_AWAY}
"""Codes whose log records are security events, because a client can cause as many as it likes."""


def log_close(code: CloseCode, reason: str, caller: Principal, trace_id: str, address: str | None) -> None:
    """Count and log the closing of a connection. A shutdown of the gateway closes all of them, so log it at DEBUG.

    The record of any other close is a security event, with the client's address.
    """
    SERVER_DISCONNECTS.labels(str(int(code))).inc()
    level = logging.DEBUG if code is CloseCode.GOING_AWAY else logging.INFO
    logged_caller = None if caller.role is Role.ANONYMOUS else caller
    context: dict[str, Any] = {"caller": logged_caller, "trace_id": trace_id}
    if code in SECURITY_EVENTS:
        context |= client_fields(f"Closing a connection with code {code:d}", address or "unknown")
    log.log(level, "Closing a connection with code %d: %s", code, reason, extra=context)
