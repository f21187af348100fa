"""Events as bytes between processes: `[kind, key, payload]` in JSON."""

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from wattgate.realtime.events import (
    AlertSent,
    AlertsRead,
    CatchUpStateChanged,
    ConnectionsDisplaced,
    CredentialsRevoked,
    DeliveryQueued,
    DeviceStateChanged,
    DfsEventStateChanged,
    Event,
    IntakeHeartbeat,
    MeterPointConsentRevoked,
    OneTimeCodeCreated,
    ReadingRecorded,
    RuleReadingRecorded,
    StreamOperation,
    TariffChanged,
    VirtualEntityChanged,
)

log = logging.getLogger(__name__)

PAYLOAD_TYPES: Mapping[str, type[msgspec.Struct]] = MappingProxyType(
    {
        "reading": ReadingRecorded,
        "alert": AlertSent,
        "alerts-read": AlertsRead,
        "catch-up": CatchUpStateChanged,
        "delivery-due": DeliveryQueued,
        "device-state": DeviceStateChanged,
        "dfs-event": DfsEventStateChanged,
        "home": VirtualEntityChanged,
        "intake": IntakeHeartbeat,
        "revoked": MeterPointConsentRevoked,
        "credentials-revoked": CredentialsRevoked,
        "displaced": ConnectionsDisplaced,
        "stream-operation": StreamOperation,
        "tariff": TariffChanged,
        "watched-recorded": RuleReadingRecorded,
    }
)
"""What travels, by its name on the wire. A name is never given to anything else: gateways of two versions may meet."""

LOCAL_ONLY_TYPES: frozenset[type[msgspec.Struct]] = frozenset({OneTimeCodeCreated})
"""What does not leave the process that made it, because it is a secret."""

MAX_LOGGED_KINDS = 100
"""How many kinds that are not understood are named in the log."""

_KIND_BY_TYPE = {payload: name for name, payload in PAYLOAD_TYPES.items()}
_PAYLOAD_DECODERS: Mapping[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(kind) for name, kind in PAYLOAD_TYPES.items()
}
_ENVELOPE_DECODER = msgspec.json.Decoder(tuple[str, str, msgspec.Raw])
_ENCODER = msgspec.json.Encoder()


def encode_event(event: Event) -> bytes:
    """The bytes of an event. KeyError where its payload is of no kind that travels."""
    return _ENCODER.encode((_KIND_BY_TYPE[type(event.payload)], event.key, event.payload))


class EventDecoder:
    """Reads events; what a newer gateway sent and this one does not understand is named in the log, once a kind."""

    def __init__(self) -> None:
        self._logged_kinds: set[str] = set()

    def decode(self, topic: str, position: str, body: bytes) -> Event | None:
        """The event of these bytes, or None where they are not understood."""
        kind = ""
        try:
            kind, key, payload = _ENVELOPE_DECODER.decode(body)
            return Event(topic, key, _PAYLOAD_DECODERS[kind].decode(payload), position)
        except (msgspec.DecodeError, KeyError) as error:
            if kind not in self._logged_kinds and len(self._logged_kinds) < MAX_LOGGED_KINDS:
                self._logged_kinds.add(kind)
                log.warning("events of the kind %r are passed over: %s", kind, error or "unknown")
            return None
