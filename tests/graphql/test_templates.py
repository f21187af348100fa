"""Templates: versions, publication, and their use in notifications."""

from typing import Any

import pytest

from tests.rest_compat.test_spec import assert_record_matches
from tests.support.house import House
from tests.support.refusals import refusal_of, refusals
from wattgate.operations.vocabulary.node import encode_global_id

VERSIONS = """versions { version subject preheader htmlTemplate text createdBy publishedBy publishedAt }
  published { version subject }"""
READ = f"query ($id: ID!) {{ node(id: $id) {{ ... on Template {{ version: htmlTemplate {VERSIONS} }} }} }}"
ADD = """mutation ($id: ID!, $input: NewTemplateVersion!) {
  made: createTemplateVersion(templateId: $id, input: $input) { ... on TemplateVersion { version } ...Refused } }"""
PUBLISH = (
    "mutation ($id: ID!, $version: Int!) { publishTemplate(templateId: $id, version: $version) {"
    " ... on Template { htmlTemplate } ...Refused } }"
)
BACK = "mutation ($id: ID!) { rollBackTemplate(templateId: $id) { ... on Template { htmlTemplate } ...Refused } }"
SENT = """query ($id: ID!) { node(id: $id) { ... on Alert { notifications {
  channel templateId templateVersion subject html text log { stage status detail } } } } }"""


async def add_alert_type(served: House, code: str) -> str:
    body = {"systemAlertTypeId": code, "name": "High use", "description": "You used much"}
    response = await served.call("POST", "/alerttype", served.one.headers["application"], json=body)
    return str(response.json()["alertTypeId"])


async def add_template(served: House, alert_type_id: str, html: str, culture: str = "en-GB", **more: Any) -> str:
    path = f"/template/{alert_type_id}/email/{culture}"
    body = {"name": "Mail", "htmlTemplate": html, "active": True, **more}
    response = await served.call("POST", path, served.one.headers["application"], json=body)
    assert response.status_code == 200, response.text
    return str(response.json()["templateId"])


async def read_template(served: House, template_id: str) -> Any:
    return (await execute(served, READ, id=encode_global_id("Template", template_id)))["node"]


async def execute(served: House, document: str, caller: str = "application", **variables: Any) -> dict[str, Any]:
    response = await served.graphql(document, served.one.headers[caller], **variables)
    assert not refusals(response), response
    return dict(response["data"])


async def error_of(served: House, document: str, caller: str = "application", **variables: Any) -> dict[str, Any]:
    response = await served.graphql(document, served.one.headers[caller], **variables)
    return dict(refusal_of(response))


async def send_and_load_notification(served: House, code: str, data: Any = None, **more: Any) -> dict[str, Any]:
    """Send an alert. Return its only notification."""
    alert = {"userId": served.one.user_id, "alertTypeId": code, "channels": ["EMAIL"], "data": data, **more}
    document = "mutation ($input: NewAlert!) { sendAlert(input: $input) { ... on Alert { alertId } ...Refused } }"
    sent = await execute(served, document, input=alert)
    global_id = encode_global_id("Alert", sent["sendAlert"]["alertId"])
    result = await execute(served, SENT, caller="account", id=global_id)
    (notification,) = result["node"]["notifications"]
    return dict(notification)


async def test_rest_change_creates_a_version_and_publishes_it(served: House) -> None:
    template_id = await add_template(served, await add_alert_type(served, "V1"), "<p>one</p>")
    headers = served.one.headers["administrator"]
    changed = await served.call("PUT", f"/template/{template_id}", headers, json={"htmlTemplate": "<p>two</p>"})
    assert_record_matches(changed.json(), "### Template (alert template)")
    assert changed.json()["htmlTemplate"] == "<p>two</p>"
    template = await read_template(served, template_id)
    assert [(version["version"], version["htmlTemplate"]) for version in template["versions"]] == [
        (2, "<p>two</p>"),
        (1, "<p>one</p>"),
    ]
    newest, first = template["versions"]
    assert (first["createdBy"], first["publishedBy"]) == (None, None)
    assert newest["createdBy"] == newest["publishedBy"] != None  # noqa: E711 (an account's id)
    assert newest["publishedAt"] > first["publishedAt"]
    renamed = await served.call("PUT", f"/template/{template_id}", headers, json={"name": "Other", "active": False})
    assert (renamed.json()["name"], renamed.json()["active"]) == ("Other", False)
    assert len((await read_template(served, template_id))["versions"]) == 2


async def test_version_is_added_published_and_rolled_back(served: House) -> None:
    template_id = await add_template(served, await add_alert_type(served, "V2"), "<p>{{ name }}</p>", subject="One")
    added_version = await execute(served, ADD, id=template_id, input={"subject": "Two {{ name }}", "text": "own"})
    assert added_version["made"]["version"] == 2
    template = await read_template(served, template_id)
    assert template["published"] == {"version": 1, "subject": "One"}
    assert template["versions"][0] == {
        "version": 2,
        "subject": "Two {{ name }}",
        "preheader": "",
        "htmlTemplate": "<p>{{ name }}</p>",
        "text": "own",
        "createdBy": None,
        "publishedBy": None,
        "publishedAt": None,
    }
    assert (await error_of(served, BACK, id=template_id))["code"] == "CONFLICT"
    await execute(served, PUBLISH, id=template_id, version=2)
    assert (await read_template(served, template_id))["published"]["version"] == 2
    await execute(served, BACK, id=template_id)
    assert (await read_template(served, template_id))["published"]["version"] == 1


