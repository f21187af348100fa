"""The demonstration's meters: live power every few seconds, and each half hour's readings when it has ended."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random

from strawberry import ID

from wattgate.app.demo.seed import SYSTEM, Installed, ended, fill, installed
from wattgate.app.demo.simulation import power
from wattgate.clock import utc_now
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers.recording import record_readings
from wattgate.graphql.types import readings as types

NETWORK_DELAY = timedelta(minutes=5)
"""How late the meter network delivers a half hour by itself; a catch-up has it at once."""

SHORTEST, LONGEST = 2.0, 5.0
"""Seconds between two power readings of the simulated meters."""


async def run_meters(runner: Runner) -> None:
    """Send what the meters of the demonstration's homes measure, for as long as the gateway runs."""
    present = await installed(runner)
    pace, filled = Random(), datetime.min.replace(tzinfo=UTC)
    while True:
        now = utc_now()
        await _send_power(runner, present, now)
        delivered = now - NETWORK_DELAY
        if filled < ended(delivered):
            await fill(runner, present, delivered)
            filled = ended(delivered)
        await asyncio.sleep(pace.uniform(SHORTEST, LONGEST))


async def _send_power(runner: Runner, present: list[Installed], now: datetime) -> None:
    at = now.replace(microsecond=0)
    series = [
        types.NewReadings(
            resource_id=ID(home.resource_ids["electricity.consumption"]),
            field="POWER",
            readings=[types.NewReading(at=at, value=Decimal(power(home.home.habits, at)))],
        )
        for home in present
    ]
    await runner.run(record_readings, SYSTEM, {"series": series})
