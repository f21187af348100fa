"""Register and remove the GraphQL documents that an application trusts. The command line runs these operations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import col

from wattgate.db.models import Application, TrustedDocument
from wattgate.errors import Conflict, NotFound
from wattgate.operations.core.operation import Audit, Call, OperationKind, operation
from wattgate.principal import Permission

IDS_PER_STATEMENT = 1_000
"""Maximum ids in an SQL statement."""


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to trust, and the id that it is stored under."""

    document_id: str
    text: str
    name: str


@dataclass(frozen=True, slots=True)
class DocumentRegistration:
    """The number of new ids, and of ids that were registered before."""

    added: int
    existing: int


@operation(OperationKind.MUTATION, returns=DocumentRegistration, needs=Permission.SYSTEM, audit=Audit.EVERY_CALL)
async def register_documents(call: Call, *, documents: Sequence[NewDocument]) -> DocumentRegistration:
    """Register trusted documents. Known ones are unchanged. Raise Conflict if an id is registered with another text."""
    await _require_application(call)
    documents_by_id = {document.document_id: document for document in documents}
    known = await _load_texts(call, list(documents_by_id))
    for document_id, text in known.items():
        if text != documents_by_id[document_id].text:
            raise Conflict(f"{document_id} ({documents_by_id[document_id].name}) is registered with another text.")
    for document_id, document in documents_by_id.items():
        if document_id not in known:
            await call.rows.add(TrustedDocument(document_id=document_id, text=document.text, name=document.name))
    return DocumentRegistration(len(documents_by_id) - len(known), len(known))


@operation(OperationKind.QUERY, returns=list[TrustedDocument], needs=Permission.SYSTEM)
async def registered_documents(call: Call) -> list[TrustedDocument]:
    """Return the trusted documents of an application, by name."""
    await _require_application(call)
    order = [col(TrustedDocument.name), col(TrustedDocument.document_id)]
    return await call.rows.all(TrustedDocument, order_by=order)


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM, audit=Audit.EVERY_CALL)
async def remove_documents(call: Call, *, document_ids: Sequence[str]) -> int:
    """Remove the documents with these ids, under all their ids. Return the number of removed ids."""
    await _require_application(call)
    known = await _load_texts(call, document_ids)
    for document_id in document_ids:
        if document_id not in known:
            raise NotFound(f"No document with ID {document_id}.")
    removed = 0
    for text in set(known.values()):
        removed += await call.rows.delete(TrustedDocument, col(TrustedDocument.text) == text)
    return removed


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM, audit=Audit.EVERY_CALL)
async def require_trusted_documents(call: Call, *, required: bool) -> int:
    """Set whether callers of an application may send only trusted documents. Return the number of registered ids."""
    (await _require_application(call)).trusted_only = required
    return await call.rows.count(TrustedDocument)


async def _load_texts(call: Call, document_ids: Sequence[str]) -> Mapping[str, str]:
    """Return the texts of the registered ones among these ids, by id."""
    texts: dict[str, str] = {}
    for start in range(0, len(document_ids), IDS_PER_STATEMENT):
        chunk = col(TrustedDocument.document_id).in_(document_ids[start : start + IDS_PER_STATEMENT])
        texts |= {document.document_id: document.text for document in await call.rows.all(TrustedDocument, chunk)}
    return texts


async def _require_application(call: Call) -> Application:
    application = await call.rows.application()
    if application is None:
        raise NotFound(f"No application with ID {call.rows.application_id}.")
    return application
