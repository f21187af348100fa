"""A buffer between a socket and paho, which reads three to five times from the socket for each message.

aiomqtt calls paho again while `pending()` of the socket is not 0, as it needs for TLS. So one event of the event loop
handles all messages that have arrived, up to RECEIVE_BYTES and the rest of the last message.
"""

from typing import Any

from paho.mqtt.client import Client

RECEIVE_BYTES = 16 * 1024
"""Bytes of one read: the largest record of TLS, and some milliseconds of work for paho."""


class ReceiveBuffer:
    """A socket that reads up to RECEIVE_BYTES at once. Everything except `recv` and `pending` is the socket's own."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._received = b""
        self._position = 0
        self._reads_ahead = True
        """Whether the next read takes more than paho asks for. Only the first read of an event does."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def recv(self, size: int) -> bytes:
        """Return up to `size` bytes. Errors of the socket, such as BlockingIOError, are raised as they are."""
        if self._position == len(self._received):
            self._received = self._socket.recv(RECEIVE_BYTES if self._reads_ahead else size)
            self._position, self._reads_ahead = 0, False
        start, self._position = self._position, min(self._position + size, len(self._received))
        return self._received[start : self._position]

    def pending(self) -> int:
        """Return the number of received bytes that are not read yet, with those that TLS has decoded."""
        decoded: int = self._socket.pending() if hasattr(self._socket, "pending") else 0
        count = len(self._received) - self._position + decoded
        if not count:
            self._reads_ahead = True
        return count


def buffer_received_bytes(client: Client) -> None:
    """Put a ReceiveBuffer between the client and each socket that it opens.

    paho has no public way to give it a socket. aiomqtt reads the same private attribute.
    """
    opened = client.on_socket_open

    def open_with_buffer(opened_client: Client, userdata: Any, socket: Any) -> None:
        opened_client._sock = ReceiveBuffer(socket)
        if opened is not None:
            opened(opened_client, userdata, socket)

    client.on_socket_open = open_with_buffer
