"""Events that the bus carries, and the payload types of each topic."""

from datetime import datetime
from decimal import Decimal
from secrets import token_hex
from typing import Any

import msgspec

from wattgate.energy.meters.meter_points import NetworkState
from wattgate.energy.quantities import REWARD_CURRENCY, Rate, rate_of_hundredths
from wattgate.enums import CatchUpState, DeliveryKind, RateUnit, ReadingQuality
from wattgate.principal import Principal
from wattgate.realtime.operation_request import OperationRequest


class Event(msgspec.Struct, frozen=True):
    """An event on a topic. For a slow reader, a later event replaces an earlier one with the same topic and key.

    `position` is the position of the event in its topic, from which a client can resume. It is None until the bus has
    published the event.
    """

    topic: str
    key: str
    payload: Any
    position: str | None = None


class MeterPointConsentRevoked(msgspec.Struct, frozen=True):
    """Payload on a topic of readings or catch-ups: the consent for the meter point was withdrawn. It ends this part."""

    mpxn: str
    resource_id: str | None = None


class CredentialsRevoked(msgspec.Struct, frozen=True):
    """Payload on the topic of revocations: credentials of an account, a user or an application are revoked.

    With `token_ids` None, all credentials of the account are revoked. The token `except_token_id` stays valid.
    `user_id` is a closed user, for whom no application may act any more. `credential_name` is the username of an
    application's credential with a new secret. `account_id` is then empty.
    `membership_id` is the ended access of another person to a home. `account_id` is then empty.
    `CREDENTIALS_CHANGED` revokes nothing: a role or a setting has changed, which processes may remember with a token.
    `changed_account_id` is an account with another role or second factor, whose credentials must be checked again.
    """

    account_id: str = ""
    token_ids: tuple[str, ...] | None = None
    except_token_id: str | None = msgspec.field(name="but", default=None)
    user_id: str | None = None
    credential_name: str | None = None
    changed_account_id: str | None = None
    membership_id: str | None = None

    def may_apply_to(self, caller: Principal) -> bool:
        """Return whether the credentials of a caller may be among the ended ones, so that they must be checked."""
        is_changed = self.changed_account_id is not None and self.changed_account_id == caller.account_id
        return self.applies_to(caller) or is_changed

    def applies_to(self, caller: Principal) -> bool:
        """Return whether the credentials of a caller are among the revoked ones."""
        if self.membership_id is not None:
            return caller.membership_id == self.membership_id
        if self.user_id is not None:
            return caller.user_id == self.user_id
        if self.credential_name is not None:
            return caller.credential_name == self.credential_name
        named = self.token_ids is None or caller.token_id in self.token_ids
        spared = self.except_token_id is not None and caller.token_id == self.except_token_id
        return caller.account_id == self.account_id and named and not spared


CREDENTIALS_CHANGED = CredentialsRevoked(token_ids=())


class ConnectionsDisplaced(msgspec.Struct, frozen=True):
    """Payload on the topic of displacements: connection slots that newer connections have replaced."""

    slot_ids: tuple[str, ...] = msgspec.field(name="seats")


class StreamOperation(msgspec.Struct, frozen=True):
    """Payload on the topic of an event stream: start this subscription or, if `request` is None, stop the operation."""

    operation_id: str
    request: OperationRequest | None


POSITION_PLACEHOLDER = f"position-{token_hex(16)}"
"""Text in the result of a payload in place of its position. No data contains it, because it is random."""


class ReadingRecorded(msgspec.Struct, frozen=True, gc=False):
    """Payload on a topic of readings: one value of one field of a resource."""

    resource_id: str
    field: str
    unit: str
    at: datetime
    value: float
    quality: ReadingQuality

    @property
    def position(self) -> str:
        """The position of the payload's message, which `build_message` fills in: it is not known before."""
        return POSITION_PLACEHOLDER


class CatchUpStateChanged(msgspec.Struct, frozen=True, gc=False):
    """Payload on a topic of catch-ups: a retrieval after a change of its state."""

    catch_up_id: str
    resource_id: str
    state: CatchUpState
    recorded: int
    reason: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class AlertSent(msgspec.Struct, frozen=True, gc=False):
    """Payload on a topic of alerts: an alert as it was sent."""

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
    ve_id: str | None = None


class AlertsRead(msgspec.Struct, frozen=True, gc=False):
    """Payload on a topic of read alerts: the number of unread alerts that remain."""

    user_id: str
    unread: int


class DeliveryQueued(msgspec.Struct, frozen=True, gc=False):
    """Payload on the topic of deliveries: the outbox has a new delivery of this kind, due now."""

    kind: DeliveryKind


class UserJobQueued(msgspec.Struct, frozen=True, gc=False):
    """An erasure or an export waits for a worker."""

    user_id: str


class RuleReadingRecorded(msgspec.Struct, frozen=True, gc=False):
    """Payload on the topic of rule readings: readings were recorded for a field of a resource with alert rules.

    `oldest` is the instant of the first one, in ms since 1970.
    """

    application_id: str
    resource_id: str
    field: str
    oldest: int


class DeviceStateChanged(msgspec.Struct, frozen=True, gc=False):
    """Payload on a topic of device states: the network state that a device has reported."""

    device_id: str
    network_state: NetworkState


class IntakeHeartbeat(msgspec.Struct, frozen=True, gc=False):
    """Payload on a topic of intakes: a heartbeat of a connection that receives messages of devices."""

    name: str
    at: datetime
    connected: bool


class TariffChanged(msgspec.Struct, frozen=True, gc=False):
    """Payload on a topic of tariffs: a tariff was set or withdrawn, or its prices have changed."""

    resource_id: str
    tariff_id: str


class VirtualEntityChanged(msgspec.Struct, frozen=True, gc=False):
    """Payload on a topic of virtual entities: the record of a virtual entity has changed."""

    ve_id: str


class ResourceChanged(msgspec.Struct, frozen=True, gc=False):
    """Payload on a topic of readings: the record of the resource, or the devices that feed it, have changed.

    Only subscriptions to a state use it. Subscriptions to readings skip it. If stored readings were `withdrawn`, the
    events that the bus retains may have them: a client that resumes from before gets the readings of the database.
    The topics of a user's alerts have it then, too.
    """

    resource_id: str
    withdrawn: bool = False


class DeviceChanged(msgspec.Struct, frozen=True, gc=False):
    """Payload on a topic of device states: the record of a device, or its sensors, have changed."""

    device_id: str


class DfsEventStateChanged(msgspec.Struct, frozen=True, gc=False):
    """Payload on a topic of demand flexibility events: an event after a change of its state."""

    dfs_event_id: str
    application_id: str
    name: str
    state: str
    starts_at: datetime
    ends_at: datetime
    reward: Decimal
    created_at: datetime
    updated_at: datetime

    @property
    def reward_rate(self) -> Rate:
        """The reward in the major unit. `reward` is in pence, as the record stores it."""
        return rate_of_hundredths(self.reward, RateUnit.KILOWATT_HOUR, REWARD_CURRENCY)
