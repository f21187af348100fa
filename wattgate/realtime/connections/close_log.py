"""Connections that the gateway ends are counted and logged."""

import logging

from wattgate.metrics import SERVER_DISCONNECTS
from wattgate.principal import Principal, Role
from wattgate.realtime.connections.protocol import Close

log = logging.getLogger(__name__)


def disconnected(code: Close, reason: str, caller: Principal, trace_id: str) -> None:
    """Take note that a connection is ended; that the gateway itself goes away is no news of any of them."""
    SERVER_DISCONNECTS.labels(str(int(code))).inc()
    level = logging.DEBUG if code is Close.GOING_AWAY else logging.INFO
    whose = None if caller.role is Role.ANONYMOUS else caller
    log.log(level, "a connection is ended with %d: %s", code, reason, extra={"caller": whose, "trace_id": trace_id})
