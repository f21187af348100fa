"""`previewTemplate`: what writers of templates see before anybody gets anything."""

from typing import Any

import pytest

from tests.support.house import House

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


async def previewed(served: House, who: str = "application", **given: Any) -> dict[str, Any]:
    told = await served.graphql(PREVIEW, served.one.headers[who], input=given)
    assert "errors" not in told, told
    return dict(told["data"]["previewTemplate"])


async def refusal(served: House, who: str = "application", **given: Any) -> str:
    told = await served.graphql(PREVIEW, served.one.headers[who], input=given)
    return str(told["errors"][0]["extensions"]["code"])


async def add(served: House, culture: str, **values: Any) -> str:
    path = f"/template/{values.pop('alert_type_id', served.one.ids['alert_type'])}/email/{culture}"
    body = {"name": culture, "htmlTemplate": f"<p>{culture}</p>", **values}
    made = await served.call("POST", path, served.one.headers["application"], json=body)
    return str(made.json()["templateId"])


async def test_sources_are_rendered_with_data_and_reported_on(served: House) -> None:
    told = await previewed(
        served, subject="Hi {{ name }}", preheader="p", html="<p>{{ nmae }}</p>", data={"name": "Ada"}
    )
    assert (told["subject"], told["textMade"], told["dataFrom"]) == ("Hi Ada", True, "GIVEN")
    assert "<p></p>" in told["html"]
    assert told["report"]["ok"] is False
    (error,) = [one for one in told["report"]["findings"] if one["severity"] == "ERROR"]
    assert error == {
        "severity": "ERROR",
        "code": "variable-misspelt",
        "part": "HTML",
        "line": 1,
        "column": 7,
        "message": "nmae is not in the data",
        "hint": "did you mean name?",
    }
    assert [(one["name"], one["part"]) for one in told["report"]["variables"]] == [
        ("name", "SUBJECT"),
        ("nmae", "HTML"),
    ]


async def test_data_is_made_up_or_that_of_a_real_alert(served: House) -> None:
    told = await previewed(served, subject="{{ name }}", html="<p>{{ kwh }}</p>")
    assert (told["dataFrom"], told["data"]) == ("MADE", {"name": "Ada Lovelace", "kwh": "4.2"})
    body = {"userId": served.one.user_id, "alertTypeId": "CM01", "inbox": "yes", "dataToFill": {"kwh": 7}}
    sent = await served.call("POST", "/alert", served.one.headers["application"], json=body)
    alert_id = sent.json()["ns_alert_id"]
    told = await previewed(served, subject="s", html="<p>{{ kwh }} kWh</p>", alertId=alert_id)
    assert (told["dataFrom"], told["text"]) == ("ALERT", "7 kWh")
    headers = served.other.headers["application"]
    theirs = await served.graphql(PREVIEW, headers, input={"html": "<p>x</p>", "alertId": alert_id})
    assert theirs["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_the_chain_of_cultures_and_their_coverage_are_told(served: House) -> None:
    body = {"systemAlertTypeId": "CM77", "name": "Cultures", "description": ""}
    kind = await served.call("POST", "/alerttype", served.one.headers["application"], json=body)
    alert_type_id = kind.json()["alertTypeId"]
    told = await previewed(served, alertTypeId=alert_type_id, cultureCode="fr-CA", html="<p>x</p>")
    assert (told["culturesTried"], told["chosen"], told["coverage"]) == (["fr-CA", "fr", "en-GB", "en"], None, [])
    made = {
        culture: await add(served, culture, alert_type_id=alert_type_id, active=culture != "fr-CA")
        for culture in ("en-GB", "fr", "fr-CA", "de")
    }
    told = await previewed(served, alertTypeId=alert_type_id, cultureCode="fr-CA")
    assert (told["culturesTried"], told["chosen"]) == (["fr-CA", "fr"], {"templateId": made["fr"]})
    assert (told["text"], told["template"]) == ("fr", {"templateId": made["fr"]})
    assert [one["cultureCode"] for one in told["coverage"]] == ["de", "en-GB", "fr", "fr-CA"]
    told = await previewed(served, templateId=made["de"], cultureCode="it-IT")
    assert (told["text"], told["chosen"]) == ("de", {"templateId": made["en-GB"]})


async def test_nothing_is_saved(served: House) -> None:
    headers = served.one.headers["application"]
    before = (await served.call("GET", "/template", headers)).json()
    await previewed(served, templateId=served.one.ids["template"], html="<p>another</p>", subject="s")
    assert (await served.call("GET", "/template", headers)).json() == before


@pytest.mark.parametrize("html", ["{{ a", "{% for i in (1..999999999) %}{% endfor %}", "{% loop %}"])
async def test_a_source_that_cannot_be_rendered_is_told_in_the_report(served: House, html: str) -> None:
    told = await previewed(served, subject="still {{ name }}", html=html, data={"name": "here"})
    assert (told["subject"], told["html"], told["text"], told["report"]["ok"]) == ("still here", None, None, False)


async def test_what_cannot_be_previewed_is_refused(served: House) -> None:
    assert await refusal(served) == "BAD_INPUT"
    assert await refusal(served, html="x", data=[1]) == "BAD_INPUT"
    assert await refusal(served, html="x", cultureCode="../x") == "BAD_INPUT"
    assert await refusal(served, templateId="unknown") == "NOT_FOUND"
    assert await refusal(served, alertTypeId="unknown", html="x") == "NOT_FOUND"
    assert await refusal(served, html="x", alertId="unknown") == "NOT_FOUND"
    assert await refusal(served, who="account", html="x") == "FORBIDDEN"
