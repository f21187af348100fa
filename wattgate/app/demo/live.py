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
from wattgate.app.demo.simulation import HALF_HOUR, Habits, simulate_half_hour, simulate_power
from wattgate.app.homes.series import Series
from wattgate.clock import utc_now
from wattgate.db.meter_network import MeterNetworkReading, RegisterReading, RegistryMeterNetwork
from wattgate.energy.meters.unit_conversion import GasProperties, unit_converter
from wattgate.operations.core.runner import Runner
from wattgate.operations.readings.recording import record_readings
from wattgate.operations.types.meters import readings as types
from wattgate.operations.vocabulary.arguments import Id

NETWORK_DELAY = timedelta(minutes=5)
"""Delay after which a half hour's readings arrive without a catch-up. A catch-up retrieves them immediately."""

REGISTER_DECIMALS = 3

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


GAS_PROPERTIES = GasProperties()


class SimulatedMeterNetwork(RegistryMeterNetwork):
    """The registry's meter network, with simulated readings and registers of the homes.

    There is a reading for each completed half hour. Registers count on from their stored value.
    """

    async def register(self, mpxn: str, classifier: str) -> RegisterReading | None:
        stored = await super().register(mpxn, classifier)
        homes = [home for home in HOMES if mpxn in (mpan(home.habits.seed), mprn(home.habits.seed))]
        series = [resource for resource in RESOURCES if resource.classifier == classifier]
        if stored is None or not homes or not series:
            return stored
        now = utc_now().replace(microsecond=0)
        energy = energy_between(homes[0].habits, series[0], stored.at, now)
        convert = unit_converter(
            series[0].unit, stored.unit, classifier=classifier, decimals=REGISTER_DECIMALS, gas=GAS_PROPERTIES
        )
        return RegisterReading(now, round(stored.value + convert(energy), REGISTER_DECIMALS), stored.unit)

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


def energy_between(habits: Habits, series: Series, start: datetime, stop: datetime) -> Decimal:
    """Return the simulated energy between two instants. A part of a half hour has its part of the energy."""
    total, at = Decimal(0), last_half_hour_end(start)
    while at < stop:
        overlap = min(at + HALF_HOUR, stop) - max(at, start)
        total += simulated_value(series, simulate_half_hour(habits, at)) * Decimal(overlap / HALF_HOUR)
        at += HALF_HOUR
    return total
