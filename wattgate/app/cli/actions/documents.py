"""Carry out the commands for trusted GraphQL documents, and read the files of documents."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import typer
from graphql import GraphQLError, GraphQLSchema, OperationDefinitionNode, validate
from rich.markup import escape

from wattgate.app.cli.consoles import err, out
from wattgate.app.cli.gateway_context import run_in
from wattgate.app.cli.input_files import UnreadableFile, parse_json, read_text
from wattgate.app.server.schema import gateway_schema
from wattgate.app.settings import Settings
from wattgate.clock import format_iso
from wattgate.enums import Audience
from wattgate.errors import NotFound
from wattgate.graphql.execution.audience_schemas import schema_for_role
from wattgate.graphql.execution.audience_tags import ROLES
from wattgate.graphql.execution.documents.document_limits import parse_document
from wattgate.graphql.execution.documents.documents import DocumentCache, InvalidRequest
from wattgate.graphql.execution.documents.persisted_documents import normalize_document_id
from wattgate.graphql.execution.pipeline import DOCUMENT_LIMITS
from wattgate.operations import trusted_documents as resolvers
from wattgate.operations.trusted_documents import NewDocument
from wattgate.realtime.apq_store import digest_of, is_digest


def documents_register(*, path: Path, application: str, audience: Audience | None, dry_run: bool) -> None:
    """Register the documents of a folder, so that clients can send their IDs instead of their texts."""
    settings = Settings()
    sources = [source for file in find_files(path) for source in read_documents(file)]
    schema = gateway_schema(settings)
    permitted = schema_for_role(schema, ROLES[audience]) if audience else None
    documents, errors = check_documents(sources, DocumentCache(schema, DOCUMENT_LIMITS), permitted)
    for error in errors:
        err.print(f"{escape(error.location)}: {escape(error.message)}", soft_wrap=True)
    if errors:
        err.print(f"Errors: {len(errors)}. No document was registered.")
        raise typer.Exit(1)
    if not documents:
        err.print(f"{escape(str(path))} contains no documents.", soft_wrap=True)
        raise typer.Exit(1)
    if dry_run:  # a build has no database
        out.print(f"Document IDs: {len(documents)}. Nothing was registered, because this is a dry run.")
        return
    registered = run_in(application, resolvers.register_documents, {"documents": documents})
    out.print(f"Document IDs: {registered.added} new, {registered.existing} already registered.")


def documents_list(*, application: str) -> None:
    """Print the registered documents: registration time, ID and names of the operations."""
    for document in run_in(application, resolvers.registered_documents, {}):
        out.print(
            f"{format_iso(document.created_at)}  {document.document_id}  {escape(document.name)}",
            soft_wrap=True,
            highlight=False,
        )


def documents_remove(*, document_id: list[str], application: str) -> None:
    """Remove documents. Gateways that have cached a document serve it for up to one more minute."""
    wanted = list(dict.fromkeys(document_id))
    registered = {one.document_id for one in run_in(application, resolvers.registered_documents, {})}
    unknown = [one for one in wanted if normalize_document_id(one) not in registered]
    if unknown:
        raise NotFound(
            f"The application has no document with the ID {', '.join(map(repr, unknown))}. Nothing was removed. List "
            "the documents with `wattgate documents list`."
        )
    removed_count = run_in(application, resolvers.remove_documents, {"document_ids": wanted})
    out.print(f"Document IDs removed: {removed_count}.")


def documents_require(*, application: str, required: bool) -> None:
    """Serve the callers of an application with registered documents only, or with any document again."""
    count = run_in(application, resolvers.require_trusted_documents, {"required": required})
    out.print(f"Document IDs: {count}. Other documents are {'rejected' if required else 'accepted'}.")


# Read and check GraphQL documents in files: single documents, or the manifest that a client's build writes.
#
# Each `.graphql` or `.gql` file holds one document. A `.json` file is a manifest: either an object of IDs and texts,
# as GraphQL Code Generator (`persistedDocuments` of its client preset) and Relay write it, or Apollo's persisted
# query manifest.

GRAPHQL_SUFFIXES = (".graphql", ".gql")
MANIFEST_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class DocumentError:
    """An error and its location: a file, with line and column or with the ID of a manifest entry."""

    location: str
    message: str


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """The text of a document and its location. `document_id` is the ID in the manifest, if the file is a manifest."""

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
    """Return the sorted document and manifest files of a folder and its subfolders, or the file itself."""
    if not path.is_dir():
        return [path]
    return sorted(
        file for file in path.rglob("*") if file.suffix in (*GRAPHQL_SUFFIXES, MANIFEST_SUFFIX) and file.is_file()
    )


def read_documents(file: Path) -> Iterator[DocumentSource | DocumentError]:
    """Yield the documents of a file, or an error if it cannot be read."""
    try:
        text = read_text(file)
        if file.suffix != MANIFEST_SUFFIX:
            yield DocumentSource(str(file), text)
            return
        yield from _read_manifest(str(file), parse_json(file, text))
    except UnreadableFile as error:
        yield DocumentError(f"{file}{error.position}", error.problem)
    except msgspec.ValidationError as error:
        yield DocumentError(str(file), f"is not a manifest of documents: {error}")


def _read_manifest(file: str, manifest: Any) -> Iterator[DocumentSource]:
    if isinstance(manifest, dict) and "format" in manifest:
        for entry in msgspec.convert(manifest, _ApolloManifest).operations:
            yield DocumentSource(f"{file}: {entry.id}", entry.body, entry.id)
        return
    for document_id, text in msgspec.convert(manifest, dict[str, str]).items():
        yield DocumentSource(f"{file}: {document_id}", text, document_id)


def check_documents(
    sources: Iterable[DocumentSource | DocumentError],
    documents: DocumentCache,
    permitted: GraphQLSchema | None = None,
) -> tuple[list[NewDocument], list[DocumentError]]:
    """Return the documents to register and all errors.

    `permitted` is the part of the schema that the documents may use. By default they may use all of it.

    A document of a manifest is registered under two IDs if they differ: the manifest's ID and the SHA-256 of its text.
    """
    valid: dict[str, NewDocument] = {}
    errors: list[DocumentError] = []
    for source in sources:
        if isinstance(source, DocumentError):
            errors.append(source)
            continue
        name, source_errors = _check_document(source, documents, permitted)
        errors += source_errors
        digest = digest_of(source.text)
        document_id = digest if source.document_id is None else normalize_document_id(source.document_id)
        if document_id is None:
            errors.append(DocumentError(source.location, "is not a valid document ID"))
        elif is_digest(document_id) and document_id != digest:
            errors.append(DocumentError(source.location, f"is not the SHA-256 of its text, which is {digest}"))
        elif document_id in valid and valid[document_id].text != source.text:
            errors.append(DocumentError(source.location, f"is also the ID of another text ({valid[document_id].name})"))
        else:
            valid |= {
                known_id: NewDocument(known_id, source.text, name) for known_id in dict.fromkeys((digest, document_id))
            }
    return list(valid.values()), errors


def _check_document(
    source: DocumentSource, documents: DocumentCache, permitted: GraphQLSchema | None
) -> tuple[str, list[DocumentError]]:
    """Return the names of a document's operations, separated by commas, and its errors."""
    try:
        node = parse_document(source.text, DOCUMENT_LIMITS)
        operations = [definition for definition in node.definitions if isinstance(definition, OperationDefinitionNode)]
        names = [definition.name.value if definition.name else None for definition in operations]
        for name in names:
            documents.get(source.text, name)
    except GraphQLError as error:
        return "", [_to_document_error(source, error)]
    except InvalidRequest as invalid:
        return "", [_to_document_error(source, error) for error in invalid.errors]
    if permitted and (refused := validate(permitted, node, hide_suggestions=True)):
        return "", [_to_document_error(source, error) for error in refused]
    if not names:
        return "", [DocumentError(source.location, "has no operation. Define a fragment in the document that uses it")]
    return ", ".join(name or "unnamed" for name in names), []


def _to_document_error(source: DocumentSource, error: GraphQLError) -> DocumentError:
    position = "".join(f":{location.line}:{location.column}" for location in (error.locations or ())[:1])
    return DocumentError(f"{source.location}{position}", error.message)
