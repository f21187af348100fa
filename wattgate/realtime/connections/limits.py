"""What one connection may cost, and how long it may take. Seconds, unless a name says otherwise."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of connections. Each has a test."""

    init_seconds: float = 10.0
    """Until the client has said who it is, and that has been checked."""

    ping_seconds: float = 20.0
    """Between two pings of the server."""

    pong_seconds: float = 10.0
    """Until a ping is answered. The answer proves that the client has read all that was sent before."""

    grace_seconds: float = 25.0
    """For how long a connection lives on when its token has expired, so that the client can bring a new one."""

    slow_seconds: float = 15.0
    """For how long a client may not read what is sent to it."""

    close_seconds: float = 2.0
    """Until the client has answered that the connection is closed; then it is cut."""

    recheck_seconds: float = 60.0
    """Between two looks into the database for tokens and accounts whose end nobody has told."""

    operations: int = 100
    """How many operations a connection has at once."""

    messages: int = 240
    """How many messages a client may send at once."""

    messages_per_second: float = 20.0
    """How many messages a client may send in the long run."""

    held_messages: int = 512
    """How many messages wait for a client that does not read. A later reading takes the place of an earlier one."""

    held_bytes: int = 2**20
    """How many bytes wait for a client that does not read."""

    account_connections: int = 20
    """How many connections an account has at once, over all gateways."""

    application_connections: int = 100_000
    """How many connections the accounts of an application, and itself, have at once, over all gateways."""
