"""Documents that an application trusts, as the command line registers them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import col

from wattgate.db.models import Application, TrustedDocument
from wattgate.errors import Conflict, NotFound
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.principal import Permission

AT_ONCE = 1_000
"""How many ids one statement names."""


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document that is to be trusted, under the id by which it is stored."""

    document_id: str
    text: str
    name: str


@dataclass(frozen=True, slots=True)
class Registered:
    """How many ids are new, and how many were known before."""

    new: int
    known: int


@operation(Kind.MUTATION, returns=Registered, needs=Permission.SYSTEM)
async def register_documents(call: Call, *, documents: Sequence[NewDocument]) -> Registered:
    """Trust documents; those that are trusted already stay as they are. Conflict where an id has another text."""
    await _application(call)
    wanted = {one.document_id: one for one in documents}
    known = await _known(call, list(wanted))
    for document_id, text in known.items():
        if text != wanted[document_id].text:
            raise Conflict(f"{document_id} ({wanted[document_id].name}) is registered with another text")
    for document_id, one in wanted.items():
        if document_id not in known:
            await call.rows.add(TrustedDocument(document_id=document_id, text=one.text, name=one.name))
    return Registered(len(wanted) - len(known), len(known))


@operation(Kind.QUERY, returns=list[TrustedDocument], needs=Permission.SYSTEM)
async def registered_documents(call: Call) -> list[TrustedDocument]:
    """What an application trusts, by name."""
    await _application(call)
    order = [col(TrustedDocument.name), col(TrustedDocument.document_id)]
    return await call.rows.all(TrustedDocument, order_by=order)


@operation(Kind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def remove_documents(call: Call, *, document_ids: Sequence[str]) -> int:
    """Trust documents no more, by whatever id they are known; how many ids are gone."""
    await _application(call)
    known = await _known(call, document_ids)
    for one in document_ids:
        if one not in known:
            raise NotFound(f"no document with id {one}")
    gone = 0
    for text in set(known.values()):
        gone += await call.rows.delete(TrustedDocument, col(TrustedDocument.text) == text)
    return gone


@operation(Kind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def require_trusted_documents(call: Call, *, required: bool) -> int:
    """Whether an application's callers may name no other documents; how many ids are registered."""
    (await _application(call)).trusted_only = required
    return await call.rows.count(TrustedDocument)


async def _known(call: Call, document_ids: Sequence[str]) -> Mapping[str, str]:
    """The texts of those ids that are registered."""
    known: dict[str, str] = {}
    for start in range(0, len(document_ids), AT_ONCE):
        some = col(TrustedDocument.document_id).in_(document_ids[start : start + AT_ONCE])
        known |= {one.document_id: one.text for one in await call.rows.all(TrustedDocument, some)}
    return known


async def _application(call: Call) -> Application:
    found = await call.rows.application()
    if found is None:
        raise NotFound(f"no application with id {call.rows.application_id}")
    return found
