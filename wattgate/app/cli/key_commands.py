"""`wattgate keys`: create keys that encrypt stored secrets, rotate them, and show which are in use."""

from collections import Counter
from typing import Annotated

import typer
from rich.table import Table

from wattgate.app.cli.gateway_context import err, out, run_async, with_gateway
from wattgate.app.secret_keys import KEYS_REQUIRED, load_key_ring
from wattgate.app.server.factory import Gateway
from wattgate.app.settings import Settings
from wattgate.db.encryption.key_ring import new_key
from wattgate.db.encryption.rotation import BATCH_ROWS, KeyCount, count_secrets, rotate_secrets, verify_keys

keys_app = typer.Typer(no_args_is_help=True, help="Manage the keys that encrypt stored secrets.")


@keys_app.command("new")
def new() -> None:
    """Print a new key for WATTGATE_SECRET_KEYS.

    Example: wattgate keys new
    """
    out.print(new_key(), soft_wrap=True, highlight=False)


@keys_app.command("rotate")
def rotate(
    batch: Annotated[int, typer.Option(min=1, max=10_000, help="Rows that one transaction changes.")] = BATCH_ROWS,
) -> None:
    """Encrypt every stored secret with the first key of WATTGATE_SECRET_KEYS.

    All gateways and workers must have this key first already. You can interrupt the command and run it again. Remove
    the old keys after it.

    Example: wattgate keys rotate
    """
    settings = Settings()
    require_keys(settings)

    async def run(gateway: Gateway) -> Counter[str]:
        changed = Counter[str]()
        async for done in rotate_secrets(gateway.database, batch):
            changed[f"{done.table}.{done.column}"] += done.count
        return changed

    changed = run_async(with_gateway(settings, run))
    for column, count in changed.items():
        out.print(f"{column}: {count:,} encrypted", highlight=False)
    out.print(f"{changed.total():,} secrets changed. All secrets are under {load_key_ring(settings).current_id}.")


@keys_app.command("status")
def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: a list of objects.")] = False,
) -> None:
    """Show how many stored secrets each key encrypts. The exit status is 1 if a key in use is missing or wrong.

    Example: wattgate keys status --json
    """
    settings = Settings()

    async def run(gateway: Gateway) -> list[KeyCount]:
        counts = await count_secrets(gateway.database)
        _print_counts(counts, gateway.database.key_ring.key_ids, as_json)
        await verify_keys(gateway.database)
        return counts

    run_async(with_gateway(settings, run))


def require_keys(settings: Settings) -> None:
    """Exit with status 2 and a message if the settings have no key that encrypts stored secrets."""
    if not load_key_ring(settings).key_ids:
        err.print(KEYS_REQUIRED)
        raise typer.Exit(2)


def _print_counts(counts: list[KeyCount], key_ids: tuple[str, ...], as_json: bool) -> None:
    rows = [
        {
            "column": f"{count.table}.{count.column}",
            "key": count.key_id,
            "available": count.key_id is None or count.key_id in key_ids,
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
        table.add_row(str(row["column"]), str(row["key"] or "not encrypted"), available, f"{row['secrets']:,}")
    out.print(table)
    out.print(f"Keys: {', '.join(key_ids) or 'none'}. The first one encrypts.")
