"""The events that processes share by the database, because the bus may not reach all of them."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from wattgate.db.connections.engine import Database
from wattgate.db.stored_events import EncodedEvent, StoredEventReader, insert_events
from wattgate.realtime.bus.codec import EventDecoder, encode_event
from wattgate.realtime.events import (
    CredentialsRevoked,
    DeviceChanged,
    Event,
    MeterPointConsentRevoked,
    ResourceChanged,
    VirtualEntityChanged,
)

SHARED_PAYLOADS = (CredentialsRevoked, DeviceChanged, ResourceChanged, VirtualEntityChanged)
"""The payloads that end or change what a process serves. Other events are new data, which clients can also query."""

_CANDIDATES = frozenset((*SHARED_PAYLOADS, MeterPointConsentRevoked))


async def store_events(session: AsyncSession, origin: str, events: Sequence[Event]) -> None:
    """Store those of the events that processes share, in the transaction that causes them.

    A call may emit thousands of readings, so the kind of an event is looked at first, and costs one look-up.
    """
    candidates = [event for event in events if type(event.payload) in _CANDIDATES]
    shared = [event for event in map(_without_meter_point, candidates) if isinstance(event.payload, SHARED_PAYLOADS)]
    if shared:
        encoded = [EncodedEvent(event.topic, encode_event(event).decode()) for event in shared]
        await insert_events(session, origin, encoded)


def _without_meter_point(event: Event) -> Event:
    """Return the event in the form that is stored: it has ids only, so that an erasure finds nothing in it."""
    payload = event.payload
    if isinstance(payload, MeterPointConsentRevoked) and payload.resource_id is not None:
        return Event(event.topic, event.key, ResourceChanged(payload.resource_id))
    return event


class SharedEvents:
    """Reads each event of other processes once, and each own one about credentials."""

    def __init__(self, database: Database) -> None:
        self._reader = StoredEventReader(database)
        self._decoder = EventDecoder()

    async def read_new(self) -> list[Event]:
        """Return the events that were stored since the last call, without events of unknown kinds.

        The own events about credentials are among them, because Redis delivers none while it is unavailable.
        """
        events = []
        for stored in await self._reader.read_new():
            event = self._decoder.decode(stored.topic, "", stored.content.encode())
            if event is not None and (isinstance(event.payload, CredentialsRevoked) or not stored.is_own):
                events.append(event)
        return events
