"""Add test mails of templates."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "test_mail",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("test_mail_id", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("html", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_test_mail_application_id")
        ),
        sa.PrimaryKeyConstraint("test_mail_id", name=op.f("pk_test_mail")),
    )
    op.create_index(op.f("ix_test_mail_application_id"), "test_mail", ["application_id"], unique=False)
    op.create_index(
        op.f("ix_test_mail_application_id_created_at"), "test_mail", ["application_id", "created_at"], unique=False
    )


def downgrade() -> None:
    op.drop_table("test_mail")
