"""Add the proof and the identifiers of devices, the claim codes of devices, and the successors of moved resources.

The identifiers of existing devices are copied from their JSON, in batches in the order of the device ids.
"""

import json
import re
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

IDENTIFIERS = ("mac", "eui", "serial_number")
BATCH_ROWS = 1_000
_SEPARATORS = re.compile(r"[\s:\-]")


def upgrade() -> None:
    for name in IDENTIFIERS:
        op.add_column("device", sa.Column(name, sa.String(), nullable=True))
    op.add_column("device", sa.Column("proof", sa.String(16), nullable=True))
    _copy_identifiers()
    for name in IDENTIFIERS:
        op.create_index(op.f(f"ix_device_{name}"), "device", [name], unique=False)
    op.add_column(
        "resource",
        sa.Column(
            "successor_id",
            sa.String(),
            sa.ForeignKey("resource.resource_id", name=op.f("fk_resource_successor_id")),
            nullable=True,
        ),
        inline_references=True,  # SQLite cannot add a constraint later
    )
    op.create_table(
        "device_claim",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("claim_id", sa.String(), nullable=False),
        sa.Column("hardware_id", sa.String(), nullable=False),
        sa.Column("hardware_key", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_device_claim_application_id")
        ),
        sa.PrimaryKeyConstraint("claim_id", name=op.f("pk_device_claim")),
        sa.UniqueConstraint("application_id", "hardware_key", name=op.f("uq_device_claim_application_id_hardware_key")),
    )
    op.create_index(op.f("ix_device_claim_application_id"), "device_claim", ["application_id"], unique=False)


def _copy_identifiers() -> None:
    connection = op.get_bind()
    device = sa.table(
        "device",
        sa.column("device_id", sa.String),
        sa.column("hardware_ids", sa.JSON),
        *(sa.column(name, sa.String) for name in IDENTIFIERS),
    )
    last = ""
    while True:
        batch = connection.execute(
            sa.select(device.c.device_id, sa.cast(device.c.hardware_ids, sa.Text))
            .where(device.c.device_id > last)
            .order_by(device.c.device_id)
            .limit(BATCH_ROWS)
        ).all()
        for device_id, text in batch:
            if values := _identifiers(json.loads(text or "null")):
                connection.execute(sa.update(device).where(device.c.device_id == device_id).values(**values))
        if len(batch) < BATCH_ROWS:
            return
        last = batch[-1][0]


def _identifiers(hardware_ids: Any) -> dict[str, str]:
    """Return the identifiers in capitals without separators."""
    stored = hardware_ids if isinstance(hardware_ids, dict) else {}
    normalized = {name: _SEPARATORS.sub("", str(stored.get(name) or "")).upper() for name in IDENTIFIERS}
    return {name: value for name, value in normalized.items() if value}


def downgrade() -> None:
    op.drop_table("device_claim")
    op.drop_column("resource", "successor_id")
    for name in IDENTIFIERS:
        op.drop_index(op.f(f"ix_device_{name}"), "device")
    for name in (*IDENTIFIERS, "proof"):
        op.drop_column("device", name)
