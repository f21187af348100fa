"""Add the pairings of displays, paired displays, and the home to which the token of a display is restricted.

The views of readings and prices on PostgreSQL show only those of the home, if the scope has one. `db.row_security`
replaces the policies of the tables after the migrations.
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

APPLICATION = "(SELECT current_setting('wattgate.application', true))"
USER = "(SELECT current_setting('wattgate.user', true))"
HOME = "(SELECT coalesce(current_setting('wattgate.home', true), ''))"
OF_HOME = (
    f"({HOME} = '' OR o.resource_id IN"  # noqa: S608 (a constant condition)
    f" (SELECT m.resource_id FROM virtual_entity_resource m WHERE m.ve_id = {HOME}))"
)
OWN_RESOURCE = f"o.application_id = {APPLICATION} AND ({USER} = '' OR o.owner_id = {USER})"
OWN_TARIFF = f"o.application_id = {APPLICATION}"
READING_TABLES = ("reading", "reading_hour", "reading_day")
REFERENCES = {
    "application_id": "application.application_id",
    "user_id": "app_user.user_id",
    "account_id": "account.account_id",
    "ve_id": "virtual_entity.ve_id",
}


def upgrade() -> None:
    op.add_column(
        "token",
        sa.Column(
            "ve_id",
            sa.String(),
            sa.ForeignKey("virtual_entity.ve_id", name=op.f("fk_token_ve_id")),
            nullable=True,
        ),
        inline_references=True,  # SQLite cannot add a constraint later
    )
    op.create_index(op.f("ix_token_ve_id"), "token", ["ve_id"], unique=False)
    _create_pairings()
    _create_displays()
    _replace_views(f" AND {OF_HOME}")


def _create_pairings() -> None:
    op.create_table(
        "display_pairing",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("pairing_id", sa.String(), nullable=False),
        sa.Column("device_digest", sa.LargeBinary(), nullable=False),
        sa.Column("user_digest", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=True),
        sa.Column("account_id", sa.String(), nullable=True),
        sa.Column("ve_id", sa.String(), nullable=True),
        sa.Column("token_id", sa.String(), nullable=True),
        sa.Column("interval", sa.Integer(), nullable=False),
        sa.Column("polled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("pairing_id", name=op.f("pk_display_pairing")),
        sa.UniqueConstraint("device_digest", name=op.f("uq_display_pairing_device_digest")),
        sa.UniqueConstraint("user_digest", name=op.f("uq_display_pairing_user_digest")),
        *_references("display_pairing"),
    )
    op.create_index(
        op.f("ix_display_pairing_application_id_expires_at"), "display_pairing", ["application_id", "expires_at"]
    )
    _index_references("display_pairing")


def _create_displays() -> None:
    op.create_table(
        "paired_display",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("display_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("ve_id", sa.String(), nullable=False),
        sa.Column("token_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("display_id", name=op.f("pk_paired_display")),
        sa.UniqueConstraint("token_id", name=op.f("uq_paired_display_token_id")),
        *_references("paired_display"),
    )
    _index_references("paired_display")


def _index_references(table: str) -> None:
    for column in REFERENCES:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column], unique=False)


def _references(table: str) -> list[sa.ForeignKeyConstraint]:
    return [
        sa.ForeignKeyConstraint([column], [key], name=op.f(f"fk_{table}_{column}"))
        for column, key in REFERENCES.items()
    ]


def _replace_views(of_home: str) -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table in READING_TABLES:
        op.execute(
            f"CREATE OR REPLACE VIEW own_{table} AS SELECT r.* FROM resource o"  # noqa: S608 (names of our own tables)
            f" JOIN {table} r ON r.resource_number = o.number WHERE {OWN_RESOURCE}{of_home}"
        )
    op.execute(
        "CREATE OR REPLACE VIEW own_tariff_price AS SELECT p.* FROM tariff o"  # noqa: S608 (a constant condition)
        f" JOIN tariff_price p ON p.tariff_id = o.tariff_id WHERE {OWN_TARIFF}{of_home}"
    )


def downgrade() -> None:
    _replace_views("")
    _drop_policies()
    op.drop_table("paired_display")
    op.drop_table("display_pairing")
    op.execute("DELETE FROM token WHERE ve_id IS NOT NULL")  # older code takes it for a token of the whole account
    op.drop_index(op.f("ix_token_ve_id"), "token")
    op.drop_column("token", "ve_id")


def _drop_policies() -> None:
    """Drop the policies that refer to homes. The next upgrade installs those of its version."""
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute(
        "DO $$ DECLARE p record; BEGIN FOR p IN SELECT polname, polrelid::regclass AS owner FROM pg_policy "
        "WHERE starts_with(polname, 'wattgate_') LOOP "
        "EXECUTE format('DROP POLICY %I ON %s', p.polname, p.owner); END LOOP; END $$"
    )
