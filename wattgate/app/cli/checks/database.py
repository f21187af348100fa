"""Check the database: connection, schema, keys, row security, partitions, disk and clock."""

import os
import shutil
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from wattgate.app.cli.checks.result import CheckResult, check_clock, failed, passed, warning
from wattgate.app.cli.database_failures import failure_reason
from wattgate.clock import utc_now
from wattgate.db.connections.engine import Database
from wattgate.db.connections.pooler import find_pooler_problem
from wattgate.db.connections.replica import read_replica_state
from wattgate.db.connections.server_state import read_server_state
from wattgate.db.key_rotation import verify_keys
from wattgate.db.migrate import find_schema_problem
from wattgate.db.readings.partitions import find_missing_upcoming
from wattgate.errors import GatewayError

MIN_FREE_BYTES, LOW_FREE_BYTES = 16 * 2**20, 256 * 2**20
"""Free bytes of the disk of SQLite below which the check fails, and below which it warns."""

SUBJECT = "database"


async def check_database(database: Database) -> list[CheckResult]:
    """Run all checks of the database. The checks of its contents need the schema of this version."""
    try:
        disk = _check_disk(database)
        if problem := await find_pooler_problem(database):
            return [failed(SUBJECT, problem)]
        server = await read_server_state(database)
        problem = await find_schema_problem(database)
        results = [failed(SUBJECT, problem)] if problem else await _check_contents(database)
    except (SQLAlchemyError, OSError, GatewayError) as error:
        return [failed(SUBJECT, f"does not answer: {failure_reason(error)}. Check WATTGATE_DATABASE_URL")]
    if server is not None:
        if server.write_problem:
            results.append(failed(SUBJECT, server.write_problem))
        if server.role_problem:
            results.append(warning(SUBJECT, server.role_problem))
        results.append(check_clock("database", server.clock_offset))
        results += await _check_replica(database)
    return results + disk


async def _check_contents(database: Database) -> list[CheckResult]:
    results = []
    try:
        await verify_keys(database)
        results.append(passed(SUBJECT, "answers and has the schema of this version; the keys decrypt its secrets"))
    except GatewayError as error:
        results.append(failed("keys", error.message))
    if await database.lacks_row_security():
        results.append(warning(SUBJECT, "row-level security is not active: run wattgate db upgrade"))
    if not database.is_sqlite:
        results.append(await _check_partitions(database))
    return results


async def _check_replica(database: Database) -> list[CheckResult]:
    state = await read_replica_state(database)
    if state is None:
        return []
    if state.error:
        return [failed("read replica", state.error)]
    if state.warning:
        return [warning("read replica", f"{state.warning}. Queries go to the primary meanwhile")]
    return [passed("read replica", "has all changes of the primary")]


async def _check_partitions(database: Database) -> CheckResult:
    async with database.autocommit_engine.connect() as connection:
        missing = await find_missing_upcoming(connection, utc_now())
    if not missing:
        return passed("partitions", "this month and the next have partitions")
    return warning(
        "partitions",
        f"missing: {', '.join(missing)}. A gateway or worker creates them within a day: check that one is running, and "
        "that its database user may create tables",
    )


def _check_disk(database: Database) -> list[CheckResult]:
    """Check the folder of an SQLite file. The disk of PostgreSQL cannot be seen from here."""
    name = database.url.database
    if not database.is_sqlite or not name or name == ":memory:":
        return []
    file = Path(name).resolve()
    if not all(os.access(path, os.W_OK) for path in (file.parent, file) if path.exists()):
        return [failed("disk", f"{file} or its folder cannot be written: give this user the permission to write both")]
    free = shutil.disk_usage(file.parent).free
    text = f"{free // 2**20} MiB are free in {file.parent}"
    if free >= LOW_FREE_BYTES:
        return [passed("disk", text)]
    low = failed if free < MIN_FREE_BYTES else warning
    return [low("disk", f"{text}: delete files or move the database to a larger disk")]
