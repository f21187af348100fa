"""Add suppressed mail addresses, and mails that are kept if there is no mail server."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "mail_suppression",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("suppression_id", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("cause", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("delivery_id", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_mail_suppression_application_id")
        ),
        sa.PrimaryKeyConstraint("suppression_id", name=op.f("pk_mail_suppression")),
        sa.UniqueConstraint("application_id", "address", name=op.f("uq_mail_suppression_application_id_address")),
    )
    op.create_index(op.f("ix_mail_suppression_application_id"), "mail_suppression", ["application_id"], unique=False)
    op.create_table(
        "kept_mail",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("delivery_id", sa.String(), nullable=False),
        sa.Column("recipient", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_kept_mail_application_id")
        ),
        sa.PrimaryKeyConstraint("delivery_id", name=op.f("pk_kept_mail")),
    )
    op.create_index(op.f("ix_kept_mail_application_id"), "kept_mail", ["application_id"], unique=False)
    op.create_index(
        op.f("ix_kept_mail_application_id_created_at"), "kept_mail", ["application_id", "created_at"], unique=False
    )


def downgrade() -> None:
    op.drop_table("kept_mail")
    op.drop_table("mail_suppression")
