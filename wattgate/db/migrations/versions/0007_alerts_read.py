"""Add the time at which alerts were read. Existing alerts count as read, because it was not recorded."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("alert", sa.Column("read_at", sa.DateTime(timezone=True), nullable=True))
    op.execute("UPDATE alert SET read_at = created_at")


def downgrade() -> None:
    op.drop_column("alert", "read_at")
