"""Store meter points as letters and digits, in capitals, so that each look-up finds all records of a meter point.

A resource whose number had spaces was left out of moves and of revocations. Its copy of the gaps of the consent is
cleared, so that the next writer looks them up.
"""

import re
import unicodedata
from contextlib import suppress

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

TABLES = (
    "resource",
    "meter_point_consent",
    "consent_change",
    "meter_point_tenancy",
    "dfs_user",
    "dfs_participation",
)
_SEPARATING = re.compile(r"(?:[^\w]|_)+")


def upgrade() -> None:
    connection = op.get_bind()
    for name in TABLES:
        columns = [sa.column(column, sa.String) for column in ("mpxn", "consent_gaps")]
        table = sa.table(name, *columns)
        mpxn = table.c.mpxn
        for (text,) in connection.execute(sa.select(mpxn).where(mpxn.is_not(None)).distinct()).all():
            stored = _SEPARATING.sub("", unicodedata.normalize("NFKC", text)).upper()
            if stored == text:
                continue
            values = {"mpxn": stored, **({"consent_gaps": sa.null()} if name == "resource" else {})}
            # a record of the other spelling, which the user has too, counts
            with suppress(sa.exc.IntegrityError), connection.begin_nested():
                connection.execute(sa.update(table).where(mpxn == text).values(values))


def downgrade() -> None:
    """Leave the numbers as they are: both spellings name the same meter point."""
