"""Add the heartbeats of intakes, which receive devices' messages."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "intake",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("intake_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("connected", sa.Boolean(), nullable=False),
        sa.Column("heard_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_intake_application_id")
        ),
        sa.PrimaryKeyConstraint("intake_id", name=op.f("pk_intake")),
        sa.UniqueConstraint("application_id", "name", name=op.f("uq_intake_application_id_name")),
    )
    op.create_index(op.f("ix_intake_application_id"), "intake", ["application_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_intake_application_id"), table_name="intake")
    op.drop_table("intake")
