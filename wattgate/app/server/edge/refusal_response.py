"""The response to a connection or a request that the HTTP server itself refuses, without the application."""

import msgspec

from wattgate.app.server.gate.security_headers import API
from wattgate.errors import GatewayError


def encode_refusal(status_line: bytes, error: GatewayError, trace_id: str) -> bytes:
    """Return the response with an error in the format of the REST interface, after which the connection closes."""
    content = msgspec.json.encode({"error": error.message, **error.extensions, "traceId": trace_id})
    head = [status_line, b"content-type: application/json\r\nconnection: close\r\n"]
    head += [b"%b: %b\r\n" % field for field in (*API.headers, API.cache_header)]
    head.append(b"x-trace-id: %b\r\n" % trace_id.encode())
    if error.retry_after is not None:
        head.append(b"retry-after: %d\r\n" % error.retry_after)
    return b"".join([*head, b"content-length: %d\r\n\r\n" % len(content), content])
