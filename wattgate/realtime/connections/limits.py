"""Limits of connections: timeouts, rates, queues and counts. Times are in seconds.

This module only defines the values. `Session` and `EventStream` enforce those of one connection. `connection_slots`
enforces the maxima of connections for each account, paired display and application, over all gateways.
"""

from dataclasses import dataclass

from wattgate.principal import TOKEN_GRACE


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of connections. Each has a test."""

    init_timeout_seconds: float = 10.0
    """Time for the client to authenticate: from the handshake to the acknowledgement."""

    ping_seconds: float = 20.0
    """Longest interval between two pings of the server."""

    pong_timeout_seconds: float = 10.0
    """Time to reply to a ping. The reply proves that the client has read all earlier messages."""

    token_grace_seconds: float = TOKEN_GRACE.total_seconds()
    """Time for the client to send a new token after its token has expired."""

    slow_reader_seconds: float = 15.0
    """Time for which a client may leave its messages unread."""

    close_timeout_seconds: float = 2.0
    """Time to reply to a close frame; then the connection is cut."""

    credential_recheck_seconds: float = 60.0
    """Interval between two checks in the database for revoked tokens and closed accounts without a notification."""

    shared_event_seconds: float = 0.25
    """Interval between two reads of the events about ends and changes that other processes have stored."""

    max_concurrent_logins: int = 64
    """Maximum WebSockets of a process that log in at once. The others wait, and network addresses take turns."""

    max_waiting_logins: int = 5_000
    """Maximum WebSockets of a process that wait to log in. It closes the ones above it, and they reconnect."""

    max_operations: int = 100
    """Maximum concurrent operations on a connection."""

    max_message_burst: int = 240
    """Maximum messages that a client may send in a burst. Eight pings, pongs, fragments or small parts count as one."""

    max_unknown_burst: int = 8
    """Maximum messages in a burst before the client has authenticated, counted in the same way."""

    max_messages_per_second: float = 20.0
    """Maximum average rate of messages from a client."""

    max_backlog_messages: int = 512
    """Maximum queued messages for a client that does not read. A later reading replaces a queued earlier one."""

    max_backlog_bytes: int = 2**20
    """Maximum queued bytes for a client that does not read."""

    max_account_connections: int = 20
    """Maximum concurrent connections for each account, over all gateways."""

    max_display_connections: int = 8
    """Maximum concurrent connections for each paired display, over all gateways. Its account has others."""

    max_application_connections: int = 100_000
    """Maximum concurrent connections for each application and its accounts, over all gateways."""
