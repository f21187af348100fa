"""Add the cultures of users. Existing users have none, so they get messages in the culture of their application."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("app_user", sa.Column("culture_code", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("app_user", "culture_code")
