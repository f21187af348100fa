"""Add the state that displays report about themselves."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("device", sa.Column("network_state", JSON, nullable=True))
    op.add_column("device", sa.Column("heard_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("device", "heard_at")
    op.drop_column("device", "network_state")
