"""Contracts of alert types: declarations, data, names in templates, and the formats of values."""

from itertools import product
from typing import Any

import pytest

from wattgate.delivery.templates.language.contract import (
    BASE_VARIABLES,
    RULE_VARIABLES,
    Contract,
    VariableDeclaration,
    VariableType,
    build_contract,
)
from wattgate.delivery.templates.language.contract_values import MAX_DATA_PROBLEMS, data_problems, sample_values
from wattgate.delivery.templates.language.declarations import MAX_VARIABLES, declaration_problems, with_default_units
from wattgate.delivery.templates.language.diagnostics import Finding, MissingVariables, Severity, UnsafeTemplateValues
from wattgate.delivery.templates.rendering import TemplateSource, render
from wattgate.delivery.templates.report import render_preview
from wattgate.delivery.templates.scope import RenderScope
from wattgate.enums import RuleKind

T = VariableType
OWN = (
    VariableDeclaration("power", T.POWER, unit="W"),
    VariableDeclaration("usage.total", T.ENERGY, unit="kWh"),
    VariableDeclaration("cost", T.MONEY, unit="GBP"),
    VariableDeclaration("share", T.PERCENTAGE, unit="%"),
    VariableDeclaration("started", T.INSTANT),
    VariableDeclaration("days", T.LIST),
    VariableDeclaration("days[].use", T.ENERGY, unit="Wh"),
    VariableDeclaration("tip", T.TEXT, required=False),
)
CONTRACT = Contract(BASE_VARIABLES, OWN, declared=True)
SCOPE = RenderScope(CONTRACT, "en-GB", "Europe/London")
NEW_LINE = '<html lang="en">'


def fill(**own: Any) -> dict[str, Any]:
    return {**sample_values(CONTRACT.variables), **own}


def text_of(source: str, scope: RenderScope = SCOPE, **own: Any) -> str:
    return render(TemplateSource("", text=source), fill(**own), scope=scope).text


def errors(source: TemplateSource, contract: Contract = CONTRACT, data: Any = None) -> list[Finding]:
    findings = render_preview(source, data, scope=RenderScope(contract)).report.findings
    return [finding for finding in findings if finding.severity is Severity.ERROR]


def test_valid_declarations_get_the_units_of_their_types() -> None:
    plain = [
        VariableDeclaration("use", T.ENERGY),
        VariableDeclaration("power", T.POWER),
        VariableDeclaration("n", T.NUMBER),
    ]
    assert list(declaration_problems(OWN)) == []
    assert [variable.unit for variable in with_default_units(plain)] == ["kWh", "W", None]


WRONG_DECLARATIONS: list[tuple[list[Any], str, str]] = [
    ([("home.garden", T.TEXT)], "name", "every alert has already"),
    ([("a b", T.TEXT)], "name", "is not a name"),
    ([("a..b", T.TEXT)], "name", "is not a name"),
    ([("", T.TEXT)], "name", "is not a name"),
    ([("a.b.c.d.e.f", T.TEXT)], "name", "longer"),
    ([("x" * 101, T.TEXT)], "name", "longer"),
    ([("list.size", T.NUMBER)], "name", "template language"),
    ([("now", T.INSTANT)], "name", "template language"),
    ([("a", T.TEXT), ("a", T.TEXT)], "name", "declared twice"),
    ([("days[].use", T.NUMBER)], "name", "needs a variable days of type LIST"),
    ([("days", T.TEXT), ("days[].use", T.NUMBER)], "name", "needs a variable days of type LIST"),
    ([("usage", T.NUMBER), ("usage.total", T.NUMBER)], "name", "is part of usage"),
    ([("cost", T.MONEY)], "unit", "give the currency"),
    ([("cost", T.MONEY, "GPB")], "unit", "is not a currency"),
    ([("use", T.ENERGY, "kW")], "unit", "is not one of Wh, kWh, MWh"),
    ([("name", T.TEXT, "kWh")], "unit", "must be null"),
    ([("use", T.ENERGY, None, "much")], "sample", "is not a number"),
    ([("at", T.INSTANT, None, "2026-01-05")], "sample", "is not an instant"),
    ([("list", T.LIST, None, [["x" * 2_001]])], "sample", "the maximum is"),
]


