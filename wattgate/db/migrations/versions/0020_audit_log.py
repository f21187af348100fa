"""Add the audit log. Triggers refuse statements that change or delete entries, on both databases."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

REFUSAL = "Entries of the audit log cannot be changed or deleted"


def upgrade() -> None:
    json = sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), "postgresql")
    application = ["application_id"], ["application.application_id"]
    op.create_table(
        "audit_entry",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("audit_entry_id", sa.String(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("operation", sa.String(), nullable=False),
        sa.Column("actor", json, nullable=False),
        sa.Column("target", json, nullable=False),
        sa.Column("changes", json, nullable=False),
        sa.Column("trace_id", sa.String(), nullable=True),
        sa.Column("client_address", sa.String(), nullable=True),
        sa.Column("previous_digest", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(*application, name=op.f("fk_audit_entry_application_id")),
        sa.PrimaryKeyConstraint("audit_entry_id", name=op.f("pk_audit_entry")),
        sa.UniqueConstraint("application_id", "sequence", name=op.f("uq_audit_entry_application_id_sequence")),
    )
    op.create_index(op.f("ix_audit_entry_application_id"), "audit_entry", ["application_id"], unique=False)
    op.create_table(
        "audit_head",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(*application, name=op.f("fk_audit_head_application_id")),
        sa.PrimaryKeyConstraint("application_id", name=op.f("pk_audit_head")),
    )
    if op.get_bind().dialect.name == "sqlite":
        _create_sqlite_triggers()
    else:
        _create_postgresql_trigger()


def _create_sqlite_triggers() -> None:
    for event in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER audit_entry_no_{event.lower()} BEFORE {event} ON audit_entry "
            f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
        )
    # REPLACE deletes a row without its trigger
    op.execute(
        "CREATE TRIGGER audit_entry_no_replace BEFORE INSERT ON audit_entry WHEN EXISTS (SELECT 1 FROM audit_entry"  # noqa: S608 (a constant text)
        " WHERE audit_entry_id = NEW.audit_entry_id"
        " OR (application_id = NEW.application_id AND sequence = NEW.sequence))"
        f" BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    )


def _create_postgresql_trigger() -> None:
    op.execute(
        "CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'insufficient_privilege'; END $$"
    )
    op.execute(
        "CREATE TRIGGER audit_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()"
    )


def downgrade() -> None:
    op.drop_table("audit_head")
    op.drop_table("audit_entry")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION refuse_audit_change")
