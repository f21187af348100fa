"""Published exporters read the whole history of a home at once. The default budgets allow it, and stop a flood."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import ceil

import httpx
import pytest
from glowmarkt import PT30M, BrightClient

from tests.support.house import PASSWORD, House, house, operation
from tests.support.reference_pages import LIMITS_PAGE
from tests.support.servers import ON_SQLITE_ONLY, Databases
from wattgate.app.settings import Settings
from wattgate.enums import Period
from wattgate.operations.vocabulary.cost_weights import UNIT_MICROSECONDS
from wattgate.rate_limit.scopes import ACCOUNT_LOGIN_FACTOR
from wattgate.rest_compat.call_charge import cost_of_call

CALLER_BUDGET = Settings.model_fields["caller_budget"].default
CALLER_SECONDS = Settings.model_fields["caller_budget_seconds"].default
APPLICATION_BUDGET = Settings.model_fields["application_budget"].default
APPLICATION_SECONDS = Settings.model_fields["budget_seconds"].default

SINCE_2021 = datetime(2021, 5, 1, 9, tzinfo=UTC)
"""From here, the script glowmarkt-csv sends all requests at once and waits for none of them."""

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
THIRTEEN_MONTHS_AGO = NOW - timedelta(days=400)
ALL_OF_A_HOME = ("electricity consumption", "electricity cost", "gas consumption", "gas cost")
READING_TIMES = [SINCE_2021 + timedelta(days=200) * number for number in range(10)]


def windows(start: datetime, end: datetime, days: int) -> Iterator[tuple[datetime, datetime]]:
    """Yield the windows in which exporters divide a range, since a request may span so many days."""
    edges = [start]
    while edges[-1] < end:
        edges.append(edges[-1] + timedelta(days=days))
    yield from pairwise(edges)


@dataclass(frozen=True)
class History:
    """The requests of an exporter for the history of a home. `row` is the start of its row in the documentation."""

    row: str
    start: datetime
    period: Period
    days: int
    resources: int

    @property
    def documented_row(self) -> str:
        operation_of_path = operation("readings")
        costs = [
            cost_of_call(
                operation_of_path, {"range": {"start": start, "end": end}, "period": self.period, "field": None}
            )
            for start, end in windows(self.start, NOW, self.days)
        ]
        requests, (cost,) = len(costs) * self.resources, set(costs)
        return f"| {self.row} | {self.days} days | {requests:,} | {cost:,} | {requests * cost:,} |"


HISTORIES = [
    History("half hours of 4 resources, 5.5 years", SINCE_2021, Period.PT30M, 10, 4),
    History("half hours of 4 resources, 13 months", THIRTEEN_MONTHS_AGO, Period.PT30M, 10, 4),
    History("minutes of 1 resource, 13 months", THIRTEEN_MONTHS_AGO, Period.PT1M, 2, 1),
]


def test_default_budget_of_a_login_covers_a_whole_history() -> None:
    rows = [history.documented_row for history in HISTORIES]
    table = LIMITS_PAGE.read_text().partition("<!-- histories -->")[2].partition("<!-- end of histories -->")[0]
    assert table.strip().splitlines()[2:] == rows
    costs = [int(row.split("|")[5].replace(",", "")) for row in rows]
    assert max(costs) <= CALLER_BUDGET


def test_higher_burst_adds_no_sustained_load() -> None:
    """The numbers of the documentation: 2.5 % of a processor for a login, and 25 accounts for an application."""
    refill = CALLER_BUDGET / CALLER_SECONDS
    assert refill * UNIT_MICROSECONDS * 1e-6 == pytest.approx(0.025)
    assert 5 * ACCOUNT_LOGIN_FACTOR * CALLER_BUDGET == APPLICATION_BUDGET
    assert 25 * ACCOUNT_LOGIN_FACTOR * refill == pytest.approx(APPLICATION_BUDGET / APPLICATION_SECONDS)


@pytest.fixture(scope="module")
async def exported(databases: Databases) -> AsyncIterator[tuple[House, dict[str, str]]]:
    """A gateway with the default budgets, and the resources of a home by name."""
    async with databases() as url, house(url, caller_budget=CALLER_BUDGET) as served:
        resources = {name: await served.one.add_resource(name) for name in ALL_OF_A_HOME}
        await served.one.add_home(*resources.values())
        for resource_id in resources.values():
            await served.one.record(resource_id, *((at, "0.5") for at in READING_TIMES))
        yield served, resources


async def request_window(
    http: httpx.AsyncClient, path: str, headers: dict[str, str], window: tuple[datetime, datetime], period: str = PT30M
) -> httpx.Response:
    start, end = (at.strftime("%Y-%m-%dT%H:%M:%S") for at in window)
    query = {"period": period, "function": "sum", "from": start, "to": end, "offset": "0"}
    return await http.get(path, params=query, headers=headers)


@pytest.mark.long("sends a flood of requests; an exporter with thirteen months stays in the short form")
@ON_SQLITE_ONLY
async def test_exporter_that_sends_all_requests_at_once_gets_every_reading(
    exported: tuple[House, dict[str, str]],
) -> None:
    """The script glowmarkt-csv sends them in this way, and writes a hole for each request that fails."""
    served, resources = exported
    headers = {"token": await served.one.add_token(), "applicationId": served.one.application_id}
    path = f"{served.rest}/resource/{resources['electricity consumption']}/readings"
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=None), timeout=60) as http:
        requests = [
            request_window(http, path, headers, window, "PT1M") for window in windows(THIRTEEN_MONTHS_AGO, NOW, 2)
        ]
        responses = await asyncio.gather(*requests)
    assert [response.status_code for response in responses] == [200] * 200
    known = {at for response in responses for at, value in response.json()["data"] if value}
    assert known == {int(at.timestamp()) for at in READING_TIMES if at >= THIRTEEN_MONTHS_AGO}


class Client(BrightClient):  # type: ignore[misc] # it has no types
    """The published client with another URL."""

    def __init__(self, house: House) -> None:
        self._base, self._application = f"{house.rest}/", house.one.application_id
        super().__init__(house.one.username, PASSWORD)

    url = property(lambda self: self._base, lambda self, written: None)
    application = property(lambda self: self._application, lambda self, written: None)


def export(house: House) -> dict[str, int]:
    """Read 13 months of half hours of each resource of the new home, and return the number of values by name."""
    entity = Client(house).get_virtual_entities()[-1]
    return {
        resource.name: sum(
            len(resource.get_readings(*window, PT30M, "sum", True)) for window in windows(THIRTEEN_MONTHS_AGO, NOW, 10)
        )
        for resource in entity.get_resources()
    }


@ON_SQLITE_ONLY
async def test_pyglowmarkt_reads_thirteen_months_without_a_wait(
    exported: tuple[House, dict[str, str]],
) -> None:
    """The client raises RuntimeError for every other status than 200."""
    served, _ = exported
    recent = [at for at in READING_TIMES if at >= THIRTEEN_MONTHS_AGO]
    assert await asyncio.to_thread(export, served) == dict.fromkeys(ALL_OF_A_HOME, len(recent))


@pytest.mark.long("sends a flood of requests; an exporter with thirteen months stays in the short form")
@ON_SQLITE_ONLY
async def test_flood_of_a_login_is_stopped_and_other_logins_continue(
    exported: tuple[House, dict[str, str]],
) -> None:
    served, resources = exported
    headers = {"token": await served.one.add_token(), "applicationId": served.one.application_id}
    path = f"{served.rest}/resource/{resources['gas consumption']}/readings"
    window = (NOW - timedelta(days=3), NOW)
    largest = cost_of_call(
        operation("readings"), {"range": {"start": window[0], "end": NOW}, "period": Period.PT1M, "field": None}
    )
    refused = None
    for _ in range(2 * CALLER_BUDGET // largest):  # twice what the full budget allows: it refills meanwhile
        response = await request_window(served.http, path, headers, window, "PT1M")
        if response.status_code == 429:
            refused = response
            break
    assert refused is not None
    assert (refused.json()["code"], refused.json()["retryable"]) == ("RATE_LIMITED", True)
    assert refused.headers["RateLimit-Policy"] == f'"login";q={CALLER_BUDGET};w={CALLER_SECONDS}'
    assert 1 <= int(refused.headers["Retry-After"]) <= ceil(largest * CALLER_SECONDS / CALLER_BUDGET)
    other_login = await served.http.get(path.removesuffix("/readings"), headers=served.one.headers["account"])
    assert other_login.status_code == 200
