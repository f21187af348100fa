"""What a client does after each close code of the WebSocket protocol.

The table of the browser pages, static/shared/close-codes.js, is generated from this one by `make generate`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from wattgate.realtime.protocol import Close


class Action(Enum):
    """The first step of a client after its connection was closed."""

    STOP = "stop"
    """Do not reconnect: the client has a fault, which another attempt would repeat."""

    RENEW_TOKEN = "renewToken"
    """Get a new token, then reconnect."""

    BACK_OFF = "backOff"
    """Reconnect after a delay that doubles with each failure in a row."""

    WAIT = "wait"
    """Reconnect after the minimum delay and a random part of the spread."""


@dataclass(frozen=True)
class Reconnection:
    """An action, and its delay in seconds where the action is WAIT."""

    action: Action
    minimum_seconds: float = 0
    spread_seconds: float = 0


RECONNECTIONS: Mapping[Close, Reconnection] = MappingProxyType(
    {
        Close.BAD_REQUEST: Reconnection(Action.STOP),
        Close.UNAUTHORIZED: Reconnection(Action.STOP),
        Close.FORBIDDEN: Reconnection(Action.RENEW_TOKEN),
        Close.SUBPROTOCOL_NOT_ACCEPTABLE: Reconnection(Action.STOP),
        Close.CONNECTION_INITIALISATION_TIMEOUT: Reconnection(Action.BACK_OFF),
        Close.SUBSCRIBER_ALREADY_EXISTS: Reconnection(Action.STOP),
        Close.TOO_MANY_INITIALISATION_REQUESTS: Reconnection(Action.STOP),
        Close.GOING_AWAY: Reconnection(Action.WAIT, spread_seconds=5),
        Close.TOO_SLOW: Reconnection(Action.WAIT, spread_seconds=2),
        Close.DISPLACED: Reconnection(Action.WAIT, minimum_seconds=30, spread_seconds=30),
        Close.TOO_MANY_MESSAGES: Reconnection(Action.WAIT, minimum_seconds=30, spread_seconds=30),
    }
)
