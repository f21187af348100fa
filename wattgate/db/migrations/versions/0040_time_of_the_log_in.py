"""Add the time of the log-in to tokens. A token without it is from its own log-in, at its creation."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("token", sa.Column("authenticated_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("token", "authenticated_at")
