"""Add the second factor of accounts and its recovery codes. Existing accounts have none."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("account", sa.Column("second_factor", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_table(
        "second_factor",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("secret", sa.String(), nullable=False),
        sa.Column("last_step", sa.Integer(), nullable=False),
        sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_second_factor")),
        *_references("second_factor"),
    )
    op.create_table(
        "recovery_code",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("recovery_code_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("recovery_code_id", name=op.f("pk_recovery_code")),
        *_references("recovery_code"),
    )
    for column in ("application_id", "user_id"):
        op.create_index(op.f(f"ix_second_factor_{column}"), "second_factor", [column], unique=False)
    for column in ("application_id", "user_id", "account_id"):
        op.create_index(op.f(f"ix_recovery_code_{column}"), "recovery_code", [column], unique=False)


def _references(table: str) -> list[sa.ForeignKeyConstraint]:
    referred = {
        "application_id": "application.application_id",
        "account_id": "account.account_id",
        "user_id": "app_user.user_id",
    }
    return [
        sa.ForeignKeyConstraint([column], [key], name=op.f(f"fk_{table}_{column}")) for column, key in referred.items()
    ]


def downgrade() -> None:
    op.drop_table("recovery_code")
    op.drop_table("second_factor")
    op.drop_column("account", "second_factor")
