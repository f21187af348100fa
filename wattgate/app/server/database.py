"""The database of the settings."""

from wattgate.app.secret_keys import load_key_ring
from wattgate.app.settings import Settings
from wattgate.db.connections.engine import Database
from wattgate.db.connections.replica import StreamingReplica
from wattgate.tracer import NOOP_TRACER, Tracer


def create_database(settings: Settings, tracer: Tracer = NOOP_TRACER, *, creates_keys: bool = True) -> Database:
    """Create the database for the settings, with the keys of its secrets, without opening a connection.

    With `creates_keys`, a SQLite database without a key gets a file with a new one.
    """
    key_ring = load_key_ring(settings, creates_file=creates_keys)
    database = Database(
        settings.database_url,
        pool_size=settings.database_pool_size,
        tracer=tracer,
        key_ring=key_ring,
        has_transaction_pooler=settings.database_pooler == "transaction",
    )
    if settings.database_replica_url is not None:
        replica = Database(settings.database_replica_url, pool_size=settings.database_pool_size, tracer=tracer)
        database.replica = StreamingReplica(database, replica, settings.database_replica_wait, tracer)
    return database
