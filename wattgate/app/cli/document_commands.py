"""The commands for documents that applications trust."""

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

documents_app = typer.Typer(no_args_is_help=True, help="GraphQL documents that applications trust.")

Application = Annotated[str, typer.Option(help="The application whose documents these are.")]


@documents_app.command("register")
def register(
    path: Annotated[Path, typer.Argument(exists=True, help="A folder of documents, or one file.")],
    application: Application,
    dry_run: Annotated[bool, typer.Option(help="Check them, and register nothing.")] = False,
) -> None:
    """Register the documents of a folder, so that clients may name them by their ids.

    Files .graphql and .gql hold a document each, with one or more operations and the fragments that they spread; its id
    is the SHA-256 of the file. Files .json are manifests of GraphQL Code Generator, Relay or Apollo. All are checked
    against the schema first, and where one is wrong, nothing is registered and the exit status is 1.
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
    """Print the documents that are registered: since when, their ids, and the names of their operations."""
    for one in _system(resolvers.registered_documents, application):
        out.print(f"{iso(one.created_at)}  {one.document_id}  {escape(one.name)}", soft_wrap=True, highlight=False)


@documents_app.command("remove")
def remove(
    document_id: Annotated[list[str], typer.Argument(help="Ids of documents, as they are listed.")],
    application: Application,
) -> None:
    """Trust documents no more. Gateways that have them at hand serve them for up to a minute."""
    gone = _system(resolvers.remove_documents, application, document_ids=document_id)
    out.print(f"Ids of documents removed: {gone}.")


@documents_app.command("require")
def require(
    application: Application,
    required: Annotated[
        bool, typer.Option("--require/--no-require", help="Whether other documents are refused.")
    ] = True,
) -> None:
    """Let an application's callers have registered documents executed and no others."""
    count = _system(resolvers.require_trusted_documents, application, required=required)
    out.print(f"Ids of documents: {count}. {'No others are' if required else 'Others are'} executed.")


def _system(operation: Operation, application: str, **arguments: Any) -> Any:
    return run(with_gateway(Settings(), lambda gateway: _run(gateway, operation, application, **arguments)))


async def _run(gateway: Gateway, operation: Operation, application: str, **arguments: Any) -> Any:
    return await gateway.runner.run(operation, Principal(Role.SYSTEM, application_id=application), arguments)
