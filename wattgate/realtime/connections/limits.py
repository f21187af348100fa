"""What one connection may cost, and how long it may take. Seconds, unless a name says otherwise."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of connections. Each has a test."""

    init_seconds: float = 10.0
    """Time for the client to authenticate: from the handshake to the acknowledgement."""

    ping_seconds: float = 20.0
    """Longest interval between two pings of the server."""

    pong_seconds: float = 10.0
    """Time to reply to a ping. The reply proves that the client has read all earlier messages."""

    grace_seconds: float = 25.0
    """Time for the client to send a new token after its token has expired."""

    slow_seconds: float = 15.0
    """Time for which a client may leave its messages unread."""

    close_seconds: float = 2.0
    """Time to reply to a close frame; then the connection is cut."""

    recheck_seconds: float = 60.0
    """Interval between two checks in the database for revoked tokens and closed accounts without a notification."""

    operations: int = 100
    """Maximum concurrent operations on a connection."""

    messages: int = 240
    """Maximum messages that a client may send in a burst."""

    messages_per_second: float = 20.0
    """Maximum average rate of messages from a client."""

    held_messages: int = 512
    """Maximum queued messages for a client that does not read. A later reading replaces a queued earlier one."""

    held_bytes: int = 2**20
    """Maximum queued bytes for a client that does not read."""

    account_connections: int = 20
    """Maximum concurrent connections for each account, over all gateways."""

    application_connections: int = 100_000
    """Maximum concurrent connections for each application and its accounts, over all gateways."""
