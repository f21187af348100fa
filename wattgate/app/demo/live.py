"""The demonstration as time passes: live power, readings and prices of each half hour, and its meter network."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random

from wattgate.app.demo.flexibility import keep_event_open
from wattgate.app.demo.logins import NEIGHBOUR_USERNAME
from wattgate.app.demo.network import mpan, mprn
from wattgate.app.demo.seed import (
    HOMES,
    RESOURCES,
    SYSTEM_PRINCIPAL,
    InstalledHome,
    fill_readings,
    last_half_hour_end,
    list_installed_homes,
    list_owners,
    simulated_value,
)
from wattgate.app.demo.simulation import HALF_HOUR, simulate_half_hour, simulate_power
from wattgate.clock import utc_now
from wattgate.db.meter_network import MeterNetworkReading, RegistryMeterNetwork
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


class SimulatedMeterNetwork(RegistryMeterNetwork):
    """The registry's meter network, with simulated readings for each completed half hour of the homes."""

    async def readings(
        self, mpxn: str, classifier: str, after: datetime | None, *, limit: int
    ) -> list[MeterNetworkReading]:
        homes = [home for home in HOMES if mpxn in (mpan(home.habits.seed), mprn(home.habits.seed))]
        resources = [resource for resource in RESOURCES if resource.classifier == classifier]
        if not homes or not resources:
            return await super().readings(mpxn, classifier, after, limit=limit)
        stop = last_half_hour_end(utc_now())
        start = stop - HALF_HOUR if after is None else last_half_hour_end(after) + HALF_HOUR
        count = min(limit, max(0, (stop - start) // HALF_HOUR))
        instants = [start + n * HALF_HOUR for n in range(count)]
        return [
            MeterNetworkReading(at, simulated_value(resources[0], simulate_half_hour(homes[0].habits, at)))
            for at in instants
        ]
