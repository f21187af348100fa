"""Row-level security of PostgreSQL: statements without an application filter return and change nothing of others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
from sqlalchemy import bindparam, delete, insert, select, text, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlmodel import SQLModel, col

from tests.support.house import House, Tenant, house, tenant_on
from tests.support.pgbouncer import pgbouncer
from tests.support.scopes import EVERYTHING
from tests.support.servers import database_on
from wattgate.clock import to_ms
from wattgate.db import row_security
from wattgate.db.connections import scoped_connection
from wattgate.db.connections.engine import Database
from wattgate.db.connections.reader import fetch
from wattgate.db.connections.scoped_connection import ROW_ROLE, ScopeResponses
from wattgate.db.migrate import upgrade
from wattgate.db.models import Resource, Tariff, User
from wattgate.db.readings.reading_store import ReadingStore
from wattgate.db.readings.recording import ReadingColumns, ReadingRow
from wattgate.db.readings.tariff_price_store import TariffPriceStore
from wattgate.db.row_security import CLOSED_TABLES, SHARED_TABLES, VIEWS, install_policies, policy_conditions
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import RowScope, SystemAccess, system_access
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION, UnscopedStatementError
from wattgate.energy.costs.timeline import Price
from wattgate.operations.catalogue import OPERATIONS, SYSTEM_OPERATIONS
from wattgate.operations.readings import retention
from wattgate.principal import Principal, Role

MARKED = {**SCOPED_OPTION, "synchronize_session": False}
"""The options of a planted fault: the statement is marked as scoped, but has no filter."""

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module", params=["direct", "pooled"])
async def home(request: pytest.FixtureRequest, postgresql_url: str, postgresql_template: str) -> AsyncIterator[House]:
    """A gateway on PostgreSQL with two tenants: alone, and behind a pooler with two connections to the server."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(database_on(postgresql_url, postgresql_template))
        settings: dict[str, Any] = {}
        if request.param == "pooled":
            pooler = await stack.enter_async_context(pgbouncer(postgresql_url))
            url, settings = pooler.url_of(url), {"database_pooler": "transaction"}
        yield await stack.enter_async_context(house(url, **settings))


def scope_of(tenant: Tenant) -> RowScope:
    return RowScope(tenant.application_id)


async def test_sessions_are_restricted_where_the_role_exists(home: House) -> None:
    database = home.gateway.database
    assert await database.has_row_security()
    async with database.session(scope_of(home.one)) as session:
        assert (await session.execute(text("SELECT current_user"))).scalar_one() == ROW_ROLE
    async with database.reader(scope_of(home.one)) as reader:
        assert (await fetch(reader, text("SELECT current_user")))[0][0] == ROW_ROLE
        assert (await reader.execute(text("SELECT current_user"))).scalar_one() == ROW_ROLE


@pytest.mark.parametrize("model", [Resource, User], ids=lambda model: model.__name__)
async def test_a_read_without_a_filter_returns_only_the_rows_of_the_application(home: House, model: Any) -> None:
    database = home.gateway.database
    statement = select(model.__table__.c.application_id)
    with_parameter = statement.where(model.__table__.c.application_id != bindparam("other"))
    async with database.reader(scope_of(home.one)) as reader:
        from_driver = await fetch(reader, with_parameter, {"other": "-"}, execution_options=MARKED)
        from_sqlalchemy = (await reader.execute(statement, execution_options=MARKED)).all()
    async with database.session(scope_of(home.one)) as session:
        from_orm = (await session.execute(select(model), execution_options=MARKED)).scalars().all()
    found = [[row[0] for row in from_driver], [row[0] for row in from_sqlalchemy], [r.application_id for r in from_orm]]
    assert all(applications and set(applications) == {home.one.application_id} for applications in found)


async def test_a_user_sees_only_own_rows_without_a_filter(home: House) -> None:
    database = home.gateway.database
    async with database.reader(RowScope(home.one.application_id, "nobody")) as reader:
        assert (await reader.execute(select(col(Resource.number)), execution_options=MARKED)).all() == []
        assert await fetch(reader, text("SELECT * FROM own_reading")) == []
    async with database.reader(RowScope(home.one.application_id, home.one.user_id)) as reader:
        owners = (await reader.execute(select(col(Resource.owner_id)), execution_options=MARKED)).scalars()
        assert set(owners) == {home.one.user_id}


