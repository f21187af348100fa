"""The commands of docs/how-to/upgrade-and-restore.md work unchanged, and restored databases have the same rows."""

import asyncio
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.support.command import wattgate_in
from tests.support.encryption import TEST_KEYS
from tests.support.house import PASSWORD, House, Tenant, house
from tests.support.kept_credentials import EVERY_KIND, accepted_credentials, keep_credentials
from tests.support.markdown import code_blocks
from tests.support.postgresql_server import PostgresqlServer, postgresql_server
from tests.support.redis_server import redis_server
from tests.support.row_dumps import dump_rows
from tests.support.system_programs import required_program
from wattgate.app.server.components import Components, build_components
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.db.backup import back_up_sqlite
from wattgate.db.connections.engine import Database
from wattgate.db.readings.partitions import ensure_upcoming_partitions
from wattgate.errors import Conflict, Unauthenticated, Unavailable
from wattgate.operations.credentials import tokens
from wattgate.principal import Principal, Role

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "upgrade-and-restore.md").read_text()
(
    BACK_UP,
    RESTORE,
    DUMP,
    CREATE_ROLE,
    RESTORE_DUMP,
    CHECK_DUMP,
    ARCHIVE,
    BASE,
    DELETE_OLD,
    RESTORE_MOMENT,
    CHECK_MOMENT,
    FORGET_EVENTS,
) = code_blocks(PAGE, "sh")

RECORD = "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { ... on Recorded { recorded } } }"
COUNT = """query ($resource: ID!) { resource(resourceId: $resource) { readings(period: P1D,
    range: {start: "2026-02-01T00:00:00Z", end: "2026-02-03T00:00:00Z"}) { count } } }"""


@asynccontextmanager
async def checked_house(url: str, **settings: Any) -> AsyncIterator[House]:
    """Serve a house whose copies `wattgate doctor` accepts."""
    async with house(url, **settings) as home:
        for tenant in (home.one, home.other):
            await tenant.deactivate_directory()
        yield home


async def record(home: House, resource: str, minute: int) -> None:
    at = f"2026-02-{1 + minute // 1440:02}T{minute // 60 % 24:02}:{minute % 60:02}:00Z"
    series = [{"resourceId": resource, "field": "POWER", "readings": [{"at": at, "value": minute}]}]
    stored = await home.graphql(RECORD, home.one.headers["application"], series=series)
    assert stored["data"]["recordReadings"]["recorded"] == 1, stored


def run_commands(folder: Path, commands: str, **settings: str) -> None:
    """Run the `wattgate` commands of a block, and let the shell run the lines between them."""
    for is_ours, lines in groupby(commands.splitlines(), lambda line: line.startswith("wattgate ")):
        if is_ours:
            results = [wattgate_in(folder, *line.split()[1:], SECRET_KEYS=TEST_KEYS, **settings) for line in lines]
        else:
            results = [run_shell(folder, "\n".join(lines))]
        for result in results:
            assert result.returncode == 0, (commands, result.stdout, result.stderr)


