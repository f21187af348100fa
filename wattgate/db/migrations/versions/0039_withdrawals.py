"""Add the withdrawals of readings to resources: the spans whose readings were deleted after they were stored.

Readings that an earlier version has withdrawn are not known any more.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    json = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
    op.add_column("resource", sa.Column("withdrawals", json, nullable=True))


def downgrade() -> None:
    op.drop_column("resource", "withdrawals")
