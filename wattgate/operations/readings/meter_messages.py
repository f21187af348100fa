"""Record messages of displays that arrive over MQTT, for the worker `app/workers/mqtt_intake.py`."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy import or_
from sqlmodel import col

from wattgate.clock import from_ms, to_ms
from wattgate.db import models
from wattgate.db.queries import devices as queries
from wattgate.db.queries.tenancies import left_behind, storage_bounds
from wattgate.db.rows.rows import Rows
from wattgate.energy.consent_gaps import StorageBounds
from wattgate.energy.meters.meter_messages import Measurement, MeterMessage
from wattgate.energy.meters.meter_points import hardware_id_spellings, normalize_hardware_id
from wattgate.energy.storage_fields import MAX_AHEAD_MS, ReadingField, StorageError, find_field, parse_fields
from wattgate.errors import BadInput
from wattgate.operations.core.operation import MEASURED_DATA, Call, OperationKind, operation
from wattgate.operations.readings.recording import MAX_READINGS, store_all_or_none
from wattgate.operations.types.meters import readings as types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.decoded_readings import DecodedReadings
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import DeviceStateChanged, Event, IntakeHeartbeat
from wattgate.values import terms

MAX_MESSAGES = 1_000
"""Maximum messages of a call."""

TOO_EARLY = "its instant is before the household moved in, or had the device"
"""Why something of the former household, which arrives late, is not stored for the next one."""

_FIRST_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class MessageRefusal:
    """Something that a display sent and the gateway did not record: the kind of fault, and details of this case."""

    hardware_id: str
    kind: str
    detail: str = ""

    @property
    def reason(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


@dataclass(frozen=True, slots=True)
class MeterMessagesResult:
    """The number of stored readings, the number of values of a time without consent, and the rejections."""

    recorded: int
    without_consent: int
    refusals: list[MessageRefusal]


@operation(OperationKind.MUTATION, returns=MeterMessagesResult, needs=Permission.SYSTEM, audit=MEASURED_DATA)
async def record_meter_messages(call: Call, *, messages: Sequence[MeterMessage]) -> MeterMessagesResult:
    """Record the measurements and states that displays send, at most 1,000 messages in a call.

    The hardware id identifies a display, which feeds the resources of its sensors. A value goes to each resource of
    its classifier that has a field of its name, rounded to the field's decimals. A value without such a resource is
    ignored. Rejected values and states are returned; the others are recorded. Of two values for the same instant, the
    later message wins. Values of a time without the consent of the household are counted, and not stored: the display
    has done nothing wrong, so it gets no rejection.
    """
    if len(messages) > MAX_MESSAGES:
        raise BadInput(f"A call takes at most {MAX_MESSAGES:,} messages.")
    known = await _load_displays(call.rows, messages)
    batch = _MessageBatch(to_ms(call.rows.now))
    for message in messages:
        batch.add_message(message, known.get(message.hardware_id))
    recorded = 0
    for series in _split_into_calls(batch.to_series()):
        recorded += (await store_all_or_none(call, series)).recorded
    for device_id, state in sorted(batch.states.items()):  # in order, so that two gateways cannot deadlock
        if await _record_state(call.rows, device_id, state):
            call.emit(Event(topics.device_states(device_id), device_id, DeviceStateChanged(device_id, state)))
    return MeterMessagesResult(recorded, batch.without_consent, batch.refusals)


@operation(OperationKind.MUTATION, returns=bool, needs=Permission.SYSTEM, audit=MEASURED_DATA)
async def record_intake_heartbeat(call: Call, *, name: terms.Text200, connected: bool) -> bool:
    """Record a heartbeat of an intake connection, and whether it is connected. Return `connected`."""
    now = call.rows.now
    of_name = col(models.Intake.name) == name
    if not await call.rows.update(models.Intake, of_name, heard_at=now, connected=connected):
        await call.rows.add(models.Intake(name=name, heard_at=now, connected=connected))
    heard = IntakeHeartbeat(name, now, connected)
    call.emit(Event(topics.intakes(call.rows.application_id), name, heard))
    return connected


@dataclass(frozen=True, slots=True)
class _DisplayDevice:
    """A device, and the resources that its sensors feed, with their fields, by classifier.

    `bounds` says for each resource when its owner lives at the meter point and consents. It begins when the owner got
    the device, if that is later. `since` says the same for states of the device. `is_left` says that its owner has
    moved out where it is, so that its states show another household.
    """

    device_id: str
    since: int
    is_left: bool
    bounds: Mapping[str, StorageBounds]
    resources_by_classifier: Mapping[str, list[tuple[models.Resource, tuple[ReadingField, ...]]]]


async def _load_displays(rows: Rows, messages: Sequence[MeterMessage]) -> dict[str, _DisplayDevice]:
    """Return the active devices that sent these messages, by the hardware ids in the messages.

    A device that was added under its EUI-64 also sends under the MAC address in it, and vice versa.
    """
    hardware_ids = {message.hardware_id for message in messages}
    keys = {key for hardware_id in hardware_ids for key in hardware_id_spellings(hardware_id)}
    devices = await rows.all(
        models.Device, col(models.Device.hardware_key).in_(keys), col(models.Device.active).is_(True)
    )
    displays: dict[str, _DisplayDevice] = {}
    fed = await queries.resources(rows, devices)
    known = await storage_bounds(rows, {one.resource_id: one for resources in fed for one in resources}.values())
    left = await left_behind(rows, devices)
    for device, resources in zip(devices, fed, strict=True):
        held_ms = 0 if device.held_from is None else to_ms(device.held_from)
        bounds = {one.resource_id: known[one.resource_id].held_since(held_ms) for one in resources}
        feeds = defaultdict(list)
        for resource in resources:
            feeds[resource.classifier].append((resource, parse_fields(resource.storage)))
        since, is_left = min((each.since for each in bounds.values()), default=held_ms), device.device_id in left
        display = _DisplayDevice(device.device_id, since, is_left, bounds, feeds)
        displays[device.hardware_key] = display
        for spelling in hardware_id_spellings(device.hardware_key):
            displays.setdefault(spelling, display)
    found = {hardware_id: displays.get(normalize_hardware_id(hardware_id)) for hardware_id in hardware_ids}
    return {hardware_id: display for hardware_id, display in found.items() if display is not None}


@dataclass
class _MessageBatch:
    """The result of parsing messages: values by series and instant (ms), newest state of each device, rejections."""

    now_ms: int
    values: dict[tuple[str, str], dict[int, Decimal]] = field(default_factory=lambda: defaultdict(dict))
    states: dict[str, models.NetworkState] = field(default_factory=dict)
    refusals: list[MessageRefusal] = field(default_factory=list)
    without_consent: int = 0

    def add_message(self, message: MeterMessage, display: _DisplayDevice | None) -> None:
        for reason in message.problems:
            self._refuse(message, reason)
        if display is None:
            self._refuse(message, "no active device has this hardware id")
            return
        for measurement in message.values:
            for resource, fields in display.resources_by_classifier.get(measurement.classifier, ()):
                field = find_field(fields, measurement.field)
                if field is not None:
                    self._add_value(message, measurement, resource, field, display.bounds[resource.resource_id])
        if message.network_state is not None:
            self._add_state(message, display, message.network_state)

    def _add_value(
        self,
        message: MeterMessage,
        measurement: Measurement,
        resource: models.Resource,
        field: ReadingField,
        bounds: StorageBounds,
    ) -> None:
        try:
            at, value = field.to_stored_ms(message.at, self.now_ms), _to_stored_value(measurement, field)
            if at < bounds.since:
                raise StorageError(TOO_EARLY)
        except StorageError as refused:
            self._refuse(message, f"{measurement.classifier} {measurement.field} is not stored", str(refused))
        else:
            if bounds.is_without_consent(at):
                self.without_consent += 1
            else:
                self.values[resource.resource_id, field.name][at] = value

    def _add_state(self, message: MeterMessage, display: _DisplayDevice, state: models.NetworkState) -> None:
        known = self.states.get(display.device_id)
        if to_ms(state.at) > self.now_ms + MAX_AHEAD_MS:
            self._refuse(message, "the device state is in the future")
        elif to_ms(state.at) < display.since:
            self._refuse(message, "the device state is not stored", TOO_EARLY)
        elif display.is_left:
            self._refuse(message, "the device state is not stored", "the owner has moved out where the device is")
        elif known is None or known.at <= state.at:
            self.states[display.device_id] = state

    def _refuse(self, message: MeterMessage, kind: str, detail: str = "") -> None:
        self.refusals.append(MessageRefusal(message.hardware_id, kind, detail))

    def to_series(self) -> Iterator[types.NewReadings]:
        for (resource_id, name), values in self.values.items():
            yield types.NewReadings(resource_id=Id(resource_id), field=name, readings=_to_columns(values))


def _to_columns(values: Mapping[int, Decimal]) -> Any:
    """Return values by instant (ms) as DecodedReadings, in place of a list of NewReading."""
    instants = sorted(values)
    at, value = np.array(instants, np.int64), np.array([float(values[instant]) for instant in instants], np.float64)

    def build_reading(index: int) -> types.NewReading:
        return types.NewReading(at=from_ms(instants[index]), value=values[instants[index]])

    return DecodedReadings(at, value, np.zeros(len(at), np.int64), build_reading)


def _to_stored_value(measurement: Measurement, field: ReadingField) -> Decimal:
    """Return the value, rounded to the field's decimals. Raise StorageError if its unit or value is invalid."""
    if _unit_name(field.unit) != measurement.unit.casefold():
        raise StorageError(f"the field is in {field.unit}, but the display measures in {measurement.unit}")
    value = measurement.value.quantize(Decimal(1).scaleb(-field.decimals), ROUND_HALF_EVEN)
    field.to_stored(value)
    return value


@lru_cache(maxsize=256)
def _unit_name(text: str) -> str | None:
    """Return the first word of a unit: "pence per kWh" and "pence/day" start with "pence"."""
    word = _FIRST_WORD.match(text)
    return None if word is None else word[0].casefold()


def _split_into_calls(series: Iterator[types.NewReadings]) -> Iterator[list[types.NewReadings]]:
    """Group series into batches of at most MAX_READINGS readings. A series has at most one reading for each message."""
    batch: list[types.NewReadings] = []
    count = 0
    for entry in series:
        if count + len(entry.readings) > MAX_READINGS:
            yield batch
            batch, count = [], 0
        batch.append(entry)
        count += len(entry.readings)
    if batch:
        yield batch


async def _record_state(rows: Rows, device_id: str, state: models.NetworkState) -> bool:
    """Store the state that a device reported, unless a newer one is stored. Return whether it was stored.

    `updated_at` stays, because the device's own record does not change.
    """
    updated = await rows.update(
        models.Device,
        col(models.Device.device_id) == device_id,
        or_(col(models.Device.heard_at).is_(None), col(models.Device.heard_at) < state.at),
        network_state=state,
        heard_at=state.at,
        updated_at=col(models.Device.updated_at),
    )
    return updated > 0
