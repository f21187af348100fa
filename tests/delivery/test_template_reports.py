"""Reports on templates: findings and their positions."""

from typing import Any

import pytest

from wattgate.delivery.templates.language.contract import BASE_VARIABLES, Contract
from wattgate.delivery.templates.language.diagnostics import Severity
from wattgate.delivery.templates.rendering import TemplateSource, render
from wattgate.delivery.templates.report import HTML_ERROR_BYTES, HTML_WARNING_BYTES, build_report, render_preview
from wattgate.delivery.templates.scope import RenderScope

GOOD = TemplateSource(
    '<html lang="en"><body><p>Dear {{ name }}</p><p>{{ kwh }} kWh: <a href="{{ link }}">see</a></p></body></html>',
    "High use on {{ date }}",
    "You used {{ kwh }} kWh",
)


def codes(source: TemplateSource, data: dict[str, Any] | None = None) -> list[str]:
    return [finding.code for finding in build_report(source, data).findings]


def test_valid_template_has_no_findings() -> None:
    report = build_report(GOOD)
    assert report.findings == ()
    assert report.ok
    assert report.html_bytes == len(render_preview(GOOD).rendering.html or "")


@pytest.mark.parametrize(
    ("html", "severity", "code", "line", "column"),
    [
        ('\n <img src="https://a.example/x.png">', Severity.ERROR, "image-without-alt", 2, 2),
        ('<p>\n<a href="http://a.example">x</a>', Severity.WARNING, "link-not-https", 2, 1),
        ('<a href="{{ insecure }}">x</a>', Severity.WARNING, "link-not-https", 1, 10),
        ('<a href="#">x</a>', Severity.WARNING, "link-empty", 1, 1),
        ('<a href="page.html">x</a>', Severity.WARNING, "link-relative", 1, 1),
        ('<a href="javascript:x()">x</a>', Severity.ERROR, "link-runs-code", 1, 1),
        ("<form></form>", Severity.WARNING, "element-dropped", 1, 1),
        ('<p onclick="x()">x</p>', Severity.WARNING, "script-dropped", 1, 1),
        ('<link rel="stylesheet" href="https://a.example">', Severity.WARNING, "style-not-loaded", 1, 1),
        ('<p>\n<b style="position: absolute">x</b>', Severity.INFO, "css-dropped", 2, 1),
        ("<style>\np { color: red;\n  display: grid }</style>", Severity.INFO, "css-dropped", 3, 3),
        ("<style>p { --accent: red }</style>", Severity.INFO, "css-dropped", 1, 12),
        ("<style>p { color: red } } x</style>", Severity.WARNING, "css-broken", 1, 27),
        ("<p>x</p>", Severity.INFO, "language-missing", 1, 1),
        ("{{ a", Severity.ERROR, "does-not-parse", 1, 1),
        ("{% for i in (1..99999) %}{% endfor %}", Severity.ERROR, "too-much", None, None),
        ("<script>{{ name }}</script>", Severity.ERROR, "value-refused", 1, 9),
    ],
)
def test_problem_for_mail_programs_is_reported_with_its_position(
    html: str, severity: Severity, code: str, line: int | None, column: int | None
) -> None:
    report = build_report(TemplateSource(html, "s"), {"insecure": "http://a.example", "name": "Ada"})
    (found,) = [finding for finding in report.findings if finding.code == code]
    assert (found.severity, found.line, found.column) == (severity, line, column)
    assert report.ok is not any(finding.severity is Severity.ERROR for finding in report.findings)


def test_missing_variables_and_unused_data_are_reported() -> None:
    source = TemplateSource("<p>{{ nmae }}</p>{% if tpi %}x{% endif %}{% if rare %}{{ rare }}{% endif %}", "s")
    findings = {
        (finding.code, finding.message, finding.hint)
        for finding in build_report(source, {"name": "Ada", "tip": "", "more": 1}).findings
    }
    assert ("variable-misspelt", "nmae is not in the data", "did you mean name?") in findings
    assert ("variable-misspelt", "tpi is not in the data", "did you mean tip?") in findings
    assert any(code == "variable-not-in-data" and "rare" in message for code, message, _ in findings)
    assert ("variable-unused", "more is in the data and not in the template", None) in findings


