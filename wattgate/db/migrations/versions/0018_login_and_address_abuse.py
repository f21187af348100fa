"""Add the backoff of login names, known login sources, pending e-mail changes and mails of the gateway itself."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "login_backoff",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("backoff_id", sa.String(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed_at", sa.DateTime(timezone=True), nullable=False),
        _application_key("login_backoff"),
        sa.PrimaryKeyConstraint("backoff_id", name=op.f("pk_login_backoff")),
    )
    _create_index("login_backoff", "application_id")
    _create_index("login_backoff", "failed_at")
    op.create_table(
        "login_source",
        *_account_columns("source_id"),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        *_account_keys("login_source", "source_id"),
        sa.UniqueConstraint("account_id", "digest", name=op.f("uq_login_source_account_id_digest")),
    )
    op.create_table(
        "email_change",
        *_account_columns("change_id"),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        *_account_keys("email_change", "change_id"),
        sa.UniqueConstraint("digest", name=op.f("uq_email_change_digest")),
    )
    op.create_table(
        "account_mail",
        *_account_columns("account_mail_id"),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        *_account_keys("account_mail", "account_mail_id"),
    )
    for table in ("login_source", "email_change", "account_mail"):
        for column in ("application_id", "user_id", "account_id"):
            _create_index(table, column)
    _create_index("delivery", "application_id", "address", "created_at")
    _create_index("delivery", "user_id", "created_at")
    op.add_column("account", sa.Column("mails_username", sa.Boolean(), server_default=sa.true(), nullable=False))


def _account_columns(key: str) -> list["sa.Column[str]"]:
    return [sa.Column(name, sa.String(), nullable=False) for name in ("application_id", key, "user_id", "account_id")]


def _application_key(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["application_id"], ["application.application_id"], name=op.f(f"fk_{table}_application_id")
    )


def _account_keys(table: str, key: str) -> list[sa.Constraint]:
    return [
        _application_key(table),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f(f"fk_{table}_user_id")),
        sa.ForeignKeyConstraint(["account_id"], ["account.account_id"], name=op.f(f"fk_{table}_account_id")),
        sa.PrimaryKeyConstraint(key, name=op.f(f"pk_{table}")),
    ]


def _create_index(table: str, *columns: str) -> None:
    op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, list(columns), unique=False)


def downgrade() -> None:
    op.drop_column("account", "mails_username")
    op.drop_index(op.f("ix_delivery_user_id_created_at"), "delivery")
    op.drop_index(op.f("ix_delivery_application_id_address_created_at"), "delivery")
    for table in ("account_mail", "email_change", "login_source", "login_backoff"):
        op.drop_table(table)
