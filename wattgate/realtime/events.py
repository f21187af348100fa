"""What travels live: events on topics."""

from datetime import datetime
from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True):
    """Something that happened. Later events of the same topic and key replace earlier ones for a slow reader."""

    topic: str
    key: str
    payload: Any


class LiveReading(msgspec.Struct, frozen=True, gc=False):
    """The payload on a topic of readings: one value of one field of a resource."""

    resource_id: str
    field: str
    unit: str
    at: datetime
    value: float
