"""Starts of the demonstration on the same database: repeated, interrupted, and at later times."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.engine import make_url
from sqlmodel import SQLModel

from tests.support.filled_databases import copy_filled
from tests.support.schema import bring_up
from tests.support.servers import Databases
from wattgate.app.demo import seed
from wattgate.app.demo.demo_settings import demo_settings
from wattgate.app.demo.flexibility import EVENT_DURATION, MIN_NOTICE, keep_event_open, next_event_start
from wattgate.app.demo.logins import NEIGHBOUR_USERNAME, USERNAME
from wattgate.app.demo.seed import MIN_REMAINING
from wattgate.app.demo.simulation import HALF_HOUR
from wattgate.app.demo.tariffs import priced_until
from wattgate.app.homes.series import find_operation
from wattgate.app.server.factory import Gateway, build_gateway
from wattgate.clock import Clock, TimeRange, utc_now
from wattgate.db.backup import back_up_sqlite
from wattgate.operations import flexibility
from wattgate.operations.alerts import alert_rules
from wattgate.operations.consent import consent
from wattgate.operations.core.fields import find_edge
from wattgate.operations.core.runner import Runner
from wattgate.operations.types.homes.resources import Resource
from wattgate.operations.types.meters.tariffs import Tariff

HISTORY = timedelta(days=1)


@asynccontextmanager
async def gateway_on(url: str, folder: Path) -> AsyncIterator[Gateway]:
    gateway = build_gateway(demo_settings(folder).model_copy(update={"database_url": url}))
    try:
        await bring_up(gateway.database)
        yield gateway
    finally:
        await gateway.database.close()


@pytest.fixture
async def gateway(databases: Databases, tmp_path: Path) -> AsyncIterator[Gateway]:
    """A gateway on a new database."""
    async with databases() as url, gateway_on(url, tmp_path) as gateway:
        yield gateway


@dataclass
class Demonstration:
    """A gateway on a database with the demonstration as it was installed at `now`."""

    gateway: Gateway
    now: datetime
    recorded: int
    """The number of readings that the installation has recorded."""


@pytest.fixture
async def demonstration(databases: Databases, tmp_path: Path) -> AsyncIterator[Demonstration]:
    """The demonstration after its first start, on a database of each test's own."""

    async def install(database_url: str) -> tuple[datetime, int]:
        async with gateway_on(database_url, tmp_path) as gateway:
            now = utc_now()
            return now, await seed.prepare_demo(gateway.runner, now, HISTORY)

    async with databases() as url:
        now, recorded = await copy_filled(make_url(url), ["demonstration of one day"], install)
        async with gateway_on(url, tmp_path) as gateway:
            yield Demonstration(gateway, now, recorded)


async def row_counts(gateway: Gateway) -> dict[str, int]:
    async with gateway.database.engine.connect() as connection:
        return {
            table.name: (await connection.execute(select(func.count()).select_from(table))).scalar_one()
            for table in SQLModel.metadata.sorted_tables
        }


def at(moment: datetime) -> Clock:
    return lambda: moment


async def test_second_start_at_the_same_time_changes_no_row(demonstration: Demonstration) -> None:
    gateway, now = demonstration.gateway, demonstration.now
    first = await row_counts(gateway)
    assert demonstration.recorded == 6 * 48
    assert first["alert"] == 2  # that of the rule, and the editor's
    assert await seed.prepare_demo(gateway.runner, now, HISTORY) == 0
    assert await row_counts(gateway) == first


class CopyingRunner(Runner):
    """A runner that copies the database file before some operations, as if the process had ended there."""

    file: Path
    copies: dict[int, Path]
    """The path of the copy by the number of operations before it."""
    count = 0

    async def run(self, *arguments: Any) -> Any:
        if self.count in self.copies:
            await asyncio.to_thread(back_up_sqlite, self.file, self.copies[self.count])
        self.count += 1
        return await super().run(*arguments)


