"""Metric and log record of each connection that the gateway closes."""

import logging
from typing import Any

from wattgate.metrics import SERVER_DISCONNECTS
from wattgate.principal import Principal, Role
from wattgate.realtime.connections.protocol import CloseCode
from wattgate.requests.request_context import client_fields

log = logging.getLogger(__name__)


def log_close(code: CloseCode, reason: str, caller: Principal, trace_id: str, address: str | None) -> None:
    """Count and log the closing of a connection. A shutdown of the gateway closes all of them, so log it at DEBUG.

    The record of a close because of credentials or of too many messages is a security event, with the client's address.
    """
    SERVER_DISCONNECTS.labels(str(int(code))).inc()
    level = logging.DEBUG if code is CloseCode.GOING_AWAY else logging.INFO
    logged_caller = None if caller.role is Role.ANONYMOUS else caller
    context: dict[str, Any] = {"caller": logged_caller, "trace_id": trace_id}
    if code is CloseCode.FORBIDDEN or code is CloseCode.TOO_MANY_MESSAGES:
        context |= client_fields(f"Closing a connection with code {code:d}", address or "unknown")
    log.log(level, "Closing a connection with code %d: %s", code, reason, extra=context)
