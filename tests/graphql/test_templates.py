"""Templates on record: versions, who published them and when, and what a notification keeps of them."""

from typing import Any

import pytest

from tests.rest_compat.test_spec import assert_record_matches
from tests.support.house import House

VERSIONS = """versions { version subject preheader htmlTemplate text createdBy publishedBy publishedAt }
  published { version subject }"""
READ = f"query ($id: ID!) {{ template(templateId: $id) {{ version: htmlTemplate {VERSIONS} }} }}"
ADD = """mutation ($id: ID!, $input: NewTemplateVersion!) {
  made: addTemplateVersion(templateId: $id, input: $input) { version } }"""
PUBLISH = "mutation ($id: ID!, $version: Int!) { publishTemplate(templateId: $id, version: $version) { htmlTemplate } }"
BACK = "mutation ($id: ID!) { rollBackTemplate(templateId: $id) { htmlTemplate } }"
SENT = """query ($id: ID!) { alert(alertId: $id) { notifications {
  channel templateId templateVersion subject html text log { stage status detail } } } }"""


async def kind_of(served: House, code: str) -> str:
    body = {"systemAlertTypeId": code, "name": "High use", "description": "You used much"}
    made = await served.call("POST", "/alerttype", served.one.headers["application"], json=body)
    return str(made.json()["alertTypeId"])


async def added(served: House, alert_type_id: str, html: str, culture: str = "en-GB", **more: Any) -> str:
    path = f"/template/{alert_type_id}/email/{culture}"
    body = {"name": "Mail", "htmlTemplate": html, **more}
    made = await served.call("POST", path, served.one.headers["application"], json=body)
    assert made.status_code == 200, made.text
    return str(made.json()["templateId"])


async def asked(served: House, document: str, who: str = "application", **variables: Any) -> dict[str, Any]:
    told = await served.graphql(document, served.one.headers[who], **variables)
    assert "errors" not in told, told
    return dict(told["data"])


async def refused(served: House, document: str, who: str = "application", **variables: Any) -> dict[str, Any]:
    told = await served.graphql(document, served.one.headers[who], **variables)
    return dict(told["errors"][0]["extensions"])


async def said(served: House, code: str, data: Any = None, **more: Any) -> dict[str, Any]:
    """What the only notification of an alert says."""
    given = {"userId": served.one.user_id, "alertTypeId": code, "channels": ["EMAIL"], "data": data, **more}
    document = "mutation ($input: NewAlert!) { sendAlert(input: $input) { alertId } }"
    sent = await asked(served, document, input=given)
    told = await asked(served, SENT, who="account", id=sent["sendAlert"]["alertId"])
    (notification,) = told["alert"]["notifications"]
    return dict(notification)


async def test_a_change_by_rest_is_a_version_that_is_published_at_once(served: House) -> None:
    template_id = await added(served, await kind_of(served, "V1"), "<p>one</p>")
    headers = served.one.headers["administrator"]
    changed = await served.call("PUT", f"/template/{template_id}", headers, json={"htmlTemplate": "<p>two</p>"})
    assert_record_matches(changed.json(), "### Template (alert template)")
    assert changed.json()["htmlTemplate"] == "<p>two</p>"
    told = (await asked(served, READ, id=template_id))["template"]
    assert [(one["version"], one["htmlTemplate"]) for one in told["versions"]] == [(2, "<p>two</p>"), (1, "<p>one</p>")]
    newest, first = told["versions"]
    assert (first["createdBy"], first["publishedBy"]) == (None, None)
    assert newest["createdBy"] == newest["publishedBy"] != None  # noqa: E711 (an account's id)
    assert newest["publishedAt"] > first["publishedAt"]
    renamed = await served.call("PUT", f"/template/{template_id}", headers, json={"name": "Other", "active": False})
    assert (renamed.json()["name"], renamed.json()["active"]) == ("Other", False)
    assert len((await asked(served, READ, id=template_id))["template"]["versions"]) == 2


async def test_a_version_is_written_then_published_then_rolled_back(served: House) -> None:
    template_id = await added(served, await kind_of(served, "V2"), "<p>{{ name }}</p>", subject="One")
    made = await asked(served, ADD, id=template_id, input={"subject": "Two {{ name }}", "text": "own"})
    assert made["made"]["version"] == 2
    told = (await asked(served, READ, id=template_id))["template"]
    assert told["published"] == {"version": 1, "subject": "One"}
    assert told["versions"][0] == {
        "version": 2,
        "subject": "Two {{ name }}",
        "preheader": "",
        "htmlTemplate": "<p>{{ name }}</p>",
        "text": "own",
        "createdBy": None,
        "publishedBy": None,
        "publishedAt": None,
    }
    assert (await refused(served, BACK, id=template_id))["code"] == "CONFLICT"
    await asked(served, PUBLISH, id=template_id, version=2)
    assert (await asked(served, READ, id=template_id))["template"]["published"]["version"] == 2
    await asked(served, BACK, id=template_id)
    assert (await asked(served, READ, id=template_id))["template"]["published"]["version"] == 1