def test_wrong_declaration_is_reported_with_its_position(subtests: pytest.Subtests) -> None:
    for declarations, member, message in WRONG_DECLARATIONS:
        with subtests.test(f"{declarations} {member}"[:100]):
            variables = [
                VariableDeclaration(name, kind, unit=(more or [None])[0], sample=(more[1:] or [None])[0])
                for name, kind, *more in declarations
            ]
            ((*_, where), found), *_ = list(declaration_problems(variables))
            assert where == member
            assert message in found


def test_number_of_declarations_is_bounded() -> None:
    many = [VariableDeclaration(f"v{number}", T.TEXT) for number in range(MAX_VARIABLES + 1)]
    assert list(declaration_problems(many[1:])) == []
    assert [path for path, _ in declaration_problems(many)] == [()]


def test_data_must_have_each_required_variable_with_its_type() -> None:
    assert data_problems(CONTRACT, sample_values(OWN)) == []
    assert data_problems(CONTRACT, {**sample_values(OWN), "tip": None, "cost": 12}) == []
    wrong = {"powr": 3, "usage": {"total": True}, "cost": "x", "started": "5 May", "days": [{"use": 1}, {}], "tip": 1}
    assert data_problems(CONTRACT, wrong) == [
        (
            ("powr",),
            "is not a variable of the alert type; remove it, or declare it with variables. Did you mean power?",
        ),
        (("power",), "is missing; give a number (power) in W, such as 4200"),
        (("usage", "total"), "is not a number (energy) in kWh, such as 4.2"),
        (("cost",), "is not a number (money) in GBP, such as 12.34"),
        (("share",), "is missing; give a number (percentage) in %, such as 12.5"),
        (("started",), "is not an instant such as 2026-01-05T18:30:00Z"),
        (("days", 1, "use"), "is missing; give a number (energy) in Wh, such as 4.2"),
        (("tip",), "is not a text, such as Sample"),
    ]
    assert data_problems(CONTRACT, [1]) == [((), "must be an object with the variables of the alert type")]
    assert data_problems(build_contract("CM01"), {"anything": 1}) == []


def test_problems_of_huge_data_are_bounded() -> None:
    assert len(data_problems(CONTRACT, {f"name{number}": number for number in range(9_000)})) == MAX_DATA_PROBLEMS


@pytest.mark.parametrize("kind", RuleKind)
def test_samples_of_rules_fit_their_contract(kind: RuleKind) -> None:
    contract = build_contract("CM01", kind)
    assert data_problems(contract, sample_values(RULE_VARIABLES[kind])) == []
    assert errors(TemplateSource(NEW_LINE + "{{ rule }} {{ value | quantity: unit }}", "s"), contract) == []


MISSPELT = [
    "{{ powr }}",
    "{% if powr %}x{% endif %}",
    "{% unless powr %}x{% endunless %}",
    "{% if false %}{{ powr }}{% endif %}",
    "{% case powr %}{% when 1 %}x{% endcase %}",
    "{% for item in powr %}x{% endfor %}",
    '{{ powr | default: "x" }}',
    '{{ "x" | append: powr }}',
    "{{ 1 | plus: powr }}",
    "{% assign x = powr %}",
    '{% assign x = "a" | append: powr %}',
    "{% if power > powr %}x{% endif %}",
    "{% if days contains powr %}x{% endif %}",
    "{{ powr | power }}",
]


def test_misspelt_variable_is_an_error_at_every_position(subtests: pytest.Subtests) -> None:
    for marker, part in product(MISSPELT, ("subject", "preheader", "html", "attribute", "text")):
        with subtests.test(f"{part}: {marker}"):
            html = NEW_LINE + "<p>x</p>"
            sources = {"html": f'{NEW_LINE}<p title="{marker}">x</p>' if part == "attribute" else html}
            if part != "attribute":
                sources[part] = html + marker if part == "html" else marker
            found = errors(TemplateSource(**sources))
            assert [(finding.code, finding.hint) for finding in found] == [("variable-misspelt", "did you mean power?")]
            assert found[0].line == 1
            assert found[0].message == "powr is not a variable of the alert type"


