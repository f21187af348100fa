"""The demonstration's homes with meters that tests control, behind a relay that tests can cut."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page
from starlette.types import ASGIApp
from strawberry import ID

from tests.browser.displays import WITHOUT_WORKER
from tests.browser.kept_pages import KeptFiles, KeptPages, kept_pages
from tests.support.demonstration import demonstration
from tests.support.house import CALLER_BUDGET
from tests.support.servers import Relay, serving
from wattgate.app.demo import demo_settings, seed
from wattgate.app.server.factory import create_app
from wattgate.clock import utc_now
from wattgate.operations.core.runner import Runner
from wattgate.operations.readings.recording import record_readings
from wattgate.operations.types.meters import readings as types

HISTORY = timedelta(days=9)
FIRST_HOME, SECOND_HOME = "12 Alder Road", "Harbour Cottage"


@dataclass
class ControlledHomes:
    """The demonstration's homes behind a relay. `meters` has the electricity resource ID of each home by name."""

    runner: Runner
    relay: Relay
    meters: dict[str, str]
    database_url: str

    @property
    def url(self) -> str:
        return self.relay.url

    async def send_power(self, watts: int, at: datetime | None = None, home: str = FIRST_HOME) -> None:
        """Record a power reading of a home in W, measured now or at `at`."""
        reading = types.NewReading(at=at or utc_now(), value=Decimal(watts))
        series = types.NewReadings(resource_id=ID(self.meters[home]), field="POWER", readings=[reading])
        await self.runner.run(record_readings, seed.SYSTEM_PRINCIPAL, {"series": [series]})

    @asynccontextmanager
    async def page(self, browser: Browser, **options: Any) -> AsyncIterator[Page]:
        """Open an empty page of the size of a wall display, after a first reading of 500 W.

        The options are those of a browser context.
        """
        context = await browser.new_context(
            **{"base_url": self.url, "viewport": {"width": 1024, "height": 600}, **WITHOUT_WORKER, **options}
        )
        await self.send_power(500)
        yield await context.new_page()
        await context.close()

    @asynccontextmanager
    async def kept_pages(self, browser: Browser) -> AsyncIterator[KeptPages]:
        """Yield pages of the size of a wall display that tests use one after another, see `lent_page`."""
        async with kept_pages(browser, (1024, 600), base_url=self.url, **WITHOUT_WORKER) as pages:
            yield pages

    @asynccontextmanager
    async def lent_page(self, pages: KeptPages) -> AsyncIterator[Page]:
        """Yield one of these pages, after a reading of 500 W."""
        await self.send_power(500)
        async with pages.page() as page:
            yield page


@asynccontextmanager
async def controlled_homes(
    folder: Path, wrap: Callable[[ASGIApp], ASGIApp] = KeptFiles, *, at_midday: bool = False
) -> AsyncIterator[ControlledHomes]:
    """Serve the homes with nine days of history, `at_midday` if it matters to the test: see `demonstration`.

    `wrap` may put an application around the gateway.
    """
    settings, homes = await demonstration(folder, HISTORY, at_midday=at_midday)
    settings = settings.model_copy(update={"caller_budget": CALLER_BUDGET})  # the reconnect test needs a larger budget
    runners: list[Runner] = []

    async def note_runner(runner: Runner) -> None:
        runners.append(runner)

    gateway = create_app(settings, background=[note_runner], demonstration=demo_settings.describe_demonstration())
    async with serving(wrap(gateway)) as url:
        relay = Relay(url)
        await relay.open()
        meters = {home.home.name: home.resource_ids["electricity.consumption"] for home in homes}
        yield ControlledHomes(runners[0], relay, meters, settings.database_url)
        await relay.cut()
