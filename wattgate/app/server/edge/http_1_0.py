"""Responses to requests of HTTP/1.0, whose clients read no chunks (RFC 9112, section 6.1).

A response without a length ends with its connection. uvicorn would send it in chunks.
"""

import sys
from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

VERSION = "1.0"


class WithoutChunks:
    """An application for one request, which keeps its response from chunks. The connection closes after it."""

    def __init__(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._cycle = cycle
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        cycle, has_length = self._cycle, False

        async def send_without_chunks(message: Any) -> None:
            nonlocal has_length
            if message["type"] == "http.response.start":
                has_length = any(name.lower() == b"content-length" for name, _ in message.get("headers", ()))
                if not has_length:
                    cycle.chunked_encoding, cycle.expected_content_length = False, sys.maxsize
            elif not has_length and not message.get("more_body", False):
                cycle.expected_content_length = len(message.get("body", b""))
            await send(message)

        await self._app(scope, receive, send_without_chunks)
