"""The demonstration's meter network: the registry's meter points and devices, with the readings of simulated meters."""

from datetime import datetime

from wattgate.app.demo.network import mpan, mprn
from wattgate.app.demo.seed import HOMES, RESOURCES, ended
from wattgate.app.demo.simulation import HALF_HOUR, half_hour
from wattgate.clock import utc_now
from wattgate.db.meter_network import RegistryNetwork, Value


class SimulatedNetwork(RegistryNetwork):
    """Has every half hour of the demonstration's homes as soon as it has ended."""

    async def readings(self, mpxn: str, classifier: str, after: datetime | None, *, limit: int) -> list[Value]:
        homes = [home for home in HOMES if mpxn in (mpan(home.habits.seed), mprn(home.habits.seed))]
        series = [one for one in RESOURCES if one.classifier == classifier]
        if not homes or not series:
            return await super().readings(mpxn, classifier, after, limit=limit)
        stop = ended(utc_now())
        start = stop - HALF_HOUR if after is None else ended(after) + HALF_HOUR
        count = min(limit, max(0, (stop - start) // HALF_HOUR))
        instants = [start + n * HALF_HOUR for n in range(count)]
        return [Value(at, series[0].value(half_hour(homes[0].habits, at))) for at in instants]
