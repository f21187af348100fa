"""Add quality, revision and receipt to readings, monthly partitions on PostgreSQL, and hourly and daily rollups."""

import re
import time
from datetime import UTC
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

HOUR = 60 * 60 * 1000
DAY = 24 * HOUR
INTERVAL = re.compile(r"^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$")
AMOUNTS = "count, sum, min, max, first_at, last_at, estimated, revision, received_at"
OF_READINGS = "count(*), sum(value), min(value), max(value), min(at), max(at), 0, 0, max(received_at)"


def upgrade() -> None:
    op.add_column("resource_type", sa.Column("retention_days", sa.Integer(), nullable=True))
    op.add_column(
        "network_reading", sa.Column("quality", sa.String(length=16), nullable=False, server_default="ACTUAL")
    )
    now = int(time.time() * 1000)
    if op.get_bind().dialect.name == "sqlite":
        _table("reading_new", sqlite_with_rowid=False)
        _move("reading", "reading_new", now)
        op.drop_table("reading")
        op.rename_table("reading_new", "reading")
    else:
        op.rename_table("reading", "reading_before")
        op.execute("ALTER TABLE reading_before RENAME CONSTRAINT pk_reading TO pk_reading_before")
        _table("reading", postgresql_partition_by="RANGE (at)")
        _partitions()
        _move("reading_before", "reading", now)
        op.drop_table("reading_before")
    for name in ("reading_hour", "reading_day"):
        _rollup(name)
    _fill_rollups()


def _table(name: str, **options: Any) -> None:
    op.create_table(
        name,
        sa.Column("resource_number", sa.BigInteger(), nullable=False),
        sa.Column("field", sa.SmallInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.Column("quality", sa.SmallInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("resource_number", "field", "at", name=op.f("pk_reading")),
        **options,
    )


def _move(source: str, target: str, now: int) -> None:
    op.execute(
        f"INSERT INTO {target} (resource_number, field, at, value, quality, revision, received_at) "  # noqa: S608 (constants)
        f"SELECT resource_number, field, at, value, 0, 0, {now} FROM {source}"
    )


def _partitions() -> None:
    """Create a partition for each month that has readings."""
    months = op.get_bind().execute(
        sa.text("SELECT DISTINCT date_trunc('month', to_timestamp(at / 1000) AT TIME ZONE 'UTC') FROM reading_before")
    )
    for naive in months.scalars():
        month = naive.replace(tzinfo=UTC)
        following = month.replace(year=month.year + month.month // 12, month=month.month % 12 + 1)
        start, stop = (int(edge.timestamp()) * 1000 for edge in (month, following))
        op.execute(f"CREATE TABLE reading_{month:%Y_%m} PARTITION OF reading FOR VALUES FROM ({start}) TO ({stop})")


def _rollup(name: str) -> None:
    amounts = [
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("sum", sa.BigInteger(), nullable=False),
        sa.Column("min", sa.BigInteger(), nullable=False),
        sa.Column("max", sa.BigInteger(), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("estimated", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
    ]
    op.create_table(
        name,
        sa.Column("resource_number", sa.BigInteger(), nullable=False),
        sa.Column("field", sa.SmallInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        *amounts,
        sa.PrimaryKeyConstraint("resource_number", "field", "at", name=op.f(f"pk_{name}")),
        sqlite_with_rowid=False,
    )


def _fill_rollups() -> None:
    """Fill the daily rollups of all series, and the hourly rollups of series with more than four samples an hour."""
    bind = op.get_bind()
    _fill("reading_day", DAY, "")
    resources = sa.table("resource", sa.column("number"), sa.column("storage", sa.JSON()))
    for number, storage in bind.execute(sa.select(resources.c.number, resources.c.storage)).all():
        for index in _fields_with_hours(storage):
            _fill("reading_hour", HOUR, f"WHERE resource_number = {number} AND field = {index}")


def _fields_with_hours(storage: list[dict[str, Any]]) -> list[int]:
    """Return the indexes of the fields with more than four samples an hour, by the rules of this revision.

    A copy of what the gateway did at this revision: a migration must not change when the gateway's code does.
    """
    hourly: list[int] = []
    index = 0
    for definition in storage:
        interval = _interval(definition)
        for _ in definition["fields"]:
            if interval is None or interval * 4 < HOUR:
                hourly.append(index)
            index += 1
    return hourly


def _interval(definition: dict[str, Any]) -> int | None:
    """Return the sampling interval in ms; None where sampling is not regular. The default is half an hour."""
    if definition["sampling"] == "irregular":
        return None
    match = INTERVAL.match(definition.get("interval") or "PT30M")
    assert match is not None, f"interval {definition['interval']!r} of a stored resource is not an ISO 8601 duration"
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return days * DAY + (hours * 3600 + minutes * 60 + seconds) * 1000


def _fill(table: str, size: int, where: str) -> None:
    op.execute(
        f"INSERT INTO {table} (resource_number, field, at, {AMOUNTS}) "  # noqa: S608 (names and numbers of this module)
        f"SELECT resource_number, field, at - at % {size}, {OF_READINGS} FROM reading {where} "
        f"GROUP BY resource_number, field, at - at % {size}"
    )


def downgrade() -> None:
    op.rename_table("reading", "reading_after")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE reading_after RENAME CONSTRAINT pk_reading TO pk_reading_after")
    op.create_table(
        "reading",
        sa.Column("resource_number", sa.BigInteger(), nullable=False),
        sa.Column("field", sa.SmallInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["resource_number"], ["resource.number"], name=op.f("fk_reading_resource_number"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("resource_number", "field", "at", name=op.f("pk_reading")),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO reading (resource_number, field, at, value) "
        "SELECT resource_number, field, at, value FROM reading_after"
    )
    for name in ("reading_after", "reading_hour", "reading_day"):
        op.drop_table(name)
    op.drop_column("network_reading", "quality")
    op.drop_column("resource_type", "retention_days")
