"""Encrypt the secrets that are read back, and add the table of the keys in use.

The configuration has the key ring of the gateway in its attribute `key_ring`. Without keys, the migration fails if
there is a secret to encrypt, and changes nothing.
"""

from collections.abc import Callable

import sqlalchemy as sa
from alembic import context, op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

COLUMNS = (
    ("webhook_endpoint", "endpoint_id", "secret"),
    ("webhook_endpoint", "endpoint_id", "secret_before"),
    ("mobile_app_token", "mobile_app_token_id", "token"),
)
BATCH_ROWS = 1_000

Change = Callable[[str, str, str, str], str]
"""Return the new text for a table, a column, the identifier of a row, and its present text."""


def upgrade() -> None:
    op.create_table(
        "secret_key",
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("sample", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_secret_key")),
    )
    key_ring = context.config.attributes.get("key_ring")

    def encrypt(table: str, column: str, row_id: str, text: str) -> str:
        if key_ring is None:
            raise RuntimeError("The migration needs the key ring of the gateway. Run `wattgate db upgrade`.")
        encrypted: str = key_ring.encrypt_column(table, column, row_id, text)
        return encrypted

    _change_columns(encrypt)


def downgrade() -> None:
    key_ring = context.config.attributes.get("key_ring")

    def decrypt(table: str, column: str, row_id: str, text: str) -> str:
        if key_ring is None:
            raise RuntimeError("The migration needs the key ring of the gateway.")
        decrypted: str = key_ring.decrypt_column(table, column, row_id, text)
        return decrypted

    _change_columns(decrypt)
    op.drop_table("secret_key")


def _change_columns(change: Change) -> None:
    """Replace the texts of all columns, in batches in the order of the identifiers."""
    connection = op.get_bind()
    for name, key, column in COLUMNS:
        table = sa.table(name, sa.column(key, sa.String), sa.column(column, sa.String))
        last = ""
        while True:
            batch = connection.execute(
                sa.select(table.c[key], table.c[column])
                .where(table.c[key] > last, table.c[column].is_not(None))
                .order_by(table.c[key])
                .limit(BATCH_ROWS)
            ).all()
            for row_id, text in batch:
                values = {column: change(name, column, row_id, text)}
                connection.execute(sa.update(table).where(table.c[key] == row_id).values(**values))
            if len(batch) < BATCH_ROWS:
                break
            last = batch[-1][0]
