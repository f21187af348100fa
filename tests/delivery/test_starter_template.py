"""The starter template of the editor and the templates of the demonstration fit the contracts of their alert types."""

import re
from pathlib import Path

import pytest

from wattgate.app.demo.alerts import TEMPLATES, DemoTemplate
from wattgate.delivery.templates.language.contract import BASE_VARIABLES, Contract, build_contract
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


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.culture_code)
def test_templates_of_the_demonstration_have_only_variables_of_rules(template: DemoTemplate) -> None:
    source = TemplateSource(template.html, template.subject, template.preheader)
    preview = preview_of(source, build_contract("CM01", RuleKind.THRESHOLD), template.culture_code)
    subjects = {
        "en-GB": "Rose Cottage has used 8.41 kWh",
        "fr-FR": "Rose Cottage a consommé 8,41 kWh",
    }
    assert preview.rendering.subject == subjects[template.culture_code]
