"""Events as bytes between processes: `[kind, key, payload]` in JSON."""

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from wattgate.realtime.events import (
    AlertSent,
    AlertsRead,
    CatchUpMoved,
    CredentialsRevoked,
    DeliveryDue,
    DeviceStateChanged,
    DfsEventMoved,
    Displaced,
    Event,
    HomeChanged,
    IntakeHeard,
    LiveReading,
    OneTimeCodeMade,
    Revoked,
    StreamOperation,
    TariffChanged,
    WatchedRecorded,
)

log = logging.getLogger(__name__)

KINDS: Mapping[str, type[msgspec.Struct]] = MappingProxyType(
    {
        "reading": LiveReading,
        "alert": AlertSent,
        "alerts-read": AlertsRead,
        "catch-up": CatchUpMoved,
        "delivery-due": DeliveryDue,
        "device-state": DeviceStateChanged,
        "dfs-event": DfsEventMoved,
        "home": HomeChanged,
        "intake": IntakeHeard,
        "revoked": Revoked,
        "credentials-revoked": CredentialsRevoked,
        "displaced": Displaced,
        "stream-operation": StreamOperation,
        "tariff": TariffChanged,
        "watched-recorded": WatchedRecorded,
    }
)
"""What travels, by its name on the wire. A name is never given to anything else: gateways of two versions may meet."""

STAYS: frozenset[type[msgspec.Struct]] = frozenset({OneTimeCodeMade})
"""What does not leave the process that made it, because it is a secret."""

MAX_TOLD = 100
"""How many kinds that are not understood are named in the log."""

_NAMES = {payload: name for name, payload in KINDS.items()}
_DECODERS: Mapping[str, msgspec.json.Decoder[Any]] = {name: msgspec.json.Decoder(kind) for name, kind in KINDS.items()}
_ENVELOPE = msgspec.json.Decoder(tuple[str, str, msgspec.Raw])
_ENCODER = msgspec.json.Encoder()


def encode(event: Event) -> bytes:
    """The bytes of an event. KeyError where its payload is of no kind that travels."""
    return _ENCODER.encode((_NAMES[type(event.payload)], event.key, event.payload))


class Decoder:
    """Reads events; what a newer gateway sent and this one does not understand is named in the log, once a kind."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def decode(self, topic: str, position: str, body: bytes) -> Event | None:
        """The event of these bytes, or None where they are not understood."""
        kind = ""
        try:
            kind, key, payload = _ENVELOPE.decode(body)
            return Event(topic, key, _DECODERS[kind].decode(payload), position)
        except (msgspec.DecodeError, KeyError) as error:
            if kind not in self._told and len(self._told) < MAX_TOLD:
                self._told.add(kind)
                log.warning("events of the kind %r are passed over: %s", kind, error or "unknown")
            return None
