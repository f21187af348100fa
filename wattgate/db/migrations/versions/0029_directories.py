"""Add external directories and the users of these directories to whom accounts belong."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    json = sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), "postgresql")
    application = ["application_id"], ["application.application_id"]
    op.create_table(
        "directory",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("directory_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("issuer", sa.String(), nullable=False),
        sa.Column("audiences", json, nullable=False),
        sa.Column("algorithms", json, nullable=False),
        sa.Column("account_rule", sa.String(16), nullable=False),
        sa.Column("token_check", sa.String(16), nullable=False),
        sa.Column("clock_skew_seconds", sa.Integer(), nullable=False),
        sa.Column("session_seconds", sa.Integer(), nullable=False),
        sa.Column("client_id", sa.String(), nullable=False),
        sa.Column("client_secret", sa.String(), nullable=True),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(*application, name=op.f("fk_directory_application_id")),
        sa.PrimaryKeyConstraint("directory_id", name=op.f("pk_directory")),
    )
    op.create_index(op.f("ix_directory_application_id"), "directory", ["application_id"], unique=False)
    op.create_table(
        "external_account",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("directory_id", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("token", sa.String(), nullable=True),
        sa.Column("access_token", sa.String(), nullable=True),
        sa.Column("token_issued_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("token_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(*application, name=op.f("fk_external_account_application_id")),
        sa.ForeignKeyConstraint(["account_id"], ["account.account_id"], name=op.f("fk_external_account_account_id")),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_external_account_user_id")),
        sa.ForeignKeyConstraint(
            ["directory_id"], ["directory.directory_id"], name=op.f("fk_external_account_directory_id")
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_external_account")),
        sa.UniqueConstraint("directory_id", "subject", name=op.f("uq_external_account_directory_id_subject")),
    )
    for column in ("application_id", "user_id", "directory_id"):
        op.create_index(op.f(f"ix_external_account_{column}"), "external_account", [column], unique=False)


def downgrade() -> None:
    op.drop_table("external_account")
    op.drop_table("directory")
