"""Retention of readings on both databases: rejected readings, deletion, and monthly partitions."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Connection, text

from tests.support.house import STORAGE, Tenant
from tests.support.refusals import refusal_of, refusals
from tests.support.schema import bring_up
from tests.support.servers import database_on
from tests.support.tables import put
from tests.support.timed import Timed, half_hours
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.app.workers.maintenance import maintain_once
from wattgate.clock import to_ms
from wattgate.db.connections.engine import Database
from wattgate.db.identity.login_backoff import BACKOFF_LIFETIME
from wattgate.db.readings import partitions, recording
from wattgate.db.readings.reading_store import ReadingStore
from wattgate.db.readings.recording import ReadingColumns, ReadingRow
from wattgate.db.scope.row_scope import RowScope
from wattgate.operations.readings import retention
from wattgate.operations.readings.files.file_import import import_csv
from wattgate.operations.vocabulary.node import encode_global_id
from wattgate.principal import Principal, Role
from wattgate.rest_compat.bulk_intake import NDJSON

pytestmark = pytest.mark.either_database("some tests of the module run on both")

DAY = timedelta(days=1)
SET = """
mutation ($id: ID!, $days: Int) { setRetention(resourceTypeId: $id, retentionDays: $days) {
    ... on ResourceType { retentionDays }
    ...Refused } }
"""
COUNT_BY_DAY = """
query ($id: ID!, $range: TimeRange!) {
  resource(resourceId: $id) { readings(range: $range, period: P1D, function: COUNT) { buckets { start value } } } }
