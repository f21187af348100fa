"""The heads of HTTP requests that the gateway accepts, so that it frames each request as its neighbours do.

A proxy and the gateway must agree where a request ends. If they do not, one caller gets the answer to the request of
another one. The rules are those of RFC 9112:

- the protocol is HTTP, and not RTSP, which the parser takes too (3);
- the version is HTTP/1.0 or HTTP/1.1 (2.3), and a request of HTTP/1.1 has one header Host, which is a host (3.2);
- a request has at most one header Content-Type (RFC 9110, 5.3), and one line of a header that says who calls;
- the head has at most so many bytes and lines, which are counted while it arrives;
- an upgrade to another protocol than WebSocket is ignored, and the body is read (RFC 9110, 7.8). So is an upgrade to
  WebSocket that is no handshake: one with a body, with another method than GET, or of HTTP/1.0 (RFC 6455, 4.1);
- CONNECT is for proxies, which the gateway is not.

The parser of httptools refuses the rest: bare line feeds, spaces before a colon, folded lines, two lengths, a length
beside chunks, malformed chunks.
"""

import re
from types import MappingProxyType
from typing import Any, NamedTuple

import httptools

from wattgate.errors import BadInput, GatewayError, NotSupported, TooLarge

Headers = list[tuple[bytes, bytes]]

FRAMING = (b"content-length", b"transfer-encoding")
"""The headers that say where the body of a request ends, in lower case."""

CHECKED = frozenset((*FRAMING, b"host", b"content-type", b"expect"))
"""The headers that are checked or counted while they arrive, in lower case."""

CREDENTIALS = MappingProxyType(
    {
        b"authorization": "Authorization",
        b"token": "token",
        b"applicationid": "applicationId",
        b"userid": "userId",
        b"sharedhomeid": "sharedHomeId",
    }
)
"""The headers that say who calls: their names in lower case and in messages."""

LINE_BYTES = 4
"""The bytes of a line beside the name and the value of its header: a colon, a space, and the end of the line."""

_HOST = re.compile(r"(?:\[[0-9A-Za-z:.%_~-]+\]|[A-Za-z0-9._~%!$&'()*+,;=-]*)(?::[0-9]*)?")
"""The values of the header Host: a name, or an IPv6 address in brackets, with or without a port (RFC 3986, 3.2)."""

MAX_LENGTH_DIGITS = 19
"""Maximum digits of a header Content-Length, with leading zeros."""

CHUNK_BYTES = 12
"""The bytes of a chunk beside its content: a size of at most eight digits, and two ends of lines."""

MAX_EXTENSION_BYTES = 4_096
"""Maximum bytes of a body in chunks beside its content and CHUNK_BYTES for each chunk: extensions, zeros, trailers."""


MIN_PIECE_BYTES = 32
"""Minimum bytes of a chunk, and of what arrives at once, on average of a body and beside MAX_SMALL_PIECES.

A piece takes work whatever its size is. A body is charged by its bytes, so that tiny pieces would be nearly free.
"""

MAX_SMALL_PIECES = 4_096
"""Maximum pieces of a few bytes in a request. Small devices write their texts character by character."""

_MAX_PIECE_DEBT = MAX_SMALL_PIECES * MIN_PIECE_BYTES


class HeadLimits(NamedTuple):
    """The bounds of a head: bytes in all, lines of headers, and bytes of a line."""

    max_bytes: int = 65_536
    max_lines: int = 128
    max_line_bytes: int = 32_768


DEFAULT_HEAD_LIMITS = HeadLimits()


class RefusedHead(Exception):
    """A head that the gateway does not accept: the status line of the response, and the error in its body."""

    def __init__(self, status_line: bytes, error: GatewayError) -> None:
        super().__init__(error.message)
        self.status_line = status_line
        self.error = error


def malformed() -> RefusedHead:
    """Return the refusal of a request that the parser cannot read."""
    return RefusedHead(b"HTTP/1.1 400 Bad Request\r\n", BadInput("The request is no valid HTTP message."))


def too_large(part: str, maximum: int, unit: str) -> RefusedHead:
    """Return the refusal of a head of which a part has more than a maximum."""
    error = TooLarge(f"The {part} of the request has more than {maximum:,} {unit}. Send a smaller one.")
    return RefusedHead(b"HTTP/1.1 431 Request Header Fields Too Large\r\n", error)


def check_head(version: str, method: bytes, hosts: int, types: int) -> None:
    """Raise RefusedHead unless a complete head has a version, a method and numbers of headers that are accepted.

    Of several headers Content-Type, a proxy may check another one than the gateway.
    """
    if version not in ("1.1", "1.0"):
        error = NotSupported(f"The gateway does not speak HTTP/{version}. Send HTTP/1.1.")
        raise RefusedHead(b"HTTP/1.1 505 HTTP Version Not Supported\r\n", error)
    if hosts > 1 or (hosts == 0 and version == "1.1"):
        raise RefusedHead(b"HTTP/1.1 400 Bad Request\r\n", BadInput(f"The request has {hosts} headers Host, not one."))
    if types > 1:
        message = f"The request has {types} headers Content-Type. Send one."
        raise RefusedHead(b"HTTP/1.1 400 Bad Request\r\n", BadInput(message))
    if method == b"CONNECT":
        error = NotSupported("The gateway is no proxy. Send the request without CONNECT.")
        raise RefusedHead(b"HTTP/1.1 501 Not Implemented\r\n", error)


