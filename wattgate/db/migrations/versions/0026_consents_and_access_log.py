"""Add the ground of consents and the access log. Record a consent for each meter point that was served without one.

From this version on, the data of a meter point without a recorded consent is withheld by default. The recorded consents
end after 18 months, the maximum period of a consent.
"""

import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

PERIOD = timedelta(days=548)
BATCH_ROWS = 1_000
CHECK_DIGIT_WEIGHTS = (3, 5, 7, 13, 17, 19, 23, 29, 31, 37, 41, 43)
_WHITESPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"^\d{1,13}$", re.ASCII)

RESOURCE = sa.table("resource", *(sa.column(name, sa.String) for name in ("application_id", "owner_id", "mpxn")))
CONSENT = sa.table(
    "meter_point_consent",
    *(sa.column(name, sa.String) for name in ("application_id", "consent_id", "user_id", "mpxn")),
    sa.column("verified", sa.Boolean),
    *(sa.column(name, sa.DateTime(timezone=True)) for name in ("valid_until", "created_at", "updated_at")),
)
CHANGE = sa.table(
    "consent_change",
    *(
        sa.column(name, sa.String)
        for name in ("application_id", "change_id", "user_id", "mpxn", "kind", "basis", "purpose", "recorded_by")
    ),
    *(sa.column(name, sa.DateTime(timezone=True)) for name in ("valid_until", "created_at")),
)


def upgrade() -> None:
    op.add_column("consent_change", sa.Column("basis", sa.String(), server_default="unrecorded", nullable=False))
    for name in ("purpose", "recorded_by"):
        op.add_column("consent_change", sa.Column(name, sa.String(), server_default="", nullable=False))
    op.create_table(
        "access_record",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("access_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        *(
            sa.Column(name, sa.String(), nullable=False)
            for name in ("resource_id", "operation", "purpose", "role", "reader")
        ),
        sa.Column("reader_user_id", sa.String(), nullable=True),
        sa.Column("own", sa.Boolean(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.DateTime(timezone=True), nullable=False) for name in ("hour", "last_at", "created_at")),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_access_record_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_access_record_user_id")),
        sa.PrimaryKeyConstraint("access_id", name=op.f("pk_access_record")),
    )
    for name in ("application_id", "user_id", "hour"):
        op.create_index(op.f(f"ix_access_record_{name}"), "access_record", [name], unique=False)
    _record_missing_consents()


def _record_missing_consents() -> None:
    connection = op.get_bind()
    owned = connection.execute(
        sa.select(RESOURCE.c.application_id, RESOURCE.c.owner_id, RESOURCE.c.mpxn)
        .where(RESOURCE.c.mpxn.is_not(None), RESOURCE.c.mpxn != "")
        .distinct()
    )
    served = {(application_id, owner_id, _canonical(mpxn)) for application_id, owner_id, mpxn in owned}
    recorded = connection.execute(sa.select(CONSENT.c.application_id, CONSENT.c.user_id, CONSENT.c.mpxn))
    missing = sorted(served - {tuple(row) for row in recorded})
    for start in range(0, len(missing), BATCH_ROWS):
        batch, now = missing[start : start + BATCH_ROWS], datetime.now(UTC)
        common = [
            {"application_id": application_id, "user_id": owner_id, "mpxn": mpxn, "valid_until": now + PERIOD}
            for application_id, owner_id, mpxn in batch
        ]
        connection.execute(
            sa.insert(CONSENT),
            [
                {**row, "consent_id": str(uuid4()), "verified": False, "created_at": now, "updated_at": now}
                for row in common
            ],
        )
        receipt = {"kind": "grant", "basis": "migrated", "purpose": "service", "recorded_by": "migration"}
        connection.execute(
            sa.insert(CHANGE), [{**row, **receipt, "change_id": str(uuid4()), "created_at": now} for row in common]
        )


def _canonical(text: str) -> str:
    """Return the form in which consents store a meter point. An MPAN of 12 digits gets its check digit."""
    digits = _WHITESPACE.sub("", text)
    if not _NUMBER.match(digits):
        return text
    if len(digits) != len(CHECK_DIGIT_WEIGHTS):
        return digits
    total = sum(int(digit) * weight for digit, weight in zip(digits, CHECK_DIGIT_WEIGHTS, strict=True))
    return digits + str(total % 11 % 10)


def downgrade() -> None:
    op.drop_table("access_record")
    op.execute("DELETE FROM consent_change WHERE kind = 'grant'")
    for name in ("recorded_by", "purpose", "basis"):
        op.drop_column("consent_change", name)
