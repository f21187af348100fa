"""GraphQL documents in files: as they are written, or as the build of a client has gathered them in a manifest.

`.graphql` and `.gql` files hold one document each. `.json` files are manifests: ids and their texts, as GraphQL Code
Generator (`persistedDocuments` of its client preset) and Relay write them, or Apollo's persisted query manifest.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
from graphql import GraphQLError, OperationDefinitionNode

from wattgate.graphql.execution.document_limits import parse
from wattgate.graphql.execution.documents import Documents, Invalid
from wattgate.graphql.execution.pipeline import DOCUMENT_LIMITS
from wattgate.graphql.execution.trusted_documents import stored_id
from wattgate.graphql.resolvers.trusted_documents import NewDocument
from wattgate.realtime.apq_store import digest_of, is_digest

GRAPHQL = (".graphql", ".gql")
MANIFEST = ".json"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and where: a file, with line and column or the id of a manifest's entry."""

    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Written:
    """A document as it stands in a file, under an id of a manifest's own where it has one."""

    place: str
    text: str
    document_id: str | None = None


class _Entry(msgspec.Struct):
    id: str
    body: str


class _ApolloManifest(msgspec.Struct):
    format: Literal["apollo-persisted-query-manifest"]
    version: Literal[1]
    operations: list[_Entry]


def files_of(path: Path) -> list[Path]:
    """The files of a folder that hold documents, in order; or the file itself."""
    if path.is_file():
        return [path]
    return sorted(one for one in path.rglob("*") if one.suffix in (*GRAPHQL, MANIFEST) and one.is_file())


def read(file: Path) -> Iterator[Written | Fault]:
    """The documents of a file, and what cannot be read."""
    try:
        text = file.read_bytes().decode()
    except UnicodeDecodeError as error:
        yield Fault(str(file), f"is not UTF-8: {error.reason} at byte {error.start}")
        return
    if file.suffix != MANIFEST:
        yield Written(str(file), text)
        return
    try:
        yield from _entries(str(file), json.loads(text))
    except json.JSONDecodeError as error:
        yield Fault(f"{file}:{error.lineno}:{error.colno}", f"is not JSON: {error.msg}")
    except msgspec.ValidationError as error:
        yield Fault(str(file), f"is no manifest of documents: {error}")


def _entries(file: str, manifest: Any) -> Iterator[Written]:
    if isinstance(manifest, dict) and "format" in manifest:
        for one in msgspec.convert(manifest, _ApolloManifest).operations:
            yield Written(f"{file}: {one.id}", one.body, one.id)
        return
    for document_id, text in msgspec.convert(manifest, dict[str, str]).items():
        yield Written(f"{file}: {document_id}", text, document_id)


def check(found: Iterable[Written | Fault], documents: Documents) -> tuple[list[NewDocument], list[Fault]]:
    """What can be registered, and all that is wrong. A document with an id of its own is known by its SHA-256 too."""
    good: dict[str, NewDocument] = {}
    faults: list[Fault] = []
    for written in found:
        if isinstance(written, Fault):
            faults.append(written)
            continue
        name, wrong = _checked(written, documents)
        faults += wrong
        digest = digest_of(written.text)
        own = digest if written.document_id is None else stored_id(written.document_id)
        if own is None:
            faults.append(Fault(written.place, "is no id of a document"))
        elif is_digest(own) and own != digest:
            faults.append(Fault(written.place, f"is not the SHA-256 of its text, which is {digest}"))
        elif own in good and good[own].text != written.text:
            faults.append(Fault(written.place, f"is the id of another text too ({good[own].name})"))
        else:
            good |= {one: NewDocument(one, written.text, name) for one in dict.fromkeys((digest, own))}
    return list(good.values()), faults


def _checked(written: Written, documents: Documents) -> tuple[str, list[Fault]]:
    """The names of a document's operations, and what is wrong with it."""
    try:
        node = parse(written.text, DOCUMENT_LIMITS)
        operations = [one for one in node.definitions if isinstance(one, OperationDefinitionNode)]
        names = [one.name.value if one.name else None for one in operations]
        for name in names:
            documents.find(written.text, name)
    except GraphQLError as error:
        return "", [_fault(written, error)]
    except Invalid as invalid:
        return "", [_fault(written, error) for error in invalid.errors]
    if not names:
        return "", [Fault(written.place, "has no operation; fragments stand in the document that spreads them")]
    return ", ".join(name or "unnamed" for name in names), []


def _fault(written: Written, error: GraphQLError) -> Fault:
    where = "".join(f":{one.line}:{one.column}" for one in (error.locations or ())[:1])
    return Fault(f"{written.place}{where}", error.message)
