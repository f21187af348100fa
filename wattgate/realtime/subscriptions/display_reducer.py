"""Live frame of a home's display: rendered again on each power reading, and when time changes it."""

import zlib
from collections.abc import Sequence
from datetime import datetime
from heapq import heappop, heappush

from msgspec.structs import replace

from wattgate.clock import to_ms
from wattgate.db.models import Resource, VirtualEntity
from wattgate.db.queries import displays as queries
from wattgate.db.queries import virtual_entities as home_queries
from wattgate.db.queries.display_inputs import carbon_resources
from wattgate.db.rows.rows import Rows
from wattgate.energy.display import frame
from wattgate.energy.display.frame import Display, render_frame
from wattgate.energy.display.home import Home
from wattgate.energy.display.live_power import to_watts
from wattgate.energy.freshness import MAX_AHEAD_READINGS, SECOND_MS
from wattgate.errors import GatewayError
from wattgate.realtime import topics
from wattgate.realtime.events import AlertsRead, DeviceStateChanged, Event, IntakeHeartbeat, ReadingRecorded
from wattgate.realtime.subscriptions.freshness_reducers import topics_of_resources


async def display_topics(rows: Rows, home: VirtualEntity, resources: Sequence[Resource]) -> tuple[str, ...]:
    """Return the topics with events that change the display of a home with these resources.

    A paired display sees the rows of its home, and no alerts of its user.
    """
    shown = queries.display_resources(resources)
    tariff_topics = [topics.tariffs(resource.resource_id) for resource in shown]
    alert_topics = () if rows.ve_id else (topics.alerts(home.owner_id), topics.alerts_read(home.owner_id))
    carbon_topics = [topics.readings(resource.resource_id) for resource in carbon_resources(resources)]
    freshness_topics = await topics_of_resources(rows, shown)
    return (topics.virtual_entities(home.ve_id), *tariff_topics, *alert_topics, *carbon_topics, *freshness_topics)


RELOAD_SPREAD_SECONDS = 60
"""Displays reload over this time after midnight. Each home has its own second, to spread the load."""


class DisplayReducer:
    """The frame of a home's display. `load` raises GatewayError if the caller may no longer see its data.

    A reading of power or carbon intensity changes the frame without the database. Another reading, a tariff, an alert
    or a change of the home, its resources or their devices requires a reload. So does a new day: until then, the frame
    has no amounts.

    A reading of power that is dated ahead waits in the reducer until its instant, because nothing in the future is
    current. So each group of subscriptions needs its own reducer.
    """

    def __init__(self, ve_id: str) -> None:
        self._ve_id = ve_id
        self._reload_delay_ms = zlib.crc32(ve_id.encode()) % RELOAD_SPREAD_SECONDS * SECOND_MS
        self._ahead: list[tuple[int, int, ReadingRecorded]] = []
        self._ahead_number = 0

    async def load(self, rows: Rows) -> Display:
        (home,) = await queries.load_homes(rows, [await rows.get(VirtualEntity, self._ve_id)])
        if isinstance(home, GatewayError):
            raise home
        return render_frame(home, rows.now)

    async def find_topics(self, rows: Rows) -> tuple[str, ...]:
        home = await rows.get(VirtualEntity, self._ve_id)
        (resources,) = await home_queries.resources(rows, [home])
        return await display_topics(rows, home, resources)

    def apply_event(self, state: Display, event: Event, now: datetime) -> Display | None:
        freshness = state.home.freshness_snapshot
        match event.payload:
            case ReadingRecorded() as reading:
                return self._apply_reading(state, reading, now)
            case DeviceStateChanged(device_id=device_id, network_state=network_state):
                freshness.record_device_report(device_id, to_ms(network_state.at))
            case IntakeHeartbeat(name=name, at=at, connected=connected):
                freshness.record_intake(name, to_ms(at), connected)
            case AlertsRead(unread=unread):
                return render_frame(replace(state.home, unread_alerts=unread), now)
            case _:
                return None
        return _redraw_if_freshness_changed(state, now)

    def advance(self, state: Display, now: datetime) -> Display | None:
        if _has_consent_ended(state, now):
            return None
        while self._ahead and self._ahead[0][0] <= to_ms(now):
            state = self._apply_reading(state, heappop(self._ahead)[-1], now) or state
        display = render_frame(state.home, now)
        if display.at_ms >= self._reload_at(state) and display.freshness.state is state.freshness.state:
            return None
        return state if frame.has_same_content(display, state) else display

    def refresh_for_join(self, state: Display, now: datetime) -> Display:
        return render_frame(state.home, now)

    def next_change(self, state: Display) -> int:
        reload_at = self._reload_at(state)
        changes = [frame.next_change(state), *(at for at, _, _ in self._ahead[:1])]
        return min(*changes, reload_at) if reload_at > state.at_ms else reload_at

    def _reload_at(self, state: Display) -> int:
        """Return the instant (ms since 1970) at which the state is reloaded if no event requires it earlier."""
        return state.home.calendar.day.end + self._reload_delay_ms

    def _apply_reading(self, state: Display, reading: ReadingRecorded, now: datetime) -> Display | None:
        home, at = state.home, to_ms(reading.at)
        if at > to_ms(now) and self._keep_ahead(home, reading):
            return state
        if home.is_carbon_field(reading.resource_id, reading.field):
            changed = home.with_carbon(at, reading.value)
            return state if changed is home else render_frame(changed, now)
        source_index = home.find_source_index(reading.resource_id, reading.field)
        if source_index is None:
            home.freshness_snapshot.record_reading(reading.resource_id, reading.field, at, to_ms(now))
            is_input = (reading.resource_id, reading.field) in home.input_fields
            return None if is_input else _redraw_if_freshness_changed(state, now)
        if at <= home.sources[source_index].at:
            return state
        return render_frame(home.with_reading(source_index, at, to_watts(reading.value, reading.unit)), now)

    def _keep_ahead(self, home: Home, reading: ReadingRecorded) -> bool:
        """Keep a reading of power or carbon until its instant. Return False for another reading."""
        series = reading.resource_id, reading.field
        if not home.is_carbon_field(*series) and home.find_source_index(*series) is None:
            return False
        if len(self._ahead) < MAX_AHEAD_READINGS:
            self._ahead_number += 1
            heappush(self._ahead, (to_ms(reading.at), self._ahead_number, reading))
        return True


def _has_consent_ended(state: Display, now: datetime) -> bool:
    """Return whether a consent to data in the frame has expired, so that the frame must be loaded again."""
    return state.home.consent_until is not None and to_ms(now) >= state.home.consent_until


def _redraw_if_freshness_changed(state: Display, now: datetime) -> Display:
    current, rendered = state.home.freshness(to_ms(now)), state.freshness
    return (
        state if (current.state, current.cause) == (rendered.state, rendered.cause) else render_frame(state.home, now)
    )
