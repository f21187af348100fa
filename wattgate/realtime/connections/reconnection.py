"""The reaction of a client to each close code of the WebSocket protocol.

The table of the browser pages, static/shared/close-codes.js, is generated from this one by `make generate`.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from wattgate.realtime.connections.protocol import CloseCode


class ReconnectAction(Enum):
    """The first step of a client after its connection was closed."""

    STOP = "stop"
    """Do not reconnect: the client has a fault, which another attempt would repeat."""

    RENEW_TOKEN = "renewToken"  # noqa: S105 (not a credential)
    """Get a new token, then reconnect."""

    BACK_OFF = "backOff"
    """Reconnect after a delay that doubles with each failure in a row."""

    WAIT = "wait"
    """Reconnect after the minimum delay and a random part of the spread."""


@dataclass(frozen=True)
class Reconnection:
    """An action, and its delay in seconds where the action is WAIT."""

    action: ReconnectAction
    minimum_seconds: float = 0
    spread_seconds: float = 0

    def random_milliseconds(self) -> int:
        """Return a delay for the action WAIT."""
        spread = self.spread_seconds * random.random()  # noqa: S311 (not a secret)
        return round((self.minimum_seconds + spread) * 1_000)


RECONNECTIONS: Mapping[int, Reconnection] = MappingProxyType(
    {
        CloseCode.BAD_REQUEST: Reconnection(ReconnectAction.STOP),
        CloseCode.UNAUTHORIZED: Reconnection(ReconnectAction.STOP),
        CloseCode.FORBIDDEN: Reconnection(ReconnectAction.RENEW_TOKEN),
        CloseCode.SUBPROTOCOL_NOT_ACCEPTABLE: Reconnection(ReconnectAction.STOP),
        CloseCode.CONNECTION_INITIALISATION_TIMEOUT: Reconnection(ReconnectAction.BACK_OFF),
        CloseCode.SUBSCRIBER_ALREADY_EXISTS: Reconnection(ReconnectAction.STOP),
        CloseCode.TOO_MANY_INITIALISATION_REQUESTS: Reconnection(ReconnectAction.STOP),
        CloseCode.GOING_AWAY: Reconnection(ReconnectAction.WAIT, spread_seconds=5),
        CloseCode.TOO_SLOW: Reconnection(ReconnectAction.WAIT, spread_seconds=2),
        CloseCode.DISPLACED: Reconnection(ReconnectAction.WAIT, minimum_seconds=30, spread_seconds=30),
        CloseCode.TOO_MANY_MESSAGES: Reconnection(ReconnectAction.WAIT, minimum_seconds=30, spread_seconds=30),
        CloseCode.RATE_LIMITED: Reconnection(ReconnectAction.WAIT, spread_seconds=5),
    }
)

_WAITING_REASON = re.compile(r"Retry in (\d{1,5}) s\.")


def waiting_seconds(reason: str) -> int:
    """Return the seconds of wait that the reason of a close states, besides the delay of its code."""
    found = _WAITING_REASON.fullmatch(reason)
    return int(found[1]) if found else 0