def test_name_outside_the_contract_is_found_behind_loops_and_assignments(subtests: pytest.Subtests) -> None:
    for marker, name in (
        ("{% for day in days %}{{ day.usee }}{% endfor %}", "days.usee"),
        ("{{ days[0].usee }}", "days.usee"),
        ("{{ days.first.usee }}", "days.usee"),
        ('{{ days | map: "usee" | join }}', "days.usee"),
        ('{% assign sorted = days | sort: "usee" %}', "days.usee"),
        ("{% assign rows = days %}{% for row in rows %}{{ row.usee }}{% endfor %}", "days.usee"),
        ("{% assign h = home %}{% if false %}{{ h.nmae }}{% endif %}", "home.nmae"),
        ("{% if false %}{{ recipient.nmae }}{% endif %}", "recipient.nmae"),
        ("{% if false %}{{ usage.totl }}{% endif %}", "usage.totl"),
        ("{% if false %}{{ power.now }}{% endif %}", "power.now"),
        ("{% if false %}{{ unheard_of }}{% endif %}", "unheard_of"),
    ):
        with subtests.test(marker):
            messages = {finding.message for finding in errors(TemplateSource(NEW_LINE + marker, "s"))}
            assert f"{name} is not a variable of the alert type" in messages


def test_declared_names_are_no_errors_at_any_position() -> None:
    source = (
        "{% if home %}{{ home.name | default: 'home' }}{% endif %}{{ days.size }}{% for d in days %}{{ d.use | kwh }}"
        "{% endfor %}{{ days.first.use }}{% assign x = usage %}{{ x.total }}{% assign y = power | times: 2 %}{{ y }}"
        "{% if tip %}{{ tip }}{% endif %}{% assign z = home %}{% assign z = recipient %}{{ z.culture }}{{ today }}"
    )
    assert errors(TemplateSource(NEW_LINE + source, "s")) == []


def test_value_that_may_be_empty_is_reported_unless_the_template_handles_it() -> None:
    def hints(source: str) -> list[str]:
        report = render_preview(TemplateSource(NEW_LINE + source, "s"), scope=SCOPE).report
        return [finding.message for finding in report.findings if finding.code == "variable-may-be-empty"]

    assert hints("{{ home.name }}") == ["home.name is empty in some alerts"]
    assert hints('{{ home.name | default: "your home" }}{% if tip %}{% endif %}') == []
    assert text_of("[{{ tip }}]", tip=None) == "[]"


def test_undeclared_contract_checks_the_names_of_every_alert_only() -> None:
    contract = build_contract("CM01")
    found = errors(TemplateSource(NEW_LINE + "{{ anything }}{% if home.nmae %}{% endif %}", "s"), contract)
    assert [finding.hint for finding in found] == ["did you mean home.name?"]
    own_home = {"anything": 1, "home": {"garden": "yes"}}
    assert errors(TemplateSource(NEW_LINE + "{{ anything }}{{ home.garden }}", "s"), contract, own_home) == []
    report = render_preview(TemplateSource("{{ anything }}"), scope=RenderScope(contract)).report
    assert (report.ok, report.names_checked) == (True, False)
    assert render_preview(TemplateSource("x"), scope=SCOPE).report.names_checked


LONG = 478.96025549254284


WRITTEN = [
    ("en-GB", "{{ usage.total | kwh }}", "478.96 kWh"),
    ("fr-FR", "{{ usage.total | kwh }}", "478,96\u202fkWh"),
    ("en-GB", "{{ usage.total }}", "478.96"),
    ("de-DE", "{{ usage.total }}", "478,96"),
    ("en-GB", "{{ usage.total | times: 2 | kwh }}", "957.92 kWh"),
    ("en-GB", "{{ usage.total | divided_by: 7 }}", "68.42"),
    ("en-GB", "{{ days[0].use | kwh }}", "0.48 kWh"),
    ("en-GB", "{{ power | power }}", "479 W"),
    ("en-GB", "{{ power | times: 100 | power }}", "47.90 kW"),
    ("en-GB", "{{ power }}", "479"),
    ("en-GB", "{{ cost | money }}", "£478.96"),
    ("fr-CA", "{{ cost | money }}", "478,96\xa0£"),
    ("en-GB", "{{ cost }}", "478.96"),
    ("en-GB", "{{ share | percent }}", "479%"),
    ("en-GB", '{{ cost | quantity: "GBP" }}', "£478.96"),
    ("en-GB", "{{ started | at }}", "5 July 2026, 19:30"),
    ("fr-FR", "{{ started | at }}", "5 juillet 2026, 19:30"),
    ("en-US", '{{ started | at: "short" }}', "7/5/26, 7:30\u202fPM"),
    ("en-GB", '{{ started | at: "date" }}', "5 July 2026"),
    ("en-GB", '{{ started | at: "time" }}', "19:30"),
    ("en-GB", "{{ started }}", "5 July 2026, 19:30"),
    ("en-GB", "{{ raw }}", "478.960255"),
    ("en-GB", '{{ raw | money: "JPY" }}', "JP¥479"),
    ("en-GB", '{{ raw | quantity: "pence" }}', "£4.79"),
    ("en-GB", '{{ 10800 | quantity: "s" }}', "3 hours"),
    ("zz-ZZ", "{{ usage.total | kwh }}", "478.96 kWh"),
    ("fr-FR", '{{ usage.total | append: " kWh" }}', "478,96 kWh"),
    ("en-GB", '{{ "Use: " | append: raw }}', "Use: 478.960255"),
    ("en-GB", '{{ "a b" | replace: "a", raw }}', "478.960255 b"),
    ("en-GB", '{{ days | map: "use" | join: ", " }}', "478.96, 478.96"),
    ("en-GB", "{{ rows }}", "478.960255478.960255"),
    ("en-GB", '{{ rows | join: " " }}', "478.960255 478.960255"),
    ("en-GB", "{{ usage.total | floor | append: raw }}", "478.00478.960255"),
]
"""Cultures, markers, and the texts that they become."""