async def test_changes_without_a_filter_leave_other_applications_unchanged(home: House) -> None:
    database = home.gateway.database
    foreign = col(Resource.application_id) == home.other.application_id
    async with database.session(scope_of(home.one)) as session:
        changed: Any = await session.execute(
            update(Resource).where(foreign).values(name="taken"), execution_options=MARKED
        )
        removed: Any = await session.execute(
            delete(User).where(col(User.user_id) == home.other.user_id), execution_options=MARKED
        )
        assert (changed.rowcount, removed.rowcount) == (0, 0)
        everything: Any = await session.execute(update(Resource).values(name="renamed"), execution_options=MARKED)
        own = await session.execute(select(col(Resource.number)), execution_options=MARKED)
        assert everything.rowcount == len(own.all()) > 0
    async with database.session(RowScope(home.one.application_id, "nobody")) as session:
        changed = await session.execute(update(Resource).values(name="taken"), execution_options=MARKED)
        assert changed.rowcount == 0


async def test_rows_cannot_be_added_to_or_moved_to_another_application(home: House) -> None:
    database = home.gateway.database
    foreign = {"application_id": home.other.application_id}
    async with database.session(scope_of(home.one)) as session:
        session.add(User(application_id=home.other.application_id))
        with pytest.raises(DBAPIError, match="row-level security"):
            await session.flush()
    async with database.session(scope_of(home.one)) as session:
        with pytest.raises(DBAPIError, match="row-level security"):
            await session.execute(insert(User).values(User().model_dump() | foreign), execution_options=MARKED)
    async with database.session(scope_of(home.one)) as session:
        with pytest.raises(DBAPIError, match="row-level security"):
            await session.execute(update(Resource).values(**foreign), execution_options=MARKED)


@pytest.mark.parametrize("table", [table for table in CLOSED_TABLES if table.startswith("reading")])
async def test_tables_of_readings_are_closed_and_their_views_show_own_rows(home: House, table: str) -> None:
    database = home.gateway.database
    async with database.reader(scope_of(home.one)) as reader:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await fetch(reader, text(f"SELECT * FROM {table}"))
        shown = {row[0] for row in await fetch(reader, text(f"SELECT DISTINCT resource_number FROM own_{table}"))}
        own = {row[0] for row in await fetch(reader, select(col(Resource.number)), execution_options=MARKED)}
        assert shown <= own
        assert shown or table == "reading_hour"


async def test_a_foreign_series_is_neither_read_nor_written(home: House) -> None:
    database = home.gateway.database
    async with database.reader(scope_of(home.other)) as reader:
        rows = await fetch(reader, text("SELECT resource_number, field, at FROM own_reading LIMIT 1"))
    number, field, at = rows[0]
    async with database.reader(scope_of(home.one)) as reader:
        store = ReadingStore(reader)
        assert await store.latest([(number, field)]) == {}
        assert await store.list_readings((number, field), 0, at + 1, limit=10) == []
        assert await store.values_at([(number, field, at)]) == {}
        readings = ReadingColumns.from_rows([ReadingRow(number, field, at, 1, 0, False)])
        assert await store.count_stored(readings) == (0, 0)
    async with database.session(scope_of(home.one)) as session:
        with pytest.raises(UnscopedStatementError):
            await ReadingStore(session).record(
                ReadingColumns.from_rows([ReadingRow(number, field, at, 1, 0, False)]), to_ms(NOW)
            )
    async with database.session(scope_of(home.one)) as session:
        assert await ReadingStore(session).purge([number], at + 10**9, limit=5) == 0


async def test_prices_of_a_foreign_tariff_are_neither_read_nor_written(home: House) -> None:
    database = home.gateway.database
    async with database.session(EVERYTHING) as session:
        tariff = (
            (
                await session.execute(
                    select(Tariff).where(col(Tariff.application_id) == home.other.application_id),
                    execution_options=MARKED,
                )
            )
            .scalars()
            .first()
        )
        assert tariff is not None
        await TariffPriceStore(session).upsert(tariff.tariff_id, [Price(0, 1)])
        await session.commit()
    async with database.session(scope_of(home.other)) as session:
        assert await TariffPriceStore(session).list_between([tariff.tariff_id], 0, 1) == {
            tariff.tariff_id: [Price(0, 1)]
        }
        await TariffPriceStore(session).upsert(tariff.tariff_id, [Price(0, 2)])
    async with database.session(scope_of(home.one)) as session:
        assert await TariffPriceStore(session).list_between([tariff.tariff_id], 0, 1) == {}
        with pytest.raises(DBAPIError, match="row-level security"):
            await TariffPriceStore(session).upsert(tariff.tariff_id, [Price(0, 3)])


