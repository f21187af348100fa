"""Report on a template: problems to fix before it is sent."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from wattgate.delivery.templates.contract_check import contract_findings, has_path, is_declared
from wattgate.delivery.templates.html.plain_text import html_to_text
from wattgate.delivery.templates.language.contract import PREFERENCES_URL, REASON, UNSUBSCRIBE_URL, Contract
from wattgate.delivery.templates.language.contract_values import ANY_ITEM, declared_tree, sample_values
from wattgate.delivery.templates.language.diagnostics import (
    MAX_SUGGESTIONS,
    MISSPELT,
    Finding,
    Severity,
    TemplateLimitExceeded,
    TemplatePart,
    TemplateSyntaxError,
    closest_match,
    format_path,
    suggestion_hint,
)
from wattgate.delivery.templates.language.output_writer import DEFAULT_RENDER_LIMITS, RenderLimits
from wattgate.delivery.templates.language.variables import Variable, find_variables, sample_data, value_paths
from wattgate.delivery.templates.lint import extract_links, lint_html
from wattgate.delivery.templates.rendering import PartialRendering, TemplateSource, render_partially
from wattgate.delivery.templates.scope import DEFAULT_SCOPE, RenderScope
from wattgate.delivery.templates.style_check import style_findings

HTML_WARNING_BYTES = 80_000
"""Bytes of HTML for a warning. Gmail cuts mails at about 102 KB, and links for tracking need some of that."""

HTML_ERROR_BYTES = 100_000

MAX_SUBJECT_LENGTH = 60
"""Characters of a subject that phones show before they cut it."""

MAX_PREHEADER_LENGTH = 110
"""Characters of a preheader that lists of mails show before they cut it."""

FOOTER_VARIABLES = (
    (UNSUBSCRIBE_URL, Severity.WARNING, "unsubscribe-missing", "the mail has no link that stops such mails"),
    (REASON, Severity.INFO, "reason-missing", "the mail does not say why it arrives"),
    (PREFERENCES_URL, Severity.INFO, "preferences-missing", "the mail has no link to the choice of alerts"),
)
"""Variables that each mail of an alert needs, with the finding about a mail without them."""

RULE_NAME = "rule"
"""The variable of the alerts of rules that says as much as `alert.reason`."""

SEVERITY_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)

MAX_FINDINGS = 1_000
"""Maximum findings of a report. The most severe ones come first."""

MAX_COMPARED_LINKS = 200
"""Maximum different links of the HTML that are searched for in the text."""

_URL = re.compile(r"https?://\S+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True, slots=True)
class RenderingReport:
    """The findings of a rendering. Sizes are bytes of UTF-8. `html_bytes` includes inlined styles.

    `names_checked` says whether the names of all variables were compared with the contract of the alert type.
    """

    findings: tuple[Finding, ...]
    variables: tuple[Variable, ...]
    html_bytes: int
    text_bytes: int
    names_checked: bool = False

    @property
    def ok(self) -> bool:
        """Whether the message can be sent: there are no errors."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview for the author of a template: the message as far as it could be rendered, its data, and the report."""

    rendering: PartialRendering
    data: Mapping[str, Any]
    report: RenderingReport

    def with_findings(self, findings: Iterable[Finding]) -> "Preview":
        """Return the preview with more findings in its report."""
        return replace(self, report=replace(self.report, findings=_ordered([*self.report.findings, *findings])))


def render_preview(
    source: TemplateSource,
    data: Mapping[str, Any] | None = None,
    limits: RenderLimits = DEFAULT_RENDER_LIMITS,
    scope: RenderScope = DEFAULT_SCOPE,
) -> Preview:
    """Render a template with data or with sample data, and report on it. Errors become findings.

    Sample data has the samples of the contract. If the variables are undeclared, it has values for the other names too.
    """
    required = required_variables(source)
    used_data = _sample_data(required, scope.contract) if data is None else data
    rendering = render_partially(source, used_data, limits, scope)
    report = _assemble_report(source, used_data, rendering, required, scope.contract)
    if scope.can_unsubscribe:
        findings = _without_own_links(report.findings, used_data)
        report = replace(report, findings=_ordered([*findings, *_missing_footer_variables(required)]))
    return Preview(rendering, used_data, report)


def _sample_data(required: Sequence[Variable], contract: Contract | None) -> dict[str, Any]:
    samples = {} if contract is None else sample_values(contract.variables)
    if contract is not None and contract.declared:
        return samples
    return {**sample_data(variable for variable in required if variable.path[0] not in samples), **samples}


