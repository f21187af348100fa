"""Connections that the gateway ends are counted and logged."""

import logging

from wattgate.metrics import SERVER_DISCONNECTS
from wattgate.principal import Principal, Role
from wattgate.realtime.connections.protocol import CloseCode

log = logging.getLogger(__name__)


def log_close(code: CloseCode, reason: str, caller: Principal, trace_id: str) -> None:
    """Take note that a connection is ended; that the gateway itself goes away is no news of any of them."""
    SERVER_DISCONNECTS.labels(str(int(code))).inc()
    level = logging.DEBUG if code is CloseCode.GOING_AWAY else logging.INFO
    logged_caller = None if caller.role is Role.ANONYMOUS else caller
    log.log(
        level, "a connection is ended with %d: %s", code, reason, extra={"caller": logged_caller, "trace_id": trace_id}
    )
