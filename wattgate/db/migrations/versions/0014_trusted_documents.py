"""Add trusted documents, and applications that accept only these."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("application", sa.Column("trusted_only", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "trusted_document",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("trusted_document_id", sa.String(), nullable=False),
        sa.Column("document_id", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_trusted_document_application_id")
        ),
        sa.PrimaryKeyConstraint("trusted_document_id", name=op.f("pk_trusted_document")),
        sa.UniqueConstraint(
            "application_id", "document_id", name=op.f("uq_trusted_document_application_id_document_id")
        ),
    )
    op.create_index(op.f("ix_trusted_document_application_id"), "trusted_document", ["application_id"], unique=False)


def downgrade() -> None:
    op.drop_table("trusted_document")
    op.drop_column("application", "trusted_only")
