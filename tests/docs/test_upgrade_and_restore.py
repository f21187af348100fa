"""The commands of docs/how-to/upgrade-and-restore.md work unchanged, and restored databases have the same rows."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.support.command import wattgate_in
from tests.support.encryption import TEST_KEYS
from tests.support.house import House, house
from tests.support.markdown import code_blocks
from tests.support.postgresql_server import PostgresqlServer, postgresql_server
from tests.support.row_dumps import dump_rows
from wattgate.db.backup import back_up_sqlite
from wattgate.errors import Conflict, Unavailable

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "upgrade-and-restore.md").read_text()
BACK_UP, RESTORE, DUMP, RESTORE_DUMP, CHECK_DUMP, ARCHIVE, BASE, RESTORE_MOMENT = code_blocks(PAGE, "sh")

RECORD = "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { recorded } }"
COUNT = """query ($resource: ID!) { readings(resourceId: $resource, period: P1D,
    range: {start: "2026-02-01T00:00:00Z", end: "2026-02-03T00:00:00Z"}) { count } }"""


async def record(home: House, resource: str, minute: int) -> None:
    at = f"2026-02-{1 + minute // 1440:02}T{minute // 60 % 24:02}:{minute % 60:02}:00Z"
    series = [{"resourceId": resource, "field": "POWER", "readings": [{"at": at, "value": minute}]}]
    stored = await home.graphql(RECORD, home.one.headers["application"], series=series)
    assert stored["data"]["recordReadings"]["recorded"] == 1, stored


def run_commands(folder: Path, commands: str, **settings: str) -> None:
    """Run the `wattgate` commands of a block, and let the shell run its other lines."""
    for line in commands.splitlines():
        if line.startswith("wattgate "):
            result = wattgate_in(folder, *line.split()[1:], SECRET_KEYS=TEST_KEYS, **settings)
        else:
            result = subprocess.run(["/bin/sh", "-ec", line], cwd=folder, capture_output=True, text=True, check=False)
        assert result.returncode == 0, (line, result.stdout, result.stderr)


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

    async with house(url) as home:
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
    async with house(url) as home:
        resource = await home.one.add_resource()
        for minute in range(20):
            await record(home, resource, minute)
        await asyncio.to_thread(run_commands, tmp_path, BACK_UP)
        original = await dump_rows(url)
        await record(home, resource, 21)
    (tmp_path / "wattgate.sqlite3-wal").write_bytes(b"the log of the old database")
    await asyncio.to_thread(run_commands, tmp_path, RESTORE)
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


def test_the_command_names_the_way_for_postgresql(tmp_path: Path) -> None:
    refused = wattgate_in(tmp_path, "db", "backup", "x", DATABASE_URL="postgresql://h/d", SECRET_KEYS=TEST_KEYS)
    assert refused.returncode == 1
    assert "pg_dump or pg_basebackup" in refused.stderr
    missing = wattgate_in(tmp_path, "db", "backup", "x")
    assert missing.returncode == 1
    assert "does not exist" in missing.stderr


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
            await connection.execute("CREATE DATABASE wattgate")
            await connection.close()
            yield server, folder, server.url.replace("/postgres?", "/wattgate?")
        finally:
            await asyncio.to_thread(shutil.rmtree, folder)


async def test_a_dump_of_postgresql_is_restored_row_by_row(tmp_path: Path) -> None:
    async with server_with_records(tmp_path) as (server, folder, url):
        async with house(url) as home:
            resource = await home.one.add_resource()
            for minute in range(20):
                await record(home, resource, minute)
            await asyncio.to_thread(run_programs, server, folder, DUMP)
            original = await dump_rows(url)
            await record(home, resource, 21)
        await asyncio.to_thread(run_programs, server, folder, RESTORE_DUMP)
        restored = url.replace("/wattgate?", "/restored?")
        await asyncio.to_thread(run_commands, tmp_path, CHECK_DUMP, DATABASE_URL=restored)
        assert await dump_rows(restored) == original


@pytest.mark.long("starts, archives and restores a server")
async def test_postgresql_is_restored_to_a_point_in_time(tmp_path: Path) -> None:
    async with server_with_records(tmp_path) as (server, folder, url):
        variables: dict[str, Any] = {"BACKUPS": str(folder)}
        await asyncio.to_thread(run_programs, server, folder, ARCHIVE, **variables)
        await server.crash()
        await server.start()
        async with house(url) as home:
            resource = await home.one.add_resource()
            await record(home, resource, 0)
            await asyncio.to_thread(run_programs, server, folder, BASE, **variables)
            for minute in range(1, 20):
                await record(home, resource, minute)
            original = await dump_rows(url)
            connection = await asyncpg.connect(url.replace("+asyncpg", ""))
            moment = await connection.fetchval("SELECT clock_timestamp()::text")
            await record(home, resource, 21)  # the mistake
            await connection.execute("SELECT pg_switch_wal()")
            segment = await connection.fetchval("SELECT pg_walfile_name(pg_current_wal_lsn() - 1)")
            async with asyncio.timeout(60):
                while True:
                    if (await connection.fetchval("SELECT last_archived_wal FROM pg_stat_archiver") or "") >= segment:
                        break
                    await asyncio.sleep(0.05)
            await connection.close()
        data = folder / "data"
        await asyncio.to_thread(data.mkdir)
        if server.system_user is not None:
            await asyncio.to_thread(shutil.chown, data, server.system_user)
        run = {**variables, "DATA": str(data), "MOMENT": moment}
        await asyncio.to_thread(run_programs, server, folder, RESTORE_MOMENT, **run)
        (data / ".s.PGSQL.5432.lock").unlink(missing_ok=True)
        async with server.serve_copy(data) as copy:
            restored = copy.url.replace("/postgres?", "/wattgate?")
            await copy.wait_until_promoted()
            assert await dump_rows(restored) == original
            await asyncio.to_thread(run_commands, tmp_path, "wattgate doctor", DATABASE_URL=restored)
