"""What travels live: events on topics."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from wattgate.energy.network_state import NetworkState
from wattgate.enums import CatchUpState, DeliveryKind, ReadingQuality
from wattgate.realtime.connections.protocol import Request


class Event(msgspec.Struct, frozen=True):
    """Something that happened. Later events of the same topic and key replace earlier ones for a slow reader.

    `position` says where it stands in its topic, for whoever comes back. None until the bus has published it.
    """

    topic: str
    key: str
    payload: Any
    position: str | None = None


class Revoked(msgspec.Struct, frozen=True):
    """The payload that ends a stream of readings: the consent for their meter point was withdrawn."""

    mpxn: str


class CredentialsRevoked(msgspec.Struct, frozen=True):
    """The payload on the topic of revocations: tokens of an account are good no more, or, with None, nothing of it.

    The token with the id `but` is good all the same.
    """

    account_id: str
    token_ids: tuple[str, ...] | None = None
    but: str | None = None


class Displaced(msgspec.Struct, frozen=True):
    """The payload on the topic of displacements: connections whose places newer ones have taken."""

    seats: tuple[str, ...]


class StreamOperation(msgspec.Struct, frozen=True):
    """The payload on the topic of an event stream: a subscription that is to begin, or None: an operation to stop."""

    operation_id: str
    request: Request | None


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


class AlertSent(msgspec.Struct, frozen=True, gc=False):
    """The payload on a topic of alerts: one of them, as it was sent."""

    alert_id: str
    application_id: str
    user_id: str
    alert_type_id: str
    system_alert_type_id: str
    channels: list[str]
    priority: str
    callback_url: str | None
    data: Any
    created_at: datetime
    read_at: datetime | None = None


class AlertsRead(msgspec.Struct, frozen=True, gc=False):
    """The payload on a topic of alerts that were read: how many are left."""

    user_id: str
    unread: int


class DeliveryDue(msgspec.Struct, frozen=True, gc=False):
    """The payload on the topic of deliveries: something of a kind is to leave at once."""

    kind: DeliveryKind


class WatchedRecorded(msgspec.Struct, frozen=True, gc=False):
    """The payload on the topic of watched readings: some were recorded for a field of a resource with alert rules."""

    application_id: str
    resource_id: str
    field: str


class DeviceStateChanged(msgspec.Struct, frozen=True, gc=False):
    """The payload on a topic of device states: what a device has said of itself."""

    device_id: str
    network_state: NetworkState


class IntakeHeard(msgspec.Struct, frozen=True, gc=False):
    """The payload on a topic of intakes: a sign of life of a connection on which messages of devices come in."""

    name: str
    at: datetime
    connected: bool


class TariffChanged(msgspec.Struct, frozen=True, gc=False):
    """The payload on a topic of tariffs: one was set or withdrawn, or has other prices."""

    resource_id: str
    tariff_id: str


class HomeChanged(msgspec.Struct, frozen=True, gc=False):
    """The payload on a topic of homes: the record of a virtual entity has changed."""

    ve_id: str


class DfsEventMoved(msgspec.Struct, frozen=True, gc=False):
    """The payload on a topic of demand flexibility events: one of them, as it stands after a change of its state."""

    dfs_event_id: str
    application_id: str
    name: str
    state: str
    starts_at: datetime
    ends_at: datetime
    reward: Decimal
    created_at: datetime
    updated_at: datetime
