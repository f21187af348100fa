"""GraphQL types of the erasure and the export of a user's data, and of the audit log."""

from datetime import datetime

import strawberry

from wattgate.enums import ErasureAction
from wattgate.operations.core.fields import list_field
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.scalars import Json
from wattgate.values import terms


@strawberry.type(description="Treatment of the records of one table by an erasure.")
class ErasedTable:
    table: str = strawberry.field(description="Name of the table in the database.")
    action: ErasureAction = strawberry.field(description="Whether records are erased, replaced or kept.")
    records: int | None = strawberry.field(description="Number of records. Null if kept records are not counted.")
    reason: str = strawberry.field(description="Reason for the action.")


@strawberry.type(description="Erasure of a user's personal data: its progress, and the receipt for it.")
class Erasure:
    erasure_id: strawberry.ID = strawberry.field(description="ID of the erasure.")
    user_id: strawberry.ID = strawberry.field(description="ID of the user, which is the pseudonym of kept records.")
    state: terms.StateOfJob
    progress: float = strawberry.field(description="Finished part of the work, from 0 to 1.")
    created_at: terms.CreatedAt
    finished_at: datetime | None = strawberry.field(description="Time at which all personal data was erased.")
    kept_until: datetime | None = strawberry.field(
        description="Time at which records for billing are erased. Null while the job has not finished, or if none "
        "are kept."
    )
    billing_erased_at: datetime | None = strawberry.field(description="Time at which records for billing were erased.")
    tables: list[ErasedTable] = list_field(
        60, description="Treatment of each table with records of users. Empty while the job has not finished."
    )


@strawberry.type(description="Archive of all data of a user: its progress, and where to download it.")
class DataExport:
    export_id: ids.ExportId
    user_id: ids.UserId
    state: terms.StateOfJob
    progress: float = strawberry.field(description="Finished part of the work, from 0 to 1.")
    reason: str | None = strawberry.field(description="Reason for which the export has failed.")
    size: int | None = strawberry.field(description="Size of the archive in bytes. Null before it is complete.")
    parts: int | None = strawberry.field(description="Number of parts of the archive. Null before it is complete.")
    download_path: str | None = strawberry.field(
        description="Path of the archive below the base URL of the REST interface. Null before it is complete."
    )
    created_at: terms.CreatedAt
    finished_at: terms.FinishedAt | None
    expires_at: datetime | None = strawberry.field(description="Time at which the archive is deleted.")


@strawberry.type(description="Part of an archive. All parts in order are a ZIP file.")
class DataExportPart:
    export_id: ids.ExportId
    number: int = strawberry.field(description="Number of the part, from 0.")
    parts: int = strawberry.field(description="Number of parts of the archive.")
    content: str = strawberry.field(description="Bytes of the part in base64.")


@strawberry.type(description="Administrative act that the audit log records. Entries are never changed.")
class AuditEntry:
    audit_entry_id: strawberry.ID = strawberry.field(description="ID of the entry.")
    application_id: ids.ApplicationId
    sequence: int = strawberry.field(description="Number of the entry in the application, from 1 without gaps.")
    operation: str = strawberry.field(description="Name of the operation, such as deleteUser.")
    actor: Json = strawberry.field(
        description="Caller: an object with role, scheme, accountId, userId, tokenId and credential (the username of an"
        " application). Members that do not apply are null."
    )
    target: Json = strawberry.field(description="IDs among the arguments of the call: an object by argument name.")
    changes: Json = strawberry.field(
        description="Changed records: objects with record, id, before and after. Values that may be secret or personal"
        " are replaced by [redacted]."
    )
    trace_id: str | None = strawberry.field(description="Trace ID of the request. Null for commands and workers.")
    client_address: str | None = strawberry.field(description="Network address of the client. Null if it is unknown.")
    previous_digest: str = strawberry.field(description="Digest of the previous entry; 64 zeros for the first entry.")
    digest: str = strawberry.field(description="SHA-256 of the entry and the previous digest, in hexadecimal.")
    created_at: datetime = strawberry.field(description="Instant of the act.")
