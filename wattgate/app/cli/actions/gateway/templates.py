"""Check an alert template in a file."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import typer
from rich.markup import escape

from wattgate.app.cli.consoles import out
from wattgate.app.cli.input_files import UnreadableFile, read_json, read_text
from wattgate.delivery.templates.language.contract import VariableDeclaration, build_contract
from wattgate.delivery.templates.language.contract_values import sample_values
from wattgate.delivery.templates.language.cultures import is_culture
from wattgate.delivery.templates.language.declarations import declaration_problems, with_default_units
from wattgate.delivery.templates.language.diagnostics import Finding, Severity
from wattgate.delivery.templates.rendering import TemplateSource
from wattgate.delivery.templates.report import RenderingReport, build_report
from wattgate.delivery.templates.scope import RenderScope
from wattgate.enums import RuleKind

T = TypeVar("T")

SEVERITY_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def template_check(
    *,
    file: Path,
    subject: str,
    preheader: str,
    text: Path | None,
    data: Path | None,
    variables: Path | None,
    rule_kind: RuleKind | None,
    culture: str,
    as_json: bool,
) -> None:
    """Check a template as the GraphQL query `previewTemplate` does."""
    plain_text = None if text is None else _read(read_text, text, "--text")
    source = TemplateSource(_read(read_text, file, "FILE"), subject, preheader, plain_text)
    if not is_culture(culture):
        raise typer.BadParameter(f"{culture!r} is not a language tag such as en-GB", param_hint="--culture")
    contract = build_contract("", rule_kind, None if variables is None else _read_variables(variables))
    values = None if data is None else sample_values(contract.base) | _read_json_object(data)
    report = build_report(source, values, scope=RenderScope(contract, culture))
    if as_json:
        summary = {
            "ok": report.ok,
            "namesChecked": report.names_checked,
            "htmlBytes": report.html_bytes,
            "textBytes": report.text_bytes,
            "findings": [asdict(finding) for finding in report.findings],
        }
        print(json.dumps(summary, indent=2))  # noqa: T201 (a pipe)
    else:
        _print_report(file, report)
    raise typer.Exit(0 if report.ok else 1)


def _print_report(file: Path, report: RenderingReport) -> None:
    for finding in report.findings:
        out.print(
            f"{escape(_format_location(file, finding))} [{SEVERITY_COLOURS[finding.severity]}]{finding.severity}[/] "
            f"{escape(_format_finding(finding))}",
            soft_wrap=True,
        )
    out.print(f"{len(report.findings)} findings; {report.html_bytes:,} bytes of HTML, {report.text_bytes:,} of text")


def _format_location(file: Path, finding: Finding) -> str:
    position = "" if finding.line is None else f":{finding.line}:{finding.column}"
    return f"{file}{position}:" if finding.part == "html" else f"{finding.part}{position}:"


def _format_finding(finding: Finding) -> str:
    return f"{finding.message} ({finding.hint}) {finding.code}" if finding.hint else f"{finding.message} {finding.code}"


def _read(read: Callable[[Path], T], file: Path, option: str) -> T:
    """Return the content of the file of an option. Raise BadParameter if it cannot be read."""
    try:
        return read(file)
    except UnreadableFile as error:
        raise typer.BadParameter(error.message, param_hint=option) from None


def _read_variables(file: Path) -> list[VariableDeclaration]:
    """Return the declarations of a file, in the form of `createAlertType`."""
    try:
        variables = msgspec.convert(_read(read_json, file, "--variables"), list[VariableDeclaration])
    except msgspec.ValidationError as error:
        raise typer.BadParameter(f"{file}: {error}", param_hint="--variables") from None
    for path, message in declaration_problems(variables):
        position = f"variable {int(path[0]) + 1}: " if path else ""
        raise typer.BadParameter(f"{file}: {position}{message}", param_hint="--variables")
    return with_default_units(variables)


def _read_json_object(file: Path) -> dict[str, Any]:
    value = _read(read_json, file, "--data")
    if not isinstance(value, dict):
        raise typer.BadParameter(f"{file} does not contain a JSON object", param_hint="--data")
    return value
