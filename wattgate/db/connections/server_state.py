"""Read the state of the database server: whether it accepts changes, and its clock."""

from dataclasses import dataclass
from time import time

from sqlalchemy import text

from wattgate.db.connections.engine import Database

_SELECT_STATE = text(
    "SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on', "
    "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS double precision), "
    "CAST(session_user AS text), (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = session_user)"
)


@dataclass(frozen=True, slots=True)
class ServerState:
    """The state of a PostgreSQL server, for the role that logs in.

    A positive `clock_offset` (seconds) means that its clock is ahead of ours. `is_unrestricted` is true if row-level
    security does not restrict the role.
    """

    is_standby: bool
    is_read_only: bool
    clock_offset: float
    role: str
    is_unrestricted: bool

    @property
    def write_problem(self) -> str | None:
        """Why the server accepts no changes, and what to do; None if it accepts them."""
        if self.is_standby:
            return "is a standby, which accepts no changes: set WATTGATE_DATABASE_URL to the primary"
        if self.is_read_only:
            return "is read-only: set default_transaction_read_only of its role, database and server to off"
        return None

    @property
    def role_problem(self) -> str | None:
        """Why the role can do too much, and what to do; None if it cannot."""
        if self.is_unrestricted:
            return (
                f"the role {self.role} is a superuser or has BYPASSRLS, so row-level security does not restrict a "
                "statement that resets the role: create a role without both, and make it the owner of the database"
            )
        return None


async def read_server_state(database: Database) -> ServerState | None:
    """Return the state of the server, or None for SQLite, which has no server."""
    if database.is_sqlite:
        return None
    async with database.autocommit_engine.connect() as connection:
        await connection.execute(text("SELECT 1"))  # the first statement takes longer
        sent_at = time()
        standby, read_only, server_time, role, unrestricted = (await connection.execute(_SELECT_STATE)).one()
        return ServerState(standby, read_only, server_time - (sent_at + time()) / 2, role, bool(unrestricted))
