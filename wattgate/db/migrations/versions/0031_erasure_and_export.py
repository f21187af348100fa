"""Add the erasures and exports of personal data, the time of an erasure, and the users of kept mails and webhooks.

The users are copied from the deliveries, the events and the payloads.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

INDEXES = (("kept_mail", "user_id"), ("webhook_event", "user_id"), ("webhook", "subject_id"))

REFUSAL = "Entries of the audit log cannot be changed or deleted"
FIXED_COLUMNS = (
    *("application_id", "audit_entry_id", "sequence", "operation", "actor", "target", "trace_id"),
    *("previous_digest", "digest", "created_at"),
)
ADDRESS_SET = "(NEW.client_address IS NOT NULL AND NEW.client_address <> coalesce(OLD.client_address, ''))"
_SQLITE_USER = "json_extract(payload, '$.userId')"


def upgrade() -> None:
    op.add_column("app_user", sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("kept_mail", sa.Column("user_id", sa.String(), nullable=True))
    op.execute(
        "UPDATE kept_mail SET user_id = "
        "(SELECT delivery.user_id FROM delivery WHERE delivery.delivery_id = kept_mail.delivery_id)"
    )
    op.add_column("webhook", sa.Column("subject_id", sa.String(), nullable=True))
    in_payload = "payload ->> 'userId'" if op.get_bind().dialect.name == "postgresql" else _SQLITE_USER
    op.execute(
        "UPDATE webhook SET subject_id = coalesce(user_id, (SELECT webhook_event.user_id FROM webhook_event "  # noqa: S608 (a constant text)
        f"WHERE webhook_event.event_id = webhook.event_id), {in_payload})"
    )
    for table, column in INDEXES:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column], unique=False)
    _create_erasures()
    _create_exports()
    _allow_erasures_in_audit_log()


def _allow_erasures_in_audit_log() -> None:
    """Let entries lose their network address and values in `changes`. Refuse all other changes as before."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER audit_entry_no_update")
        differs = " OR ".join(f"NEW.{name} IS NOT OLD.{name}" for name in FIXED_COLUMNS)
        op.execute(
            f"CREATE TRIGGER audit_entry_no_update BEFORE UPDATE ON audit_entry WHEN {differs} OR {ADDRESS_SET} "
            f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
        )
        return
    op.execute("DROP TRIGGER audit_entry_append_only ON audit_entry")
    op.execute(
        "CREATE TRIGGER audit_entry_append_only BEFORE DELETE OR TRUNCATE ON audit_entry "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()"
    )
    differs = " OR ".join(f"NEW.{name} IS DISTINCT FROM OLD.{name}" for name in FIXED_COLUMNS)
    op.execute(
        f"CREATE TRIGGER audit_entry_no_update BEFORE UPDATE ON audit_entry FOR EACH ROW WHEN ({differs} OR "
        f"{ADDRESS_SET}) EXECUTE FUNCTION refuse_audit_change()"
    )


def _forbid_erasures_in_audit_log() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER audit_entry_no_update")
        op.execute(
            f"CREATE TRIGGER audit_entry_no_update BEFORE UPDATE ON audit_entry "
            f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
        )
        return
    for name in ("audit_entry_no_update", "audit_entry_append_only"):
        op.execute(f"DROP TRIGGER {name} ON audit_entry")
    op.execute(
        "CREATE TRIGGER audit_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()"
    )


def _create_erasures() -> None:
    json = sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), "postgresql")
    op.create_table(
        "erasure",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("erasure_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("stage", sa.String(16), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("cursor", sa.BigInteger(), nullable=False),
        sa.Column("retention_days", sa.Integer(), nullable=True),
        sa.Column("counts", json, nullable=False),
        *_instants("created_at", nullable=False),
        *_instants("started_at", "due_at", "finished_at", "kept_until", "billing_erased_at", nullable=True),
        *_constraints("erasure", "erasure_id"),
        sa.UniqueConstraint("user_id", name=op.f("uq_erasure_user_id")),
    )
    _create_indexes("erasure", "application_id", "due_at")


def _create_exports() -> None:
    op.create_table(
        "data_export",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("export_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("attempt", "files", "files_done", "parts")),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        *_instants("created_at", nullable=False),
        *_instants("started_at", "finished_at", "due_at", nullable=True),
        *_constraints("data_export", "export_id"),
        sa.UniqueConstraint("user_id", name=op.f("uq_data_export_user_id")),
    )
    _create_indexes("data_export", "application_id", "due_at")
    op.create_table(
        "data_export_part",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("part_id", sa.String(), nullable=False),
        sa.Column("export_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        *_constraints("data_export_part", "part_id"),
        sa.ForeignKeyConstraint(["export_id"], ["data_export.export_id"], name=op.f("fk_data_export_part_export_id")),
        sa.UniqueConstraint("export_id", "number", name=op.f("uq_data_export_part_export_id_number")),
    )
    _create_indexes("data_export_part", "application_id", "user_id")


def _instants(*names: str, nullable: bool) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.DateTime(timezone=True), nullable=nullable) for name in names]


def _constraints(table: str, key: str) -> list[sa.Constraint]:
    """Return the primary key, and the foreign keys to the application and to the user."""
    return [
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f(f"fk_{table}_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f(f"fk_{table}_user_id")),
        sa.PrimaryKeyConstraint(key, name=op.f(f"pk_{table}")),
    ]


def _create_indexes(table: str, *columns: str) -> None:
    for column in columns:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column], unique=False)


def downgrade() -> None:
    _forbid_erasures_in_audit_log()
    for table in ("data_export_part", "data_export", "erasure"):
        op.drop_table(table)
    for table, column in INDEXES:
        op.drop_index(op.f(f"ix_{table}_{column}"), table)
    op.drop_column("webhook", "subject_id")
    op.drop_column("kept_mail", "user_id")
    op.drop_column("app_user", "erased_at")
