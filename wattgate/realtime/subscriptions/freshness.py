"""Freshness that is followed: told when it changes, also where nothing comes."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import msgspec

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Device, NetworkState, Resource
from wattgate.db.queries import devices as device_queries
from wattgate.db.queries import freshness as queries
from wattgate.db.queries.consent import withheld
from wattgate.db.queries.resources import measured
from wattgate.db.rows import Rows
from wattgate.energy.freshness import Freshness, Picture, Pulse
from wattgate.realtime import topics
from wattgate.realtime.events import DeviceStateChanged, Event, IntakeHeard, LiveReading

IDLE = timedelta(days=1)
"""When to look again where nothing will change by itself."""


class ResourceFreshness(msgspec.Struct, frozen=True, gc=False):
    """How fresh a resource is."""

    resource_id: str
    freshness: Freshness


class DeviceState(msgspec.Struct, frozen=True, gc=False):
    """How fresh the last sign of a device is, and what it said of itself."""

    device_id: str
    freshness: Freshness
    network_state: NetworkState | None


async def topics_of(rows: Rows, resources: Sequence[Resource]) -> tuple[str, ...]:
    """The topics on which comes what changes the freshness of resources, and of their devices."""
    sources = await measured(rows, resources)
    senders = [one for one in await device_queries.of_resources(rows, sources) if one is not None]
    fed = await topics_of_devices(rows, senders)
    return tuple(dict.fromkeys((*(topics.readings(source.resource_id) for source in sources), *fed)))


async def topics_of_devices(rows: Rows, devices: Sequence[Device]) -> tuple[str, ...]:
    """The topics on which comes what changes the freshness of devices."""
    if not devices:
        return ()
    said = {topics.device_states(device.device_id) for device in devices}
    fed = await device_queries.resources(rows, devices)
    read = {topics.readings(resource.resource_id) for some in fed for resource in some}
    return (*sorted(said | read), topics.intakes(rows.application_id))


Told = TypeVar("Told", ResourceFreshness, DeviceState)


class _Following(ABC, Generic[Told]):
    """A view of how fresh some things are: a list with one item for each.

    It keeps the picture from which it tells, and moves it with every event: most change nothing that is told. So there
    is a view for each state that is followed.
    """

    def __init__(self) -> None:
        self._picture = Picture({})
        self._keys: list[str] = []
        self._places: dict[str, set[int]] = {}
        self._turn = 0

    @abstractmethod
    async def load(self, rows: Rows) -> list[Told]:
        """The state, from the database."""

    @abstractmethod
    def _tell(self, key: str, now: int) -> Told:
        """What is told of one of the things."""

    @abstractmethod
    def _differs(self, told: Told, now: Told) -> bool:
        """Whether something else is to be told: that time passes is nothing."""

    def take(self, state: list[Told], event: Event, now: datetime) -> list[Told]:
        at, picture = to_ms(now), self._picture
        pulse: Pulse | None = None
        places: Iterable[int] = ()
        match event.payload:
            case LiveReading(resource_id=resource_id, field=field, at=read_at):
                pulse, places = picture.read(resource_id, field, to_ms(read_at)), self._places.get(resource_id, ())
            case DeviceStateChanged(device_id=device_id, network_state=said):
                pulse, places = picture.say(device_id, to_ms(said.at)), self._places.get(device_id, ())
            case IntakeHeard(name=name, at=heard_at, connected=connected):
                pulse, places = picture.take_in(name, to_ms(heard_at), connected), range(len(state))
        turn = None if pulse is None else pulse.turns_at(at)
        self._turn = self._turn if turn is None else min(self._turn, turn)
        return self._told_again(state, places, at)

    def turn(self, state: list[Told], now: datetime) -> list[Told]:
        self._plan(to_ms(now))
        return self._told_again(state, range(len(state)), to_ms(now))

    def seen(self, state: list[Told], now: datetime) -> list[Told]:
        return [self._tell(key, to_ms(now)) for key in self._keys]

    def next_turn(self, state: list[Told]) -> datetime:
        return from_ms(self._turn)

    def _begin(self, picture: Picture, keys: Sequence[str], sources: Sequence[Iterable[str]], now: int) -> list[Told]:
        """The first state of these things; `sources` says of each by whose events it may change."""
        self._picture, self._keys = picture, list(keys)
        self._places = defaultdict(set)
        for place, some in enumerate(sources):
            for source in some:
                self._places[source].add(place)
        self._plan(now)
        return [self._tell(key, now) for key in keys]

    def _plan(self, now: int) -> None:
        turn = self._picture.turns_at(now)
        self._turn = to_ms(from_ms(now) + IDLE) if turn is None else turn

    def _told_again(self, state: list[Told], places: Iterable[int], now: int) -> list[Told]:
        changed = {}
        for place in places:
            told = self._tell(self._keys[place], now)
            if self._differs(state[place], told):
                changed[place] = told
        return [changed.get(place, told) for place, told in enumerate(state)] if changed else state


def _sources(picture: Picture, device_id: str | None) -> Iterable[str]:
    """By whose events the freshness of a device may change."""
    return () if device_id is None else (device_id, *picture.senders[device_id].feeds)


class FreshnessView(_Following[ResourceFreshness]):
    """How fresh resources are. GatewayError where the readings of one may not be had any longer."""

    def __init__(self, resource_ids: Sequence[str]) -> None:
        super().__init__()
        self._resource_ids = list(dict.fromkeys(resource_ids))
        self._source_of: dict[str, str] = {}

    async def load(self, rows: Rows) -> list[ResourceFreshness]:
        found = await rows.many(Resource, self._resource_ids)
        resources = [found[one] for one in self._resource_ids if one in found]
        for refusal in (await withheld(rows, resources)).values():
            raise refusal
        sources = await measured(rows, resources)
        picture = await queries.picture(rows, sources)
        keys = [one.resource_id for one in resources]
        self._source_of = {key: source.resource_id for key, source in zip(keys, sources, strict=True)}
        changed_by = [
            (source.resource_id, *_sources(picture, picture.sender_of.get(source.resource_id))) for source in sources
        ]
        return self._begin(picture, keys, changed_by, to_ms(rows.now))

    def _tell(self, key: str, now: int) -> ResourceFreshness:
        return ResourceFreshness(key, self._picture.resource(self._source_of[key], None, now))

    def _differs(self, told: ResourceFreshness, now: ResourceFreshness) -> bool:
        return _differ(told.freshness, now.freshness)


class DeviceStatesView(_Following[DeviceState]):
    """How fresh the last sign of devices is, and what they said of themselves."""

    def __init__(self, device_ids: Sequence[str]) -> None:
        super().__init__()
        self._device_ids = list(dict.fromkeys(device_ids))
        self._said: dict[str, NetworkState | None] = {}

    async def load(self, rows: Rows) -> list[DeviceState]:
        found = await rows.many(Device, self._device_ids)
        devices = [found[one] for one in self._device_ids if one in found]
        picture = await queries.picture_of_devices(rows, devices)
        self._said = {device.device_id: device.network_state for device in devices}
        keys = list(self._said)
        return self._begin(picture, keys, [_sources(picture, key) for key in keys], to_ms(rows.now))

    def take(self, state: list[DeviceState], event: Event, now: datetime) -> list[DeviceState]:
        payload = event.payload
        if isinstance(payload, DeviceStateChanged) and payload.device_id in self._said:
            known = self._said[payload.device_id]
            if known is None or known.at < payload.network_state.at:
                self._said[payload.device_id] = payload.network_state
        return super().take(state, event, now)

    def _tell(self, key: str, now: int) -> DeviceState:
        return DeviceState(key, self._picture.device(key, now), self._said[key])

    def _differs(self, told: DeviceState, now: DeviceState) -> bool:
        return told.network_state != now.network_state or _differ(told.freshness, now.freshness)


def _differ(told: Freshness, now: Freshness) -> bool:
    return (told.state, told.cause) != (now.state, now.cause)
