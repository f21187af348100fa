"""Add the gaps of consents, computed from the receipts: the periods in which a consent is not valid.

A gap begins when the consent is revoked or expires, and ends with the renewal. Its instants are in milliseconds since
1970, UTC. The last one has no end. Resources at the meter point repeat the gaps of their owner. New alerts of rules
name the resource whose consent their deliveries need. A push token belongs to one account.
"""

import hashlib
import json
import re
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import context, op
from sqlalchemy.dialects import postgresql

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

BATCH_ROWS = 1_000
CHECK_DIGIT_WEIGHTS = (3, 5, 7, 13, 17, 19, 23, 29, 31, 37, 41, 43)
_WHITESPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"^\d{1,13}$", re.ASCII)
_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

CONSENT = sa.table(
    "meter_point_consent",
    *(sa.column(name, sa.String) for name in ("application_id", "consent_id", "user_id", "mpxn")),
    *(sa.column(name, sa.DateTime(timezone=True)) for name in ("valid_until", "revoked_at")),
    sa.column("gaps", _JSON),
)
CHANGE = sa.table(
    "consent_change",
    *(sa.column(name, sa.String) for name in ("application_id", "change_id", "user_id", "mpxn", "kind")),
    *(sa.column(name, sa.DateTime(timezone=True)) for name in ("valid_until", "created_at")),
)
RESOURCE = sa.table(
    "resource",
    *(sa.column(name, sa.String) for name in ("application_id", "resource_id", "owner_id", "mpxn", "cost_of")),
    sa.column("consent_gaps", _JSON),
)

PUSH_TOKEN = sa.table(
    "mobile_app_token",
    *(sa.column(name, sa.String) for name in ("application_id", "mobile_app_token_id", "token")),
    sa.column("digest", sa.LargeBinary),
    sa.column("created_at", sa.DateTime(timezone=True)),
)

Key = tuple[str, str, str]
Gaps = list[tuple[int, int | None]]


def upgrade() -> None:
    op.add_column("meter_point_consent", sa.Column("gaps", _JSON, nullable=True))
    op.add_column("resource", sa.Column("consent_gaps", _JSON, nullable=True))
    _identify_push_tokens()
    op.add_column("alert", sa.Column("resource_id", sa.String(), nullable=True))
    connection = op.get_bind()
    gaps = _gaps_by_meter_point(connection)
    consents = connection.execute(
        sa.select(CONSENT.c.application_id, CONSENT.c.user_id, CONSENT.c.mpxn, CONSENT.c.consent_id)
    )
    rows = [{"key": row.consent_id, "value": gaps[row.application_id, row.user_id, row.mpxn]} for row in consents]
    _update(connection, CONSENT, "consent_id", "gaps", rows)
    _update(connection, RESOURCE, "resource_id", "consent_gaps", _resource_rows(connection, gaps))


def _identify_push_tokens() -> None:
    """Add the digest of each push token. Of several accounts with the same token, the newest registration stays."""
    op.add_column("mobile_app_token", sa.Column("digest", sa.LargeBinary(), nullable=True))
    connection, known = op.get_bind(), set[tuple[str, bytes]]()
    key_ring = context.config.attributes.get("key_ring")
    key = PUSH_TOKEN.c.mobile_app_token_id
    for row in connection.execute(sa.select(PUSH_TOKEN).order_by(PUSH_TOKEN.c.created_at.desc(), key)).all():
        if key_ring is None:
            raise RuntimeError("The migration needs the key ring of the gateway. Run `wattgate db upgrade`.")
        digest = _digest(key_ring.decrypt_column("mobile_app_token", "token", row.mobile_app_token_id, row.token))
        of_row = key == row.mobile_app_token_id
        if (row.application_id, digest) in known:
            connection.execute(sa.delete(PUSH_TOKEN).where(of_row))
        else:
            known.add((row.application_id, digest))
            connection.execute(sa.update(PUSH_TOKEN).where(of_row).values(digest=digest))
    op.create_index(
        op.f("ix_mobile_app_token_application_id_digest"), "mobile_app_token", ["application_id", "digest"], unique=True
    )


def _digest(token: str) -> bytes:
    """Return the digest of a push token: of the endpoint, if it is the subscription of a browser."""
    try:
        parsed = json.loads(token)
    except ValueError:
        parsed = None
    endpoint = parsed.get("endpoint") if isinstance(parsed, dict) else None
    return hashlib.sha256((endpoint if isinstance(endpoint, str) else token).encode()).digest()


def _gaps_by_meter_point(connection: sa.Connection) -> dict[Key, Gaps]:
    """Return the gaps of each consent. Its row has the last word on the present: what it says may have no receipt."""
    changes: dict[Key, list[Any]] = defaultdict(list)
    for change in connection.execute(sa.select(CHANGE).order_by(CHANGE.c.created_at, CHANGE.c.change_id)):
        changes[change.application_id, change.user_id, change.mpxn].append(change)
    gaps_by_key = {}
    for row in connection.execute(sa.select(CONSENT)):
        key = (row.application_id, row.user_id, row.mpxn)
        gaps: Gaps = []
        for change in changes[key]:
            gaps = _with_change(gaps, change.kind, _ms(change.created_at), _ms(change.valid_until))
        last = _ms(row.valid_until) if row.revoked_at is None else min(_ms(row.valid_until), _ms(row.revoked_at))
        gaps_by_key[key] = [*gaps[:-1], (last, None)]
    return gaps_by_key


def _with_change(gaps: Gaps, kind: str, at: int, until: int) -> Gaps:
    if not gaps:
        return [(until, None)]
    *past, (start, _) = gaps
    if kind == "revocation":
        return [*past, (min(start, at), None)]
    return [*past, *([(start, at)] if start < at else []), (until, None)]


def _resource_rows(connection: sa.Connection, gaps: dict[Key, Gaps]) -> list[dict[str, object]]:
    """Return the gaps of resources at meter points with a consent, and of the resources with their costs."""
    resources = connection.execute(sa.select(RESOURCE)).all()
    found = {
        row.resource_id: gaps.get((row.application_id, row.owner_id, _canonical(row.mpxn)))
        for row in resources
        if row.mpxn
    }
    found |= {row.resource_id: found.get(row.cost_of) for row in resources if row.cost_of and not row.mpxn}
    return [{"key": resource_id, "value": value} for resource_id, value in found.items() if value is not None]


def _update(
    connection: sa.Connection, table: sa.TableClause, key: str, column: str, rows: list[dict[str, object]]
) -> None:
    statement = (
        sa.update(table).where(table.c[key] == sa.bindparam("key")).values({column: sa.bindparam("value", type_=_JSON)})
    )
    for start in range(0, len(rows), BATCH_ROWS):
        connection.execute(statement, rows[start : start + BATCH_ROWS])


def _ms(value: datetime) -> int:
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000)


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
    op.drop_index(op.f("ix_mobile_app_token_application_id_digest"), table_name="mobile_app_token")
    op.drop_column("mobile_app_token", "digest")
    op.drop_column("alert", "resource_id")
    op.drop_column("resource", "consent_gaps")
    op.drop_column("meter_point_consent", "gaps")