def run_shell(folder: Path, commands: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", "-ec", commands], cwd=folder, capture_output=True, text=True, check=False)


async def test_sqlite_is_backed_up_while_the_gateway_stores_readings(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'wattgate.sqlite3'}"
    acknowledged = 0
    started = asyncio.Event()

    async def write(home: House, resource: str, stop: asyncio.Event) -> None:
        nonlocal acknowledged
        while not stop.is_set():
            await record(home, resource, acknowledged)
            acknowledged += 1
            if acknowledged == 5:
                started.set()

    async with checked_house(url) as home:
        resource = await home.one.add_resource()
        stop = asyncio.Event()
        writer = asyncio.create_task(write(home, resource, stop))
        await started.wait()
        before = acknowledged
        await asyncio.to_thread(run_commands, tmp_path, BACK_UP)
        after = acknowledged
        stop.set()
        await writer
        whole = await dump_rows(url)
    assert after > before, "the gateway stored nothing during the backup"
    saved = await dump_rows(f"sqlite:///{tmp_path / 'backup.sqlite3'}")
    assert saved.keys() == whole.keys()
    assert before <= len(saved["reading"]) - (len(whole["reading"]) - acknowledged) <= acknowledged
    assert set(saved["reading"]) <= set(whole["reading"])
    assert all(saved[table] == whole[table] for table in ("app_user", "resource", "account", "tariff", "token"))

    await asyncio.to_thread(run_commands, tmp_path, RESTORE)
    assert await dump_rows(url) == saved


async def test_a_restored_sqlite_database_serves_the_same_rows(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'wattgate.sqlite3'}"
    async with checked_house(url) as home:
        resource = await home.one.add_resource()
        for minute in range(20):
            await record(home, resource, minute)
        await asyncio.to_thread(run_commands, tmp_path, BACK_UP)
        original = await dump_rows(url)
        await record(home, resource, 21)
    (tmp_path / "wattgate.sqlite3-wal").write_bytes(b"the log of the old database")
    await asyncio.to_thread(run_commands, tmp_path, RESTORE)
    assert await dump_rows(url) == original
    assert (tmp_path / "before" / "wattgate.sqlite3-wal").read_bytes() == b"the log of the old database"
    with closing(sqlite3.connect(tmp_path / "before" / "wattgate.sqlite3")) as old:
        assert old.execute("SELECT count(*) FROM reading").fetchone() == (len(original["reading"]) + 1,)
    moves = "\n".join(line for line in RESTORE.splitlines() if not line.startswith("wattgate "))
    assert run_shell(tmp_path, moves).returncode != 0, "the folder with the old database exists"
    assert await dump_rows(url) == original
    assert (tmp_path / "backup.sqlite3").stat().st_mode & 0o777 == 0o600
    with pytest.raises(Conflict, match="exists"):
        back_up_sqlite(tmp_path / "wattgate.sqlite3", tmp_path / "backup.sqlite3")
    with pytest.raises(Unavailable, match="failed"):
        back_up_sqlite(tmp_path / "wattgate.sqlite3", tmp_path / "missing" / "backup.sqlite3")
    damaged = tmp_path / "damaged.sqlite3"
    content = bytearray((tmp_path / "backup.sqlite3").read_bytes())
    content[4096 * 5 : 4096 * 40] = os.urandom(4096 * 35)
    damaged.write_bytes(content)
    with pytest.raises(Unavailable):
        back_up_sqlite(damaged, tmp_path / "copy.sqlite3")
    assert [name for name in os.listdir(tmp_path) if "copy" in name] == []


@asynccontextmanager
async def gateway_of(url: str) -> AsyncIterator[Components]:
    """Yield the components of a gateway on a database that is not served."""
    components = build_components(Settings(_env_file=None, database_url=url))
    try:
        async with components.bus:
            yield components
    finally:
        await components.database.close()


async def accepted_log_ins(url: str, tenants: Sequence[Tenant]) -> list[bool]:
    """Return which users can log in with their passwords."""
    accepted = []
    async with gateway_of(url) as gateway:
        for tenant in tenants:
            log_in = {"application_id": tenant.application_id, "username": tenant.username, "password": PASSWORD}
            try:
                await gateway.runner.run(tokens.authenticate, Principal(Role.ANONYMOUS), log_in)
                accepted.append(True)
            except Unauthenticated:
                accepted.append(False)
    return accepted


async def erase(home: House) -> None:
    """Erase the user of the first tenant by the API, and wait until it is done."""
    tenant, path = home.one, f"/user/{home.one.user_id}"
    assert (await home.call("DELETE", path, tenant.headers["application"])).status_code == 200
    async with asyncio.timeout(60):
        while True:
            receipt = await home.call("GET", f"{path}/erasure", tenant.headers["application"])
            if receipt.json()["state"] == "DONE":
                return
            await asyncio.sleep(0.05)


async def test_an_erased_user_does_not_come_back_with_a_backup(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'wattgate.sqlite3'}"
    async with checked_house(url) as home:
        tenants = [home.one, home.other]
        kept = [await keep_credentials(tenant) for tenant in tenants]
        await asyncio.to_thread(run_commands, tmp_path, BACK_UP)
        await erase(home)
    assert await accepted_log_ins(url, tenants) == [False, True]
    copied = "\n".join(line for line in RESTORE.splitlines() if not line.startswith("wattgate "))
    await asyncio.to_thread(run_commands, tmp_path, copied)
    assert await accepted_log_ins(url, tenants) == [True, True]
    for command in ("serve", "worker", "doctor"):
        refused = await asyncio.to_thread(wattgate_in, tmp_path, command)
        assert refused.returncode == 1, command
        assert f"such as {tenants[0].user_id}" in " ".join((refused.stdout + refused.stderr).split())
    checks = "\n".join(line for line in RESTORE.splitlines() if line.startswith("wattgate "))
    await asyncio.to_thread(run_commands, tmp_path, checks)
    async with gateway_of(url) as gateway:
        assert [await accepted_credentials(gateway, each) for each in kept] == [set(), EVERY_KIND]


def test_the_command_names_the_way_for_postgresql(tmp_path: Path) -> None:
    refused = wattgate_in(tmp_path, "db", "backup", "x", DATABASE_URL="postgresql://h/d", SECRET_KEYS=TEST_KEYS)
    assert refused.returncode == 1
    assert "pg_dump or pg_basebackup" in refused.stderr
    missing = wattgate_in(tmp_path, "db", "backup", "x")
    assert missing.returncode == 1
    assert "does not exist" in missing.stderr


def test_a_database_without_tables_of_wattgate_is_not_backed_up(tmp_path: Path) -> None:
    for statement in ("", "CREATE TABLE alembic_version (version_num TEXT)"):
        with closing(sqlite3.connect(tmp_path / "wattgate.sqlite3")) as database:
            database.execute(statement)
        refused = wattgate_in(tmp_path, "db", "backup", "backup.sqlite3", SECRET_KEYS=TEST_KEYS)
        assert refused.returncode == 1
        assert "has no tables of wattgate, so nothing was backed up. Check WATTGATE_DATABASE_URL" in refused.stderr
        assert not list(tmp_path.glob("backup*"))


def run_programs(server: PostgresqlServer, folder: Path, commands: str, **variables: str) -> None:
    """Run a block with the programs of the server, as its system user."""
    environment = {
        "PATH": f"{server.programs}:/usr/bin:/bin",
        "PGHOST": str(server.folder),
        "PGUSER": "postgres",
        **variables,
    }
    result = subprocess.run(
        ["/bin/sh", "-ec", commands],
        cwd=folder,
        env=environment,
        user=server.system_user,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, (result.stdout, result.stderr)


@asynccontextmanager
async def server_with_records(tmp_path: Path) -> AsyncIterator[tuple[PostgresqlServer, Path, str]]:
    """Yield a server with a filled database `wattgate`, a folder that the server can write, and the URL."""
    async with postgresql_server() as server:
        folder = Path(server.folder.parent / f"{server.folder.name}-backups")
        await asyncio.to_thread(folder.mkdir)
        try:
            if server.system_user is not None:
                await asyncio.to_thread(shutil.chown, folder, server.system_user)
            connection = await asyncpg.connect(server.url.replace("+asyncpg", ""))
            for role in ("gateway LOGIN CREATEDB", "wattgate_rows NOLOGIN"):
                await connection.execute(f"CREATE ROLE {role}")
            await connection.execute("GRANT wattgate_rows TO gateway")
            await connection.execute("CREATE DATABASE wattgate OWNER gateway")
            await connection.close()
            yield server, folder, server.url.replace("/postgres?", "/wattgate?").replace("//postgres@", "//gateway@")
        finally:
            await asyncio.to_thread(shutil.rmtree, folder)


@pytest.mark.long("dumps and restores a filled database")
async def test_a_dump_of_postgresql_is_restored_row_by_row(tmp_path: Path) -> None:
    """It is restored beside the database, and then on a server without database and roles, as on a new server."""
    listed = str(tmp_path / "erasures")
    async with server_with_records(tmp_path) as (server, folder, url):
        async with checked_house(url, erasure_list=listed) as home:
            resource = await home.one.add_resource()
            for minute in range(20):
                await record(home, resource, minute)
            await asyncio.to_thread(run_programs, server, folder, DUMP)
            original = await dump_rows(url)
            await record(home, resource, 21)
            tenants = [home.one, home.other]
            await erase(home)
        restored = url.replace("/wattgate?", "/restored?")
        for is_new_server in (False, True):
            if is_new_server:
                await remove_database_and_roles(server)
                await asyncio.to_thread(run_programs, server, folder, CREATE_ROLE)
            await asyncio.to_thread(run_programs, server, folder, RESTORE_DUMP)
            assert await dump_rows(restored) == original
            await asyncio.to_thread(run_commands, tmp_path, CHECK_DUMP, DATABASE_URL=restored, ERASURE_LIST=listed)
            assert await accepted_log_ins(restored, tenants) == [False, True]
            await check_restored(restored)


async def check_restored(url: str) -> None:
    """Check that a restored database separates rows, and that its tables accept further partitions."""
    database = Database(url)
    try:
        assert not await database.lacks_row_security()
        async with database.engine.begin() as transaction:
            await ensure_upcoming_partitions(transaction, utc_now() + timedelta(days=100))
    finally:
        await database.close()


async def remove_database_and_roles(server: PostgresqlServer) -> None:
    """Leave what a new server has."""
    connection = await asyncpg.connect(server.url.replace("+asyncpg", ""))
    try:
        owned = "SELECT datname FROM pg_database WHERE datdba = 'gateway'::regrole"  # also the copies of `house`
        for name in [row["datname"] for row in await connection.fetch(owned)]:
            await connection.execute(f'ALTER DATABASE "{name}" IS_TEMPLATE false')
            await connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        await connection.execute("DROP ROLE gateway")
        await connection.execute("DROP ROLE wattgate_rows")
    finally:
        await connection.close()


async def test_keys_of_wattgate_are_deleted_from_redis_after_a_restore(tmp_path: Path) -> None:
    program = required_program("redis-cli")
    async with redis_server(tmp_path) as redis:
        await redis.command("SET", "another", "1")
        for number in range(3):
            await redis.command("SET", f"{{wattgate}}:a b {number}", "1")
        commands = FORGET_EVENTS.replace("redis-cli", f"{program} -p {redis.port}")
        for _ in range(2):  # the second time, there are no keys
            result = await asyncio.to_thread(run_shell, tmp_path, commands)
            assert result.returncode == 0, result.stderr
        assert await redis.command("KEYS", "*") == ["another"]


SEGMENT = "[0-9A-F]" * 24
"""The names of the segments of the log."""


async def back_up_on_two_nights(server: PostgresqlServer, folder: Path, connection: asyncpg.Connection) -> Path:
    """Make two backups, and delete the first as if it were old. Return the folder of the second."""
    variables = {"BACKUPS": str(folder)}
    await asyncio.to_thread(run_programs, server, folder, BASE.replace("$(date +%F)", "2025-12-31"), **variables)
    await archive_all(connection)
    await asyncio.to_thread(run_programs, server, folder, BASE, **variables)
    await archive_all(connection)
    (second,) = paths_in(folder, "base-*") - {folder / "base-2025-12-31"}
    later = [folder / f"base-9999-01-0{night}" for night in range(1, 7)]
    for path in later:
        await asyncio.to_thread(path.mkdir)
    before = paths_in(folder / "log", SEGMENT)
    await asyncio.to_thread(run_programs, server, folder, DELETE_OLD, **variables)
    assert paths_in(folder, "base-*") == {second, *later}
    needed = re.search(r"file (\w+)", (second / "backup_label").read_text())
    assert needed is not None
    assert paths_in(folder / "log", SEGMENT) == {path for path in before if path.name >= needed[1]} != before
    return second


def paths_in(folder: Path, pattern: str) -> set[Path]:
    return set(folder.glob(pattern))


async def archive_all(connection: asyncpg.Connection) -> None:
    """End the current segment of the log, and wait until it is in the archive."""
    await connection.execute("SELECT pg_switch_wal()")
    segment = await connection.fetchval("SELECT pg_walfile_name(pg_current_wal_lsn() - 1)")
    async with asyncio.timeout(60):
        while (  # noqa: ASYNC110 (in another process)
            await connection.fetchval("SELECT last_archived_wal FROM pg_stat_archiver") or ""
        ) < segment:
            await asyncio.sleep(0.05)


@pytest.mark.long("starts, archives and restores a server")
async def test_postgresql_is_restored_to_a_point_in_time(tmp_path: Path) -> None:
    listed = str(tmp_path / "erasures")
    async with server_with_records(tmp_path) as (server, folder, url):
        variables: dict[str, Any] = {"BACKUPS": str(folder)}
        await asyncio.to_thread(run_programs, server, folder, ARCHIVE, **variables)
        await server.crash()
        await server.start()
        async with checked_house(url, erasure_list=listed) as home:
            resource = await home.one.add_resource()
            await record(home, resource, 0)
            connection = await asyncpg.connect(server.url.replace("+asyncpg", ""))
            assert await connection.fetchval("SHOW archive_timeout") == "1min"
            base = await back_up_on_two_nights(server, folder, connection)
            for minute in range(1, 20):
                await record(home, resource, minute)
            original = await dump_rows(url)
            moment = await connection.fetchval("SELECT clock_timestamp()::text")
            await record(home, resource, 21)  # the mistake
            tenants = [home.one, home.other]
            await erase(home)
            await archive_all(connection)
            await connection.close()
        data = folder / "data"
        await asyncio.to_thread(data.mkdir)
        if server.system_user is not None:
            await asyncio.to_thread(shutil.chown, data, server.system_user)
        run = {**variables, "BASE": str(base), "DATA": str(data), "MOMENT": moment}
        await asyncio.to_thread(run_programs, server, folder, RESTORE_MOMENT, **run)
        (data / ".s.PGSQL.5432.lock").unlink(missing_ok=True)
        async with server.serve_copy(data) as copy:
            restored = copy.url.replace("/postgres?", "/wattgate?")
            await copy.wait_until_promoted()
            assert await dump_rows(restored) == original
            await asyncio.to_thread(run_commands, tmp_path, CHECK_MOMENT, DATABASE_URL=restored, ERASURE_LIST=listed)
            assert await accepted_log_ins(restored, tenants) == [False, True]
