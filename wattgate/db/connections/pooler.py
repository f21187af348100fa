"""Find a pooler of transactions between the gateway and PostgreSQL.

A pooler sends the client a process number of its own, so that it can forward requests to cancel. So a connection goes
through a pooler if the number differs from `pg_backend_pid()`. A pooler of sessions then gives each client one process
of the server until the client leaves. If two clients share a process, or one client uses two, transactions are pooled.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import asyncpg

from wattgate.db.connections.engine import Database
from wattgate.db.connections.engine_errors import POOLER_REMEDY

ROUNDS = 20
"""Statements of each client. Without other clients, the first one shows the mode of PgBouncer."""

TIMEOUT_SECONDS = 5.0
"""The maximum wait of the second client for its first process. A pooler of sessions may have none left for it."""


async def find_pooler_problem(database: Database) -> str | None:
    """Return why the database cannot be used through its pooler, and what to do; None if it can."""
    if database.is_sqlite or database.has_transaction_pooler or not await pools_transactions(database):
        return None
    return POOLER_REMEDY


async def pools_transactions(database: Database) -> bool:
    """Return whether a pooler of transactions is between this process and PostgreSQL."""
    _, options = database.engine.dialect.create_connect_args(database.url)
    clients: list[Any] = []
    try:
        clients.append(await _connect(options))
        if await _process_of(clients[0]) == clients[0].get_server_pid():
            return False
        async with asyncio.timeout(TIMEOUT_SECONDS):
            clients.append(await _connect(options))
            await _process_of(clients[1])
        processes = [[await _process_of(client) for client in clients] for _ in range(ROUNDS)]
    except TimeoutError:
        return False
    finally:
        for client in clients:
            client.terminate()
    first, second = map(set, zip(*processes, strict=True))
    return len(first) > 1 or len(second) > 1 or first == second


async def _connect(options: Mapping[str, Any]) -> Any:
    """Connect without the preparation that the connections of the pool get: it needs a session."""
    return await asyncpg.connect(**options, statement_cache_size=0)


async def _process_of(client: Any) -> int:
    """Return the number of the process that runs a statement."""
    number: int = await client.fetchval("SELECT pg_backend_pid()")
    return number
