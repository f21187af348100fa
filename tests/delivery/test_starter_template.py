"""The starter template of the editor and the built-in mails of rules fit the contracts of their alert types."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from wattgate.delivery.rule_mail_texts import CULTURES, MAILS, builtin_language, rule_mail
from wattgate.delivery.templates.language.contract import BASE_VARIABLES, RULE_VARIABLES, Contract, build_contract
from wattgate.delivery.templates.language.diagnostics import Severity
from wattgate.delivery.templates.rendering import TemplateSource
from wattgate.delivery.templates.report import Preview, render_preview
from wattgate.delivery.templates.scope import RenderScope
from wattgate.enums import RuleKind

STARTER = Path(__file__).parents[2] / "wattgate" / "app" / "static" / "preview" / "default-template.js"


def preview_of(source: TemplateSource, contract: Contract, culture: str = "en-GB") -> Preview:
    preview = render_preview(source, scope=RenderScope(contract, culture, "Europe/London"))
    severe = [finding for finding in preview.report.findings if finding.severity is not Severity.INFO]
    assert severe == []
    assert preview.report.names_checked
    return preview


def test_starter_has_only_variables_of_every_alert() -> None:
    script = STARTER.read_text()
    (subject,) = re.findall("subject: '(.*)',", script)
    (preheader,) = re.findall('preheader: "(.*)",', script)
    (html,) = re.findall("htmlTemplate: `(.*)`", script, re.DOTALL)
    html = html.replace("${location.host}", "energy.example")
    contract = Contract(BASE_VARIABLES, (), declared=True)
    preview = preview_of(TemplateSource(html, subject, preheader), contract)
    assert preview.rendering.subject == "High consumption: Rose Cottage"
    assert "Hello Ada Lovelace" in (preview.rendering.text or "")


SUBJECTS = {
    (RuleKind.THRESHOLD, "en"): "Rose Cottage: 8.41 kWh, limit 5.00 kWh",
    (RuleKind.THRESHOLD, "fr"): "Rose Cottage : 8,41 kWh, limite 5,00 kWh",
    (RuleKind.NO_DATA, "en"): "Rose Cottage: no readings for 3 hours",
    (RuleKind.NO_DATA, "fr"): "Rose Cottage : aucun relevé depuis 3 heures",
    (RuleKind.PACE, "en"): "Rose Cottage: 312.50 kWh expected, budget 250.00 kWh",
    (RuleKind.PACE, "fr"): "Rose Cottage : 312,50 kWh prévus, budget 250,00 kWh",
}


@pytest.mark.parametrize(("kind", "language"), SUBJECTS, ids=lambda one: one if isinstance(one, str) else one.value)
@pytest.mark.parametrize("display_url", [None, "https://energy.example/display?application=a&b"])
def test_mails_of_rules_state_value_limit_home_time_and_reason(
    kind: RuleKind, language: str, display_url: str | None
) -> None:
    source = rule_mail(kind, language, display_url)
    preview = preview_of(source, build_contract("CM01", kind), CULTURES[language])
    assert preview.rendering.subject == SUBJECTS[kind, language]
    text = " ".join((preview.rendering.text or "").split())
    rule = next(variable.sample for variable in RULE_VARIABLES[kind] if variable.name == "rule")
    for part in ("Rose Cottage", "Ada Lovelace", "18:30", rule):
        assert part in text
    assert (display_url in text) if display_url else (MAILS[language].button not in text)


def test_built_in_language_is_that_of_the_culture_or_english() -> None:
    found = {culture: builtin_language(culture) for culture in ("fr-CA", "FR", "en-US", "de-DE", "zh-Hant-TW")}
    assert found == {"fr-CA": "fr", "FR": "fr", "en-US": "en", "de-DE": "en", "zh-Hant-TW": "en"}


def test_a_language_without_the_text_of_a_kind_is_an_error() -> None:
    for kind in RuleKind:
        texts = {other: text for other, text in MAILS["fr"].texts.items() if other is not kind}
        with pytest.raises(ValueError, match=kind.name):
            replace(MAILS["fr"], texts=texts)
