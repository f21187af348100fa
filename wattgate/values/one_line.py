"""Text of others as one line: without characters that break lines, or that change how the rest is shown."""

from types import MappingProxyType

CONTROLS = (*range(0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""Characters that a terminal obeys, line breaks, and those that change the direction of text."""

_SPACES = MappingProxyType(dict.fromkeys(CONTROLS, " "))


def to_one_line(text: str) -> str:
    """Return a text without spaces around it, and with a space in place of each control character."""
    return text.translate(_SPACES).strip()
