"""Carry out the commands for keys."""

from collections import Counter

from rich.table import Table

from wattgate.app.cli.consoles import out
from wattgate.app.cli.database_context import require_existing, require_keys, run_async, with_database
from wattgate.app.cli.reading_context import require_current
from wattgate.app.erasure_list import open_erasure_list
from wattgate.app.secret_keys import load_key_ring
from wattgate.app.settings import Settings
from wattgate.db.connections.engine import Database
from wattgate.db.encryption.key_ring import new_key
from wattgate.db.key_rotation import KeyCount, count_secrets, rotate_secrets, verify_keys


def keys_new() -> None:
    """Print a new key for WATTGATE_SECRET_KEYS."""
    out.print(new_key(), soft_wrap=True, highlight=False)


def keys_rotate(*, batch: int) -> None:
    """Encrypt every stored secret with the first key of WATTGATE_SECRET_KEYS, and sign the list of erasures with it."""
    settings = Settings()
    require_existing(settings)
    require_keys(settings)

    async def run(database: Database) -> Counter[str]:
        await require_current(database)
        changed = Counter[str]()
        async for done in rotate_secrets(database, batch):
            changed[f"{done.table}.{done.column}"] += done.count
        return changed

    erasure_list = open_erasure_list(settings)
    if erasure_list is not None:
        erasure_list.sign_again()
    changed = run_async(with_database(settings, run))
    for column, count in changed.items():
        out.print(f"{column}: {count:,} encrypted", highlight=False)
    out.print(f"{changed.total():,} secrets changed. All secrets are under {load_key_ring(settings).current_id}.")


def keys_status(*, as_json: bool) -> None:
    """Show how many stored secrets each key encrypts. The exit status is 1 if a key in use is missing or wrong."""
    settings = Settings()
    require_existing(settings)

    async def run(database: Database) -> list[KeyCount]:
        await require_current(database)
        counts = await count_secrets(database)
        _print_counts(counts, database.key_ring.key_ids, as_json)
        await verify_keys(database)
        return counts

    run_async(with_database(settings, run))


def _print_counts(counts: list[KeyCount], key_ids: tuple[str, ...], as_json: bool) -> None:
    rows = [
        {
            "column": f"{count.table}.{count.column}",
            "key": count.key_id,
            "available": count.key_id in key_ids,
            "secrets": count.count,
        }
        for count in counts
    ]
    if as_json:
        out.print_json(data=rows)
        return
    table = Table("column", "key", "available", "secrets")
    for row in rows:
        available = "yes" if row["available"] else "no"
        table.add_row(str(row["column"]), str(row["key"]), available, f"{row['secrets']:,}")
    out.print(table)
    out.print(f"Keys: {', '.join(key_ids) or 'none'}. The first one encrypts.")