async def test_a_version_with_errors_is_not_published(served: House) -> None:
    template_id = await added(served, await kind_of(served, "V3"), "<p>x</p>")
    await asked(served, ADD, id=template_id, input={"htmlTemplate": "<script>{{ name }}</script>"})
    told = await refused(served, PUBLISH, id=template_id, version=2)
    assert told["code"] == "BAD_INPUT"
    assert "html, line 1, column 9: a value must not stand in <script>" in told["problems"][0]["message"]
    assert (await refused(served, PUBLISH, id=template_id, version=9))["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"htmlTemplate": "<p>\n{{ name</p>"}, "BAD_INPUT", "html, line 2, column 1"),
        ({"subject": "{% if %}"}, "BAD_INPUT", "subject, line 1, column 4"),
        ({"htmlTemplate": None}, "BAD_INPUT", "must not be null"),
        ({"cultureCode": "not a culture"}, "BAD_INPUT", "language tag"),
    ],
)
async def test_what_cannot_be_read_is_not_saved(served: House, change: dict[str, Any], code: str, words: str) -> None:
    headers = served.one.headers["application"]
    path = f"/template/{served.one.ids['template']}"
    before = (await served.call("GET", path, headers)).json()
    told = await served.call("PUT", path, headers, json=change)
    assert (told.status_code, told.json()["code"]) == (400, code)
    assert words in told.json()["problems"][0]["message"]
    assert (await served.call("GET", path, headers)).json() == before


async def test_another_tenants_template_is_not_found(served: House) -> None:
    given = {"templateId": served.one.ids["template"]}
    for document in (
        "mutation ($templateId: ID!) { rollBackTemplate(templateId: $templateId) { name } }",
        "mutation ($templateId: ID!) { publishTemplate(templateId: $templateId, version: 1) { name } }",
        "mutation ($templateId: ID!) { addTemplateVersion(templateId: $templateId, input: {}) { version } }",
    ):
        told = await served.graphql(document, served.other.headers["application"], **given)
        assert told["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_a_notification_keeps_what_it_said_and_in_which_version(served: House) -> None:
    template_id = await added(served, await kind_of(served, "S1"), "<p>Dear {{ name }}</p>", subject="For {{ name }}")
    told = await said(served, "S1", {"name": "<Ada>"})
    assert (told["templateId"], told["templateVersion"]) == (template_id, 1)
    assert (told["subject"], told["text"]) == ("For <Ada>", "Dear <Ada>")
    assert "<p>Dear &lt;Ada&gt;</p>" in told["html"]
    headers = served.one.headers["application"]
    await served.call("PUT", f"/template/{template_id}", headers, json={"htmlTemplate": "<p>Now {{ name }}</p>"})
    again = await said(served, "S1", {"name": "Ada"})
    assert (again["templateVersion"], again["text"]) == (2, "Now Ada")


async def test_the_culture_of_an_alert_chooses_its_template(served: House) -> None:
    kind = await kind_of(served, "S2")
    for culture in ("en-GB", "fr"):
        await added(served, kind, f"<p>{culture}</p>", culture)
    assert (await said(served, "S2", cultureCode="fr-CA"))["text"] == "fr"
    assert (await said(served, "S2", cultureCode="de-AT"))["text"] == "en-GB"
    assert (await said(served, "S2"))["text"] == "en-GB"
    given = {"userId": served.one.user_id, "alertTypeId": "S2", "channels": ["EMAIL"], "cultureCode": "x/y"}
    document = "mutation ($input: NewAlert!) { sendAlert(input: $input) { alertId } }"
    assert (await refused(served, document, input=given))["code"] == "BAD_INPUT"


async def test_without_a_template_that_serves_an_alert_says_what_kind_it_is(served: House) -> None:
    kind = await kind_of(served, "S3")
    bare = await said(served, "S3")
    assert (bare["subject"], bare["text"], bare["html"], bare["templateId"]) == (
        "High use",
        "You used much",
        None,
        None,
    )
    assert [one["stage"] for one in bare["log"]][:1] == ["Added Notification Record"]
    await added(served, kind, "<p>{{ kwh }}</p>", subject="Use")
    holed = await said(served, "S3", {"khw": 4})
    assert (holed["subject"], holed["html"], holed["templateVersion"]) == ("High use", None, 1)
    assert holed["log"][1] == {
        "stage": "Template Not Used",
        "status": "ERROR",
        "detail": "html, line 1, column 7: kwh is not in the data (did you mean khw?)",
    }
