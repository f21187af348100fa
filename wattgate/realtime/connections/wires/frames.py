"""WebSocket frames that a server sends (RFC 6455, section 5.2): unmasked, unfragmented, without extensions."""

from struct import Struct

_SHORT = 125
_MEDIUM = 0xFFFF
_MEDIUM_HEADER = Struct("!BBH")
_LONG_HEADER = Struct("!BBQ")
_TEXT = 0x81


def text(message: bytes) -> bytes:
    """The frame of a text message, which is UTF-8."""
    length = len(message)
    if length <= _SHORT:
        return bytes((_TEXT, length)) + message
    if length <= _MEDIUM:
        return _MEDIUM_HEADER.pack(_TEXT, 126, length) + message
    return _LONG_HEADER.pack(_TEXT, 127, length) + message
