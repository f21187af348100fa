"""Add the times at which erasures were in the list outside the database. Existing erasures are in none yet."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("erasure", sa.Column("listed_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("erasure", "listed_at")
