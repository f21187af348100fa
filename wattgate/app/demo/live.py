"""Simulated meters of the demonstration: live power every few seconds, and energy after each half hour."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random

from strawberry import ID

from wattgate.app.demo.seed import (
    SYSTEM_PRINCIPAL,
    InstalledHome,
    fill_readings,
    last_half_hour_end,
    list_installed_homes,
)
from wattgate.app.demo.simulation import simulate_power
from wattgate.clock import utc_now
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers.recording import record_readings
from wattgate.graphql.types import readings as types

NETWORK_DELAY = timedelta(minutes=5)
"""Delay after which a half hour's readings arrive without a catch-up. A catch-up retrieves them immediately."""

MIN_INTERVAL_SECONDS, MAX_INTERVAL_SECONDS = 2.0, 5.0
"""Minimum and maximum seconds between two power readings of a simulated meter."""


async def run_meters(runner: Runner) -> None:
    """Record simulated readings of the demonstration's homes until cancelled."""
    homes = await list_installed_homes(runner)
    random, filled = Random(), datetime.min.replace(tzinfo=UTC)  # noqa: S311 (simulated homes)
    while True:
        now = utc_now()
        await _send_power(runner, homes, now)
        delivered = now - NETWORK_DELAY
        if filled < last_half_hour_end(delivered):
            await fill_readings(runner, homes, delivered)
            filled = last_half_hour_end(delivered)
        await asyncio.sleep(random.uniform(MIN_INTERVAL_SECONDS, MAX_INTERVAL_SECONDS))


async def _send_power(runner: Runner, homes: list[InstalledHome], now: datetime) -> None:
    at = now.replace(microsecond=0)
    series = [
        types.NewReadings(
            resource_id=ID(home.resource_ids["electricity.consumption"]),
            field="POWER",
            readings=[types.NewReading(at=at, value=Decimal(simulate_power(home.home.habits, at)))],
        )
        for home in homes
    ]
    await runner.run(record_readings, SYSTEM_PRINCIPAL, {"series": series})