async def test_the_scope_follows_a_login_and_system_access_ends(home: House) -> None:
    database = home.gateway.database
    async with database.session(RowScope("")) as session:
        rows = Rows(session, "", now=NOW)
        assert (await session.execute(select(User), execution_options=MARKED)).all() == []
        with system_access(session, SystemAccess.FIND_WORK):
            seen = (await session.execute(select(User), execution_options=MARKED)).scalars().all()
            assert {user.application_id for user in seen} >= {home.one.application_id, home.other.application_id}
        assert (await session.execute(select(col(User.user_id)), execution_options=MARKED)).all() == []
        assert await rows.for_application(home.other.application_id).count(User) > 0
        applications = (await session.execute(select(col(User.application_id)), execution_options=MARKED)).scalars()
        assert set(applications) == {home.other.application_id}


async def test_the_scope_ends_with_the_statement_and_with_the_transaction(home: House) -> None:
    served = home.gateway.database
    url = served.url.render_as_string(hide_password=False)
    database = Database(url, pool_size=1, has_transaction_pooler=served.has_transaction_pooler)
    settings = text("SELECT current_user::text, current_setting('wattgate.application', true)")
    try:
        async with database.reader(scope_of(home.one)) as reader:
            assert (await fetch(reader, settings))[0][1] == home.one.application_id
        async with database.session(scope_of(home.other)) as session:
            assert (await session.execute(settings)).one() == (ROW_ROLE, home.other.application_id)
            await session.commit()
            assert (await session.execute(settings)).one() == (ROW_ROLE, home.other.application_id)
        async with database.engine.connect() as connection:
            assert (await connection.execute(settings)).one()[0] != ROW_ROLE
            assert (await connection.execute(settings)).one()[1] in (None, "")
    finally:
        await database.close()


class _Receiver(asyncio.Protocol):
    def __init__(self) -> None:
        self.data = b""

    def data_received(self, data: bytes) -> None:
        self.data += data


def _message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + (len(body) + 4).to_bytes(4, "big") + body


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("notice", [b"", _message(b"N", b"a notice")], ids=["whole", "with a notice"])
@pytest.mark.parametrize("pending", [1, 2])
def test_only_the_answers_to_the_scope_are_dropped(size: int, notice: bytes, pending: int) -> None:
    """The server's messages arrive in pieces of any size. Notices and the answers to the statement are passed on.

    The answer to a cancelled statement may be pending before the one to the next statement.
    """
    answer = _message(b"2") + _message(b"D", b"row") + _message(b"Z", b"I")
    scope = _message(b"D", b"scope") + _message(b"C", b"SELECT 1")
    incoming = (_message(b"2") + notice + scope) * pending + answer
    receiver = _Receiver()
    responses = ScopeResponses(receiver)
    for _ in range(pending):
        responses.expect(_message(b"2") + scope)
    for start in range(0, len(incoming), size):
        responses.data_received(incoming[start : start + size])
    assert (receiver.data, responses.expected) == (notice * pending + answer, b"")


