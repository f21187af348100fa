"""The audit log of administrative acts, in which each entry holds the digest of the one before it."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import UniqueConstraint
from sqlmodel import Field, SQLModel

from wattgate.db.column_types import AssignedId, JsonColumn, created_at_field
from wattgate.db.models.tenancy import Tenanted


class AuditEntry(Tenanted, table=True):
    """One administrative act. Entries are added and never changed; triggers of the database refuse other statements.

    `sequence` numbers the entries of an application from 1. `actor` identifies the caller, `target` has the ids among
    the arguments, and `changes` has the records before and after. `digest` is the SHA-256 of the entry and of
    `previous_digest`.
    """

    __tablename__ = "audit_entry"
    __table_args__ = (UniqueConstraint("application_id", "sequence"),)
    key: ClassVar[str] = "audit_entry_id"

    audit_entry_id: str = AssignedId()
    sequence: int
    operation: str
    actor: Any = Field(sa_type=JsonColumn)
    target: Any = Field(sa_type=JsonColumn)
    changes: Any = Field(sa_type=JsonColumn)
    trace_id: str | None = None
    client_address: str | None = None
    previous_digest: str
    digest: str
    created_at: datetime = created_at_field()


class AuditHead(SQLModel, table=True):
    """The number and digest of the last entry of an application. Its row lock puts concurrent entries in order."""

    __tablename__ = "audit_head"

    application_id: str = Field(primary_key=True, foreign_key="application.application_id")
    sequence: int
    digest: str