async def test_version_with_errors_is_not_published(served: House) -> None:
    template_id = await add_template(served, await add_alert_type(served, "V3"), "<p>x</p>")
    await execute(served, ADD, id=template_id, input={"htmlTemplate": "<script>{{ name }}</script>"})
    error = await error_of(served, PUBLISH, id=template_id, version=2)
    assert error["code"] == "BAD_INPUT"
    assert "html, line 1, column 9: a value must not be inside <script>" in error["problems"][0]["message"]
    assert (await error_of(served, PUBLISH, id=template_id, version=9))["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"htmlTemplate": "<p>\n{{ name</p>"}, "BAD_INPUT", "html, line 2, column 1"),
        ({"subject": "{% if %}"}, "BAD_INPUT", "subject, line 1, column 4"),
        ({"htmlTemplate": None}, "BAD_INPUT", "must not be null"),
        ({"cultureCode": "not a culture"}, "BAD_INPUT", "language tag"),
    ],
)
async def test_invalid_template_is_not_saved(served: House, change: dict[str, Any], code: str, words: str) -> None:
    headers = served.one.headers["application"]
    path = f"/template/{served.one.ids['template']}"
    before = (await served.call("GET", path, headers)).json()
    response = await served.call("PUT", path, headers, json=change)
    assert (response.status_code, response.json()["code"]) == (400, code)
    assert words in response.json()["problems"][0]["message"]
    assert (await served.call("GET", path, headers)).json() == before


async def test_template_of_another_tenant_is_not_found(served: House) -> None:
    variables = {"templateId": served.one.ids["template"]}
    for document in (
        (
            "mutation ($templateId: ID!) { rollBackTemplate(templateId: $templateId) {"
            " ... on Template { name } ...Refused } }"
        ),
        (
            "mutation ($templateId: ID!) { publishTemplate(templateId: $templateId, version: 1) {"
            " ... on Template { name } ...Refused } }"
        ),
        (
            "mutation ($templateId: ID!) { createTemplateVersion(templateId: $templateId, input: {}) {"
            " ... on TemplateVersion { version } ...Refused } }"
        ),
    ):
        response = await served.graphql(document, served.other.headers["application"], **variables)
        assert refusal_of(response)["code"] == "NOT_FOUND"


async def test_notification_stores_its_content_and_template_version(served: House) -> None:
    template_id = await add_template(
        served, await add_alert_type(served, "S1"), "<p>Dear {{ name }}</p>", subject="For {{ name }}"
    )
    notification = await send_and_load_notification(served, "S1", {"name": "<Ada>"})
    assert (notification["templateId"], notification["templateVersion"]) == (template_id, 1)
    assert (notification["subject"], notification["text"]) == ("For <Ada>", "Dear <Ada>")
    assert "<p>Dear &lt;Ada&gt;</p>" in notification["html"]
    headers = served.one.headers["application"]
    await served.call("PUT", f"/template/{template_id}", headers, json={"htmlTemplate": "<p>Now {{ name }}</p>"})
    again = await send_and_load_notification(served, "S1", {"name": "Ada"})
    assert (again["templateVersion"], again["text"]) == (2, "Now Ada")


async def test_culture_of_an_alert_selects_its_template(served: House) -> None:
    alert_type_id = await add_alert_type(served, "S2")
    for culture in ("en-GB", "fr"):
        await add_template(served, alert_type_id, f"<p>{culture}</p>", culture)
    assert (await send_and_load_notification(served, "S2", cultureCode="fr-CA"))["text"] == "fr"
    assert (await send_and_load_notification(served, "S2", cultureCode="de-AT"))["text"] == "en-GB"
    assert (await send_and_load_notification(served, "S2"))["text"] == "en-GB"
    alert = {"userId": served.one.user_id, "alertTypeId": "S2", "channels": ["EMAIL"], "cultureCode": "x/y"}
    document = "mutation ($input: NewAlert!) { sendAlert(input: $input) { ... on Alert { alertId } ...Refused } }"
    assert (await error_of(served, document, input=alert))["code"] == "BAD_INPUT"


async def test_alert_without_a_usable_template_has_the_text_of_its_type(served: House) -> None:
    alert_type_id = await add_alert_type(served, "S3")
    bare = await send_and_load_notification(served, "S3")
    assert (bare["subject"], bare["text"], bare["html"], bare["templateId"]) == (
        "High use",
        "You used much",
        None,
        None,
    )
    assert [step["stage"] for step in bare["log"]][:1] == ["Added Notification Record"]
    await add_template(served, alert_type_id, "<p>{{ kwh }}</p>", subject="Use")
    failed = await send_and_load_notification(served, "S3", {"khw": 4})
    assert (failed["subject"], failed["html"], failed["templateVersion"]) == ("High use", None, 1)
    assert failed["log"][1] == {
        "stage": "Template Not Used",
        "status": "ERROR",
        "detail": "html, line 1, column 7: kwh is not in the data (did you mean khw?)",
    }