"""


async def retention_of(timed: Timed, type_id: str) -> int | None:
    query = "query ($id: ID!) { node(id: $id) { ... on ResourceType { retentionDays } } }"
    days: int | None = (await timed.ask(query, id=encode_global_id("ResourceType", type_id)))["node"]["retentionDays"]
    return days


async def set_retention(timed: Timed, type_id: str, days: int | None) -> None:
    assert (await timed.ask_as("application", SET, id=type_id, days=days))["setRetention"] == {"retentionDays": days}


@pytest.mark.parametrize("days", [1, 30, 36_500, None])
async def test_retention_is_set_and_removed(timed: Timed, days: int | None) -> None:
    await set_retention(timed, await timed.add_type(STORAGE, retention_days=7), days)


@pytest.mark.parametrize("days", [0, -1, 36_501])
async def test_retention_outside_1_to_36_500_days_is_rejected(timed: Timed, days: int) -> None:
    type_id = await timed.add_type(STORAGE, retention_days=7)
    answer = await timed.house.graphql(SET, timed.house.one.headers["application"], id=type_id, days=days)
    (error,) = refusals(answer)
    assert (error["code"], error["message"]) == (
        "BAD_INPUT",
        "Invalid retention. Give 1 to 36,500 days, or null to keep readings forever.",
    )
    assert error["problems"] == [{"path": ["retentionDays"], "message": "is not between 1 and 36,500"}]
    assert await retention_of(timed, type_id) == 7


async def test_omitted_retention_is_rejected_and_not_removed(timed: Timed) -> None:
    type_id = await timed.add_type(STORAGE, retention_days=7)
    left_out = (
        "mutation ($id: ID!) { setRetention(resourceTypeId: $id) { ... on ResourceType { retentionDays } ...Refused } }"
    )
    answer = await timed.house.graphql(left_out, timed.house.one.headers["application"], id=type_id)
    assert refusal_of(answer)["problems"] == [{"path": ["retentionDays"], "message": "is missing"}]


async def test_retention_needs_the_permission_and_the_own_application(timed: Timed) -> None:
    type_id = await timed.add_type(STORAGE)
    for headers, code in (
        ({"token": await timed.house.one.add_token()}, "FORBIDDEN"),
        ({}, "UNAUTHENTICATED"),
        (timed.house.other.headers["application"], "NOT_FOUND"),
    ):
        answer = await timed.house.graphql(SET, headers, id=type_id, days=1)
        assert refusal_of(answer)["code"] == code
    assert await retention_of(timed, type_id) is None


async def test_readings_older_than_retention_are_rejected_by_every_interface(timed: Timed) -> None:
    type_id = await timed.add_type(STORAGE, retention_days=30)
    (resource_id,) = await timed.add_resources(type_id, 1)
    now = timed.clock.now
    recent = now.replace(minute=0, second=0, microsecond=0) - 29 * DAY
    old = recent - 2 * DAY
    stamp = old.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    reason = f"{stamp} is longer ago than the 30 days for which readings are kept"

    answer = await timed.record(resource_id, (recent, 1), (old, 2))  # all or none
    (error,) = refusals(answer)
    assert error["problems"] == [{"path": ["series", 0, "readings", 1], "message": reason}]
    assert await count_by_day(timed, resource_id) == {}

    lines = [{"resourceId": resource_id, "at": at.isoformat(), "value": 1} for at in (old, recent)]
    response = await timed.house.http.post(
        "/api/v0-1/readings",
        content="\n".join(map(json.dumps, lines)).encode(),
        headers=timed.headers | {"Content-Type": NDJSON},
    )
    assert response.json() == {
        "status": "OK",
        "recorded": 1,
        "refused": 1,
        "problems": [{"line": 1, "message": reason}],
    }

    file = io.BytesIO(f"at,value\n{old.isoformat()},1\n{(recent + DAY).isoformat()},1\n".encode())
    refused = list[tuple[int, str]]()
    report = await import_csv(
        file,
        run=timed.house.gateway.runner.run_as(timed.house.one.system),
        resource_id=resource_id,
        zone=UTC,
        refuse=lambda line, why: refused.append((line, why)),
        progress=lambda done: None,
    )
    assert (report.recorded, refused) == (1, [(2, reason)])

    column = {"resourceId": resource_id, "at": [old.isoformat()], "value": [1]}
    document = """mutation ($series: [NewReadingColumns!]!) {
        recordReadingColumns(series: $series) {
            ... on RecordedColumns { recorded refused { series index reason } }
            ...Refused } }"""
    assert (await timed.ask(document, series=[column]))["recordReadingColumns"] == {
        "recorded": 0,
        "refused": [{"series": 0, "index": 0, "reason": reason}],
    }
    pairs = {"data": [[int(old.timestamp()), 1]]}
    rest = await timed.house.call("POST", f"/resource/{resource_id}/readings", timed.headers, json=pairs)
    assert (rest.status_code, rest.json()["problems"][0]["message"]) == (400, reason)
    assert await count_by_day(timed, resource_id) == {f"{at:%Y-%m-%d}": 1 for at in (recent, recent + DAY)}


async def count_by_day(timed: Timed, resource_id: str) -> dict[str, int]:
    """Return the number of readings of each day that has any."""
    now = timed.clock.now
    range_ = {"start": (now - 100 * DAY).isoformat(), "end": (now + DAY).isoformat()}
    buckets = (await timed.ask(COUNT_BY_DAY, id=resource_id, range=range_))["resource"]["readings"]["buckets"]
    return {bucket["start"][:10]: bucket["value"] for bucket in buckets if bucket["value"]}


async def days_by_resource(timed: Timed, table: str, *resource_ids: str) -> dict[str, set[datetime]]:
    """Return the days (UTC) with rows in a table, by resource id."""
    names = ", ".join(f"'{resource_id}'" for resource_id in resource_ids)
    statement = text(
        f"SELECT r.resource_id, t.at FROM {table} t JOIN resource r ON r.number = t.resource_number "
        f"WHERE r.resource_id IN ({names})"
    )
    days: dict[str, set[datetime]] = {resource_id: set() for resource_id in resource_ids}
    async with timed.house.gateway.database.engine.connect() as connection:
        for resource_id, at in (await connection.execute(statement)).all():
            days[resource_id].add(datetime.fromtimestamp(at // 86_400_000 * 86_400, UTC))
    return days


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_maintenance_deletes_whole_days_of_the_types_resources_only(timed: Timed) -> None:
    short, forever = await timed.add_type(STORAGE, retention_days=60), await timed.add_type(STORAGE)
    first, second = await timed.add_resources(short, 2)
    (kept,) = await timed.add_resources(forever, 1)
    today = timed.clock.now.replace(hour=0, minute=0, second=0, microsecond=0)
    days = [today - n * DAY for n in range(1, 8)]
    for resource_id in (first, second, kept):
        for day in days:
            await timed.record(resource_id, *half_hours(day, ["1"] * 48))
            await timed.record(resource_id, *((day + n * timedelta(hours=6), 5) for n in range(4)), field="POWER")
    before = await count_by_day(timed, kept)
    await maintain_once(timed.house.gateway.runner)
    assert await count_by_day(timed, first) == before  # no reading is old enough yet
    await set_retention(timed, short, 3)
    await maintain_once(timed.house.gateway.runner)
    kept_days = set(days[:3])  # the day that is three days ago is only partly old enough
    for table in ("reading", "reading_hour", "reading_day"):
        assert await days_by_resource(timed, table, first, second, kept) == {
            first: kept_days,
            second: kept_days,
            kept: set(days),
        }
    assert await count_by_day(timed, first) == {f"{day:%Y-%m-%d}": 48 for day in kept_days}
    assert await count_by_day(timed, kept) == before
    await set_retention(timed, short, None)
    timed.pass_time(10 * DAY)
    await maintain_once(timed.house.gateway.runner)
    assert await days_by_resource(timed, "reading", first) == {first: kept_days}


async def test_maintenance_forgets_old_wrong_passwords(timed: Timed) -> None:
    house = timed.house
    body = {"username": f"{uuid4().hex}@one.example", "password": "wrong"}
    response = await house.call("POST", "/auth", {"applicationId": house.one.application_id}, json=body)
    assert response.status_code == 401
    assert await stored_failures(house.one) > 0
    timed.clock.now += BACKOFF_LIFETIME - timedelta(minutes=1)
    await maintain_once(house.gateway.runner)
    assert await stored_failures(house.one) > 0
    timed.clock.now += timedelta(minutes=1)
    await maintain_once(house.gateway.runner)
    assert await stored_failures(house.one) == 0


async def stored_failures(tenant: Tenant) -> int:
    """Return the number of usernames of a tenant with wrong passwords."""
    statement = text("SELECT count(*) FROM login_backoff WHERE application_id = :application")
    async with tenant.gateway.database.engine.connect() as connection:
        return int((await connection.execute(statement, {"application": tenant.application_id})).scalar_one())


@pytest.mark.long("lets writers and maintenance compete for seconds; each of them stays in the short form")
@pytest.mark.both_databases("readings and their sums in SQL")
async def test_old_readings_are_purged_for_100_resources_at_a_time(timed: Timed) -> None:
    type_id = await timed.add_type(STORAGE)
    resource_ids = await timed.add_resources(type_id, 105)
    old = timed.clock.now.replace(hour=0, minute=0, second=0, microsecond=0) - 10 * DAY
    document = (
        "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) {"
        " ... on Recorded { recorded } ...Refused } }"
    )
    reading = {"at": old.isoformat(), "value": 1}
    await timed.ask(document, series=[{"resourceId": id_, "readings": [reading]} for id_ in resource_ids])
    await set_retention(timed, type_id, 5)
    runner, system = timed.house.gateway.runner, timed.house.one.system
    assert [await runner.run(retention.purge_readings, system, {}) for _ in range(3)] == [100, 5, 0]
    assert not any((await days_by_resource(timed, "reading", *resource_ids)).values())
    assert not any((await days_by_resource(timed, "reading_day", *resource_ids)).values())


async def test_deleted_reading_can_be_recorded_again_with_longer_retention(timed: Timed) -> None:
    type_id = await timed.add_type(STORAGE)
    (resource_id,) = await timed.add_resources(type_id, 1)
    at = timed.clock.now.replace(hour=0, minute=0, second=0, microsecond=0) - 10 * DAY
    await timed.record(resource_id, (at, 1))
    await set_retention(timed, type_id, 5)
    await maintain_once(timed.house.gateway.runner)
    assert await count_by_day(timed, resource_id) == {}
    await set_retention(timed, type_id, None)
    await timed.record(resource_id, (at, 3))
    assert await count_by_day(timed, resource_id) == {f"{at:%Y-%m-%d}": 1}


# Partitions in PostgreSQL


@pytest.fixture
async def database(postgresql_url: str) -> AsyncIterator[Database]:
    async with database_on(postgresql_url) as url:
        opened = Database(url, pool_size=20)
        await bring_up(opened)
        yield opened
        await opened.close()


async def months(database: Database) -> set[str]:
    statement = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'reading'::regclass"
    async with database.engine.connect() as connection:
        return set((await connection.execute(text(statement))).scalars())


async def resources(database: Database, count: int) -> range:
    """Add resources. Return their numbers."""

    def make(connection: Connection) -> None:
        put(connection, "application", application_id="a")
        put(connection, "app_user", application_id="a", user_id="u")
        put(connection, "resource_type", application_id="a", resource_type_id="t")
        ids = {"application_id": "a", "owner_id": "u", "resource_type_id": "t"}
        for number in range(1, count + 1):
            put(connection, "resource", resource_id=f"r{number}", number=number, **ids)

    async with database.engine.begin() as connection:
        await connection.run_sync(make)
    return range(1, count + 1)


async def write(database: Database, resource: int, *instants: datetime, value: int = 1) -> None:
    readings = ReadingColumns.from_rows(ReadingRow(resource, 0, to_ms(at), value, 0, False) for at in instants)
    async with database.engine.begin() as connection:
        await recording.upsert_readings(connection, readings, 5)


async def wait_for_lock(database: Database, task: asyncio.Task[Any]) -> None:
    """Wait until the task is done or a transaction waits for a lock."""
    waiting = text("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)")
    async with asyncio.timeout(60), database.engine.connect() as connection:
        while not task.done() and not (await connection.execute(waiting)).scalar_one():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_maintenance_creates_partitions_of_this_and_the_next_two_months(postgresql_url: str) -> None:
    async with database_on(postgresql_url) as url:
        now = datetime(2026, 12, 31, 23, 59, tzinfo=UTC)
        gateway = build_gateway(Settings(_env_file=None, database_url=url), clock=lambda: now)
        await bring_up(gateway.database)
        for _ in range(2):
            await maintain_once(gateway.runner)
            assert await months(gateway.database) == {"reading_2026_12", "reading_2027_01", "reading_2027_02"}
        await gateway.database.close()


async def test_partition_of_any_month_is_created_on_demand_with_correct_bounds(database: Database) -> None:
    (resource,) = await resources(database, 1)
    millisecond = timedelta(milliseconds=1)
    edges = [datetime(*month, 1, tzinfo=UTC) for month in ((1970, 2), (2024, 3), (2027, 1), (2599, 12))]
    await write(database, resource, *edges, *(edge - millisecond for edge in edges))
    expected = {f"reading_{at:%Y_%m}" for edge in edges for at in (edge, edge - millisecond)}
    assert await months(database) == expected
    async with database.engine.connect() as connection:
        for name in expected:
            assert (await connection.execute(text(f"SELECT count(*) FROM {name}"))).scalar_one() == 1


async def test_only_old_empty_partitions_are_dropped(database: Database) -> None:
    (resource,) = await resources(database, 1)
    filled = datetime(2025, 1, 31, 23, 30, tzinfo=UTC)
    await write(database, resource, filled)
    now = datetime(2026, 6, 15, tzinfo=UTC)
    async with database.engine.begin() as connection:
        empty = [datetime(2024, 12, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)]
        await partitions.ensure_partitions(connection, map(to_ms, empty))
        await partitions.ensure_upcoming_partitions(connection, now)
        dropped = await partitions.drop_empty_partitions(connection, now - retention.EMPTY_PARTITION_AGE)
    assert dropped == ["reading_2024_12", "reading_2026_04"]
    recent = {"reading_2026_05", "reading_2026_06", "reading_2026_07", "reading_2026_08"}
    assert await months(database) == {"reading_2025_01", *recent}
    await write(database, resource, datetime(2024, 12, 5, tzinfo=UTC))  # a dropped partition is created again
    assert "reading_2024_12" in await months(database)


async def test_simultaneous_writers_create_the_same_new_partitions(database: Database) -> None:
    numbers = await resources(database, 12)
    instants = [datetime(2025, month, 3, tzinfo=UTC) for month in range(1, 7)]
    await asyncio.gather(
        *(write(database, number, *(instants if n % 2 else reversed(instants))) for n, number in enumerate(numbers)),
        *(write(database, numbers[0], at + DAY) for at in instants),
    )
    assert await months(database) == {f"reading_2025_{month:02d}" for month in range(1, 7)}
    async with database.engine.connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM reading"))).scalar_one() == 12 * 6 + 6


async def test_partition_with_a_pending_write_is_not_dropped(database: Database) -> None:
    """Maintenance starts after a writer has ensured the partition, and before it writes."""
    at = datetime(2024, 12, 5, tzinfo=UTC)
    (resource,) = await resources(database, 1)
    async with database.engine.begin() as connection:
        await partitions.ensure_partitions(connection, [to_ms(at)])

    async def drop() -> list[str]:
        async with database.engine.begin() as connection:
            return await partitions.drop_empty_partitions(connection, datetime(2026, 1, 1, tzinfo=UTC))

    async with database.engine.begin() as writer:
        await recording.lock_resources(writer, [resource])
        await partitions.ensure_partitions(writer, [to_ms(at)])
        dropping = asyncio.create_task(drop())
        await wait_for_lock(database, dropping)
        await writer.execute(text(f"INSERT INTO reading VALUES ({resource}, 0, {to_ms(at)}, 1, 0, 0, 0)"))
    assert await dropping == []
    assert await months(database) == {"reading_2024_12"}


async def test_write_during_purge_leaves_no_reading_without_rollup(
    database: Database,
) -> None:
    (resource,) = await resources(database, 1)
    day = datetime(2024, 12, 5, tzinfo=UTC)
    await write(database, resource, day)

    async def purge() -> int:
        async with database.session(RowScope("a")) as session:
            purged = await ReadingStore(session).purge([resource], to_ms(day + DAY), limit=5)
            await session.commit()
            return purged

    async with database.engine.begin() as writer:
        late = ReadingRow(resource, 0, to_ms(day + timedelta(hours=1)), 1, 0, False)
        await recording.lock_resources(writer, [resource])
        await recording.upsert_readings(writer, ReadingColumns.from_rows([late]), 5)
        purging = asyncio.create_task(purge())
        await wait_for_lock(database, purging)
    assert await purging == 1
    async with database.engine.connect() as connection:
        for table in ("reading_day", "reading"):
            assert (await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one() == 0


@pytest.mark.long("lets writers and maintenance compete for seconds; each of them stays in the short form")
async def test_writers_and_maintenance_do_not_deadlock(database: Database) -> None:
    numbers = await resources(database, 6)
    now = datetime(2026, 6, 15, tzinfo=UTC)
    gateway = build_gateway(Settings(_env_file=None, database_url=str(database.url)), clock=lambda: now)

    async def maintain() -> None:
        for _ in range(8):
            await gateway.runner.run(retention.run_maintenance, Principal(Role.SYSTEM), {})

    async def write_months(resource: int) -> None:
        for month in range(1, 13):
            await write(database, resource, datetime(2020 + resource % 3, month, 1, tzinfo=UTC))

    async def add_empty_months() -> None:
        async with database.engine.begin() as connection:
            months = [datetime(2019, month, 1, tzinfo=UTC) for month in range(1, 13)]
            await partitions.ensure_partitions(connection, map(to_ms, months))

    await asyncio.gather(maintain(), add_empty_months(), *map(write_months, numbers))
    async with database.engine.connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM reading"))).scalar_one() == 6 * 12
    await gateway.database.close()
