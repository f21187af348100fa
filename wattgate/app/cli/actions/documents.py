"""Carry out the commands for trusted GraphQL documents."""

from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from wattgate.app.cli.consoles import err, out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.document_files import DocumentError, check_documents, find_files, read_documents
from wattgate.app.cli.gateway_context import with_gateway
from wattgate.app.server.components import Components
from wattgate.app.server.schema import gateway_schema
from wattgate.app.settings import Settings
from wattgate.clock import format_iso
from wattgate.graphql.execution.documents.documents import DocumentCache
from wattgate.graphql.execution.pipeline import DOCUMENT_LIMITS
from wattgate.operations import trusted_documents as resolvers
from wattgate.operations.core.operation import Operation
from wattgate.principal import Principal, Role


def documents_register(*, path: Path, application: str, dry_run: bool) -> None:
    """Register the documents of a folder, so that clients can send their IDs instead of their texts."""

    settings = Settings()

    async def check_and_register(gateway: Components) -> tuple[list[resolvers.NewDocument], list[DocumentError], Any]:
        sources = [source for file in find_files(path) for source in read_documents(file)]
        documents, errors = check_documents(sources, DocumentCache(gateway_schema(settings), DOCUMENT_LIMITS))
        if errors or dry_run or not documents:
            return documents, errors, None
        registered = await _run_operation(gateway, resolvers.register_documents, application, documents=documents)
        return documents, [], registered

    documents, errors, registered = run_async(with_gateway(settings, check_and_register))
    for error in errors:
        err.print(f"{escape(error.location)}: {escape(error.message)}", soft_wrap=True)
    if errors:
        err.print(f"Errors: {len(errors)}. No document was registered.")
        raise typer.Exit(1)
    if not documents:
        err.print(f"{escape(str(path))} contains no documents.", soft_wrap=True)
        raise typer.Exit(1)
    if registered is None:
        out.print(f"Document IDs: {len(documents)}. Nothing was registered, because this is a dry run.")
    else:
        out.print(f"Document IDs: {registered.added} new, {registered.existing} already registered.")


def documents_list(*, application: str) -> None:
    """Print the registered documents: registration time, ID and names of the operations."""
    for document in _run_as_system(resolvers.registered_documents, application):
        out.print(
            f"{format_iso(document.created_at)}  {document.document_id}  {escape(document.name)}",
            soft_wrap=True,
            highlight=False,
        )


def documents_remove(*, document_id: list[str], application: str) -> None:
    """Remove documents. Gateways that have cached a document serve it for up to one more minute."""
    removed_count = _run_as_system(resolvers.remove_documents, application, document_ids=document_id)
    out.print(f"Document IDs removed: {removed_count}.")


def documents_require(*, application: str, required: bool) -> None:
    """Serve the callers of an application with registered documents only, or with any document again."""
    count = _run_as_system(resolvers.require_trusted_documents, application, required=required)
    out.print(f"Document IDs: {count}. Other documents are {'rejected' if required else 'accepted'}.")


def _run_as_system(operation: Operation, application: str, **arguments: Any) -> Any:
    return run_async(
        with_gateway(Settings(), lambda gateway: _run_operation(gateway, operation, application, **arguments))
    )


async def _run_operation(gateway: Components, operation: Operation, application: str, **arguments: Any) -> Any:
    return await gateway.runner.run(operation, Principal(Role.SYSTEM, application_id=application), arguments)
