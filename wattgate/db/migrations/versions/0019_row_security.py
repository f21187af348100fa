"""Add the views of readings and tariff prices that show only the rows of a statement's scope, on PostgreSQL.

`db.row_security` creates the policies and privileges after the migrations. A view has the rights of its owner, so the
role of the policies can read it without access to the tables below it. PostgreSQL does not let a migration change a
column that a view uses: drop the view first and create it again.
"""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

APPLICATION = "(SELECT current_setting('wattgate.application', true))"
USER = "(SELECT current_setting('wattgate.user', true))"
OWN_RESOURCE = f"o.application_id = {APPLICATION} AND ({USER} = '' OR o.owner_id = {USER})"
READING_TABLES = ("reading", "reading_hour", "reading_day")


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table in READING_TABLES:
        op.execute(
            f"CREATE VIEW own_{table} AS SELECT r.* FROM resource o JOIN {table} r ON r.resource_number = o.number "  # noqa: S608 (names of our own tables)
            f"WHERE {OWN_RESOURCE}"
        )
    op.execute(
        "CREATE VIEW own_tariff_price AS SELECT p.* FROM tariff o JOIN tariff_price p ON p.tariff_id = o.tariff_id "  # noqa: S608 (a constant condition)
        f"WHERE o.application_id = {APPLICATION}"
    )


def downgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table in (*READING_TABLES, "tariff_price"):
        op.execute(f"DROP VIEW own_{table}")
    op.execute(
        "DO $$ DECLARE p record; BEGIN FOR p IN SELECT polname, polrelid::regclass AS owner FROM pg_policy "
        "WHERE starts_with(polname, 'wattgate_') LOOP "
        "EXECUTE format('DROP POLICY %I ON %s', p.polname, p.owner); "
        "EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', p.owner); END LOOP; END $$"
    )
