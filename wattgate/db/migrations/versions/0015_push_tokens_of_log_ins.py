"""Add the log-in token that added a push token, so that both end together.

Existing push tokens have none: they depend on their account, and end when its password is changed or it is closed.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

INDEX = "ix_mobile_app_token_added_by_token_id"


def upgrade() -> None:
    op.add_column("mobile_app_token", sa.Column("added_by_token_id", sa.String(), nullable=True))
    op.create_index(op.f(INDEX), "mobile_app_token", ["added_by_token_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f(INDEX), table_name="mobile_app_token")
    op.drop_column("mobile_app_token", "added_by_token_id")