def test_sample_data_is_generated_from_variable_names() -> None:
    source = TemplateSource(
        "{% for day in days %}{{ day.date | date: '%d' }} {{ day.cost }}{% endfor %}{{ home.name }} {{ n | plus: 1 }} "
        "{{ days.size }} {{ days[0].link }} {% assign x = user.email %}{{ x }}",
        "s",
    )
    preview = render_preview(source)
    assert preview.report.ok
    assert preview.data == {
        "days": [{"date": "2026-01-05T18:30:00Z", "cost": "12.34", "link": "https://example.com/details"}] * 2,
        "home": {"name": "Ada Lovelace"},
        "n": 42,
        "user": {"email": "ada@example.com"},
    }
    assert render(source, preview.data)


def test_reported_size_is_that_of_the_sent_html() -> None:
    style = "<style>p { color: #123456; font-family: sans-serif }</style>"
    large = TemplateSource(style + "<p>x</p>" * 1_500, "s")
    assert len(large.html) < HTML_WARNING_BYTES < build_report(large).html_bytes < HTML_ERROR_BYTES
    assert ("large" in codes(large), "too-large" in codes(large)) == (True, False)
    assert "too-large" in codes(TemplateSource(style + "<p>x</p>" * 2_000, "s"))


def test_text_must_have_the_links_and_numbers_of_the_html() -> None:
    html = '<p>You used 4.5 kWh for £1,234.50: <a href="https://a.example/?x=1&amp;y=2">more</a></p>'
    assert not {"text-lacks-link", "text-lacks-number"} & set(
        codes(TemplateSource(html, "s", text="4.5 kWh, £1,234.50, https://a.example/?x=1&y=2"))
    )
    messages = [
        finding.message
        for finding in build_report(TemplateSource(html, "s", text="4.5")).findings
        if finding.code.startswith("text-")
    ]
    assert messages == [
        "the text does not have the link https://a.example/?x=1&y=2",
        "the text does not have the number 1,234.50",
    ]


def test_missing_or_long_subject_and_preheader_are_reported() -> None:
    assert "subject-empty" in codes(TemplateSource("<p>x</p>", "{% if x %}a{% endif %}"), {})
    assert "subject-long" in codes(TemplateSource("<p>x</p>", "x" * 61))
    assert "preheader-long" in codes(TemplateSource("<p>x</p>", "x", "x" * 111))
    assert "preheader-empty" in codes(TemplateSource("<p>x</p>", "x"))


FOOTER = "{{ alert.reason }} {{ recipient.unsubscribeUrl }} {{ recipient.preferencesUrl }}"


def footer_codes(html: str, *, can_unsubscribe: bool = True) -> list[str]:
    scope = RenderScope(Contract(BASE_VARIABLES), can_unsubscribe=can_unsubscribe)
    findings = build_report(TemplateSource(html, "s", "p", text=FOOTER), scope=scope).findings
    return [
        finding.code for finding in findings if finding.code.endswith("-missing") and "language" not in finding.code
    ]


def test_mail_without_reason_or_link_to_unsubscribe_is_reported() -> None:
    by_hand = '<a href="https://energy.example/unsubscribe">Unsubscribe</a>'
    assert footer_codes(by_hand) == ["unsubscribe-missing", "reason-missing", "preferences-missing"]
    assert footer_codes(FOOTER) == []
    assert footer_codes("{{ recipient.unsubscribeUrl }}{{ alert.reason }}") == ["preferences-missing"]
    assert footer_codes(by_hand, can_unsubscribe=False) == []


def test_links_of_a_gateway_without_https_are_no_fault_of_the_template() -> None:
    data = {
        "recipient": {"unsubscribeUrl": "http://127.0.0.1:1/unsubscribe/x", "preferencesUrl": "http://127.0.0.1:1/"}
    }
    html = '<a href="{{ recipient.unsubscribeUrl }}">x</a><a href="{{ recipient.preferencesUrl }}">y</a>'
    scope = RenderScope(Contract(BASE_VARIABLES), can_unsubscribe=True)

    def insecure(source: str) -> list[str]:
        findings = build_report(TemplateSource(source, "s", "p"), data, scope=scope).findings
        return [finding.message for finding in findings if finding.code == "link-not-https"]

    assert insecure(html) == []
    assert insecure(html + '<a href="http://a.example">z</a>') == ["http://a.example is not https"]
