"""Add the outbox and the state of notifications. Existing notifications were never delivered and are not sent."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "delivery",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("delivery_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("target_id", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=True),
        sa.Column("user_id", sa.String(), nullable=True),
        sa.Column("order_key", sa.String(), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("worker", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("reference", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_delivery_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_delivery_user_id")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_delivery")),
        sa.UniqueConstraint("delivery_id", name=op.f("uq_delivery_delivery_id")),
    )
    op.create_index(op.f("ix_delivery_application_id"), "delivery", ["application_id"], unique=False)
    op.create_index(op.f("ix_delivery_target_id"), "delivery", ["target_id"], unique=False)
    op.create_index(op.f("ix_delivery_state_due_at"), "delivery", ["state", "due_at"], unique=False)
    op.create_index(op.f("ix_delivery_order_key_number"), "delivery", ["order_key", "number"], unique=False)
    op.add_column("notification", sa.Column("state", sa.String(length=16), nullable=False, server_default="WAITING"))
    op.execute("UPDATE notification SET state = CASE WHEN channel = 'inbox' THEN 'SENT' ELSE 'FAILED' END")
    with op.batch_alter_table("notification") as table:
        table.alter_column("state", server_default=None)
    op.add_column("notification_log", sa.Column("detail", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("notification_log", "detail")
    op.drop_column("notification", "state")
    op.drop_table("delivery")
