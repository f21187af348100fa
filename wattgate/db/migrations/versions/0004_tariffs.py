"""Add bands, blocks, prices and versions to tariffs, and resources that compute costs of other resources."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# Number the existing flat tariffs. Of several with the same start, the one created last supersedes the others.
_NUMBERED = """
    UPDATE tariff SET
        version = (
            SELECT count(*) FROM tariff AS other
            WHERE other.resource_id = tariff.resource_id
              AND (other.created_at, other.tariff_id) <= (tariff.created_at, tariff.tariff_id)
        ),
        superseded_at = (
            SELECT min(other.created_at) FROM tariff AS other
            WHERE other.resource_id = tariff.resource_id AND other.valid_from = tariff.valid_from
              AND (other.created_at, other.tariff_id) > (tariff.created_at, tariff.tariff_id)
        )"""


def upgrade() -> None:
    op.add_column(
        "resource",
        sa.Column(
            "cost_of",
            sa.String(),
            sa.ForeignKey("resource.resource_id", name=op.f("fk_resource_cost_of")),
            nullable=True,
        ),
        inline_references=True,  # SQLite cannot add a constraint later; a copy of the table would lose its readings
    )
    op.create_index(op.f("ix_resource_cost_of"), "resource", ["cost_of"], unique=False)
    with op.batch_alter_table("tariff") as table:
        table.add_column(sa.Column("kind", sa.String(16), nullable=False, server_default="FLAT"))
        table.alter_column("rate", existing_type=sa.BigInteger(), nullable=True)
        table.add_column(sa.Column("bands", JSON, nullable=False, server_default="[]"))
        table.add_column(sa.Column("blocks", JSON, nullable=False, server_default="[]"))
        table.add_column(sa.Column("block_period", sa.String(8), nullable=True))
        table.add_column(sa.Column("vat_rate", sa.BigInteger(), nullable=False, server_default="0"))
        table.add_column(sa.Column("time_zone", sa.String(), nullable=False, server_default="Europe/London"))
        table.add_column(sa.Column("source", sa.String(), nullable=False, server_default="supplier"))
        table.add_column(sa.Column("version", sa.Integer(), nullable=False, server_default="1"))
        table.add_column(sa.Column("superseded_at", sa.DateTime(timezone=True), nullable=True))
    op.execute(_NUMBERED)
    with op.batch_alter_table("tariff") as table:
        table.create_unique_constraint(op.f("uq_tariff_resource_id_version"), ["resource_id", "version"])
        for name in ("kind", "bands", "blocks", "vat_rate", "time_zone", "source", "version"):
            table.alter_column(name, server_default=None)
    op.create_table(
        "tariff_price",
        sa.Column("tariff_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("rate", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tariff_id"], ["tariff.tariff_id"], name=op.f("fk_tariff_price_tariff_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tariff_id", "at", name=op.f("pk_tariff_price")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("tariff_price")
    op.drop_index(op.f("ix_resource_cost_of"), table_name="resource")
    op.drop_column("resource", "cost_of")
    op.execute("DELETE FROM tariff WHERE kind <> 'FLAT' OR superseded_at IS NOT NULL")
    with op.batch_alter_table("tariff") as table:
        table.drop_constraint(op.f("uq_tariff_resource_id_version"), type_="unique")
        table.alter_column("rate", existing_type=sa.BigInteger(), nullable=False)
        for name in (
            "kind",
            "bands",
            "blocks",
            "block_period",
            "vat_rate",
            "time_zone",
            "source",
            "version",
            "superseded_at",
        ):
            table.drop_column(name)
