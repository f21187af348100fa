"""The memory of a worker at rest: import its parts in turn, and print the resident memory after each, as JSON.

This module imports nothing at its start that is a part itself.
"""

import gc
import json
import sys
from importlib import import_module
from resource import getpagesize

PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("interpreter", ()),
    ("asyncio", ("asyncio",)),
    ("pydantic", ("pydantic", "pydantic_settings")),
    ("SQLAlchemy", ("sqlalchemy.ext.asyncio",)),
    ("asyncpg", ("asyncpg", "sqlalchemy.dialects.postgresql")),
    ("SQLModel", ("sqlmodel",)),
    ("numpy", ("numpy",)),
    ("Strawberry and graphql-core", ("strawberry.federation",)),
    ("Liquid", ("liquid",)),
    ("cryptography", ("cryptography.hazmat.primitives.ciphers.aead",)),
    ("Starlette and uvicorn", ("starlette.applications", "uvicorn")),
    ("redis", ("redis.asyncio",)),
    ("tables", ("wattgate.db.models",)),
    ("catalogue of operations", ("wattgate.operations.catalogue",)),
    ("gateway", ("wattgate.app.server.factory",)),
    ("pyarrow, with the first Arrow stream", ("wattgate.rest_compat.arrow.readings",)),
)
"""Names of the parts, and their modules. A part counts only what no earlier part has imported."""


def print_totals() -> None:
    """Import the parts, and print the bytes of resident memory after each."""
    gc.disable()  # as at the start of the gateway
    totals = []
    for _, modules in PARTS:
        for module in modules:
            import_module(module)
        totals.append(_resident_bytes())
    json.dump(totals, sys.stdout)


def _resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as sizes:
        return int(sizes.read().split()[1]) * getpagesize()


if __name__ == "__main__":
    print_totals()
