"""Commands for trusted GraphQL documents and for files of templates."""

from pathlib import Path
from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.delivery.templates.language.cultures import DEFAULT_CULTURE
from wattgate.enums import Audience, RuleKind

documents_app = typer.Typer(no_args_is_help=True, help="Manage the trusted GraphQL documents of an application.")


ApplicationOption = Annotated[str, typer.Option(help="Name or ID of the application that owns the documents.")]


@documents_app.command("register")
@dispatched
def documents_register(
    path: Annotated[Path, typer.Argument(exists=True, help="A folder of documents and manifests, or one file.")],
    application: ApplicationOption,
    audience: Annotated[
        Audience | None, typer.Option(help="Refuse documents with fields that callers of this kind may not use.")
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Check the documents and register nothing.")] = False,
) -> None:
    """Register the documents of a folder, so that clients can send their IDs instead of their texts.

    Each .graphql or .gql file holds one document: one or more operations and the fragments that they use. The ID of the
    document is the SHA-256 of the file. Each .json file is a manifest of GraphQL Code Generator, Relay or Apollo. The
    command first checks all documents against the schema and the limits. If one is invalid, it registers nothing and
    the exit status is 1.

    Example: wattgate documents register operations --application APPLICATION --audience app --dry-run
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


# Command that checks an alert template in a file.

template_app = typer.Typer(no_args_is_help=True, help="Check templates of alerts.")


@template_app.callback()
def template() -> None:
    """Check templates of alerts."""


@template_app.command("check")
@dispatched
def template_check(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="File with the HTML source.")],
    subject: Annotated[str, typer.Option(help="Source of the subject.")] = "",
    preheader: Annotated[str, typer.Option(help="Source of the preheader.")] = "",
    text: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="File with the source of the plain text.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="JSON file with the values of the variables.")
    ] = None,
    variables: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="JSON file with the variables of the alert type, as a list."),
    ] = None,
    rule_kind: Annotated[
        RuleKind | None, typer.Option(help="Kind of the alert rules that define the variables.")
    ] = None,
    culture: Annotated[str, typer.Option(help="Culture that formats numbers and times.")] = DEFAULT_CULTURE,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Check a template as the GraphQL query `previewTemplate` does.

    The exit status is 1 if the report has an error. With --variables or --rule-kind, a name that is not among them is
    an error.

    Example: wattgate template check mail.html --subject "High use" --text mail.txt --data sample.json
    """
