"""The demonstration's homes with meters that send only what a test has them send, and a way to them that can be cut."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

from strawberry import ID

from tests.support.demonstration import demonstration
from tests.support.house import CALLER_BUDGET
from tests.support.servers import Relay, serving
from wattgate.app.demo import seed
from wattgate.app.server.factory import create_app
from wattgate.clock import utc_now
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers.recording import record_readings
from wattgate.graphql.types import readings as types

HISTORY = timedelta(days=9)
FIRST, SECOND = "12 Alder Road", "Harbour Cottage"


@dataclass
class StillHome:
    """The homes of the demonstration, behind a relay; `meters` are the resources of their electricity by home."""

    runner: Runner
    relay: Relay
    meters: dict[str, str]

    @property
    def url(self) -> str:
        return self.relay.url

    async def send_power(self, watts: int, at: datetime | None = None, home: str = FIRST) -> None:
        """Let a home's meter send a power, measured now or at that instant."""
        reading = types.NewReading(at=at or utc_now(), value=Decimal(watts))
        series = types.NewReadings(resource_id=ID(self.meters[home]), field="POWER", readings=[reading])
        await self.runner.run(record_readings, seed.SYSTEM, {"series": [series]})


@asynccontextmanager
async def still_home(folder: Path) -> AsyncIterator[StillHome]:
    """Serve the home, with nine days of history."""
    settings, homes = await demonstration(folder, HISTORY)
    settings = settings.model_copy(update={"caller_budget": CALLER_BUDGET})  # months of reconnects take minutes here
    runners: list[Runner] = []

    async def take(runner: Runner) -> None:
        runners.append(runner)

    async with serving(create_app(settings, background=[take])) as url:
        relay = Relay(url)
        await relay.open()
        meters = {one.home.name: one.resource_ids["electricity.consumption"] for one in homes}
        yield StillHome(runners[0], relay, meters)
        await relay.cut()
