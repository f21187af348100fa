"""What displays send beside HTTP: `app/workers/mqtt_intake.py` runs this."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal

from sqlalchemy import or_
from sqlmodel import col
from strawberry import ID

from wattgate.clock import from_ms, to_ms
from wattgate.db import models
from wattgate.db.queries import devices as queries
from wattgate.db.rows import Rows
from wattgate.energy.meter_messages import Measured, MeterMessage
from wattgate.energy.meter_points import hardware_key
from wattgate.energy.storage_fields import AHEAD_MS, Field, Refused, field_named, fields_of
from wattgate.errors import BadInput
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.resolvers.recording import MAX_READINGS, record_readings
from wattgate.graphql.types import readings as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import DeviceStateChanged, Event, IntakeHeard

MAX_MESSAGES = 1_000

_FIRST_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something of a display's that is not recorded, and why: the kind of fault, and what is special about this one."""

    hardware_id: str
    kind: str
    detail: str = ""

    @property
    def reason(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


@dataclass(frozen=True, slots=True)
class Taken:
    """How many readings of the messages are stored now, and what is not."""

    recorded: int
    refusals: list[Refusal]


@operation(Kind.MUTATION, returns=Taken, needs=Permission.SYSTEM)
async def record_meter_messages(call: Call, *, messages: Sequence[MeterMessage]) -> Taken:
    """Record what displays measure and say of themselves, at most 1,000 messages a call.

    A display is known by its hardware id, and feeds the resources of its sensors: each value goes to those of its
    classifier that have a field of its name, rounded to the field's decimals; where there is none it is passed over.
    What cannot be recorded is answered, and the rest is recorded. Of two values of one instant the later sent holds.
    """
    if len(messages) > MAX_MESSAGES:
        raise BadInput(f"a call takes at most {MAX_MESSAGES:,} messages")
    known = await _displays(call.rows, messages)
    batch = _Batch(to_ms(call.rows.now))
    for message in messages:
        batch.take(message, known.get(hardware_key(message.hardware_id)))
    recorded = 0
    for series in _calls(batch.series()):
        recorded += (await record_readings.resolver(call, series=series)).recorded
    for device_id, state in sorted(batch.states.items()):  # in order: two gateways wait for each other in one way
        if await _record_state(call.rows, device_id, state):
            call.emit(Event(topics.device_states(device_id), device_id, DeviceStateChanged(device_id, state)))
    return Taken(recorded, batch.refusals)


@operation(Kind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def hear_intake(call: Call, *, name: str, connected: bool) -> bool:
    """Put on record a sign of life of a connection on which messages come in, and whether it is connected."""
    now = call.rows.now
    of_name = col(models.Intake.name) == name
    if not await call.rows.update(models.Intake, of_name, heard_at=now, connected=connected):
        await call.rows.add(models.Intake(name=name, heard_at=now, connected=connected))
    heard = IntakeHeard(name, now, connected)
    call.emit(Event(topics.intakes(call.rows.application_id), name, heard))
    return connected


@dataclass(frozen=True, slots=True)
class _Display:
    """A device, and by classifier the resources that its sensors feed, with their fields."""

    device_id: str
    feeds: Mapping[str, list[tuple[models.Resource, tuple[Field, ...]]]]


async def _displays(rows: Rows, messages: Sequence[MeterMessage]) -> dict[str, _Display]:
    """The active devices that these messages come from, by hardware key."""
    keys = {hardware_key(message.hardware_id) for message in messages}
    devices = await rows.all(
        models.Device, col(models.Device.hardware_key).in_(keys), col(models.Device.active).is_(True)
    )
    found = {}
    for device, resources in zip(devices, await queries.resources(rows, devices), strict=True):
        feeds = defaultdict(list)
        for resource in resources:
            feeds[resource.classifier].append((resource, fields_of(resource.storage)))
        found[device.hardware_key] = _Display(device.device_id, feeds)
    return found


@dataclass
class _Batch:
    """What messages amount to: values by series and instant, the newest state of each device, and what is refused."""

    now_ms: int
    values: dict[tuple[str, str], dict[int, Decimal]] = field(default_factory=lambda: defaultdict(dict))
    states: dict[str, models.NetworkState] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)

    def take(self, message: MeterMessage, display: _Display | None) -> None:
        for reason in message.unreadable:
            self._refuse(message, reason)
        if display is None:
            self._refuse(message, "no active device has this hardware id")
            return
        for measured in message.values:
            for resource, fields in display.feeds.get(measured.classifier, ()):
                known = field_named(fields, measured.field)
                if known is not None:
                    self._add(message, measured, resource, known)
        if message.state is not None:
            self._say(message, display.device_id, message.state)

    def _add(self, message: MeterMessage, measured: Measured, resource: models.Resource, known: Field) -> None:
        try:
            at, value = known.stamp(message.at, self.now_ms), _stored(measured, known)
        except Refused as refused:
            self._refuse(message, f"{measured.classifier} {measured.field} is not stored", str(refused))
        else:
            self.values[resource.resource_id, known.name][at] = value

    def _say(self, message: MeterMessage, device_id: str, state: models.NetworkState) -> None:
        if to_ms(state.at) > self.now_ms + AHEAD_MS:
            self._refuse(message, "what it says of itself is in the future")
        elif device_id not in self.states or self.states[device_id].at <= state.at:
            self.states[device_id] = state

    def _refuse(self, message: MeterMessage, kind: str, detail: str = "") -> None:
        self.refusals.append(Refusal(message.hardware_id, kind, detail))

    def series(self) -> Iterator[types.NewReadings]:
        for (resource_id, name), values in self.values.items():
            readings = [types.NewReading(at=from_ms(at), value=values[at]) for at in sorted(values)]
            yield types.NewReadings(resource_id=ID(resource_id), field=name, readings=readings)


def _stored(measured: Measured, known: Field) -> Decimal:
    """The value at the field's decimals. Refused where the field is of another unit, or does not take it."""
    unit = _FIRST_WORD.match(known.unit)  # "pence per kWh" and "pence/day" are pence
    if unit is None or unit[0].casefold() != measured.unit.casefold():
        raise Refused(f"the field is in {known.unit}, displays measure in {measured.unit}")
    value = measured.value.quantize(Decimal(1).scaleb(-known.decimals), ROUND_HALF_EVEN)
    known.scaled(value)
    return value


def _calls(series: Iterator[types.NewReadings]) -> Iterator[list[types.NewReadings]]:
    """Series as calls of `record_readings` take them; none has more readings than there are messages."""
    gathered: list[types.NewReadings] = []
    count = 0
    for one in series:
        if count + len(one.readings) > MAX_READINGS:
            yield gathered
            gathered, count = [], 0
        gathered.append(one)
        count += len(one.readings)
    if gathered:
        yield gathered


async def _record_state(rows: Rows, device_id: str, state: models.NetworkState) -> bool:
    """Keep what a device says of itself, unless something newer is known. Its record has not changed by that.

    Whether it was something new.
    """
    kept = await rows.update(
        models.Device,
        col(models.Device.device_id) == device_id,
        or_(col(models.Device.heard_at).is_(None), col(models.Device.heard_at) < state.at),
        network_state=state,
        heard_at=state.at,
        updated_at=col(models.Device.updated_at),
    )
    return kept > 0
