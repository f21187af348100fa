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

from wattgate.graphql.execution.document_limits import parse_document
from wattgate.graphql.execution.documents import DocumentCache, InvalidRequest
from wattgate.graphql.execution.pipeline import DOCUMENT_LIMITS
from wattgate.graphql.execution.trusted_documents import normalize_document_id
from wattgate.graphql.resolvers.trusted_documents import NewDocument
from wattgate.realtime.apq_store import digest_of, is_digest

GRAPHQL_SUFFIXES = (".graphql", ".gql")
MANIFEST_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class DocumentError:
    """What is wrong, and where: a file, with line and column or the id of a manifest's entry."""

    location: str
    message: str


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document as it stands in a file, under an id of a manifest's own where it has one."""

    location: str
    text: str
    document_id: str | None = None


class _ApolloEntry(msgspec.Struct):
    id: str
    body: str


class _ApolloManifest(msgspec.Struct):
    format: Literal["apollo-persisted-query-manifest"]
    version: Literal[1]
    operations: list[_ApolloEntry]


def find_files(path: Path) -> list[Path]:
    """The files of a folder that hold documents, in order; or the file itself."""
    if path.is_file():
        return [path]
    return sorted(
        one for one in path.rglob("*") if one.suffix in (*GRAPHQL_SUFFIXES, MANIFEST_SUFFIX) and one.is_file()
    )


def read_documents(file: Path) -> Iterator[DocumentSource | DocumentError]:
    """The documents of a file, and what cannot be read."""
    try:
        text = file.read_bytes().decode()
    except UnicodeDecodeError as error:
        yield DocumentError(str(file), f"is not UTF-8: {error.reason} at byte {error.start}")
        return
    if file.suffix != MANIFEST_SUFFIX:
        yield DocumentSource(str(file), text)
        return
    try:
        yield from _read_manifest(str(file), json.loads(text))
    except json.JSONDecodeError as error:
        yield DocumentError(f"{file}:{error.lineno}:{error.colno}", f"is not JSON: {error.msg}")
    except msgspec.ValidationError as error:
        yield DocumentError(str(file), f"is no manifest of documents: {error}")


def _read_manifest(file: str, manifest: Any) -> Iterator[DocumentSource]:
    if isinstance(manifest, dict) and "format" in manifest:
        for one in msgspec.convert(manifest, _ApolloManifest).operations:
            yield DocumentSource(f"{file}: {one.id}", one.body, one.id)
        return
    for document_id, text in msgspec.convert(manifest, dict[str, str]).items():
        yield DocumentSource(f"{file}: {document_id}", text, document_id)


def check_documents(
    sources: Iterable[DocumentSource | DocumentError], documents: DocumentCache
) -> tuple[list[NewDocument], list[DocumentError]]:
    """What can be registered, and all that is wrong. A document with an id of its own is known by its SHA-256 too."""
    good: dict[str, NewDocument] = {}
    faults: list[DocumentError] = []
    for written in sources:
        if isinstance(written, DocumentError):
            faults.append(written)
            continue
        name, wrong = _check_document(written, documents)
        faults += wrong
        digest = digest_of(written.text)
        own = digest if written.document_id is None else normalize_document_id(written.document_id)
        if own is None:
            faults.append(DocumentError(written.location, "is no id of a document"))
        elif is_digest(own) and own != digest:
            faults.append(DocumentError(written.location, f"is not the SHA-256 of its text, which is {digest}"))
        elif own in good and good[own].text != written.text:
            faults.append(DocumentError(written.location, f"is the id of another text too ({good[own].name})"))
        else:
            good |= {one: NewDocument(one, written.text, name) for one in dict.fromkeys((digest, own))}
    return list(good.values()), faults


def _check_document(source: DocumentSource, documents: DocumentCache) -> tuple[str, list[DocumentError]]:
    """The names of a document's operations, and what is wrong with it."""
    try:
        node = parse_document(source.text, DOCUMENT_LIMITS)
        operations = [one for one in node.definitions if isinstance(one, OperationDefinitionNode)]
        names = [one.name.value if one.name else None for one in operations]
        for name in names:
            documents.get(source.text, name)
    except GraphQLError as error:
        return "", [_to_document_error(source, error)]
    except InvalidRequest as invalid:
        return "", [_to_document_error(source, error) for error in invalid.errors]
    if not names:
        return "", [
            DocumentError(source.location, "has no operation; fragments stand in the document that spreads them")
        ]
    return ", ".join(name or "unnamed" for name in names), []


def _to_document_error(written: DocumentSource, error: GraphQLError) -> DocumentError:
    where = "".join(f":{one.line}:{one.column}" for one in (error.locations or ())[:1])
    return DocumentError(f"{written.location}{where}", error.message)
