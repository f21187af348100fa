"""The display of a home that is followed: drawn anew with every reading of power, and when time changes it."""

import zlib
from dataclasses import replace
from datetime import datetime, timedelta

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import VirtualEntity
from wattgate.db.queries import displays as queries
from wattgate.db.rows import Rows
from wattgate.energy.display import frame
from wattgate.energy.display.frame import Display, draw
from wattgate.energy.display.power import watts
from wattgate.errors import GatewayError
from wattgate.realtime.events import AlertsRead, DeviceStateChanged, Event, IntakeHeard, LiveReading

SPREAD_SECONDS = 60
"""Over how long after midnight displays are loaded again: each home has its own second."""


class DisplayView:
    """The frame of a home's display. GatewayError where its data may not be had any longer.

    Power moves it without the database. What is stored, a tariff, an alert or the home's record loads it again, and so
    does a new day, which it begins without amounts.
    """

    def __init__(self, ve_id: str) -> None:
        self._ve_id = ve_id
        self._late = timedelta(seconds=zlib.crc32(ve_id.encode()) % SPREAD_SECONDS)

    async def load(self, rows: Rows) -> Display:
        (home,) = await queries.homes(rows, [await rows.get(VirtualEntity, self._ve_id)])
        if isinstance(home, GatewayError):
            raise home
        return draw(home, rows.now)

    def take(self, state: Display, event: Event, now: datetime) -> Display | None:
        picture = state.home.picture
        match event.payload:
            case LiveReading() as reading:
                return self._read(state, reading, now)
            case DeviceStateChanged(device_id=device_id, network_state=said):
                picture.say(device_id, to_ms(said.at))
            case IntakeHeard(name=name, at=at, connected=connected):
                picture.take_in(name, to_ms(at), connected)
            case AlertsRead(unread=unread):
                return draw(replace(state.home, unread_alerts=unread), now)
            case _:
                return None
        return _if_freshness_changed(state, now)

    def turn(self, state: Display, now: datetime) -> Display | None:
        drawn = draw(state.home, now)
        if now >= self._again(state) and drawn.freshness.state is state.freshness.state:
            return None
        return state if frame.same(drawn, state) else drawn

    def seen(self, state: Display, now: datetime) -> Display:
        return draw(state.home, now)

    def next_turn(self, state: Display) -> datetime:
        again = self._again(state)
        return min(frame.next_turn(state), again) if again > state.at else again

    def _again(self, state: Display) -> datetime:
        """When a state is to be loaded again though nothing has come."""
        return from_ms(state.home.calendar.day.end) + self._late

    def _read(self, state: Display, reading: LiveReading, now: datetime) -> Display | None:
        home, at = state.home, to_ms(reading.at)
        place = home.place_of(reading.resource_id, reading.field)
        if place is None:
            home.picture.read(reading.resource_id, reading.field, at)
            drawn_from = (reading.resource_id, reading.field) in home.drawn_from
            return None if drawn_from else _if_freshness_changed(state, now)
        if at <= home.sources[place].at:
            return state
        return draw(home.take(place, at, watts(reading.value, reading.unit)), now)


def _if_freshness_changed(state: Display, now: datetime) -> Display:
    fresh, told = state.home.freshness(to_ms(now)), state.freshness
    return state if (fresh.state, fresh.cause) == (told.state, told.cause) else draw(state.home, now)
