"""The demonstration's meter network: the registry with readings of simulated meters."""

from datetime import datetime

from wattgate.app.demo.network import mpan, mprn
from wattgate.app.demo.seed import HOMES, RESOURCES, last_half_hour_end, simulated_value
from wattgate.app.demo.simulation import HALF_HOUR, simulate_half_hour
from wattgate.clock import utc_now
from wattgate.db.meter_network import MeterNetworkReading, RegistryMeterNetwork


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
