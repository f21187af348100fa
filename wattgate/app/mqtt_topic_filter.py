"""Syntax check for MQTT topic filters."""

import re

_FILTER = re.compile(r"(?:(?:\+|[^+#/\0]*)/)*(?:\+|#|[^+#/\0]*)")


def is_topic_filter(text: str) -> bool:
    """Return whether a text is a valid MQTT topic filter.

    The wildcards `+` and `#` must be the only character of their level, and `#` must be in the last level.
    """
    return bool(text) and _FILTER.fullmatch(text) is not None
