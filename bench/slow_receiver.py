"""A server of one tenant that answers late: its OpenID provider, its webhook receiver, or the push service."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

ANSWER_SECONDS = 30.0
"""The time until an answer."""

METADATA_PATH = "/.well-known/openid-configuration"


class SlowReceiver:
    """A receiver on loopback. `count` is the number of requests that it answers late.

    Until `is_slow`, it answers at once: a gateway asks the provider when a directory is added.
    """

    def __init__(self) -> None:
        self.url = ""
        self.count = 0
        self.is_slow = False
        self.ended = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if self.is_slow:
                await self._wait()
            content: dict[str, object] = {"keys": []}
            if METADATA_PATH.encode() in head:
                content = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
            body = json.dumps(content).encode()
            fields = b"Content-Type: application/json\r\nConnection: close\r\nContent-Length: %d" % len(body)
            writer.write(b"HTTP/1.1 200 OK\r\n%b\r\n\r\n%b" % (fields, body))
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the gateway does not wait so long
        finally:
            writer.close()

    async def _wait(self) -> None:
        self.count += 1
        with suppress(TimeoutError):
            await asyncio.wait_for(self.ended.wait(), ANSWER_SECONDS)


@asynccontextmanager
async def slow_receiver() -> AsyncIterator[SlowReceiver]:
    """Serve a slow receiver until the end of the block."""
    receiver = SlowReceiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield receiver
    finally:
        receiver.ended.set()
        server.close()
