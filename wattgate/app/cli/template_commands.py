"""Command that checks an alert template in a file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from wattgate.app.cli.gateway_context import out
from wattgate.delivery.templates.diagnostics import Finding, Severity
from wattgate.delivery.templates.rendering import Source
from wattgate.delivery.templates.report import Report, report

COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}

template_app = typer.Typer(no_args_is_help=True, help="Check templates of alerts.")


@template_app.callback()
def template() -> None:
    """Check templates of alerts."""


@template_app.command("check")
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
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Check a template as the GraphQL query `previewTemplate` does.

    The exit status is 1 if the report has an error.

    Example: wattgate template check mail.html --subject "High use" --text mail.txt --data sample.json
    """
    source = Source(_read(file), subject, preheader, None if text is None else _read(text))
    made = report(source, None if data is None else _object(data))
    if as_json:
        told = {"ok": made.ok, "htmlBytes": made.html_bytes, "textBytes": made.text_bytes}
        print(json.dumps({**told, "findings": [asdict(one) for one in made.findings]}, indent=2))  # noqa: T201 (a pipe)
    else:
        _tell(file, made)
    raise typer.Exit(0 if made.ok else 1)


def _tell(file: Path, made: Report) -> None:
    for one in made.findings:
        out.print(
            f"{escape(_where(file, one))} [{COLOURS[one.severity]}]{one.severity}[/] {escape(_said(one))}",
            soft_wrap=True,
        )
    out.print(f"{len(made.findings)} findings; {made.html_bytes:,} bytes of HTML, {made.text_bytes:,} of text")


def _where(file: Path, one: Finding) -> str:
    place = "" if one.line is None else f":{one.line}:{one.column}"
    return f"{file}{place}:" if one.part == "html" else f"{one.part}{place}:"


def _said(one: Finding) -> str:
    return f"{one.message} ({one.hint}) {one.code}" if one.hint else f"{one.message} {one.code}"


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{file} is not UTF-8") from None


def _object(file: Path) -> dict[str, Any]:
    try:
        told = json.loads(_read(file))
    except json.JSONDecodeError as error:
        raise typer.BadParameter(f"{file} is not JSON: {error}", param_hint="--data") from None
    if not isinstance(told, dict):
        raise typer.BadParameter(f"{file} holds no object", param_hint="--data")
    return told
