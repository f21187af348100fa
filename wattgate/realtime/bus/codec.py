"""Encoding of events for other processes: `[kind, key, payload]` in JSON."""

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
    DeviceChanged,
    DeviceStateChanged,
    DfsEventStateChanged,
    Event,
    IntakeHeartbeat,
    MeterPointConsentRevoked,
    ReadingRecorded,
    ResourceChanged,
    RuleReadingRecorded,
    StreamOperation,
    TariffChanged,
    UserJobQueued,
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
        "user-job": UserJobQueued,
        "device": DeviceChanged,
        "device-state": DeviceStateChanged,
        "dfs-event": DfsEventStateChanged,
        "home": VirtualEntityChanged,
        "intake": IntakeHeartbeat,
        "resource": ResourceChanged,
        "revoked": MeterPointConsentRevoked,
        "credentials-revoked": CredentialsRevoked,
        "displaced": ConnectionsDisplaced,
        "stream-operation": StreamOperation,
        "tariff": TariffChanged,
        "watched-recorded": RuleReadingRecorded,
    }
)
"""Payload types by their names in encoded events. Never reuse a name: gateways of two versions can run together."""

MAX_LOGGED_KINDS = 100
"""Maximum number of unknown kinds that a decoder logs."""

_KIND_BY_TYPE = {payload: name for name, payload in PAYLOAD_TYPES.items()}
_EVENT_DECODERS: Mapping[bytes, msgspec.json.Decoder[Any]] = {
    b'["%b"' % name.encode(): msgspec.json.Decoder(tuple[str, str, kind])  # type: ignore[valid-type]
    for name, kind in PAYLOAD_TYPES.items()
}
"""Decoders of whole events, by the bytes up to the first comma as `encode_event` writes them."""

_PAYLOAD_DECODERS: Mapping[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(kind) for name, kind in PAYLOAD_TYPES.items()
}
_ENVELOPE_DECODER = msgspec.json.Decoder(tuple[str, str, msgspec.Raw])
_ENCODER = msgspec.json.Encoder()


def encode_event(event: Event) -> bytes:
    """Return the encoded event. Raise KeyError if its payload type is not in `PAYLOAD_TYPES`."""
    return _ENCODER.encode((_KIND_BY_TYPE[type(event.payload)], event.key, event.payload))


class EventDecoder:
    """Decode events. Log each unknown kind, such as one from a newer gateway, once."""

    def __init__(self) -> None:
        self._logged_kinds: set[str] = set()

    def decode(self, topic: str, position: str, body: bytes) -> Event | None:
        """Return the event, or None if its kind is unknown or its payload invalid."""
        decoder = _EVENT_DECODERS.get(body[: body.find(b",")])
        if decoder is not None:
            try:
                _, key, payload = decoder.decode(body)
            except msgspec.DecodeError:
                return self._decode_parts(topic, position, body)
            return Event(topic, key, payload, position)
        return self._decode_parts(topic, position, body)

    def _decode_parts(self, topic: str, position: str, body: bytes) -> Event | None:
        """Decode the kind before the payload, and log why that fails."""
        kind = ""
        try:
            kind, key, payload = _ENVELOPE_DECODER.decode(body)
            return Event(topic, key, _PAYLOAD_DECODERS[kind].decode(payload), position)
        except (msgspec.DecodeError, KeyError) as error:
            if kind not in self._logged_kinds and len(self._logged_kinds) < MAX_LOGGED_KINDS:
                self._logged_kinds.add(kind)
                log.warning("Ignoring events of kind %r: %s", kind, error or "unknown kind")
            return None
