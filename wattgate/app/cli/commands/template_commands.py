"""Command that checks an alert template in a file."""

from pathlib import Path
from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.delivery.templates.language.cultures import DEFAULT_CULTURE
from wattgate.enums import RuleKind

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
