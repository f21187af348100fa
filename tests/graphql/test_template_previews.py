"""`previewTemplate`: rendering and report for authors of templates."""

from typing import Any

import pytest

from tests.support.house import House
from wattgate.delivery.templates.language.contract import RESERVED_NAMES

PREVIEW = """
query ($input: TemplateToPreview!) {
  previewTemplate(input: $input) {
    subject preheader html text textMade data dataFrom culturesTried
    template { templateId } chosen { templateId } coverage { cultureCode template { templateId } }
    report { ok htmlBytes textBytes variables { name part line column optional }
      findings { severity code part line column message hint } }
  }
}
"""


async def preview_template(served: House, caller: str = "application", **input_: Any) -> dict[str, Any]:
    response = await served.graphql(PREVIEW, served.one.headers[caller], input=input_)
    assert "errors" not in response, response
    return dict(response["data"]["previewTemplate"])


async def error_code(served: House, caller: str = "application", **input_: Any) -> str:
    response = await served.graphql(PREVIEW, served.one.headers[caller], input=input_)
    return str(response["errors"][0]["extensions"]["code"])


async def add(served: House, culture: str, **values: Any) -> str:
    path = f"/template/{values.pop('alert_type_id', served.one.ids['alert_type'])}/email/{culture}"
    body = {"name": culture, "htmlTemplate": f"<p>{culture}</p>", **values}
    response = await served.call("POST", path, served.one.headers["application"], json=body)
    return str(response.json()["templateId"])


async def test_sources_are_rendered_with_data_and_a_report(served: House) -> None:
    preview = await preview_template(
        served, subject="Hi {{ name }}", preheader="p", html="<p>{{ nmae }}</p>", data={"name": "Ada"}
    )
    assert (preview["subject"], preview["textMade"], preview["dataFrom"]) == ("Hi Ada", True, "GIVEN")
    assert "<p></p>" in preview["html"]
    assert preview["report"]["ok"] is False
    (error,) = [finding for finding in preview["report"]["findings"] if finding["severity"] == "ERROR"]
    assert error == {
        "severity": "ERROR",
        "code": "variable-misspelt",
        "part": "HTML",
        "line": 1,
        "column": 7,
        "message": "nmae is not in the data",
        "hint": "did you mean name?",
    }
    assert [(variable["name"], variable["part"]) for variable in preview["report"]["variables"]] == [
        ("name", "SUBJECT"),
        ("nmae", "HTML"),
    ]


async def test_data_is_generated_or_taken_from_an_alert(served: House) -> None:
    preview = await preview_template(served, subject="{{ name }}", html="<p>{{ kwh }}</p>")
    own = {name: value for name, value in preview["data"].items() if name not in RESERVED_NAMES}
    assert (preview["dataFrom"], own) == ("MADE", {"name": "Ada Lovelace", "kwh": "4.2"})
    body = {"userId": served.one.user_id, "alertTypeId": "CM01", "inbox": "yes", "dataToFill": {"kwh": 7}}
    sent = await served.call("POST", "/alert", served.one.headers["application"], json=body)
    alert_id = sent.json()["ns_alert_id"]
    preview = await preview_template(served, subject="s", html="<p>{{ kwh }} kWh</p>", alertId=alert_id)
    assert (preview["dataFrom"], preview["text"]) == ("ALERT", "7 kWh")
    headers = served.other.headers["application"]
    theirs = await served.graphql(PREVIEW, headers, input={"html": "<p>x</p>", "alertId": alert_id})
    assert theirs["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_preview_lists_tried_cultures_and_coverage(served: House) -> None:
    body = {"systemAlertTypeId": "CM77", "name": "Cultures", "description": ""}
    alert_type = await served.call("POST", "/alerttype", served.one.headers["application"], json=body)
    alert_type_id = alert_type.json()["alertTypeId"]
    preview = await preview_template(served, alertTypeId=alert_type_id, cultureCode="fr-CA", html="<p>x</p>")
    assert (preview["culturesTried"], preview["chosen"], preview["coverage"]) == (
        ["fr-CA", "fr", "en-GB", "en"],
        None,
        [],
    )
    template_ids = {
        culture: await add(served, culture, alert_type_id=alert_type_id, active=culture != "fr-CA")
        for culture in ("en-GB", "fr", "fr-CA", "de")
    }
    preview = await preview_template(served, alertTypeId=alert_type_id, cultureCode="fr-CA")
    assert (preview["culturesTried"], preview["chosen"]) == (["fr-CA", "fr"], {"templateId": template_ids["fr"]})
    assert (preview["text"], preview["template"]) == ("fr", {"templateId": template_ids["fr"]})
    assert [entry["cultureCode"] for entry in preview["coverage"]] == ["de", "en-GB", "fr", "fr-CA"]
    preview = await preview_template(served, templateId=template_ids["de"], cultureCode="it-IT")
    assert (preview["text"], preview["chosen"]) == ("de", {"templateId": template_ids["en-GB"]})


async def test_preview_saves_nothing(served: House) -> None:
    headers = served.one.headers["application"]
    before = (await served.call("GET", "/template", headers)).json()
    await preview_template(served, templateId=served.one.ids["template"], html="<p>another</p>", subject="s")
    assert (await served.call("GET", "/template", headers)).json() == before


@pytest.mark.parametrize("html", ["{{ a", "{% for i in (1..999999999) %}{% endfor %}", "{% loop %}"])
async def test_source_that_cannot_be_rendered_is_reported(served: House, html: str) -> None:
    preview = await preview_template(served, subject="still {{ name }}", html=html, data={"name": "here"})
    assert (preview["subject"], preview["html"], preview["text"], preview["report"]["ok"]) == (
        "still here",
        None,
        None,
        False,
    )


async def test_invalid_preview_requests_are_rejected(served: House) -> None:
    assert await error_code(served) == "BAD_INPUT"
    assert await error_code(served, html="x", data=[1]) == "BAD_INPUT"
    assert await error_code(served, html="x", cultureCode="../x") == "BAD_INPUT"
    assert await error_code(served, templateId="unknown") == "NOT_FOUND"
    assert await error_code(served, alertTypeId="unknown", html="x") == "NOT_FOUND"
    assert await error_code(served, html="x", alertId="unknown") == "NOT_FOUND"
    assert await error_code(served, caller="account", html="x") == "FORBIDDEN"


async def test_links_are_requested_only_on_request(served: House) -> None:
    """The gateway may reach public addresses only, so that nobody can look at its network."""
    sources = {"html": '<a href="https://127.0.0.1/inside">1</a><img src="https://images.invalid/a.png">'}
    codes = ["link-failed", "image-failed", "links-tried"]
    before = (await preview_template(served, **sources))["report"]
    assert not [finding for finding in before["findings"] if finding["code"] in codes]
    report = (await preview_template(served, **sources, tryLinks=True))["report"]
    tried = [finding for finding in report["findings"] if finding["code"] in codes]
    assert [finding["code"] for finding in tried] == codes
    assert "leads to an address that is not public" in tried[0]["message"]
    assert "getaddrinfo" in tried[1]["message"]
    assert tried[2]["message"] == "0 of 2 addresses of links and images answer"
    assert report["ok"] is before["ok"], "an address that does not answer is no error"
