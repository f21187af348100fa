"""What travels live: events on topics."""

from datetime import datetime
from typing import Any

import msgspec

from wattgate.names import CatchUpState, ReadingQuality


class Event(msgspec.Struct, frozen=True):
    """Something that happened. Later events of the same topic and key replace earlier ones for a slow reader."""

    topic: str
    key: str
    payload: Any


class Revoked(msgspec.Struct, frozen=True):
    """The payload that ends a stream of readings: the consent for their meter point was withdrawn."""

    mpxn: str


class OneTimeCodeMade(msgspec.Struct, frozen=True):
    """The payload on a topic of codes: what to send to whom. It stands nowhere else in clear."""

    purpose: str
    account_id: str
    username: str
    email: str
    code: str
    expires_at: datetime


class LiveReading(msgspec.Struct, frozen=True, gc=False):
    """The payload on a topic of readings: one value of one field of a resource."""

    resource_id: str
    field: str
    unit: str
    at: datetime
    value: float
    quality: ReadingQuality


class CatchUpMoved(msgspec.Struct, frozen=True, gc=False):
    """The payload on a topic of catch-ups: one retrieval, as it stands after a change of its state."""

    catch_up_id: str
    resource_id: str
    state: CatchUpState
    recorded: int
    reason: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