@pytest.mark.long("starts the demonstration again and again; a second start stays in the short form")
async def test_start_completes_an_interrupted_one(tmp_path: Path) -> None:
    now, file = utc_now(), tmp_path / "complete.sqlite3"
    async with gateway_on(f"sqlite:///{file}", tmp_path) as gateway:
        runner = CopyingRunner(gateway.database, gateway.bus)
        runner.file = file
        runner.copies = {
            operations: tmp_path / f"{operations}.sqlite3"
            for operations in (4, 45, 71, 80, 112, 125, 132, 134, 146, 155, 162)  # of about 170
        }
        await seed.prepare_demo(runner, now, HISTORY)
        complete = await row_counts(gateway)
    for operations, interrupted in runner.copies.items():
        async with gateway_on(f"sqlite:///{interrupted}", tmp_path) as gateway:
            assert await row_counts(gateway) != complete, operations
            await seed.prepare_demo(gateway.runner, now, HISTORY)
            assert await row_counts(gateway) == complete, operations


@pytest.mark.long("starts the demonstration again and again; a second start stays in the short form")
async def test_start_weeks_later_has_an_open_event_valid_consents_and_no_second_alert(
    demonstration: Demonstration,
) -> None:
    gateway, now = demonstration.gateway, demonstration.now
    later = now + timedelta(days=17)
    await seed.prepare_demo(gateway.runner.with_clock(at(later)), later, HISTORY)
    events = await gateway.runner.run(flexibility.dfs_events, seed.SYSTEM_PRINCIPAL, {})
    assert [event.state for event in events] == ["ended", "open"]
    assert events[1].starts_at >= later + MIN_NOTICE
    assert (await row_counts(gateway))["alert"] == 2


@pytest.mark.long("a demonstration of its own; other starts stay in the short form")
async def test_consents_are_renewed_before_they_end_unless_withdrawn(demonstration: Demonstration) -> None:
    gateway = demonstration.gateway
    owner = (await seed.list_owners(gateway.runner))[USERNAME]
    withdrawn = seed.HOMES[0].meter_points[1]
    await gateway.runner.run(consent.revoke_consents, owner, {"mpxns": [withdrawn]})
    before = {record.mpxn: record for record in await gateway.runner.run(consent.consents, owner, {})}
    later = next(iter(before.values())).valid_until - MIN_REMAINING + timedelta(days=1)
    await seed.install_demo(gateway.runner.with_clock(at(later)), later)
    for record in await gateway.runner.run(consent.consents, owner, {}):
        was_valid = before[record.mpxn].revoked_at is None
        assert (record.revoked_at is None) is was_valid
        assert (record.valid_until > before[record.mpxn].valid_until) is was_valid, record


@pytest.mark.long("starts the demonstration again and again; a second start stays in the short form")
async def test_removed_rule_and_ended_enrolment_stay_so(demonstration: Demonstration) -> None:
    gateway, now = demonstration.gateway, demonstration.now
    owner = (await seed.list_owners(gateway.runner))[USERNAME]
    (rule,) = await gateway.runner.run(find_operation("alert_rules"), owner, {})
    await gateway.runner.run(alert_rules.remove_alert_rule, owner, {"rule_id": rule.rule_id})
    await gateway.runner.run(flexibility.opt_out_of_dfs, owner, {})
    await seed.prepare_demo(gateway.runner, now, HISTORY)
    assert await gateway.runner.run(find_operation("alert_rules"), owner, {}) == []
    enrolments = await gateway.runner.run(flexibility.dfs_users, owner, {})
    assert owner.user_id not in {enrolment.user_id for enrolment in enrolments}


