"""Live freshness of resources and devices. It changes with events, and with time when no event arrives."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import msgspec

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Device, NetworkState, Resource
from wattgate.db.queries import devices as device_queries
from wattgate.db.queries.consent import check_consent
from wattgate.db.queries.resources import load_measured_resources
from wattgate.db.queries.series import freshness as queries
from wattgate.db.rows.rows import Rows
from wattgate.energy.freshness import Freshness, FreshnessSnapshot, Heartbeat
from wattgate.errors import ConsentRevoked
from wattgate.realtime import topics
from wattgate.realtime.events import (
    DeviceChanged,
    DeviceStateChanged,
    Event,
    IntakeHeartbeat,
    ReadingRecorded,
    ResourceChanged,
)

RECHECK_INTERVAL = timedelta(days=1)
"""Time to the next check when no change is due."""


class ResourceFreshnessItem(msgspec.Struct, frozen=True, gc=False):
    """The freshness of a resource, or the error because of which it is withheld."""

    resource_id: str
    freshness: Freshness | ConsentRevoked


class DeviceStateItem(msgspec.Struct, frozen=True, gc=False):
    """The freshness of the last sign of life of a device, and the network state that it reported.

    Without consent for any of its resources, `freshness` is the error, and there is no network state.
    """

    device_id: str
    freshness: Freshness | ConsentRevoked
    network_state: NetworkState | None


async def topics_of_resources(rows: Rows, resources: Sequence[Resource]) -> tuple[str, ...]:
    """Return the topics with events that change the freshness of resources and of their devices."""
    if not resources:
        return ()
    sources = await load_measured_resources(rows, resources)
    devices = [device for device in await device_queries.devices_of_resources(rows, sources) if device is not None]
    device_topics = await topics_of_devices(rows, devices)
    return tuple(dict.fromkeys((*(topics.readings(source.resource_id) for source in sources), *device_topics)))


async def topics_of_devices(rows: Rows, devices: Sequence[Device]) -> tuple[str, ...]:
    """Return the topics with events that change the freshness of devices."""
    if not devices:
        return ()
    state_topics = {topics.device_states(device.device_id) for device in devices}
    resources_by_device = await device_queries.resources(rows, devices)
    reading_topics = {
        topics.readings(resource.resource_id) for resources in resources_by_device for resource in resources
    }
    return (*sorted(state_topics | reading_topics), topics.intakes(rows.application_id))


ItemT = TypeVar("ItemT", ResourceFreshnessItem, DeviceStateItem)


class _FreshnessListReducer(ABC, Generic[ItemT]):
    """A state that is a list of items with their freshness. A key identifies each item.

    The reducer keeps a `FreshnessSnapshot` and updates it on each event, because most events change no item. Part of
    the state is thus in the reducer, so each group needs its own reducer.
    """

    def __init__(self) -> None:
        self._freshness = FreshnessSnapshot({})
        self._keys: list[str] = []
        self._indexes_by_source: dict[str, set[int]] = {}
        self._next_change_ms = 0
        self._consent_until: datetime | None = None

    @abstractmethod
    async def load(self, rows: Rows) -> list[ItemT]:
        """Load the state from the database."""

    @abstractmethod
    def _build_item(self, key: str, now: int) -> ItemT:
        """Build the item with this key. `now` is in milliseconds."""

    @abstractmethod
    def _has_changed(self, before: ItemT, after: ItemT) -> bool:
        """Return whether subscribers need the new item. A change of age alone is no change."""

    @abstractmethod
    async def find_topics(self, rows: Rows) -> tuple[str, ...]:
        """Return the topics with events that change an item."""

    def apply_event(self, state: list[ItemT], event: Event, now: datetime) -> list[ItemT] | None:
        if isinstance(event.payload, ResourceChanged | DeviceChanged):
            return None
        now_ms, freshness = to_ms(now), self._freshness
        heartbeat: Heartbeat | None = None
        indexes: Iterable[int] = ()
        match event.payload:
            case ReadingRecorded(resource_id=resource_id, field=field, at=read_at):
                heartbeat, indexes = (
                    freshness.record_reading(resource_id, field, to_ms(read_at), now_ms),
                    self._indexes_by_source.get(resource_id, ()),
                )
            case DeviceStateChanged(device_id=device_id, network_state=network_state):
                heartbeat, indexes = (
                    freshness.record_device_report(device_id, to_ms(network_state.at)),
                    self._indexes_by_source.get(device_id, ()),
                )
            case IntakeHeartbeat(name=name, at=heard_at, connected=connected):
                heartbeat, indexes = freshness.record_intake(name, to_ms(heard_at), connected), range(len(state))
        next_change_ms = None if heartbeat is None else heartbeat.next_change(now_ms)
        if freshness.ahead:
            next_change_ms = min(next_change_ms or freshness.ahead[0][0], freshness.ahead[0][0])
        self._next_change_ms = (
            self._next_change_ms if next_change_ms is None else min(self._next_change_ms, next_change_ms)
        )
        return self._update_items(state, indexes, now_ms)

    def advance(self, state: list[ItemT], now: datetime) -> list[ItemT] | None:
        if self._consent_until is not None and now >= self._consent_until:
            return None
        self._schedule_next_change(to_ms(now))
        return self._update_items(state, range(len(state)), to_ms(now))

    def refresh_for_join(self, state: list[ItemT], now: datetime) -> list[ItemT]:
        return [self._build_item(key, to_ms(now)) for key in self._keys]

    def next_change(self, state: list[ItemT]) -> int:
        until = self._consent_until
        return self._next_change_ms if until is None else min(self._next_change_ms, to_ms(until))

    def _initialise(
        self, freshness: FreshnessSnapshot, keys: Sequence[str], sources: Sequence[Iterable[str]], now: int
    ) -> list[ItemT]:
        """Set the snapshot and build the first state. `sources` gives the ids whose events can change each item."""
        self._freshness, self._keys = freshness, list(keys)
        self._indexes_by_source = defaultdict(set)
        for index, item_sources in enumerate(sources):
            for source in item_sources:
                self._indexes_by_source[source].add(index)
        self._schedule_next_change(now)
        return [self._build_item(key, now) for key in keys]

    def _schedule_next_change(self, now: int) -> None:
        next_change_ms = self._freshness.next_change(now)
        self._next_change_ms = to_ms(from_ms(now) + RECHECK_INTERVAL) if next_change_ms is None else next_change_ms

    def _update_items(self, state: list[ItemT], indexes: Iterable[int], now: int) -> list[ItemT]:
        changed = {}
        for index in indexes:
            item = self._build_item(self._keys[index], now)
            if self._has_changed(state[index], item):
                changed[index] = item
        return [changed.get(index, item) for index, item in enumerate(state)] if changed else state


def _source_ids(freshness: FreshnessSnapshot, device_id: str | None) -> Iterable[str]:
    """Return the ids whose events can change the freshness of a device."""
    return () if device_id is None else (device_id, *freshness.devices[device_id].resource_ids)


class ResourceFreshnessReducer(_FreshnessListReducer[ResourceFreshnessItem]):
    """The freshness of resources. `load` raises GatewayError if the data of all of them is withheld."""

    def __init__(self, resource_ids: Sequence[str]) -> None:
        super().__init__()
        self._resource_ids = list(dict.fromkeys(resource_ids))
        self._source_by_resource: dict[str, str] = {}
        self._withheld: dict[str, ConsentRevoked] = {}

    async def find_topics(self, rows: Rows) -> tuple[str, ...]:
        return await topics_of_resources(rows, await self._load_resources(rows))

    async def _load_resources(self, rows: Rows) -> list[Resource]:
        stored = await rows.get_many(Resource, self._resource_ids)
        return [stored[resource_id] for resource_id in self._resource_ids if resource_id in stored]

    async def load(self, rows: Rows) -> list[ResourceFreshnessItem]:
        resources = await self._load_resources(rows)
        self._withheld, self._consent_until = await check_consent(rows, resources)
        if self._withheld and len(self._withheld) == len(resources):
            raise next(iter(self._withheld.values()))
        sources = await load_measured_resources(rows, resources)
        freshness = await queries.load_snapshot(rows, sources)
        keys = [resource.resource_id for resource in resources]
        self._source_by_resource = {key: source.resource_id for key, source in zip(keys, sources, strict=True)}
        source_ids = [
            (source.resource_id, *_source_ids(freshness, freshness.device_by_resource.get(source.resource_id)))
            for source in sources
        ]
        return self._initialise(freshness, keys, source_ids, to_ms(rows.now))

    def _build_item(self, key: str, now: int) -> ResourceFreshnessItem:
        if (error := self._withheld.get(key)) is not None:
            return ResourceFreshnessItem(key, error)
        return ResourceFreshnessItem(key, self._freshness.resource_freshness(self._source_by_resource[key], None, now))

    def _has_changed(self, before: ResourceFreshnessItem, after: ResourceFreshnessItem) -> bool:
        return _is_freshness_changed(before.freshness, after.freshness)


class DeviceStatesReducer(_FreshnessListReducer[DeviceStateItem]):
    """The freshness of devices, and the network states that they reported.

    `load` raises GatewayError if the data of all of them is withheld.
    """

    def __init__(self, device_ids: Sequence[str]) -> None:
        super().__init__()
        self._device_ids = list(dict.fromkeys(device_ids))
        self._network_states: dict[str, NetworkState | None] = {}
        self._withheld: dict[str, ConsentRevoked] = {}

    async def find_topics(self, rows: Rows) -> tuple[str, ...]:
        return await topics_of_devices(rows, await self._load_devices(rows))

    async def _load_devices(self, rows: Rows) -> list[Device]:
        stored = await rows.get_many(Device, self._device_ids)
        return [stored[device_id] for device_id in self._device_ids if device_id in stored]

    async def load(self, rows: Rows) -> list[DeviceStateItem]:
        devices = await self._load_devices(rows)
        fed = await device_queries.resources(rows, devices)
        self._withheld, withheld, self._consent_until = await device_queries.check_device_consents(rows, devices, fed)
        if self._withheld and len(self._withheld) == len(devices):
            raise next(iter(self._withheld.values()))
        freshness = await queries.load_device_snapshot(rows, devices, without=withheld)
        self._network_states = {device.device_id: device.network_state for device in devices}
        keys = list(self._network_states)
        return self._initialise(freshness, keys, [_source_ids(freshness, key) for key in keys], to_ms(rows.now))

    def apply_event(self, state: list[DeviceStateItem], event: Event, now: datetime) -> list[DeviceStateItem] | None:
        payload = event.payload
        if isinstance(payload, DeviceStateChanged) and payload.device_id in self._network_states:
            known = self._network_states[payload.device_id]
            if known is None or known.at < payload.network_state.at:
                self._network_states[payload.device_id] = payload.network_state
        return super().apply_event(state, event, now)

    def _build_item(self, key: str, now: int) -> DeviceStateItem:
        if (error := self._withheld.get(key)) is not None:
            return DeviceStateItem(key, error, None)
        return DeviceStateItem(key, self._freshness.device_freshness(key, now), self._network_states[key])

    def _has_changed(self, before: DeviceStateItem, after: DeviceStateItem) -> bool:
        return before.network_state != after.network_state or _is_freshness_changed(before.freshness, after.freshness)


def _is_freshness_changed(before: Freshness | ConsentRevoked, after: Freshness | ConsentRevoked) -> bool:
    if isinstance(before, ConsentRevoked) or isinstance(after, ConsentRevoked):
        return before is not after
    return (before.state, before.cause) != (after.state, after.cause)