async def test_the_answer_to_the_scope_is_known_in_advance(home: House, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    monkeypatch.setattr(scoped_connection, "_message_end", lambda data, start: parsed.append(start))
    async with home.gateway.database.reader(scope_of(home.one)) as reader:
        rows = await fetch(reader, text("SELECT current_user::text, current_setting('wattgate.application')"))
    assert (rows[0][:], parsed) == ((ROW_ROLE, home.one.application_id), [])


def test_an_error_of_the_scope_is_passed_on() -> None:
    receiver = _Receiver()
    responses = ScopeResponses(receiver)
    responses.expect(_message(b"2") + _message(b"D", b"scope") + _message(b"C", b"SELECT 1"))
    failed = _message(b"E", b"permission denied") + _message(b"Z", b"I") + _message(b"2")
    responses.data_received(failed)
    assert receiver.data == failed


@pytest.mark.parametrize("hostile", ["x'; RESET ROLE; --", "\\", "' OR true --", "$1"])
async def test_a_hostile_application_id_is_only_a_value(home: House, hostile: str) -> None:
    async with home.gateway.database.reader(RowScope(hostile)) as reader:
        rows = await fetch(reader, text("SELECT current_user::text, current_setting('wattgate.application')"))
        assert rows[0][:] == (ROW_ROLE, hostile)
        assert await fetch(reader, select(col(User.user_id)), execution_options=MARKED) == []


async def test_a_scope_that_cannot_be_set_stops_the_statement(home: House) -> None:
    database = home.gateway.database
    async with database.reader(RowScope("nul\0")) as reader:
        with pytest.raises(asyncpg.CharacterNotInRepertoireError):
            await fetch(reader, select(col(User.user_id)), execution_options=MARKED)
    async with database.reader(scope_of(home.one)) as reader:
        assert await fetch(reader, select(col(User.user_id)), execution_options=MARKED)


def with_one_connection(home: House) -> Database:
    """Return the database of the gateway with a pool of one connection, so that each statement uses it."""
    served = home.gateway.database
    url = served.url.render_as_string(hide_password=False)
    return Database(url, pool_size=1, has_transaction_pooler=served.has_transaction_pooler)


async def test_failed_and_cancelled_statements_leave_the_connection_usable(home: House) -> None:
    database = with_one_connection(home)
    statement = text("SELECT CAST(:number AS bigint), current_setting('wattgate.application', true)")
    try:
        for scope in [scope_of(home.one), scope_of(home.other), scope_of(home.one)]:
            async with database.reader(scope) as reader:
                with pytest.raises(asyncpg.DivisionByZeroError):
                    await fetch(reader, text("SELECT 1 / 0"))
                with pytest.raises(asyncpg.DataError):  # asyncpg rejects the value before it sends the statement
                    await fetch(reader, statement, {"number": "text"})
            async with database.reader(scope) as reader:
                assert (await fetch(reader, statement, {"number": 1}))[0][:] == (1, scope.application_id)
                task = asyncio.create_task(fetch(reader, text("SELECT pg_sleep(60)")))
                await asyncio.sleep(0.1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            async with database.session(scope) as session:
                assert (await session.execute(statement, {"number": 2})).one() == (2, scope.application_id)
            async with database.reader(EVERYTHING) as reader:
                assert (await fetch(reader, statement, {"number": 3}))[0][1] in (None, "")
    finally:
        await database.close()


async def test_statement_after_a_cancelled_preparation_gets_its_own_rows(home: House) -> None:
    """The answer to the scope comes after that to the cancelled preparation, and before that to the statement."""
    database = with_one_connection(home)
    statement, scope = text("SELECT CAST(:number AS bigint)"), scope_of(home.one)
    try:
        async with database.reader(scope) as reader:
            await fetch(reader, statement, {"number": 0})
        for number in range(20):
            async with database.reader(scope) as reader:
                task = asyncio.create_task(fetch(reader, text(f"SELECT 1 AS prepared_first_here_{number}")))
                await asyncio.sleep(0)  # the preparation is sent
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
                assert (await fetch(reader, statement, {"number": number}))[0][:] == (number,)
    finally:
        await database.close()


async def test_every_table_has_a_policy_or_a_reason_to_have_none(home: House) -> None:
    """A new table without a policy fails here. Partitions of readings must be closed to the role."""
    async with home.gateway.database.engine.connect() as connection:
        relations = await connection.execute(
            text("""
            SELECT relname, relkind::text, relispartition, relrowsecurity,
                EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = pg_class.oid),
                has_table_privilege(:role, pg_class.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
            FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')"""),
            {"role": ROW_ROLE},
        )
        usable = {}
        for name, kind, is_partition, has_security, has_policy, has_privilege in relations:
            assert not (is_partition and has_privilege), f"the role can use the partition {name}"
            if has_privilege and kind in "rp" and not (has_security and has_policy):
                usable[name] = kind
            elif kind in "rp" and not is_partition and not has_privilege:
                assert name in CLOSED_TABLES, f"add a reason for the closed table {name}"
            elif kind in "vm":
                assert name in VIEWS, f"the view {name} is not known"
    assert set(usable) == set(SHARED_TABLES)


def test_every_model_has_a_policy_or_a_reason_to_have_none() -> None:
    listed = [set(policy_conditions()), set(SHARED_TABLES), set(CLOSED_TABLES) - {"alembic_version"}]
    assert set().union(*listed) == set(SQLModel.metadata.tables)
    assert sum(map(len, listed)) == len(SQLModel.metadata.tables)


async def test_the_role_cannot_bypass_policies(home: House) -> None:
    async with home.gateway.database.engine.connect() as connection:
        role = await connection.execute(
            text(
                "SELECT rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb"
                " FROM pg_roles WHERE rolname = :role"
            ),
            {"role": ROW_ROLE},
        )
        assert role.one() == (False,) * 5
        owned = await connection.execute(
            text("SELECT count(*) FROM pg_class WHERE relowner = to_regrole(:role)"), {"role": ROW_ROLE}
        )
        assert owned.scalar_one() == 0


def test_system_access_is_used_only_by_these_operations() -> None:
    uses = {
        operation.name: operation.system_access
        for operation in (*OPERATIONS, *SYSTEM_OPERATIONS)
        if operation.system_access is not None
    }
    assert uses == {
        "applications_with_catch_ups": SystemAccess.FIND_WORK,
        "applications_with_due_rules": SystemAccess.FIND_WORK,
        "applications_with_erasures": SystemAccess.FIND_WORK,
        "applications_with_exports": SystemAccess.FIND_WORK,
        "applications_with_home": SystemAccess.FIND_HOME,
        "applications_with_login_failures": SystemAccess.FIND_WORK,
        "applications_with_mail": SystemAccess.FIND_WORK,
        "applications_with_old_account_mails": SystemAccess.FIND_WORK,
        "applications_with_old_deliveries": SystemAccess.FIND_WORK,
        "applications_with_old_events": SystemAccess.FIND_WORK,
        "applications_with_old_webhooks": SystemAccess.FIND_WORK,
        "applications_with_old_members": SystemAccess.FIND_WORK,
        "applications_with_old_pairings": SystemAccess.FIND_WORK,
        "applications_with_old_accesses": SystemAccess.FIND_WORK,
        "applications_with_retention": SystemAccess.FIND_WORK,
        "applications_with_unlisted_erasures": SystemAccess.FIND_WORK,
        "applications_with_unlisted_tenancies": SystemAccess.FIND_WORK,
        "applications_with_unverified_accounts": SystemAccess.FIND_WORK,
        "audited_applications": SystemAccess.LIST_AUDITED_APPLICATIONS,
        "create_application": SystemAccess.CREATE_APPLICATION,
        "due_deliveries": SystemAccess.FIND_WORK,
        "rotate_application_secret": SystemAccess.FIND_CREDENTIALS,
        "run_maintenance": SystemAccess.MAINTAIN_PARTITIONS,
        "store_registry_records": SystemAccess.FILL_NETWORK_REGISTRY,
    }


async def test_the_system_runs_without_an_application_only_what_declares_its_access(home: House) -> None:
    purge = retention.purge_login_failures
    with pytest.raises(RuntimeError, match="purge_login_failures runs without an application"):
        await home.gateway.runner.run(purge, Principal(Role.SYSTEM), {})


@pytest.mark.long("upgrades a database with other policies or roles; the policies themselves stay in the short form")
async def test_a_role_without_privileges_runs_without_policies_and_says_so(
    postgresql_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A gateway that may not create the role runs with `Rows` alone. It starts to use the role when it is granted."""
    async with database_on(postgresql_url) as admin_url:
        login = f"limited_{make_url(admin_url).database}"
        admin = Database(admin_url)
        limited = Database(admin.url.set(username=login).render_as_string(hide_password=False))
        name = admin.url.database
        try:
            async with admin.engine.begin() as connection:
                await connection.execute(text(f"CREATE ROLE {login} LOGIN NOSUPERUSER"))
                await connection.execute(text(f"ALTER DATABASE {name} OWNER TO {login}"))
                await connection.execute(text(f"GRANT ALL ON SCHEMA public TO {login}"))
            await upgrade(limited)
            assert not await limited.has_row_security()
            assert "Row-level security is not active" in caplog.text
            async with limited.session(RowScope("one")) as session:
                assert await Rows(session, "one", now=NOW).count(User) == 0
            async with admin.engine.begin() as connection:
                await connection.execute(text(f"GRANT {ROW_ROLE} TO {login}"))
            await upgrade(limited)
            assert await limited.has_row_security()
            async with limited.session(RowScope("one")) as session:
                assert await Rows(session, "one", now=NOW).count(User) == 0
        finally:
            await limited.close()
            async with admin.engine.begin() as connection:
                await connection.execute(text(f"REASSIGN OWNED BY {login} TO CURRENT_USER"))
                await connection.execute(text(f"DROP OWNED BY {login}"))
                await connection.execute(text(f"DROP ROLE {login}"))
            await admin.close()


@pytest.mark.long("upgrades a database with other policies or roles; the policies themselves stay in the short form")
async def test_an_upgrade_replaces_outdated_policies(
    postgresql_url: str, postgresql_template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database_on(postgresql_url, postgresql_template) as url, tenant_on(url) as tenant:
        database = tenant.gateway.database
        async with database.engine.begin() as connection:
            await connection.execute(text(f"DROP POLICY {row_security.POLICY} ON resource"))
            await connection.execute(text(f"ALTER POLICY {row_security.POLICY} ON device RENAME TO wattgate_scope_0"))
        async with database.engine.begin() as connection:
            await connection.run_sync(install_policies)
        async with database.engine.connect() as connection:
            names = await connection.execute(text("SELECT polrelid::regclass::text, polname FROM pg_policy"))
            assert sorted(map(tuple, names)) == sorted((table, row_security.POLICY) for table in policy_conditions())
