"""The demonstration as time passes: live power, energy and prices of each half hour, and flexibility events."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random

from wattgate.app.demo.flexibility import keep_event_open
from wattgate.app.demo.logins import NEIGHBOUR_USERNAME
from wattgate.app.demo.seed import (
    SYSTEM_PRINCIPAL,
    InstalledHome,
    fill_readings,
    last_half_hour_end,
    list_installed_homes,
    list_owners,
)
from wattgate.app.demo.simulation import simulate_power
from wattgate.clock import utc_now
from wattgate.operations.core.runner import Runner
from wattgate.operations.readings.recording import record_readings
from wattgate.operations.types.meters import readings as types
from wattgate.operations.vocabulary.arguments import Id

NETWORK_DELAY = timedelta(minutes=5)
"""Delay after which a half hour's readings arrive without a catch-up. A catch-up retrieves them immediately."""

MIN_INTERVAL_SECONDS, MAX_INTERVAL_SECONDS = 2.0, 5.0
"""Minimum and maximum seconds between two power readings of a simulated meter."""


async def run_meters(runner: Runner) -> None:
    """Record simulated readings of the demonstration's homes, and keep its event current, until cancelled."""
    homes, owners = await list_installed_homes(runner), await list_owners(runner)
    random, filled = Random(), datetime.min.replace(tzinfo=UTC)  # noqa: S311 (simulated homes)
    next_change = filled
    while True:
        now = utc_now()
        await _send_power(runner, homes, now)
        delivered = now - NETWORK_DELAY
        if filled < last_half_hour_end(delivered):
            await fill_readings(runner, homes, delivered)
            filled = last_half_hour_end(delivered)
        if next_change <= now:
            next_change = await keep_event_open(runner, SYSTEM_PRINCIPAL, owners[NEIGHBOUR_USERNAME], now)
        await asyncio.sleep(random.uniform(MIN_INTERVAL_SECONDS, MAX_INTERVAL_SECONDS))


async def _send_power(runner: Runner, homes: list[InstalledHome], now: datetime) -> None:
    at = now.replace(microsecond=0)
    series = [
        types.NewReadings(
            resource_id=Id(home.resource_ids["electricity.consumption"]),
            field="POWER",
            readings=[types.NewReading(at=at, value=Decimal(simulate_power(home.home.habits, at)))],
        )
        for home in homes
    ]
    await runner.run(record_readings, SYSTEM_PRINCIPAL, {"series": series})
