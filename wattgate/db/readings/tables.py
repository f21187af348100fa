"""The names of the relations with the readings that a session may see."""

READING_TABLES = ("reading", "reading_hour", "reading_day")


def own_table(table: str, dialect: str) -> str:
    """Return the relation to read instead of a table: on PostgreSQL the view of the rows in the session's scope."""
    return f"own_{table}" if dialect == "postgresql" else table


def insert_tables(sql: str, dialect: str) -> str:
    """Replace the placeholders `{reading}`, `{reading_hour}` and `{reading_day}` by the relations to read."""
    for table in READING_TABLES:
        sql = sql.replace(f"{{{table}}}", own_table(table, dialect))
    return sql
