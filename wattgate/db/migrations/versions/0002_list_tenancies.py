"""Add the change of each tenancy that the list of erasures has. The existing tenancies are added to the list."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

UNLISTED = sa.text("listed_change IS NULL OR listed_change <> updated_at")


def upgrade() -> None:
    op.add_column("meter_point_tenancy", sa.Column("listed_change", sa.DateTime(timezone=True)))
    op.create_index(
        "ix_meter_point_tenancy_unlisted",
        "meter_point_tenancy",
        ["application_id"],
        sqlite_where=UNLISTED,
        postgresql_where=UNLISTED,
    )


def downgrade() -> None:
    op.drop_index("ix_meter_point_tenancy_unlisted", "meter_point_tenancy")
    op.drop_column("meter_point_tenancy", "listed_change")
