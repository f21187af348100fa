"""Commands for trusted GraphQL documents."""

from pathlib import Path
from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched

documents_app = typer.Typer(no_args_is_help=True, help="Manage the trusted GraphQL documents of an application.")


ApplicationOption = Annotated[str, typer.Option(help="ID of the application that owns the documents.")]


@documents_app.command("register")
@dispatched
def documents_register(
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


@documents_app.command("list")
@dispatched
def documents_list(application: ApplicationOption) -> None:
    """Print the registered documents: registration time, ID and names of the operations.

    Example: wattgate documents list --application APPLICATION
    """


@documents_app.command("remove")
@dispatched
def documents_remove(
    document_id: Annotated[list[str], typer.Argument(help="IDs of documents, as `documents list` prints them.")],
    application: ApplicationOption,
) -> None:
    """Remove documents. Gateways that have cached a document serve it for up to one more minute.

    Example: wattgate documents remove ID --application APPLICATION
    """


@documents_app.command("require")
@dispatched
def documents_require(
    application: ApplicationOption,
    required: Annotated[
        bool, typer.Option("--require/--no-require", help="Reject or accept documents that are not registered.")
    ] = True,
) -> None:
    """Serve the callers of an application with registered documents only, or with any document again.

    A gateway may take up to a minute to follow the change.

    Example: wattgate documents require --application APPLICATION
    """
