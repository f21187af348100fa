"""Add webhook endpoints and the events that they receive."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "webhook_endpoint",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("endpoint_id", sa.String(), nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("events", JSON, nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.String(), nullable=True),
        sa.Column("ordered", sa.Boolean(), nullable=False),
        sa.Column("secret", sa.String(), nullable=False),
        sa.Column("secret_before", sa.String(), nullable=True),
        sa.Column("secret_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paused_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_webhook_endpoint_application_id")
        ),
        sa.PrimaryKeyConstraint("endpoint_id", name=op.f("pk_webhook_endpoint")),
    )
    op.create_index(op.f("ix_webhook_endpoint_application_id"), "webhook_endpoint", ["application_id"], unique=False)
    op.create_table(
        "webhook_event",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("event_id", sa.String(), nullable=False),
        sa.Column("event_code", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=True),
        sa.Column("payload", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_webhook_event_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_webhook_event_user_id")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_webhook_event")),
        sa.UniqueConstraint("event_id", name=op.f("uq_webhook_event_event_id")),
    )
    op.create_index(op.f("ix_webhook_event_application_id"), "webhook_event", ["application_id"], unique=False)
    op.create_index(
        op.f("ix_webhook_event_application_id_created_at"), "webhook_event", ["application_id", "created_at"]
    )
    op.add_column("webhook", sa.Column("endpoint_id", sa.String(), nullable=True))
    op.add_column("webhook", sa.Column("event_id", sa.String(), nullable=True))
    op.add_column("webhook", sa.Column("event_number", sa.BigInteger(), nullable=True))
    op.create_index(op.f("ix_webhook_endpoint_id"), "webhook", ["endpoint_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_webhook_endpoint_id"), table_name="webhook")
    op.drop_column("webhook", "event_number")
    op.drop_column("webhook", "event_id")
    op.drop_column("webhook", "endpoint_id")
    op.drop_table("webhook_event")
    op.drop_table("webhook_endpoint")
