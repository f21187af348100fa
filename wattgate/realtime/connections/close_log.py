"""Metric and log record of each connection that the gateway closes."""

import logging

from wattgate.metrics import SERVER_DISCONNECTS
from wattgate.principal import Principal, Role
from wattgate.realtime.connections.protocol import CloseCode

log = logging.getLogger(__name__)


def log_close(code: CloseCode, reason: str, caller: Principal, trace_id: str) -> None:
    """Count and log the closing of a connection. A shutdown of the gateway closes all of them, so log it at DEBUG."""
    SERVER_DISCONNECTS.labels(str(int(code))).inc()
    level = logging.DEBUG if code is CloseCode.GOING_AWAY else logging.INFO
    logged_caller = None if caller.role is Role.ANONYMOUS else caller
    log.log(
        level,
        "Closing a connection with code %d: %s",
        code,
        reason,
        extra={"caller": logged_caller, "trace_id": trace_id},
    )
