"""The buffer between a socket and paho: all bytes in order, and one read for many messages."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
import trustme

from bench.mqtt_messages import MessageServer
from wattgate.app.workers.mqtt_intake import MqttClient, ReceiveBuffer, ReceivedMessage
from wattgate.realtime.server_address import ServerAddress

COUNT = 400


class CountingSocket:
    """A socket that counts its reads."""

    def __init__(self, below: socket.socket) -> None:
        self._below = below
        self.read_count = 0

    def recv(self, size: int) -> bytes:
        self.read_count += 1
        return self._below.recv(size)


def test_bytes_are_read_once_and_returned_in_pieces() -> None:
    sender, receiver = socket.socketpair()
    with sender, receiver:
        receiver.setblocking(False)
        counting = CountingSocket(receiver)
        buffer = ReceiveBuffer(counting)
        with pytest.raises(BlockingIOError):
            buffer.recv(1)
        assert buffer.pending() == 0
        sender.sendall(b"abcdef")
        assert [buffer.recv(1), buffer.recv(2), buffer.pending()] == [b"a", b"bc", 3]
        assert [buffer.recv(100), counting.read_count] == [b"def", 2]
        sender.sendall(b"ghijk")
        assert [buffer.recv(3), buffer.pending()] == [b"ghi", 0]  # the rest of a message, and nothing of the next one
        assert [buffer.recv(1), buffer.pending(), counting.read_count] == [b"j", 1, 4]
        assert buffer.recv(1) == b"k"
        sender.close()
        assert buffer.recv(1) == b""


def test_decoded_bytes_of_tls_are_pending_too() -> None:
    class DecodedSocket(ssl.SSLSocket):
        def pending(self) -> int:
            return 7

    assert ReceiveBuffer(DecodedSocket.__new__(DecodedSocket)).pending() == 7


@pytest.mark.parametrize("scheme", ["mqtt", "mqtts"])
async def test_client_reads_through_the_buffer_and_gets_all_messages_in_order(
    scheme: str, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """paho has no public way to give it a socket. This fails if its private attribute changes."""
    certificates = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(certificates)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates))
    server_context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(server_context)
    tls = server_context if scheme == "mqtts" else None
    broker = MessageServer(COUNT, window=COUNT)
    async with await asyncio.start_server(broker.serve, "127.0.0.1", 0, ssl=tls) as listener:
        address = ServerAddress.from_mqtt_url(f"{scheme}://x@127.0.0.1:{listener.sockets[0].getsockname()[1]}")
        async with asyncio.timeout(60), MqttClient(address, "x") as client:
            await client.subscribe("glow/+/SENSOR/+", 1)
            received: list[ReceivedMessage] = []
            while len(received) < COUNT:
                batch = await client.next_batch()
                client.acknowledge(batch)
                received += batch
            await broker.all_acknowledged.wait()
            assert isinstance(client._client.socket(), ReceiveBuffer)
    assert [message.mid for message in received] == list(range(1, COUNT + 1))
