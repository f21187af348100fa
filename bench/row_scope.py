"""Measure what the scope of row security costs for each statement, and what the documented ways to set it cost.

`python -m bench.row_scope` prints the processor time of the client and of the server, as the median of ROUNDS rounds in
which all ways take turns. `docs/explanation/decisions/0027-row-level-security.md` has the results.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg

from tests.support.postgresql_server import postgresql_server
from wattgate.db.connections.scoped_connection import ROW_ROLE, ScopedConnection
from wattgate.db.scope.row_scope import RowScope, ScopeHolder

STATEMENTS = 200
"""Statements of a way in a round."""

ROUNDS = 10

LOGIN_ROLE = "wattgate_login"
"""A role that the policies restrict and that can log in, for the way that cannot change the role."""

TABLES = f"""
    CREATE TABLE home (ve_id text PRIMARY KEY, application_id text, owner_id text, name text);
    INSERT INTO home SELECT 'home-' || n, 'app-' || n % 20, 'user-' || n % 500, 'Home ' || n
      FROM generate_series(1, 10000) n;
    CREATE VIEW own_reading AS SELECT 1;
    CREATE ROLE {ROW_ROLE} NOLOGIN;
    CREATE ROLE {LOGIN_ROLE} LOGIN;
    GRANT SELECT ON home, own_reading TO {ROW_ROLE}, {LOGIN_ROLE};
    ALTER TABLE home ENABLE ROW LEVEL SECURITY;
    CREATE POLICY scope ON home USING (
      application_id = (SELECT current_setting('wattgate.application', true))
      AND owner_id = (SELECT current_setting('wattgate.user', true)));
    ANALYZE;
"""  # noqa: S608 (constants of this project)
"""A table with a policy as `wattgate db upgrade` installs it. `ScopedConnection` looks for the view."""

LOOK_UP = "SELECT ve_id, name FROM home WHERE ve_id = $1 AND application_id = $2"
KEYS = ("home-7", "app-7")
SET_SCOPE = (
    "SELECT set_config('role', $1, {0}), set_config('wattgate.application', $2, {0}),"
    " set_config('wattgate.user', $3, {0}), set_config('wattgate.home', $4, {0})"
)
SCOPE = (ROW_ROLE, "app-7", "user-7", "")

LOOK_UP_WITH_SCOPE = """
    WITH scope AS MATERIALIZED (
      SELECT set_config('wattgate.application', $3, true) AS application, set_config('wattgate.user', $4, true) AS owner
    )
    SELECT found.* FROM scope CROSS JOIN LATERAL (
      SELECT ve_id, name FROM home
      WHERE ve_id = $1 AND application_id = $2 AND (scope.application, scope.owner) IS NOT NULL OFFSET 0
    ) found
"""
"""The look-up with its scope in one statement. PostgreSQL does not promise the order in which it evaluates them."""

Way = Callable[[], Awaitable[Any]]


def ways_of(plain: Any, scoped: Any, transaction: Any, session: Any, login: Any) -> dict[str, tuple[Way, Any]]:
    """Return the ways to run the look-up, by name, each with its connection."""

    async def in_transaction() -> Any:
        async with transaction.transaction():
            await transaction.fetch(SET_SCOPE.format("true"), *SCOPE)
            return await transaction.fetch(LOOK_UP, *KEYS)

    async def in_session() -> Any:
        await session.fetch(SET_SCOPE.format("false"), *SCOPE)
        return await session.fetch(LOOK_UP, *KEYS)

    return {
        "no scope": (lambda: plain.fetch(LOOK_UP, *KEYS), plain),
        "messages before the statement": (lambda: scoped.fetch(LOOK_UP, *KEYS), scoped),
        "transaction of asyncpg": (in_transaction, transaction),
        "settings of the session": (in_session, session),
        "scope in the statement": (lambda: login.fetch(LOOK_UP_WITH_SCOPE, *KEYS, "app-7", "user-7"), login),
    }


def server_seconds(connection: Any) -> float:
    """Return the processor time that the server process of a connection has used."""
    return int(Path(f"/proc/{connection.get_server_pid()}/schedstat").read_text().split()[0]) / 1e9


async def measure() -> None:
    """Run all ways in turns, and print what a statement costs."""
    async with postgresql_server() as server:
        url = server.url.replace("+asyncpg", "")
        plain, transaction, session = [await asyncpg.connect(url) for _ in range(3)]
        await plain.execute(TABLES)
        login = await asyncpg.connect(url.replace("postgres@", f"{LOGIN_ROLE}@"))
        scoped = await asyncpg.connect(url, connection_class=ScopedConnection)
        await scoped.prepare_scope()
        scoped.scope_holder = ScopeHolder(RowScope("app-7", "user-7"))
        ways = ways_of(plain, scoped, transaction, session, login)
        costs: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for way, _ in ways.values():
            assert len(await way()) == 1
        for _ in range(ROUNDS):
            for name, (way, connection) in ways.items():
                client, served = time.process_time(), server_seconds(connection)
                for _ in range(STATEMENTS):
                    await way()
                costs[name].append((time.process_time() - client, server_seconds(connection) - served))
        for name, rounds in costs.items():
            client, served = (statistics.median(column) / STATEMENTS * 1e6 for column in zip(*rounds, strict=True))
            print(f"{name:32} client {client:4.0f} µs, server {served:4.0f} µs, both {client + served:4.0f} µs")
        for connection in (plain, scoped, transaction, session, login):
            await connection.close()


if __name__ == "__main__":
    asyncio.run(measure())
