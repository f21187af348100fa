"""Create the schema of the first release. Its SQL is in `migrations/baseline`, in a file for each subject.

The files are written for PostgreSQL. SQLite has other names of some types. `sqlite.sql` and `postgresql.sql` have what
only one of the databases has. After the first release, the files never change: a later migration changes
the schema.
"""

import re
from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

FOLDER = Path(__file__).parents[1] / "baseline"
SUBJECTS = (
    "applications",
    "resources",
    "meter_points",
    "accounts",
    "log_ins",
    "devices",
    "alerts",
    "deliveries",
    "content",
    "audit",
)
"""The files for both databases. A table comes after those that it references."""

SQLITE_NAMES = {
    "BIGSERIAL": "INTEGER",
    "BYTEA": "BLOB",
    "FALSE": "0",
    "JSONB": "JSON",
    "TIMESTAMPTZ": "DATETIME",
    "TRUE": "1",
}
SQLITE_NAME = re.compile(rf"\b(?:{'|'.join(SQLITE_NAMES)})\b")


def upgrade() -> None:
    connection = op.get_bind()
    for subject in (*SUBJECTS, connection.dialect.name):
        script = (FOLDER / f"{subject}.sql").read_text(encoding="utf-8")
        if connection.dialect.name == "sqlite":
            script = SQLITE_NAME.sub(lambda found: SQLITE_NAMES[found[0]], script)
        for statement in statements(script):
            connection.exec_driver_sql(statement)


def statements(script: str) -> list[str]:
    """Return the statements of a script. A semicolon at the end of a line ends a statement."""
    lines = [line for line in script.splitlines() if not line.startswith("--")]
    return [statement.strip() for statement in "\n".join([*lines, ""]).split(";\n") if statement.strip()]


def downgrade() -> None:
    raise RuntimeError("0001 is the first migration, so no schema is before it. To start again, create a new database.")
