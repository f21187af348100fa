"""A gateway whose homes are in every state that a display can show, at an instant that the tests choose.

All states come from the gateway itself: its clock is set, so that readings age without waiting, and each home has the
meters, tariffs and readings of its state. Time does not pass on the pages.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from enum import Enum
from pathlib import Path
from types import MappingProxyType

import httpx
from playwright.async_api import Page, expect
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from strawberry import ID

from tests.browser.displays import NO_VALUE
from tests.browser.kept_pages import KeptFiles, KeptPages
from tests.browser.sessions import EMPTY_PAGE
from tests.faults.proxy import Proxy, proxy
from tests.support.display_homes import CARBON, CARBON_STORAGE
from tests.support.house import CALLER_BUDGET
from tests.support.schema import bring_up
from tests.support.servers import serving
from tests.support.timed import Clock
from wattgate.app.demo import network
from wattgate.app.demo import tariffs as demo_tariffs
from wattgate.app.demo.demo_settings import demo_settings
from wattgate.app.demo.seed import last_half_hour_end, simulated_value
from wattgate.app.demo.simulation import HALF_HOUR, Habits, simulate_half_hour
from wattgate.app.homes.request import HomeRequest
from wattgate.app.homes.series import SERIES, find_operation
from wattgate.app.homes.setup import HomeSetup, set_up_home
from wattgate.app.server.factory import create_app
from wattgate.clock import to_ms
from wattgate.energy.meters.meter_messages import ELECTRICITY, EXPORT, GAS
from wattgate.enums import Channel
from wattgate.operations import tariffs
from wattgate.operations.accounts import provisioning
from wattgate.operations.alerts.alerts import send_alert
from wattgate.operations.consent import consent
from wattgate.operations.core.runner import Runner
from wattgate.operations.homes import home_resources, resource_types, resources
from wattgate.operations.readings import recording
from wattgate.operations.types.homes.resources import NewResource, NewResourceType
from wattgate.operations.types.messages.alert_types import NewAlertType
from wattgate.operations.types.messages.alerts import NewAlert
from wattgate.operations.types.meters import readings as types
from wattgate.principal import Principal, Role

APPLICATION, PASSWORD, ALERT_TYPE = "Home display", "correct horse battery", "HIGH-USE"
KWH_TEXT = re.compile(r"^\d[\d.]* kWh$")
LIMITS = re.compile(r"partly without a price, \d+% of the time unknown")
LINK_TIMEOUT_MS = 35_000
"""The time after which a display treats a silent link as lost, as docs/reference/realtime.md says."""

NOW = datetime(2026, 11, 17, 18, 42, 6, tzinfo=UTC)
"""The evening of a Tuesday, while the time-of-use tariff of the demonstration is at its peak."""

USUAL_AGE = timedelta(seconds=6)
"""The age of the newest power of a home that is live."""

MIDNIGHT = datetime(2026, 11, 18, tzinfo=UTC)
MISSING_HOURS = range(3, 5)
HISTORY = timedelta(days=24)
LONG_NAME = "Gartenhaus der Familie Wolkenstein-Trostburg, Obergeschoss links, Seitenflügel"
LONG_TARIFF = "Demonstration Night Saver Plus with Weekend Comfort, Version 14 (Paper Bill)"
LOG_IN = """
mutation ($application: ID!, $username: String!, $password: String!) {
  authenticate(applicationId: $application, username: $username, password: $password) { ... on Login {
    token expiresAt } }
}
"""


class PriceKind(Enum):
    TIME_OF_USE, DYNAMIC, NONE = range(3)


@dataclass(frozen=True, slots=True)
class State:
    """A state of the display: its home, the instant `at`, and texts that the display shows then, by test ID.

    With `of`, the home is that of another state at a later instant, and has the same readings.
    The newest power is `watts`, measured at the `age` before `at`. `carbon` is the carbon intensity of the half hour of
    `at`. `alerts` is the number of unread alerts, and `second_home` the name of another home of the user. In a
    partial state, readings of each day and the newest prices are missing.
    """

    home: str | None = "12 Alder Road"
    watts: int | None = 1620
    age: timedelta = USUAL_AGE
    at: datetime = NOW
    meters: tuple[str, ...] = (ELECTRICITY, GAS)
    prices: PriceKind = PriceKind.TIME_OF_USE
    tariff_name: str = "Night Saver"
    has_history: bool = True
    is_gateway_silent: bool = False
    is_gas_withheld: bool = False
    is_partial: bool = False
    carbon: int | None = None
    alerts: int = 0
    has_live_power: bool = True
    second_home: str | None = None
    of: str | None = None
    shows: Mapping[str, str | re.Pattern[str]] = field(default_factory=dict)


def carbon_text(intensity: int, index: str) -> str:
    return f"Carbon intensity {intensity} g CO\N{SUBSCRIPT TWO}/kWh, {index}"


def later(**age: float) -> datetime:
    """Return the instant at which the newest power of a home that was live has an age."""
    return NOW - USUAL_AGE + timedelta(**age)


STATES: Mapping[str, State] = MappingProxyType(
    {
        "live": State(shows={"connection": "Live", "power": "1.62 kW"}),
        "high": State(watts=9870, second_home="Harbour Cottage", shows={"power": "9.87 kW"}),
        "delayed": State(of="live", at=later(seconds=75), shows={"connection": "Delayed", "power": "1.62 kW"}),
        "stale": State(of="live", at=later(minutes=5), shows={"connection": "Not up to date", "power": NO_VALUE}),
        "offline": State(age=timedelta(hours=3), shows={"connection": "No readings", "power": NO_VALUE}),
        "gateway-killed": State(
            of="live", is_gateway_silent=True, shows={"connection": "Reconnecting", "power": NO_VALUE}
        ),
        "no-tariff": State(
            "Garden Studio",
            310,
            prices=PriceKind.NONE,
            meters=(ELECTRICITY,),
            shows={"today-cost": KWH_TEXT, "history-basis": "No tariff yet"},
        ),
        "no-power": State(
            "Lighthouse", None, shows={"power": re.compile(r"^\d\.\d\d kWh$"), "direction": "Last half hour"}
        ),
        "recorded": State(
            "Lock-keeper's House",
            None,
            has_live_power=False,
            shows={
                "connection": re.compile(r"^Readings to \d\d:\d\d$"),
                "direction": "Last half hour",
                "power": re.compile(r"^0\.\d\d kWh$"),
                "hourly": re.compile(r"^\d\d:\d\d – \d\d:\d\d$"),
                "ambient": re.compile(r"than usual|[Aa]s usual"),
                "explanation": re.compile(r"Usual by \d\d:\d\d: .* kWh, the mean of 7 days\. \d+% of today"),
            },
        ),
        "recorded-morning": State("Old Bakery", None, at=NOW - timedelta(hours=10), has_live_power=False),
        "recorded-new": State(
            "Boathouse",
            None,
            has_live_power=False,
            has_history=False,
            shows={"connection": "No readings", "power": NO_VALUE},
        ),
        "no-gas": State("Flat 5, Mill Court", 240, prices=PriceKind.DYNAMIC, meters=(ELECTRICITY,)),
        "export": State("Harbour Cottage", -1850, meters=(ELECTRICITY, EXPORT), shows={"direction": "Exporting"}),
        "no-home": State(None, None),
        "new-home": State(
            "New home",
            None,
            has_history=False,
            shows={"power": NO_VALUE, "today-energy": NO_VALUE, "chart-notice": "No readings yet"},
        ),
        "first-minute": State(watts=320, at=MIDNIGHT + timedelta(seconds=20), shows={"today-complete-to": ""}),
        "alert": State(alerts=3),
        "long-names": State(LONG_NAME, 12_340, meters=(ELECTRICITY, GAS, EXPORT), tariff_name=LONG_TARIFF, alerts=120),
        "withheld": State("Forge", 655, is_gas_withheld=True),
        "partial": State(
            "Tide Mill",
            720,
            prices=PriceKind.DYNAMIC,
            is_partial=True,
            alerts=1,
            shows={"today": LIMITS, "month": LIMITS},
        ),
        "partial-withheld": State(
            "Wind Farm", 720, prices=PriceKind.DYNAMIC, is_partial=True, is_gas_withheld=True, shows={"today": LIMITS}
        ),
        "carbon": State("Windmill", 480, carbon=342, shows={"carbon": carbon_text(342, "very high")}),
        "carbon-without-tariff": State(
            "Watermill",
            290,
            prices=PriceKind.NONE,
            meters=(ELECTRICITY,),
            carbon=142,
            shows={"carbon": carbon_text(142, "moderate"), "rate": NO_VALUE},
        ),
    }
)


class DatedByClock:
    """An application whose responses have the time of a clock in their Date header, as a gateway's have.

    The files of pages have no date, so that the browser keeps them whatever the clock says.
    """

    def __init__(self, application: ASGIApp, clock: Clock) -> None:
        self._application = application
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Date"] = format_datetime(self._clock(), usegmt=True)
            await send(message)

        is_file = scope["type"] == "http" and scope["path"].startswith("/static/")
        await self._application(scope, receive, send if is_file else send_dated)


@dataclass
class StatefulHomes:
    """A served gateway with a user and a home for each state, behind a proxy that can stop answering."""

    runner: Runner
    clock: Clock
    proxy: Proxy
    system: Principal
    stored: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.proxy.port}"

    @asynccontextmanager
    async def open(self, pages: KeptPages, name: str) -> AsyncIterator[Page]:
        """Open a display in a state on one of the kept pages, all of which have a clock. Time does not pass on it."""
        state, owner = STATES[name], STATES[name].of or name
        if owner not in self.stored:
            self.clock.now = STATES[owner].at
            self.stored[owner] = await self._add_user(owner, STATES[owner])
        self.clock.now = state.at
        async with pages.page() as page:
            await page.goto(EMPTY_PAGE)
            await page.evaluate("stored => Object.assign(localStorage, stored)", self.stored[owner])
            await page.clock.install(time=state.at - timedelta(seconds=1))
            await page.clock.pause_at(state.at)
            try:
                await page.goto("/display")
                await self._settle(page, state)
                yield page
            finally:
                self.proxy.thaw()
                for link in list(self.proxy.links):  # the browser uses no connection again that has stopped
                    link.cut()

    async def _settle(self, page: Page, state: State) -> None:
        """Wait until the page shows all of the state."""
        if state.home is None:
            await expect(page.get_by_test_id("no-homes")).to_be_visible()
        else:
            await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")
            await expect(page.locator(".history")).to_have_attribute("aria-busy", "false")
        if state.is_gateway_silent:
            self.proxy.freeze()
            await page.clock.run_for(LINK_TIMEOUT_MS)
        for test_id, text in state.shows.items():
            await expect(page.get_by_test_id(test_id)).to_have_text(text)
        await page.evaluate("() => document.fonts.ready.then(() => null)")

    async def _add_user(self, name: str, state: State) -> dict[str, str]:
        """Add the user of a state with its homes, and return what the browser of the user stores."""
        username = f"{name}@wattgate.example"
        if state.home is None:
            user = {"username": username, "password": PASSWORD}
            await self.runner.run(provisioning.create_user, self.system, user)
            return {"wattgate.session": await self._log_in(username)}
        number = 300 + 2 * list(STATES).index(name)
        ve_id = await self._add_home(username, number, state.home, state)
        if state.second_home is not None:
            await self._add_home(username, number + 1, state.second_home, State(has_history=False, watts=None))
        return {"wattgate.session": await self._log_in(username), "wattgate.home": ve_id}

    async def _add_home(self, username: str, number: int, name: str, state: State) -> str:
        """Add a home with the meters, tariffs and readings of a state. Return its ID."""
        points = {ELECTRICITY: network.mpan(number), GAS: network.mprn(number), EXPORT: network.mpan(number + 100)}
        request = HomeRequest(
            application=APPLICATION,
            username=username,
            name=name,
            time_zone="Europe/London",
            meter_points={classifier: points[classifier] for classifier in state.meters},
            currency="GBP",
            live=state.has_live_power,
            tariffs=(),
            warnings=(),
        )
        setup = HomeSetup()
        await set_up_home(self.runner, request, setup, lambda: PASSWORD, lambda: "http://localhost/display")
        ids = {record.name: record.record_id for record in setup.records if record.kind == "resource"}
        user_id = next(record.record_id for record in setup.records if record.kind == "user")
        owner = replace(self.system, user_id=user_id)
        for point in request.meter_points.values():
            await self.runner.run(consent.verify_meter_point, owner, {"mpxn": point})
        if state.is_gas_withheld:
            await self.runner.run(consent.revoke_consents, owner, {"mpxns": [points[GAS]]})
        await self._add_tariffs(state, ids)
        if state.carbon is not None:
            await self._add_carbon(owner, setup.ve_id, state.carbon, last_half_hour_end(state.at))
        if state.has_history:
            habits = Habits(seed=number, electricity=9.0, gas_heating=6.0, solar=3.0)
            await self._add_history(ids, habits, state.at, MISSING_HOURS if state.is_partial else range(0))
        if state.watts is not None:
            await self._record(ids[ELECTRICITY], state.watts, state.at - state.age)
        for _ in range(state.alerts):
            await self.runner.run(send_alert, owner, {"input": new_alert(user_id)})
        return setup.ve_id

    async def _log_in(self, username: str) -> str:
        """Return the session of a new log-in as the page stores it."""
        variables = {"application": self.system.application_id, "username": username, "password": PASSWORD}
        async with httpx.AsyncClient(base_url=self.url) as http:
            answer = await http.post("/graphql", json={"query": LOG_IN, "variables": variables})
        login = answer.json()["data"]["authenticate"]
        times = {"since": to_ms(self.clock.now), "expires": to_ms(datetime.fromisoformat(login["expiresAt"]))}
        return json.dumps({"token": login["token"], **times})

    async def _add_tariffs(self, state: State, ids: Mapping[str, str]) -> None:
        if state.prices is PriceKind.NONE:
            return
        is_dynamic = state.prices is PriceKind.DYNAMIC
        build = demo_tariffs.half_hourly_tariffs if is_dynamic else demo_tariffs.night_saver_tariffs
        new_tariffs = build(ids[ELECTRICITY]) + (demo_tariffs.gas_tariffs(ids[GAS]) if GAS in ids else [])
        for new_tariff in new_tariffs:
            named = replace(new_tariff, name=state.tariff_name)
            tariff = await self.runner.run(tariffs.set_tariff, self.system, {"input": named})
            if is_dynamic and new_tariff.resource_id == ids[ELECTRICITY]:
                stop = demo_tariffs.priced_until(state.at)
                start = last_half_hour_end(state.at) - HISTORY
                if state.is_partial:
                    stop = state.at.replace(hour=12, minute=0, second=0)
                await demo_tariffs.fill_prices(self.runner, self.system, tariff.tariff_id, start, stop)

    async def _add_carbon(self, owner: Principal, ve_id: str, intensity: int, start: datetime) -> None:
        """Add a series of the carbon intensity to a home, with the value of a half hour."""
        new_type = NewResourceType(name=ve_id, classifier=CARBON, storage=CARBON_STORAGE, base_unit="gCO2/kWh")
        resource_type = await self.runner.run(resource_types.add_resource_type, self.system, {"input": new_type})
        new_resource = NewResource(resource_type_id=ID(resource_type.resource_type_id), name="carbon intensity")
        resource = await self.runner.run(resources.add_resource, owner, {"input": new_resource})
        added = {"ve_id": ID(ve_id), "resource_id": ID(resource.resource_id)}
        await self.runner.run(home_resources.add_virtual_entity_resource, owner, added)
        reading = types.NewReading(at=start, value=Decimal(intensity))
        series = types.NewReadings(resource_id=ID(resource.resource_id), readings=[reading])
        await self.runner.run(recording.record_readings, self.system, {"series": [series]})

    async def _add_history(self, ids: Mapping[str, str], habits: Habits, now: datetime, missing_hours: range) -> None:
        """Record the half hours until now, without those in the missing hours of each day."""
        end = last_half_hour_end(now)
        starts = [end - HISTORY + index * HALF_HOUR for index in range(HISTORY // HALF_HOUR)]
        starts = [start for start in starts if start.hour not in missing_hours]
        half_hours = [simulate_half_hour(habits, start) for start in starts]
        for series in SERIES:
            if series.classifier in ids and not series.is_cost:
                values = [simulated_value(series, half_hour) for half_hour in half_hours]
                columns = types.NewReadingColumns(resource_id=ID(ids[series.classifier]), at=starts, value=values)
                await self.runner.run(recording.record_reading_columns, self.system, {"series": [columns]})

    async def _record(self, resource_id: str, watts: int, at: datetime) -> None:
        reading = types.NewReading(at=at, value=Decimal(watts))
        series = types.NewReadings(resource_id=ID(resource_id), field="POWER", readings=[reading])
        await self.runner.run(recording.record_readings, self.system, {"series": [series]})


def new_alert(user_id: str) -> NewAlert:
    return NewAlert(user_id=ID(user_id), alert_type_id=ALERT_TYPE, channels=[Channel.INBOX])


@asynccontextmanager
async def stateful_homes(folder: Path) -> AsyncIterator[StatefulHomes]:
    """Serve a gateway for the states. Each home is added when a test first opens it."""
    clock = Clock()
    clock.now = NOW
    settings = demo_settings(folder).model_copy(update={"caller_budget": CALLER_BUDGET})
    application = create_app(settings, clock=clock)
    gateway = application.state.gateway
    await bring_up(gateway.database)
    system = Principal(Role.SYSTEM)
    created = await gateway.runner.run(
        provisioning.create_application, system, {"name": APPLICATION, "username": "states"}
    )
    system = replace(system, application_id=created.application_id)
    await gateway.runner.run(
        find_operation("add_alert_type"),
        system,
        {"input": NewAlertType(system_alert_type_id=ALERT_TYPE, name="High use")},
    )
    async with (
        serving(KeptFiles(DatedByClock(application, clock)), date_header=False) as url,
        proxy(int(url.rsplit(":", 1)[1])) as opened,
    ):
        yield StatefulHomes(gateway.runner, clock, opened, system)
