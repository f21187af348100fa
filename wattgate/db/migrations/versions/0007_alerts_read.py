"""Whether alerts were read. Those sent before count as read: nobody could say so."""

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
