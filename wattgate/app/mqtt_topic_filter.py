"""What an MQTT broker takes to subscribe to. Pure."""

import re

_FILTER = re.compile(r"(?:(?:\+|[^+#/\0]*)/)*(?:\+|#|[^+#/\0]*)")


def is_topic_filter(text: str) -> bool:
    """Whether brokers take a text to subscribe to: `+` and `#` stand alone in their level, `#` in the last one."""
    return bool(text) and _FILTER.fullmatch(text) is not None
