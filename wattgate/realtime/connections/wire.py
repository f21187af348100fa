"""The transport of a session, as the session uses it."""

from typing import Protocol


class Wire(Protocol):
    """The transport of a session. Its methods return without waiting.

    It calls `on_writing_paused` when the client does not read, and `on_writing_resumed` when it reads again.
    """

    def write(self, message: bytes) -> None:
        """Send a text message."""

    def close(self, code: int, reason: str) -> None:
        """Send a close frame, and nothing after it."""

    def abort(self) -> None:
        """Drop the connection immediately. Unsent messages are lost."""