def build_report(
    source: TemplateSource,
    data: Mapping[str, Any] | None = None,
    limits: RenderLimits = DEFAULT_RENDER_LIMITS,
    scope: RenderScope = DEFAULT_SCOPE,
) -> RenderingReport:
    """Return the report on a template with data or with sample data."""
    return render_preview(source, data, limits, scope).report


def required_variables(source: TemplateSource) -> list[Variable]:
    """Return the variables of all parts that can be parsed."""
    variables: list[Variable] = []
    for part, part_source in source.parts():
        try:
            variables += find_variables(part_source, part)
        except (TemplateSyntaxError, TemplateLimitExceeded):
            continue  # rendering reports the error
    return variables


def _assemble_report(
    source: TemplateSource,
    data: Mapping[str, Any],
    rendering: PartialRendering,
    required: Sequence[Variable],
    contract: Contract | None,
) -> RenderingReport:
    outside = contract_findings(contract, required, data)
    findings = [
        *outside,
        *_without_positions_of(rendering.findings, outside),
        *_missing_optional_variables([*outside, *rendering.findings], required, data, contract),
        *_unused_data(required, data, contract),
        *_subject_and_preheader_findings(rendering),
        *lint_html(source.html),
        *style_findings(source.html, rendering.html or ""),
        *_size_findings(rendering),
    ]
    if source.text is not None:
        findings += _text_parity_findings(rendering)
    return RenderingReport(
        _ordered(_deduplicate(findings)),
        tuple(required),
        html_bytes=len((rendering.html or "").encode()),
        text_bytes=len((rendering.text or "").encode()),
        names_checked=contract is not None and contract.declared,
    )


def _ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the most severe findings first. Of too many, the last ones are omitted."""
    parts = list(TemplatePart)
    ordered = sorted(
        findings,
        key=lambda finding: (SEVERITY_ORDER.index(finding.severity), parts.index(finding.part), finding.line or 0),
    )
    if len(ordered) > MAX_FINDINGS:
        omitted = f"{len(ordered) - MAX_FINDINGS:,} more findings are omitted"
        ordered[MAX_FINDINGS:] = [Finding(Severity.INFO, "findings-omitted", TemplatePart.HTML, omitted)]
    return tuple(ordered)


def _without_own_links(findings: Iterable[Finding], data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield findings without those about links of the gateway: no template can change its address to https."""
    recipient = data.get("recipient")
    links = (
        [recipient.get(name) for name in ("unsubscribeUrl", "preferencesUrl")] if isinstance(recipient, dict) else []
    )
    own = {f"{link} is not https" for link in links}
    yield from (finding for finding in findings if finding.code != "link-not-https" or finding.message not in own)


def _missing_footer_variables(required: Iterable[Variable]) -> Iterator[Finding]:
    """Report the links and the reason that the HTML of a mail does not have.

    A link that somebody wrote by hand unsubscribes nobody.
    """
    used = {variable.name for variable in required if variable.part is TemplatePart.HTML}
    for name, severity, code, message in FOOTER_VARIABLES:
        if name not in used and not (name == REASON and RULE_NAME in used):
            yield Finding(severity, code, TemplatePart.HTML, message, None, None, f"write {{{{ {name} }}}}")


def _without_positions_of(findings: Iterable[Finding], reported: Iterable[Finding]) -> list[Finding]:
    """Return findings without those about missing variables whose position is reported already."""
    positions = {(finding.part, finding.line, finding.column) for finding in reported}
    return [
        finding
        for finding in findings
        if not finding.code.startswith("variable-") or (finding.part, finding.line, finding.column) not in positions
    ]


def _deduplicate(findings: Iterable[Finding]) -> list[Finding]:
    return list({(finding.code, finding.part, finding.line, finding.message): finding for finding in findings}.values())


def _missing_optional_variables(
    findings: Iterable[Finding], required: Iterable[Variable], data: Mapping[str, Any], contract: Contract | None
) -> list[Finding]:
    """Report variables that the data lacks, but that this rendering did not need."""
    reported = {(finding.part, finding.line, finding.column) for finding in findings}
    known = {format_path(_without_list_markers(path)) for path in value_paths(data)}
    tree = declared_tree(() if contract is None else contract.variables)
    missing: list[Finding] = []
    for variable in required:
        if (
            has_path(data, variable.path)
            or is_declared(tree, variable.path)
            or (variable.part, variable.line, variable.column) in reported
        ):
            continue
        similar = closest_match(variable.name, known) if len(missing) < MAX_SUGGESTIONS else None
        severity, code = (Severity.WARNING, MISSPELT) if similar else (Severity.INFO, "variable-not-in-data")
        hint = suggestion_hint(similar) if similar else "this rendering did not need it; with other data it may"
        message = f"{variable.name} is not in the data"
        missing.append(Finding(severity, code, variable.part, message, variable.line, variable.column, hint))
    return missing


