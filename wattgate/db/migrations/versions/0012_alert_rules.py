"""Add alert rules, and mark the resources that have some."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "alert_rule",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("rule_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("ve_id", sa.String(), nullable=True),
        sa.Column("field", sa.String(), nullable=False),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("function", sa.String(length=16), nullable=False),
        sa.Column("side", sa.String(length=16), nullable=False),
        sa.Column("threshold", sa.BigInteger(), nullable=True),
        sa.Column("hysteresis", sa.BigInteger(), nullable=False),
        sa.Column("window_minutes", sa.Integer(), nullable=False),
        sa.Column("period", sa.String(length=16), nullable=False),
        sa.Column("quiet_from", sa.String(), nullable=True),
        sa.Column("quiet_to", sa.String(), nullable=True),
        sa.Column("time_zone", sa.String(), nullable=True),
        sa.Column("alert_type_id", sa.String(), nullable=False),
        sa.Column("channels", JSON, nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("told", sa.Boolean(), nullable=False),
        sa.Column("judged_to", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("fired_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["alert_type_id"], ["alert_type.alert_type_id"], name=op.f("fk_alert_rule_alert_type_id")
        ),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_alert_rule_application_id")
        ),
        sa.ForeignKeyConstraint(["resource_id"], ["resource.resource_id"], name=op.f("fk_alert_rule_resource_id")),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_alert_rule_user_id")),
        sa.ForeignKeyConstraint(["ve_id"], ["virtual_entity.ve_id"], name=op.f("fk_alert_rule_ve_id")),
        sa.PrimaryKeyConstraint("rule_id", name=op.f("pk_alert_rule")),
    )
    op.create_index(op.f("ix_alert_rule_application_id"), "alert_rule", ["application_id"], unique=False)
    op.create_index(op.f("ix_alert_rule_enabled_due_at"), "alert_rule", ["enabled", "due_at"], unique=False)
    op.create_index(op.f("ix_alert_rule_resource_id"), "alert_rule", ["resource_id"], unique=False)
    op.create_index(op.f("ix_alert_rule_user_id"), "alert_rule", ["user_id"], unique=False)
    op.add_column("resource", sa.Column("watched", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    op.drop_column("resource", "watched")
    op.drop_table("alert_rule")
