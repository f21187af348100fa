"""The audit log, in which each entry has the digest of the one before, the access log, and jobs on personal data."""

from datetime import datetime
from typing import Any, ClassVar

import msgspec
from sqlalchemy import BigInteger, Enum, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel

from wattgate.db.column_types import AssignedId, JsonColumn, UtcDateTime, created_at_field
from wattgate.db.models.tenancy import NoQuota, Quota, Tenanted
from wattgate.enums import ErasureStage, JobState


class AuditActor(msgspec.Struct, frozen=True, rename="camel"):
    """The caller of an administrative act. `credential` is the username of an application."""

    role: str
    scheme: str | None = None
    account_id: str | None = None
    user_id: str | None = None
    token_id: str | None = None
    credential: str | None = None


class AuditTarget(msgspec.Struct, frozen=True):
    """The IDs in an argument of an administrative act."""

    argument: str
    ids: list[str]


class AuditChange(msgspec.Struct, frozen=True):
    """A changed record, with its columns before and after. They are None for a record that did not exist then."""

    record: str
    id: str | None = None
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None


class AuditEntry(Tenanted, table=True):
    """One administrative act. Entries are added and never changed; triggers of the database refuse other statements.

    `sequence` numbers the entries of an application from 1. `actor` identifies the caller, `target` has the ids among
    the arguments, and `changes` has the records before and after. `digest` is the SHA-256 of the entry and of
    `previous_digest`.
    """

    __tablename__ = "audit_entry"
    __table_args__ = (UniqueConstraint("application_id", "sequence"),)
    key: ClassVar[str] = "audit_entry_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota(
        "It is the record of administrative acts; refusing it would refuse the act."
    )

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

    @property
    def caller(self) -> AuditActor:
        """The caller."""
        return msgspec.convert(self.actor, AuditActor)

    @property
    def targets(self) -> list[AuditTarget]:
        """The IDs among the arguments."""
        return [
            AuditTarget(argument, list(map(str, ids if isinstance(ids, list) else [ids])))
            for argument, ids in self.target.items()
        ]

    @property
    def changed_records(self) -> list[AuditChange]:
        """The records before and after."""
        return msgspec.convert([change for change in self.changes if "record" in change], list[AuditChange])

    @property
    def omitted_changes(self) -> int:
        """The number of further records, for which an entry has no room."""
        return sum(change.get("omitted", 0) for change in self.changes)


class AuditHead(SQLModel, table=True):
    """The number and digest of the last entry of an application. Its row lock puts concurrent entries in order."""

    __tablename__ = "audit_head"

    application_id: str = Field(primary_key=True, foreign_key="application.application_id")
    sequence: int
    digest: str


# Jobs on all personal data of a user: the erasure with its receipt, and the export with its archive.


class Erasure(Tenanted, table=True):
    """The erasure of a user's personal data, and the receipt for it. It contains no personal data.

    A worker takes it at `due_at` and extends that time while it works. `stage` and `step` are the next batch, and
    `cursor` is the position in that step. `counts` has the numbers of rows by table and action. Records for billing are
    kept until `kept_until`: `retention_days` after the erasure. At `listed_at` the erasure was in the list outside the
    database, which a restore does not change.
    """

    key: ClassVar[str] = "erasure_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("A user has one.")

    erasure_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", unique=True)
    state: JobState = Field(default=JobState.QUEUED, sa_type=Enum(JobState, native_enum=False, length=16))
    stage: ErasureStage = Field(default=ErasureStage.PERSONAL, sa_type=Enum(ErasureStage, native_enum=False, length=16))
    step: int = 0
    cursor: int = Field(default=0, sa_type=BigInteger)
    retention_days: int | None = None
    counts: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    created_at: datetime = created_at_field()
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    due_at: datetime | None = Field(default=None, sa_type=UtcDateTime, index=True)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    kept_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    billing_erased_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    listed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class DataExport(Tenanted, table=True):
    """An archive of all records of a user. `parts` is the number of its `DataExportPart` records.

    A worker takes it at `due_at` and extends that time while it works. `attempt` counts the workers that took it: only
    the last one may add parts. A finished export is deleted at `due_at`. `reason` is the cause of a failure.
    """

    __tablename__ = "data_export"
    key: ClassVar[str] = "export_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("A user has one.")

    export_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", unique=True)
    state: JobState = Field(default=JobState.QUEUED, sa_type=Enum(JobState, native_enum=False, length=16))
    attempt: int = 0
    files: int = 0
    files_done: int = 0
    parts: int = 0
    size: int = Field(default=0, sa_type=BigInteger)
    reason: str | None = None
    created_at: datetime = created_at_field()
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    due_at: datetime | None = Field(default=None, sa_type=UtcDateTime, index=True)


class DataExportPart(Tenanted, table=True):
    """A part of the archive of an export. Parts are numbered from 0."""

    __tablename__ = "data_export_part"
    __table_args__ = (UniqueConstraint("export_id", "number"),)
    key: ClassVar[str] = "part_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("The size of an archive is limited.")

    part_id: str = AssignedId()
    export_id: str = Field(foreign_key="data_export.export_id")
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    number: int
    content: bytes = Field(sa_type=LargeBinary)


class AccessRecord(Tenanted, table=True):
    """The reads of one resource by one caller with one operation in one hour.

    `user_id` is the user whose data was read. `reader` is the caller, such as `account:ID`, and `reader_user_id` the
    user of its account, or the user for whom an application acted. `own` is true if an account of the household read.
    The identifier is derived from all other columns except the count and the instants, so that gateways add to one row.
    """

    __tablename__ = "access_record"
    key: ClassVar[str] = "access_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota(
        "It has one row for each reader, resource, operation and hour, and a retention time."
    )

    access_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    resource_id: str
    operation: str
    purpose: str
    role: str
    reader: str
    reader_user_id: str | None = None
    own: bool
    count: int
    hour: datetime = Field(sa_type=UtcDateTime, index=True)
    last_at: datetime = Field(sa_type=UtcDateTime)
    created_at: datetime = created_at_field()
