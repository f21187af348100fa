"""GraphQL types of the erasure and the export of a user's data, and of the audit log."""

from datetime import datetime

import strawberry

from wattgate.enums import ErasureAction
from wattgate.operations.core.fields import RestForm, field_with_rest_form, graphql_only_field, list_field
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


@strawberry.type(description="Caller of an administrative act. Members that do not apply are null.")
class AuditActor:
    role: str = strawberry.field(description="Role of the caller, such as administrator.")
    scheme: str | None = strawberry.field(description="Authentication scheme: none, basic or token.")
    account_id: strawberry.ID | None = strawberry.field(description="ID of the account.")
    user_id: strawberry.ID | None = strawberry.field(
        description="ID of the user of the account, or for whom an application acts."
    )
    token_id: strawberry.ID | None = strawberry.field(description="ID of the token record.")
    credential: str | None = strawberry.field(description="Username of an application.")


@strawberry.type(description="IDs in an argument of an administrative act.")
class AuditTarget:
    argument: str = strawberry.field(description="Name of the argument.")
    ids: list[strawberry.ID] = strawberry.field(description="IDs in the argument.")


@strawberry.type(description="Record that an administrative act has added, changed or deleted.")
class AuditChange:
    record: str = strawberry.field(description="Kind of the record.")
    id: strawberry.ID | None = strawberry.field(description="ID of the record. Null for a record without one.")
    before: Json | None = strawberry.field(
        description="Columns before the act that it changed: an object. Null for an added record. Values that may be "
        "secret or personal are replaced by [redacted]."
    )
    after: Json | None = strawberry.field(description="The same columns after the act. Null for a deleted record.")


@strawberry.type(description="Administrative act that the audit log records. Entries are never changed.")
class AuditEntry:
    audit_entry_id: strawberry.ID = strawberry.field(description="ID of the entry.")
    application_id: ids.ApplicationId
    sequence: int = strawberry.field(description="Number of the entry in the application, from 1 without gaps.")
    operation: str = strawberry.field(description="Name of the operation, such as deleteUser.")
    caller: AuditActor = field_with_rest_form(
        "actor",
        RestForm(
            "actor",
            Json,
            "Caller: an object with role, scheme, accountId, userId, tokenId and credential (the username of an"
            " application). Members that do not apply are null.",
        ),
        description="Caller.",
    )
    targets: list[AuditTarget] = field_with_rest_form(
        "targets",
        RestForm("target", Json, "IDs among the arguments of the call: an object by argument name.", name="target"),
        description="IDs among the arguments of the call.",
    )
    changed_records: list[AuditChange] = field_with_rest_form(
        "changes",
        RestForm(
            "changes",
            Json,
            "Changed records: objects with record, id, before and after. Values that may be secret or personal"
            " are replaced by [redacted].",
        ),
        description="Changed records.",
    )
    omitted_changes: int = graphql_only_field(description="Number of changed records that the entry leaves out.")
    trace_id: str | None = strawberry.field(description="Trace ID of the request. Null for commands and workers.")
    client_address: str | None = strawberry.field(description="Network address of the client. Null if it is unknown.")
    previous_digest: str = strawberry.field(description="Digest of the previous entry; 64 zeros for the first entry.")
    digest: str = strawberry.field(description="SHA-256 of the entry and the previous digest, in hexadecimal.")
    created_at: datetime = strawberry.field(description="Instant of the act.")
