"""Add the tokens of directories with which an account has logged in. Older tokens can be used once more."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    json = sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), "postgresql")
    op.add_column("external_account", sa.Column("used_tokens", json, nullable=True))


def downgrade() -> None:
    op.drop_column("external_account", "used_tokens")