def test_values_are_written_by_type_culture_and_zone(subtests: pytest.Subtests) -> None:
    values = {
        "usage": {"total": LONG},
        "power": LONG,
        "cost": LONG,
        "share": LONG,
        "days": [{"use": LONG}] * 2,
        "rows": [LONG, LONG],
        "started": "2026-07-05T18:30:00Z",
        "raw": LONG,
    }
    for culture, marker, expected in WRITTEN:
        with subtests.test(f"{culture}: {marker}"):
            assert text_of(marker, RenderScope(CONTRACT, culture, "Europe/London"), **values) == expected


def test_unknown_zone_counts_as_utc() -> None:
    scope = RenderScope(CONTRACT, "en-GB", "Mars/Olympus")
    assert text_of("{{ started | at }}", scope, started="2026-07-05T18:30:00Z") == "5 July 2026, 18:30"


def test_addresses_and_styles_get_numbers_that_programs_read() -> None:
    html = (
        '<a href="https://a.example/?kwh={{ usage.total }}" title="{{ usage.total }}" style="width: {{ share }}%">x</a>'
    )
    sent = render(
        TemplateSource(html), fill(usage={"total": 1.5}, share=12.5), scope=RenderScope(CONTRACT, "fr-FR")
    ).html
    assert 'href="https://a.example/?kwh=1.5"' in sent
    assert 'title="1,50"' in sent
    assert "width: 12.5%" in sent


def test_wrong_use_of_a_format_is_an_error_with_its_position(subtests: pytest.Subtests) -> None:
    for marker, message in (
        ("{{ cost | kwh }}", "the filter kwh takes energy, and cost is declared as MONEY"),
        ('{{ cost | money: "EUR" }}', "amounts are not converted"),
        ('{{ 5 | money: "ZZZ" }}', "does not know the currency 'ZZZ'"),
        ("{{ 5 | money }}", "needs a currency"),
        ("{{ recipient.name | kwh }}", "takes a number, not 'Ada Lovelace'"),
        ("{{ recipient.name | at }}", "takes an instant"),
        ('{{ started | at: "iso" }}', "has the styles long, short, date, time"),
        ("{{ 5 | kwh: 1, 2 }}", "too many arguments"),
        ("{{ 5 | quantity }}", "needs a unit"),
        ("{{ days }}", "this one is an object"),
        ("{{ days | join }}", "not objects"),
        ("{{ 1000000000000001 | kwh }}", "a number is larger than"),
    ):
        with subtests.test(marker):
            (found,) = errors(TemplateSource(NEW_LINE + marker, "s"))
            assert message in found.message


def test_message_is_not_sent_without_a_required_value() -> None:
    data = fill()
    del data["power"]
    with pytest.raises(MissingVariables):
        render(TemplateSource("{{ power | power }}"), data, scope=SCOPE)
    with pytest.raises(UnsafeTemplateValues):
        render(TemplateSource("{{ home.name | kwh }}"), data, scope=SCOPE)
