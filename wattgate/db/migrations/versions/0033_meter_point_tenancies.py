"""Add the tenancies of meter points, and begin one for each household that has had a resource there.

The first household of a meter point begins at its first reading, or at its first resource if that is earlier. Each next
one begins with its first resource, which ends the one before, and gets no earlier readings. A household without an open
resource ended with its last change.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

log = logging.getLogger(__name__)

BATCH_ROWS = 1_000
CHECK_DIGIT_WEIGHTS = (3, 5, 7, 13, 17, 19, 23, 29, 31, 37, 41, 43)
_WHITESPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"^\d{1,13}$", re.ASCII)
_OPEN = sa.text("ended_at IS NULL")

RESOURCE = sa.table(
    "resource",
    *(sa.column(name, sa.String) for name in ("application_id", "owner_id", "mpxn")),
    sa.column("number", sa.BigInteger),
    sa.column("active", sa.Boolean),
    *(sa.column(name, sa.DateTime(timezone=True)) for name in ("created_at", "updated_at", "owned_from")),
)
READING_DAY = sa.table("reading_day", *(sa.column(name, sa.BigInteger) for name in ("resource_number", "first_at")))
TENANCY = sa.table(
    "meter_point_tenancy",
    *(sa.column(name, sa.String) for name in ("application_id", "tenancy_id", "user_id", "mpxn", "proof")),
    *(sa.column(name, sa.DateTime(timezone=True)) for name in ("began_at", "ended_at", "created_at", "updated_at")),
)


def upgrade() -> None:
    op.create_table(
        "meter_point_tenancy",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("tenancy_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("mpxn", sa.String(), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("proof", sa.String(16), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_meter_point_tenancy_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_meter_point_tenancy_user_id")),
        sa.PrimaryKeyConstraint("tenancy_id", name=op.f("pk_meter_point_tenancy")),
    )
    for name in ("application_id", "mpxn", "user_id"):
        op.create_index(op.f(f"ix_meter_point_tenancy_{name}"), "meter_point_tenancy", [name], unique=False)
    op.create_index(
        op.f("ix_meter_point_tenancy_application_id_mpxn"),
        "meter_point_tenancy",
        ["application_id", "mpxn"],
        unique=True,
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    )
    op.add_column("meter_point_consent", sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("resource", sa.Column("owned_from", sa.DateTime(timezone=True), nullable=True))
    op.add_column("device", sa.Column("held_from", sa.DateTime(timezone=True), nullable=True))
    op.add_column("device", sa.Column("remains_at", sa.String(), nullable=True))
    _begin_tenancies()


def _begin_tenancies() -> None:
    connection = op.get_bind()
    first_readings = dict(
        tuple(row)
        for row in connection.execute(
            sa.select(READING_DAY.c.resource_number, sa.func.min(READING_DAY.c.first_at)).group_by(
                READING_DAY.c.resource_number
            )
        )
    )
    found = connection.execute(sa.select(RESOURCE).where(RESOURCE.c.mpxn.is_not(None), RESOURCE.c.mpxn != ""))
    households: dict[tuple[str, str], dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in found:
        created, changed = _aware(row.created_at), _aware(row.updated_at)
        first = first_readings.get(row.number)
        known = households[row.application_id, _canonical(row.mpxn)].setdefault(
            row.owner_id, {"created": created, "first": created, "ended": changed, "open": False, "spellings": set()}
        )
        known["spellings"].add(row.mpxn)
        known["created"] = min(known["created"], created)
        known["ended"] = max(known["ended"], changed)
        known["open"] = known["open"] or row.active
        if first is not None:
            known["first"] = min(known["first"], datetime.fromtimestamp(first / 1000, UTC))
    rows = [row for key, owners in sorted(households.items()) for row in _tenancies(*key, owners)]
    for start in range(0, len(rows), BATCH_ROWS):
        connection.execute(sa.insert(TENANCY), rows[start : start + BATCH_ROWS])
    _bound_resources(connection, households)
    shared = sorted(mpxn for (_, mpxn), owners in households.items() if sum(one["open"] for one in owners.values()) > 1)
    if shared:
        log.warning(
            "Several users of an application have open resources at %d meter points, such as %s. Close those of users "
            "who have moved out, with updateResource or moveResource.",
            len(shared),
            ", ".join(shared[:10]),
        )


def _bound_resources(connection: sa.Connection, households: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
    """Let the resources of each household but the first of a meter point get no readings from before it."""
    for (application_id, _), owners in households.items():
        if len(owners) < 2:
            continue
        first = min(owners, key=lambda user_id: (owners[user_id]["created"], user_id))
        for user_id, known in owners.items():
            if user_id != first:
                connection.execute(
                    sa.update(RESOURCE)
                    .where(
                        RESOURCE.c.application_id == application_id,
                        RESOURCE.c.owner_id == user_id,
                        RESOURCE.c.mpxn.in_(known["spellings"]),
                    )
                    .values(owned_from=known["created"])
                )


def _tenancies(application_id: str, mpxn: str, owners: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the households of a meter point, in the order of their first resources."""
    ordered, now = sorted(owners.items(), key=lambda item: (item[1]["created"], item[0])), datetime.now(UTC)
    rows = []
    for position, (user_id, known) in enumerate(ordered):
        began = min(known["first"], known["created"]) if position == 0 else known["created"]
        following = ordered[position + 1][1]["created"] if position + 1 < len(ordered) else None
        ended = following or (None if known["open"] else max(known["ended"], began))
        rows.append(
            {
                "application_id": application_id,
                "tenancy_id": str(uuid4()),
                "user_id": user_id,
                "mpxn": mpxn,
                "began_at": began,
                "ended_at": ended,
                "proof": "MIGRATED",
                "created_at": now,
                "updated_at": now,
            }
        )
    return rows


def _aware(value: datetime) -> datetime:
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _canonical(text: str) -> str:
    """Return the form in which consents store a meter point. An MPAN of 12 digits gets its check digit."""
    digits = _WHITESPACE.sub("", text)
    if not _NUMBER.match(digits):
        return text
    if len(digits) != len(CHECK_DIGIT_WEIGHTS):
        return digits
    total = sum(int(digit) * weight for digit, weight in zip(digits, CHECK_DIGIT_WEIGHTS, strict=True))
    return digits + str(total % 11 % 10)


def downgrade() -> None:
    for name in ("remains_at", "held_from"):
        op.drop_column("device", name)
    op.drop_column("resource", "owned_from")
    op.drop_column("meter_point_consent", "ended_at")
    op.drop_table("meter_point_tenancy")
