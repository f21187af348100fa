"""`wattgate tariff prices` and `tariff fetch`: prices of a price source, in a home's dynamic tariff."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from strawberry import ID

from tests.price_sources.test_answers import ANSWERS
from tests.support.command import wattgate_in
from tests.support.house import TARIFF_START, Tenant, tenant_on
from wattgate.clock import TimeRange
from wattgate.enums import Period, TariffKind
from wattgate.operations.core.fields import find_edge
from wattgate.operations.types.homes.resources import Resource
from wattgate.operations.types.homes.virtual_entities import VirtualEntityChange
from wattgate.operations.types.meters.tariffs import NewTariff, Tariff
from wattgate.operations.vocabulary.scalars import Currency

pytestmark = pytest.mark.either_database("reads and writes prices by the operations")

NIGHT = datetime(2026, 10, 25, tzinfo=UTC)
TOKEN = "secret-of-a-customer"
Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
async def tenant(database_url: str) -> AsyncIterator[Tenant]:
    async with tenant_on(database_url) as tenant:
        yield tenant


@pytest.fixture
def run(database_url: str, tmp_path: Path) -> Run:
    settings = {"DATABASE_URL": database_url, "CALLOUT_NETWORKS": '["127.0.0.0/8"]', "CALLOUT_HTTP": "true"}
    return partial(wattgate_in, tmp_path, "tariff", **settings)


async def set_dynamic_tariff(tenant: Tenant, period: Period = Period.PT15M, **terms: Any) -> None:
    given = {"currency": Currency("EUR"), "time_zone": "Europe/Brussels", "valid_from": TARIFF_START, **terms}
    tariff = NewTariff(
        resource_id=ID(tenant.ids["resource"]), name="Spot", kind=TariffKind.DYNAMIC, price_period=period, **given
    )
    await tenant.run("set_tariff", input=tariff)


async def rates(tenant: Tenant, start: datetime = NIGHT, tariff: int = 0) -> list[tuple[str, Decimal]]:
    """Return the stored prices of four hours, each with its time in UTC. Tariff 0 is the newest one."""
    load = tenant.gateway.runner.load
    row = await tenant.run("resource", resource_id=tenant.ids["resource"])
    (tariffs,) = await load(find_edge(Resource, "tariffs"), tenant.system, [row], {"upcoming": True})
    arguments = {"range": TimeRange(start=start, end=start + timedelta(hours=4))}
    (prices,) = await load(find_edge(Tariff, "prices"), tenant.system, [tariffs[tariff]], arguments)
    return [(f"{price.at:%H:%M}", price.rate) for price in prices]


def by_time(*hours: tuple[int, str]) -> list[tuple[str, Decimal]]:
    return [(f"{hour:02}:{minute:02}", Decimal(rate)) for hour, rate in hours for minute in (0, 15, 30, 45)]


async def test_hourly_prices_become_quarter_hours_and_a_correction_replaces_them(tenant: Tenant, run: Run) -> None:
    await set_dynamic_tariff(tenant)
    options = ("--source", "awattar", "--home", "Home")
    tried = run("prices", str(ANSWERS / "awattar.json"), *options, "--dry-run")
    assert tried.returncode == 0, tried.stderr
    assert tried.stdout.splitlines() == [
        "3 prices of 2026-10-25T00:00Z to 2026-10-25T04:00Z, -0.00821 to 0.0933 EUR for a kWh, 0 unclear, 1 gaps",
        "no price: 2026-10-25T02:00Z to 2026-10-25T03:00Z",
    ]
    assert await rates(tenant) == []
    stored = run("prices", str(ANSWERS / "awattar.json"), *options)
    assert (stored.returncode, stored.stdout.splitlines()[-1]) == (0, "12 prices set, 0 refused")
    assert await rates(tenant) == by_time((0, "0.0933"), (1, "-0.00821"), (3, "0.055"))
    assert run("prices", str(ANSWERS / "awattar-corrected.json"), *options).returncode == 0
    assert await rates(tenant) == by_time((0, "0.0941"), (1, "-0.00821"), (3, "0.055"))


async def test_prices_that_the_tariff_cannot_have_are_refused(tenant: Tenant, run: Run) -> None:
    answer = str(ANSWERS / "energy-charts.json")
    options = ("--source", "energy-charts", "--home", "Home")
    without = run("prices", answer, *options)
    assert without.returncode == 1
    span = "2026-10-25T00:00Z to 2026-10-25T00:15Z"
    assert f"{span}: the home has no dynamic tariff of {span}" in without.stderr
    await set_dynamic_tariff(tenant, Period.PT30M)
    finer = run("prices", answer, *options)
    assert (finer.returncode, finer.stdout.splitlines()[-1]) == (1, "0 prices set, 12 refused")
    assert "holds for 15 minutes, and prices of the tariff for 30. Set its `pricePeriod`" in finer.stderr
    await set_dynamic_tariff(tenant, currency=Currency("NOK"), vat_percent=Decimal(25))
    other = run("prices", answer, *options)
    assert (other.returncode, other.stdout.splitlines()[-1]) == (1, "0 prices set, 12 refused")
    assert "currency: is EUR, and the tariff is in NOK" in other.stderr
    twice = run(
        "prices", str(ANSWERS / "tibber.json"), "--source", "tibber", "--home", "Home",
        "--parameter", "currency=NOK", "--parameter", "day=today",
    )  # fmt: skip
    assert twice.returncode == 1
    assert "The prices include VAT, and the tariff 'Spot' adds 25 %. Set a tariff with `vatPercent` 0" in twice.stderr
    assert await rates(tenant) == []


async def test_price_that_is_longer_than_its_tariff_is_stored_from_the_start_of_the_tariff_on(
    tenant: Tenant, run: Run
) -> None:
    await set_dynamic_tariff(tenant, valid_from=NIGHT + timedelta(minutes=30))
    await set_dynamic_tariff(tenant, Period.PT1H, valid_from=NIGHT + timedelta(minutes=90))
    result = run("prices", str(ANSWERS / "awattar.json"), "--source", "awattar", "--home", "Home")
    assert (result.returncode, result.stdout.splitlines()[-1]) == (1, "6 prices set, 1 refused")
    without = "the home has no dynamic tariff of 2026-10-25T00:00Z to 2026-10-25T00:30Z"
    assert f"2026-10-25T00:00Z to 2026-10-25T01:00Z: {without}" in result.stderr
    first, second = Decimal("0.0933"), Decimal("-0.00821")
    assert await rates(tenant, tariff=1) == [("00:30", first), ("00:45", first), ("01:00", second), ("01:15", second)]
    assert await rates(tenant) == [("01:00", second), ("03:00", Decimal("0.055"))]  # it is valid from 01:30 on


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--source", "octopuss"), "There is no price source 'octopuss'. Use one of: amber, awattar"),
        (
            ("--source", "tibber"),
            "The price source tibber needs --parameter currency=VALUE: currency of the subscription",
        ),
        (("--source", "awattar", "--parameter", "zone=AT"), "The price source awattar has no parameter 'zone'"),
        (("--source", "awattar", "--parameter", "zone"), "'zone' is not NAME=VALUE"),
        (("--source", "awattar", "--gas", "--export"), "Use only one of --gas and --export"),
        (("--source", "octopus"), "The answer has no prices at 'results', where octopus has them"),
        (("--source", "awattar", "--gas"), "has no resource gas.consumption"),
    ],
)
def test_mistake_is_named(tenant: Tenant, run: Run, arguments: tuple[str, ...], message: str) -> None:
    result = run("prices", str(ANSWERS / "awattar.json"), "--home", "Home", *arguments)
    assert result.returncode in (1, 2)
    assert message in " ".join(result.stderr.replace("│", " ").split())


SHOWN = ("Authorization", "Days")


@contextmanager
def market(answers: dict[str, tuple[int, bytes]]) -> Iterator[tuple[str, list[str]]]:
    """Serve answers by their paths with queries.

    Yield the address, and the list of requests, each with its token, and its days and body if it has them.
    """
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            asked.append(" ".join([self.path, *(self.headers.get(name, "") for name in SHOWN), body]).strip())
            status, content = answers.get(self.path, (404, b"no such path"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


OWN_SOURCE = """
title = "Own market"
format = "json"
currency = "EUR"
factor = "0.001"
vat = "excluded"
times = "milliseconds"
[parameters]
token = "token of the customer"
[request]
url = "ADDRESS/prices?from={start}&to={end}"
times = "compact"
headers = { Authorization = "Bearer {token}" }
next = "next"
max_days = 1
pause_seconds = 0
[prices]
rows = "data"
start = "start_timestamp"
end = "end_timestamp"
price = "marketprice"
"""


def page(*hours: int, next_page: str = "null") -> bytes:
    rows = [
        f'{{"start_timestamp": {start}, "end_timestamp": {start + 3_600_000}, "marketprice": {hour}.5}}'
        for hour in hours
        for start in [int((NIGHT + timedelta(hours=hour)).timestamp() * 1000)]
    ]
    return f'{{"data": [{", ".join(rows)}], "next": {next_page}}}'.encode()


async def test_source_of_your_own_gets_a_request_for_each_day_and_page(
    tenant: Tenant, run: Run, tmp_path: Path
) -> None:
    await set_dynamic_tariff(tenant, Period.PT1H)
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    first, second = (
        "/prices?from=202610242200&to=202610252300",  # the day of the clock change has 25 hours
        "/prices?from=202610252300&to=202610262300",
    )
    answers = {second: (200, page(3)), "/more": (200, page(1, 2))}
    with market(answers) as (address, asked):
        (tmp_path / "own.toml").write_text(OWN_SOURCE.replace("ADDRESS", address))
        answers[first] = (200, page(0, next_page=f'"{address}/more"'))
        options = ("--source", "own.toml", "--home", "Home", "--parameter", "token=@token", "--from", "2026-10-25")
        change = VirtualEntityChange(time_zone="Europe/Brussels")
        await tenant.run("update_virtual_entity", ve_id=ID(tenant.ids["virtual_entity"]), input=change)
        result = run("fetch", *options)
        assert result.returncode == 0, result.stderr
        assert asked == [f"{path} Bearer {TOKEN}" for path in (first, "/more", second)]
        assert await rates(tenant) == [
            (f"0{hour}:00", Decimal(rate)) for hour, rate in enumerate(("0.0005", "0.0015", "0.0025", "0.0035"))
        ]
        answers[first] = (200, page(0, next_page='"http://127.0.0.2:1/more"'))
        elsewhere = run("fetch", *options)
        assert "The next page of own is at another host, which is not asked." in elsewhere.stderr
        answers[first] = (429, b"slow down")
        limited = run("fetch", *options)
        assert limited.returncode == 1
        assert "127.0.0.1 of the price source own answered with status 429: 'slow down'." in limited.stderr
        assert TOKEN not in result.stdout + result.stderr + limited.stderr + elsewhere.stderr
    stopped = run("fetch", *options)
    assert "127.0.0.1 of the price source own did not answer" in stopped.stderr


async def test_pages_that_contradict_each_other_are_refused_and_a_body_names_the_time(
    tenant: Tenant, run: Run, tmp_path: Path
) -> None:
    await set_dynamic_tariff(tenant, Period.PT1H)
    query = 'url = "ADDRESS/prices"\nbody = "{start} to {end}"'
    source = OWN_SOURCE.replace('url = "ADDRESS/prices?from={start}&to={end}"', query)
    source = source.replace('Bearer {token}" }', 'Bearer {token}", Days = "{start}-{end}" }')
    answers = {"/more": (200, page(0, 1).replace(b"0.5", b"70"))}
    with market(answers) as (address, asked):
        (tmp_path / "own.toml").write_text(source.replace("ADDRESS", address))
        answers["/prices"] = (200, page(0, 2, next_page=f'"{address}/more"'))
        options = ("--source", "own.toml", "--home", "Home", "--parameter", f"token={TOKEN}", "--from", "2026-10-25")
        result = run("fetch", *options, "--days", "1")
    first, last = "202610242300", "202610260000"
    assert asked == [f"{path} Bearer {TOKEN} {first}-{last} {first} to {last}" for path in ("/prices", "/more")]
    assert (result.returncode, result.stdout.splitlines()[-1]) == (1, "2 prices set, 1 refused")
    assert "two prices hold at 2026-10-25T00:00:00+00:00: 0.0005 and 0.07" in result.stdout
    assert await rates(tenant) == [("01:00", Decimal("0.0015")), ("02:00", Decimal("0.0025"))]