async def test_running_demonstration_moves_its_events_by_the_clock(demonstration: Demonstration) -> None:
    gateway, now = demonstration.gateway, demonstration.now
    participant = (await seed.list_owners(gateway.runner))[NEIGHBOUR_USERNAME]

    async def states_at(moment: datetime) -> list[str]:
        runner = gateway.runner.with_clock(at(moment))
        following.append(await keep_event_open(runner, seed.SYSTEM_PRINCIPAL, participant, moment))
        return [event.state for event in await runner.run(flexibility.dfs_events, seed.SYSTEM_PRINCIPAL, {})]

    following: list[datetime] = []
    start = next_event_start(now)
    assert await states_at(now) == ["open"]
    assert await states_at(start - timedelta(seconds=1)) == ["open"]
    assert await states_at(start) == ["active", "open"]
    assert await states_at(start + EVENT_DURATION) == ["ended", "open"]
    assert following[:3] == [start, start, start + EVENT_DURATION]
    assert following[3] == next_event_start(start)


@pytest.mark.long("a demonstration of its own; other starts stay in the short form")
async def test_running_demonstration_sets_the_prices_of_tomorrow_once_at_16(gateway: Gateway) -> None:
    afternoon = datetime(2026, 11, 10, 15, 30, tzinfo=UTC)
    await seed.prepare_demo(gateway.runner.with_clock(at(afternoon)), afternoon, HISTORY)
    mill = next(home for home in await seed.list_installed_homes(gateway.runner) if home.home is seed.HOMES[2])

    async def prices_at(now: datetime) -> list[datetime]:
        runner = gateway.runner.with_clock(at(now))
        await seed.fill_readings(runner, [mill], now)
        arguments = {"resource_id": mill.resource_ids["electricity.consumption"]}
        row = await runner.run(find_operation("resource"), seed.SYSTEM_PRINCIPAL, arguments)
        (tariff,) = await runner.load(find_edge(Resource, "tariff"), seed.SYSTEM_PRINCIPAL, [row], {})
        range_ = {"range": TimeRange(afternoon - timedelta(days=9), afternoon + timedelta(days=9))}
        (prices,) = await runner.load(find_edge(Tariff, "prices"), seed.SYSTEM_PRINCIPAL, [tariff], range_)
        return [price.at for price in prices]

    until_midnight = await prices_at(afternoon)
    assert until_midnight == [_utc("2026-11-09T15:30:00") + n * HALF_HOUR for n in range(65)]
    with_tomorrow = await prices_at(afternoon + HALF_HOUR)
    assert with_tomorrow == until_midnight + [_utc("2026-11-11T00:00:00") + n * HALF_HOUR for n in range(48)]
    entries = (await row_counts(gateway))["audit_entry"]
    assert await prices_at(afternoon + 2 * HALF_HOUR) == with_tomorrow
    assert (await row_counts(gateway))["audit_entry"] == entries


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-01-05T12:00:00", "2026-01-05T17:00:00"),
        ("2026-01-05T15:00:00", "2026-01-05T17:00:00"),
        ("2026-01-05T15:00:01", "2026-01-06T17:00:00"),
        ("2026-01-05T23:30:00", "2026-01-06T17:00:00"),
        ("2026-07-01T13:00:00", "2026-07-01T16:00:00"),
        ("2026-03-28T20:00:00", "2026-03-29T16:00:00"),  # the clocks go forward in the night
        ("2026-10-24T20:00:00", "2026-10-25T17:00:00"),  # the clocks go back in the night
    ],
)
def test_event_starts_at_17_local_time_with_notice(now: str, expected: str) -> None:
    assert next_event_start(_utc(now)) == _utc(expected)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-01-05T15:59:59", "2026-01-06T00:00:00"),
        ("2026-01-05T16:00:00", "2026-01-07T00:00:00"),
        ("2026-07-01T14:59:59", "2026-07-01T23:00:00"),
        ("2026-07-01T15:00:00", "2026-07-02T23:00:00"),
        ("2026-03-28T16:00:00", "2026-03-29T23:00:00"),  # a day of 23 hours
        ("2026-10-24T15:00:00", "2026-10-26T00:00:00"),  # a day of 25 hours
    ],
)
def test_prices_of_the_next_day_are_known_from_16_local_time(now: str, expected: str) -> None:
    assert priced_until(_utc(now)) == _utc(expected)


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