def check_protocol(method: bytes, target: bytes, start: bytes) -> None:
    """Raise RefusedHead if a request is one of RTSP: the parser takes it as well, and does not report it.

    `start` has the first line, and what arrived with it: the end of a body before, or the begin of another request.
    Another name than HTTP makes the line invalid (RFC 9112, 3).
    """
    if b" RTSP/" not in start:
        return
    line, text = b"%b %b " % (method, target), start.lstrip(b"\r\n")
    if text.startswith(line + b"RTSP/") or (line + b"RTSP/" in text and not text.startswith(line)):
        error = BadInput("The request is one of RTSP. Send HTTP/1.1.")
        raise RefusedHead(b"HTTP/1.1 400 Bad Request\r\n", error)


def check_host(value: bytes) -> None:
    """Raise RefusedHead if the header Host is no host. A proxy may read another one in such a text than the gateway."""
    if _HOST.fullmatch(value.strip(b" \t").decode("latin-1")) is None:
        error = BadInput("The header Host is no host. Send one such as energy.example or energy.example:8000.")
        raise RefusedHead(b"HTTP/1.1 400 Bad Request\r\n", error)


def check_credentials(headers: Headers) -> None:
    """Raise RefusedHead if a header that says who calls has several lines.

    A proxy may check or replace one of them, and the gateway would take another one.
    """
    names = [name for name, _ in headers]
    for name, text in CREDENTIALS.items():
        if names.count(name) > 1:
            error = BadInput(f"The request has {names.count(name)} headers {text}. Send one.")
            raise RefusedHead(b"HTTP/1.1 400 Bad Request\r\n", error)


def parse_length(value: bytes) -> int:
    """Return the value of a header Content-Length. Raise RefusedHead if it is no number of at most 19 digits."""
    digits = value if value.isdigit() else value.strip(b" \t")
    if not digits.isdigit() or len(digits) > MAX_LENGTH_DIGITS:
        message = (
            f"The header Content-Length is no number of at most {MAX_LENGTH_DIGITS} digits. Send the bytes of the body."
        )
        raise RefusedHead(b"HTTP/1.1 400 Bad Request\r\n", BadInput(message))
    return int(digits)


def check_framing_bytes(count: int) -> None:
    """Raise RefusedHead if the chunks of a body have too many bytes beside its content."""
    if count > MAX_EXTENSION_BYTES:
        message = f"The chunks of the body have more than {MAX_EXTENSION_BYTES:,} bytes of extensions. Send none."
        raise RefusedHead(b"HTTP/1.1 400 Bad Request\r\n", BadInput(message))


def check_pieces(missing: int) -> None:
    """Raise RefusedHead if the pieces of a request lack too many bytes to MIN_PIECE_BYTES for each."""
    if missing > _MAX_PIECE_DEBT:
        message = (
            f"The request arrives in more than {MAX_SMALL_PIECES:,} pieces of less than {MIN_PIECE_BYTES} bytes. "
            "Send larger chunks."
        )
        raise RefusedHead(b"HTTP/1.1 400 Bad Request\r\n", BadInput(message))


def check_coding(coding: bytes) -> None:
    """Raise RefusedHead unless a transfer coding is the only one that the gateway decodes."""
    if coding.strip(b" \t").lower() != b"chunked":
        error = NotSupported(
            f"The gateway does not decode the transfer coding {coding.decode('latin-1')!r}. Use chunked."
        )
        raise RefusedHead(b"HTTP/1.1 501 Not Implemented\r\n", error)


def is_handshake(version: str, method: bytes, headers: Headers) -> bool:
    """Return whether a head with an upgrade asks for a WebSocket: the names of headers are in lower case."""
    upgrades = [value.strip().lower() for name, value in headers if name == b"upgrade"]
    has_body = any(name in FRAMING and value != b"0" for name, value in headers)
    return upgrades == [b"websocket"] and method == b"GET" and version == "1.1" and not has_body


class BodyCallbacks:
    """Callbacks of a parser that reads the body of a request whose head is known, and then further requests.

    httptools stops at a head with an upgrade, and takes what follows for another protocol. To ignore the upgrade, a new
    parser gets a head of the same length, which calls nothing.
    """

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol
        self._is_known = True

    def on_message_begin(self) -> None:
        if not self._is_known:
            self._protocol.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._is_known:
            self._protocol.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_known:
            self._protocol.on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self._is_known:
            self._protocol.on_headers_complete()
        self._is_known = False

    def on_body(self, body: bytes) -> None:
        self._protocol.on_body(body)

    def on_chunk_header(self) -> None:
        self._protocol.on_chunk_header()

    def on_message_complete(self) -> None:
        self._protocol.on_message_complete()


def head_of_body(headers: Headers) -> bytes:
    """Return a head without an upgrade, whose body ends where that of a request with these headers ends."""
    framing = b"".join(b"%b: %b\r\n" % (name, value) for name, value in headers if name in FRAMING)
    return b"POST / HTTP/1.1\r\nhost: gateway\r\n%b\r\n" % framing


def body_parser(protocol: Any) -> httptools.HttpRequestParser:
    """Return a parser for the body of a request of this protocol. First feed it the result of `head_of_body`."""
    parser = httptools.HttpRequestParser(BodyCallbacks(protocol))
    parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn, which closes after the response
    return parser
