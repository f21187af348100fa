"""GraphQL types of the audit log."""

from datetime import datetime

import strawberry

from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.scalars import Json


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
