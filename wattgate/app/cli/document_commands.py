"""Commands for trusted GraphQL documents."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from wattgate.app.cli.document_files import Fault, check, files_of, read
from wattgate.app.cli.gateway_context import err, out, run, with_gateway
from wattgate.app.server.factory import Gateway
from wattgate.app.settings import Settings
from wattgate.clock import iso
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.execution.documents import Documents
from wattgate.graphql.execution.pipeline import DOCUMENT_LIMITS
from wattgate.graphql.resolvers import trusted_documents as resolvers
from wattgate.principal import Principal, Role

documents_app = typer.Typer(no_args_is_help=True, help="Manage the trusted GraphQL documents of an application.")

Application = Annotated[str, typer.Option(help="ID of the application that owns the documents.")]


@documents_app.command("register")
def register(
    path: Annotated[Path, typer.Argument(exists=True, help="A folder of documents and manifests, or one file.")],
    application: Application,
    dry_run: Annotated[bool, typer.Option(help="Check the documents and register nothing.")] = False,
) -> None:
    """Register the documents of a folder, so that clients can send their IDs instead of their texts.

    Each .graphql or .gql file holds one document: one or more operations and the fragments that they use. The ID of the
    document is the SHA-256 of the file. Each .json file is a manifest of GraphQL Code Generator, Relay or Apollo. The
    command first checks all documents against the schema and the limits. If one is invalid, it registers nothing and
    the exit status is 1.

    Example: wattgate documents register operations --application APPLICATION --dry-run
    """

    async def work(gateway: Gateway) -> tuple[list[resolvers.NewDocument], list[Fault], Any]:
        found = [one for file in files_of(path) for one in read(file)]
        good, faults = check(found, Documents(gateway.schema, DOCUMENT_LIMITS))
        if faults or dry_run or not good:
            return good, faults, None
        return good, [], await _run(gateway, resolvers.register_documents, application, documents=good)

    good, faults, registered = run(with_gateway(Settings(), work))
    for fault in faults:
        err.print(f"{escape(fault.place)}: {escape(fault.message)}", soft_wrap=True)
    if faults:
        err.print(f"Faults: {len(faults)}. Nothing is registered.")
        raise typer.Exit(1)
    if not good:
        err.print(f"{escape(str(path))} holds no documents.", soft_wrap=True)
        raise typer.Exit(1)
    if registered is None:
        out.print(f"Ids of documents: {len(good)}. Nothing is registered, as this is a dry run.")
    else:
        out.print(f"Ids of documents: {registered.new} new, {registered.known} known before.")


@documents_app.command("list")
def list_documents(application: Application) -> None:
    """Print the registered documents: registration time, ID and names of the operations.

    Example: wattgate documents list --application APPLICATION
    """
    for one in _system(resolvers.registered_documents, application):
        out.print(f"{iso(one.created_at)}  {one.document_id}  {escape(one.name)}", soft_wrap=True, highlight=False)


@documents_app.command("remove")
def remove(
    document_id: Annotated[list[str], typer.Argument(help="IDs of documents, as `documents list` prints them.")],
    application: Application,
) -> None:
    """Remove documents. Gateways that have cached a document serve it for up to one more minute.

    Example: wattgate documents remove ID --application APPLICATION
    """
    gone = _system(resolvers.remove_documents, application, document_ids=document_id)
    out.print(f"Ids of documents removed: {gone}.")


@documents_app.command("require")
def require(
    application: Application,
    required: Annotated[
        bool, typer.Option("--require/--no-require", help="Reject or accept documents that are not registered.")
    ] = True,
) -> None:
    """Serve the callers of an application with registered documents only, or with any document again.

    A gateway may take up to a minute to follow the change.

    Example: wattgate documents require --application APPLICATION
    """
    count = _system(resolvers.require_trusted_documents, application, required=required)
    out.print(f"Ids of documents: {count}. {'No others are' if required else 'Others are'} executed.")


def _system(operation: Operation, application: str, **arguments: Any) -> Any:
    return run(with_gateway(Settings(), lambda gateway: _run(gateway, operation, application, **arguments)))


async def _run(gateway: Gateway, operation: Operation, application: str, **arguments: Any) -> Any:
    return await gateway.runner.run(operation, Principal(Role.SYSTEM, application_id=application), arguments)
