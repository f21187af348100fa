"""The whole interface."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("resource", sa.Column("mpxn", sa.String(), nullable=True))
    op.create_index(op.f("ix_resource_mpxn"), "resource", ["mpxn"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_resource_mpxn"), table_name="resource")
    op.drop_column("resource", "mpxn")