def _unused_data(required: Iterable[Variable], data: Mapping[str, Any], contract: Contract | None) -> list[Finding]:
    """Report values of the data that no part uses. A declared contract has variables for several templates."""
    if contract is not None and contract.declared:
        return []
    used_names = {_without_list_markers(variable.path) for variable in required}
    used_parents = {names[:length] for names in used_names for length in range(len(names))}
    unused = []
    base_names = set() if contract is None else {variable.name.partition(".")[0] for variable in contract.base}
    for path in value_paths({name: value for name, value in data.items() if name not in base_names}):
        names = _without_list_markers(path)
        parents_and_self = (names[:length] for length in range(len(names) + 1))
        if names not in used_parents and used_names.isdisjoint(parents_and_self):
            message = f"{format_path(names)} is in the data and not in the template"
            unused.append(Finding(Severity.INFO, "variable-unused", TemplatePart.HTML, message))
    return unused


def _subject_and_preheader_findings(rendering: PartialRendering) -> list[Finding]:
    """Report a missing or long subject or preheader."""
    findings = []
    subject, preheader = rendering.subject, rendering.preheader
    if subject == "":
        message, hint = "the subject is empty", "the name of the alert type is sent instead"
        findings.append(Finding(Severity.WARNING, "subject-empty", TemplatePart.SUBJECT, message, 1, 1, hint))
    elif subject is not None and len(subject) > MAX_SUBJECT_LENGTH:
        message = f"the subject has {len(subject)} characters"
        hint = f"phones show about {MAX_SUBJECT_LENGTH}"
        findings.append(Finding(Severity.WARNING, "subject-long", TemplatePart.SUBJECT, message, 1, 1, hint))
    if preheader == "":
        message, hint = "there is no preheader", "mail programs show the first words of the mail instead"
        findings.append(Finding(Severity.INFO, "preheader-empty", TemplatePart.PREHEADER, message, None, None, hint))
    elif preheader is not None and len(preheader) > MAX_PREHEADER_LENGTH:
        message = f"the preheader has {len(preheader)} characters"
        hint = f"mail programs show about {MAX_PREHEADER_LENGTH} in their lists"
        findings.append(Finding(Severity.WARNING, "preheader-long", TemplatePart.PREHEADER, message, 1, 1, hint))
    return findings


def _size_findings(rendering: PartialRendering) -> list[Finding]:
    size = len((rendering.html or "").encode())
    if size <= HTML_WARNING_BYTES:
        return []
    too_large = size > HTML_ERROR_BYTES
    severity, code = (Severity.ERROR, "too-large") if too_large else (Severity.WARNING, "large")
    message = f"with inlined styles, the HTML has {size:,} bytes"
    hint = f"Gmail cuts mails at about 102 KB; the maximum is {HTML_ERROR_BYTES:,} bytes"
    return [Finding(severity, code, TemplatePart.HTML, message, None, None, hint)]


def _text_parity_findings(rendering: PartialRendering) -> list[Finding]:
    """Report links and numbers that are in the HTML but not in the text."""
    if rendering.html is None or rendering.text is None:
        return []
    text = rendering.text
    links = [
        address
        for address in islice(dict.fromkeys(extract_links(rendering.html)), MAX_COMPARED_LINKS)
        if address.removeprefix("mailto:").removeprefix("tel:") not in text and not address.startswith("#")
    ]
    visible = _URL.sub(" ", html_to_text(rendering.html))
    known = set(_NUMBER.findall(text))
    numbers = [number for number in dict.fromkeys(_NUMBER.findall(visible)) if number not in known]
    return [
        *(_text_finding("text-lacks-link", f"the text does not have the link {link}") for link in links),
        *(_text_finding("text-lacks-number", f"the text does not have the number {number}") for number in numbers),
    ]


def _text_finding(code: str, message: str) -> Finding:
    return Finding(Severity.WARNING, code, TemplatePart.TEXT, message, None, None, "some people read only the text")


def _without_list_markers(path: Iterable[str | int]) -> tuple[str | int, ...]:
    return tuple(segment for segment in path if segment != ANY_ITEM)
