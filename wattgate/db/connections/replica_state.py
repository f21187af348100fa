"""Check the read replica of the settings: whether it may be used, and what is wrong with it at the moment."""

import asyncio
from dataclasses import dataclass

from wattgate.db.connections.engine import Database
from wattgate.db.connections.pooler import pools_transactions
from wattgate.db.connections.replica import (
    DATABASE_ERRORS,
    StreamingReplica,
    describe_wrong_server,
    read_primary,
    read_replica,
)

TIMEOUT_SECONDS = 5.0

BEHIND_POOLER = (
    "is behind a pooler of transactions, which may change the server between two statements: set "
    "WATTGATE_DATABASE_REPLICA_URL to the server itself, or let the pooler pool sessions"
)


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The state of the read replica. `error` forbids its use. With `warning`, queries go to the primary meanwhile."""

    error: str | None = None
    warning: str | None = None


async def read_replica_state(database: Database) -> ReplicaState | None:
    """Return the state of the replica of a database, or None if it has none."""
    replica = database.replica
    if not isinstance(replica, StreamingReplica):
        return None
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await _find_state(replica)
    except DATABASE_ERRORS as error:
        return ReplicaState(warning=f"does not answer: {error!r}. Check WATTGATE_DATABASE_REPLICA_URL")


async def _find_state(replica: StreamingReplica) -> ReplicaState:
    if await pools_transactions(replica.database):
        return ReplicaState(error=BEHIND_POOLER)
    primary = await replica.primary.borrow_connection(None)
    try:
        wanted = await read_primary(primary.driver)
    finally:
        primary.close()
    connection = await replica.database.borrow_connection(None)
    try:
        if problem := describe_wrong_server(await read_replica(connection.driver), wanted):
            return ReplicaState(error=problem)
        problem = await replica.find_problem(connection.driver, wanted)
    finally:
        connection.close()
    remedy = "Check its disk, its network and pg_stat_replication of the primary"
    return ReplicaState(warning=f"{problem}. {remedy}" if problem else None)
