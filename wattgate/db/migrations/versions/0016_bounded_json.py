"""Repair stored JSON values that clients or databases cannot represent.

Integers beyond 2^53 become text. Lists and objects below 32 levels become their JSON text, or null if that has more
than 100,000 characters. U+0000 and lone surrogates become U+FFFD. Numbers that are not finite become null. A value that
cannot be parsed becomes an empty object. Values that only are larger than the present bounds stay as they are.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

COLUMNS = (
    ("account_profile", "profile_id", "data"),
    ("account_session", "account_id", "data"),
    ("alert", "alert_id", "data"),
    ("content", "content_id", "data"),
    ("language_content", "language_content_id", "data"),
    ("notification", "notification_id", "data"),
    ("prompt", "prompt_id", "data"),
    ("prompt_user", "prompt_user_id", "data"),
    ("resource", "resource_id", "data_source_resource_type_info"),
    ("resource", "resource_id", "data_source_unit_info"),
    ("resource_type", "resource_type_id", "data_source_resource_type_info"),
    ("support_details", "support_details_id", "data"),
    ("terms_conditions", "tc_id", "data"),
    ("terms_conditions_user", "tc_user_id", "data"),
    ("user_action", "user_action_id", "data"),
    ("virtual_entity", "ve_id", "attributes"),
)
"""The table, unique ID and name of each column that holds JSON of callers."""

BATCH_ROWS = 1_000
MAX_DEPTH = 32
MAX_TEXT_CHARACTERS = 100_000
MAX_SAFE_INTEGER = 2**53 - 1
REPLACEMENT = "\ufffd"

_SUSPECT = re.compile(r"\d{16}|[eE]\+?\d{3}|\\u0000|\\u[dD][89a-fA-F]|NaN|Infinity")


def upgrade() -> None:
    connection = op.get_bind()
    for table, key, column in COLUMNS:
        for row_id, stored in _stored_values(connection, table, key, column):
            if is_suspect(stored) and (repaired := repair_text(stored)) != stored:
                json_type = "jsonb" if connection.dialect.name == "postgresql" else "text"
                connection.execute(
                    sa.text(f"UPDATE {table} SET {column} = CAST(:value AS {json_type}) WHERE {key} = :id"),  # noqa: S608 (names of COLUMNS)
                    {"value": repaired, "id": row_id},
                )


def downgrade() -> None:
    """Do nothing: the earlier version reads repaired values, too."""


def _stored_values(connection: sa.Connection, table: str, key: str, column: str) -> Iterator[tuple[str, str]]:
    """Yield the ID and the JSON text of each row, in batches by ID."""
    statement = f"SELECT {key}, CAST({column} AS TEXT) FROM {table} WHERE {key} > :last ORDER BY {key} LIMIT :rows"  # noqa: S608 (names of COLUMNS)
    last = ""
    while True:
        rows = connection.execute(sa.text(statement), {"last": last, "rows": BATCH_ROWS}).all()
        yield from ((row_id, stored) for row_id, stored in rows if stored is not None)
        if len(rows) < BATCH_ROWS:
            return
        last = rows[-1][0]


def is_suspect(stored: str) -> bool:
    """Return whether a value may need a repair. Most values are not parsed."""
    return stored.count("[") + stored.count("{") > MAX_DEPTH or _SUSPECT.search(stored) is not None


def repair_text(stored: str) -> str:
    """Return the JSON text of a repaired value, or the same text if the value needs no repair."""
    try:
        value = json.loads(stored)
    except (ValueError, RecursionError):
        return "{}"
    repaired = repair(value, MAX_DEPTH)
    return stored if repaired == value else json.dumps(repaired, ensure_ascii=False)


def repair(value: Any, depth: int) -> Any:
    """Return a value that every client and both databases can represent."""
    if isinstance(value, str):
        return _repair_characters(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= MAX_SAFE_INTEGER else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if not depth:
        text = _repair_characters(json.dumps(value, ensure_ascii=False))
        return text if len(text) <= MAX_TEXT_CHARACTERS else None
    if isinstance(value, list):
        return [repair(item, depth - 1) for item in value]
    return {_repair_characters(name): repair(item, depth - 1) for name, item in value.items()}


def _repair_characters(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", REPLACEMENT).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
