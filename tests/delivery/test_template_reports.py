"""The report on a template: what is told of it, and where."""

from typing import Any

import pytest

from wattgate.delivery.templates.diagnostics import Severity
from wattgate.delivery.templates.rendering import Source, render
from wattgate.delivery.templates.report import FAIL_BYTES, WARN_BYTES, preview, report

GOOD = Source(
    '<html lang="en"><body><p>Dear {{ name }}</p><p>{{ kwh }} kWh: <a href="{{ link }}">see</a></p></body></html>',
    "High use on {{ date }}",
    "You used {{ kwh }} kWh",
)


def codes(source: Source, data: dict[str, Any] | None = None) -> list[str]:
    return [one.code for one in report(source, data).findings]


def test_nothing_is_said_of_a_good_template() -> None:
    made = report(GOOD)
    assert made.findings == ()
    assert made.ok
    assert made.html_bytes == len(preview(GOOD).draft.html or "")


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
def test_what_mail_programs_stumble_over_is_told_with_its_line(
    html: str, severity: Severity, code: str, line: int | None, column: int | None
) -> None:
    made = report(Source(html, "s"), {"insecure": "http://a.example", "name": "Ada"})
    (found,) = [one for one in made.findings if one.code == code]
    assert (found.severity, found.line, found.column) == (severity, line, column)
    assert made.ok is not any(one.severity is Severity.ERROR for one in made.findings)


def test_names_are_compared_with_the_data_both_ways() -> None:
    source = Source("<p>{{ nmae }}</p>{% if tpi %}x{% endif %}{% if rare %}{{ rare }}{% endif %}", "s")
    told = {(one.code, one.message, one.hint) for one in report(source, {"name": "Ada", "tip": "", "more": 1}).findings}
    assert ("variable-misspelt", "nmae is not in the data", "did you mean name?") in told
    assert ("variable-misspelt", "tpi is not in the data", "did you mean tip?") in told
    assert any(code == "variable-not-in-data" and "rare" in message for code, message, _ in told)
    assert ("variable-unused", "more is in the data and not in the template", None) in told


def test_data_is_made_from_the_names_of_variables() -> None:
    source = Source(
        "{% for day in days %}{{ day.date | date: '%d' }} {{ day.cost }}{% endfor %}{{ home.name }} {{ n | plus: 1 }} "
        "{{ days.size }} {{ days[0].link }} {% assign x = user.email %}{{ x }}",
        "s",
    )
    made = preview(source)
    assert made.report.ok
    assert made.data == {
        "days": [{"date": "2026-01-05T18:30:00Z", "cost": "12.34", "link": "https://example.com/details"}] * 2,
        "home": {"name": "Ada Lovelace"},
        "n": 42,
        "user": {"email": "ada@example.com"},
    }
    assert render(source, made.data)


def test_the_size_is_that_of_what_is_sent() -> None:
    style = "<style>p { color: #123456; font-family: sans-serif }</style>"
    large = Source(style + "<p>x</p>" * 1_500, "s")
    assert len(large.html) < WARN_BYTES < report(large).html_bytes < FAIL_BYTES
    assert ("large" in codes(large), "too-large" in codes(large)) == (True, False)
    assert "too-large" in codes(Source(style + "<p>x</p>" * 2_000, "s"))


def test_a_text_of_its_own_must_have_the_links_and_numbers_of_the_html() -> None:
    html = '<p>You used 4.5 kWh for £1,234.50: <a href="https://a.example/?x=1&amp;y=2">more</a></p>'
    assert not {"text-lacks-link", "text-lacks-number"} & set(
        codes(Source(html, "s", text="4.5 kWh, £1,234.50, https://a.example/?x=1&y=2"))
    )
    told = [one.message for one in report(Source(html, "s", text="4.5")).findings if one.code.startswith("text-")]
    assert told == [
        "the text does not have the link https://a.example/?x=1&y=2",
        "the text does not have the number 1,234.50",
    ]


def test_subject_and_preheader_fit_their_lists() -> None:
    assert "subject-empty" in codes(Source("<p>x</p>", "{% if x %}a{% endif %}"), {})
    assert "subject-long" in codes(Source("<p>x</p>", "x" * 61))
    assert "preheader-long" in codes(Source("<p>x</p>", "x", "x" * 111))
    assert "preheader-empty" in codes(Source("<p>x</p>", "x"))
