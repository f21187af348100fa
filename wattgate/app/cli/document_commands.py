"""Commands for trusted GraphQL documents."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from wattgate.app.cli.document_files import DocumentError, check_documents, find_files, read_documents
from wattgate.app.cli.gateway_context import err, out, run_async, with_gateway
from wattgate.app.server.factory import Gateway
from wattgate.app.settings import Settings
from wattgate.clock import format_iso
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.execution.documents import DocumentCache
from wattgate.graphql.execution.pipeline import DOCUMENT_LIMITS
from wattgate.graphql.resolvers import trusted_documents as resolvers
from wattgate.principal import Principal, Role

documents_app = typer.Typer(no_args_is_help=True, help="Manage the trusted GraphQL documents of an application.")

ApplicationOption = Annotated[str, typer.Option(help="ID of the application that owns the documents.")]


@documents_app.command("register")
def register(
    path: Annotated[Path, typer.Argument(exists=True, help="A folder of documents and manifests, or one file.")],
    application: ApplicationOption,
    dry_run: Annotated[bool, typer.Option(help="Check the documents and register nothing.")] = False,
) -> None:
    """Register the documents of a folder, so that clients can send their IDs instead of their texts.

    Each .graphql or .gql file holds one document: one or more operations and the fragments that they use. The ID of the
    document is the SHA-256 of the file. Each .json file is a manifest of GraphQL Code Generator, Relay or Apollo. The
    command first checks all documents against the schema and the limits. If one is invalid, it registers nothing and
    the exit status is 1.

    Example: wattgate documents register operations --application APPLICATION --dry-run
    """

    async def check_and_register(gateway: Gateway) -> tuple[list[resolvers.NewDocument], list[DocumentError], Any]:
        sources = [source for file in find_files(path) for source in read_documents(file)]
        documents, errors = check_documents(sources, DocumentCache(gateway.schema, DOCUMENT_LIMITS))
        if errors or dry_run or not documents:
            return documents, errors, None
        registered = await _run_operation(gateway, resolvers.register_documents, application, documents=documents)
        return documents, [], registered

    documents, errors, registered = run_async(with_gateway(Settings(), check_and_register))
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


@documents_app.command("list")
def list_documents(application: ApplicationOption) -> None:
    """Print the registered documents: registration time, ID and names of the operations.

    Example: wattgate documents list --application APPLICATION
    """
    for document in _run_as_system(resolvers.registered_documents, application):
        out.print(
            f"{format_iso(document.created_at)}  {document.document_id}  {escape(document.name)}",
            soft_wrap=True,
            highlight=False,
        )


@documents_app.command("remove")
def remove(
    document_id: Annotated[list[str], typer.Argument(help="IDs of documents, as `documents list` prints them.")],
    application: ApplicationOption,
) -> None:
    """Remove documents. Gateways that have cached a document serve it for up to one more minute.

    Example: wattgate documents remove ID --application APPLICATION
    """
    removed_count = _run_as_system(resolvers.remove_documents, application, document_ids=document_id)
    out.print(f"Document IDs removed: {removed_count}.")


@documents_app.command("require")
def require(
    application: ApplicationOption,
    required: Annotated[
        bool, typer.Option("--require/--no-require", help="Reject or accept documents that are not registered.")
    ] = True,
) -> None:
    """Serve the callers of an application with registered documents only, or with any document again.

    A gateway may take up to a minute to follow the change.

    Example: wattgate documents require --application APPLICATION
    """
    count = _run_as_system(resolvers.require_trusted_documents, application, required=required)
    out.print(f"Document IDs: {count}. Other documents are {'rejected' if required else 'accepted'}.")


def _run_as_system(operation: Operation, application: str, **arguments: Any) -> Any:
    return run_async(
        with_gateway(Settings(), lambda gateway: _run_operation(gateway, operation, application, **arguments))
    )


async def _run_operation(gateway: Gateway, operation: Operation, application: str, **arguments: Any) -> Any:
    return await gateway.runner.run(operation, Principal(Role.SYSTEM, application_id=application), arguments)
