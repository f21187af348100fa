"""Add the declared variables of alert types, and the home of an alert."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0027"
down_revision = "0025"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("alert_type", sa.Column("variables", JSON, nullable=True))
    op.add_column("alert_type", sa.Column("rule_kind", sa.String(length=16), nullable=True))
    op.add_column("alert", sa.Column("ve_id", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("alert", "ve_id")
    op.drop_column("alert_type", "rule_kind")
    op.drop_column("alert_type", "variables")
