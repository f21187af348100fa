"""Declared variables of alert types: in both interfaces, for alerts, rules, templates and previews."""

from typing import Any
from uuid import uuid4

import pytest
from strawberry.types import get_object_definition

from tests.support.house import House
from tests.support.refusals import refusal_of, refusals
from tests.support.residents import resident
from wattgate.operations.core.fields import edge_of
from wattgate.operations.types.messages.alerts import Alert
from wattgate.operations.vocabulary.node import encode_global_id, is_global_id
from wattgate.realtime.events import AlertSent

POWER = {"name": "power", "type": "POWER", "description": "Power at present", "sample": 4321}
TIP = {"name": "tip", "type": "TEXT", "required": False}
BASE_NAMES = [
    *("recipient.name", "recipient.culture", "recipient.unsubscribeUrl", "recipient.preferencesUrl"),
    *("account.username", "account.email", "home.name", "home.address"),
    *(
        "home.city",
        "home.postcode",
        "home.timeZone",
        "alert.id",
        "alert.code",
        "alert.name",
        "alert.reason",
        "alert.at",
    ),
]
PREVIEW = """
query ($input: TemplateToPreview!) {
  previewTemplate(input: $input) {
    subject text data dataFrom alert { alertId }
    report { ok namesChecked findings { severity code message hint } }
  }
}
"""


async def add_type(served: House, **values: Any) -> dict[str, Any]:
    """Add an alert type by REST and return its record."""
    body = {"systemAlertTypeId": f"T{uuid4().hex[:8]}", "name": "Much power", "description": "Use", **values}
    response = await served.call("POST", "/alerttype", served.one.headers["application"], json=body)
    assert response.status_code == 200, response.text
    return dict(response.json())


async def send(served: House, alert_type: dict[str, Any], data: Any, **more: Any) -> Any:
    """Send an alert by REST."""
    body = {"userId": served.one.user_id, "alertTypeId": alert_type["alertTypeId"], "inbox": "yes", "dataToFill": data}
    return await served.call("POST", "/alert", served.one.headers["application"], json={**body, **more})


async def add_template(served: House, alert_type: dict[str, Any], **content: str) -> Any:
    path = f"/template/{alert_type['alertTypeId']}/inbox/en-GB"
    body = {"name": "Power", "htmlTemplate": "<p>x</p>", "active": True, **content}
    return await served.call("POST", path, served.one.headers["application"], json=body)


async def preview_template(served: House, caller: dict[str, str] | None = None, **input_: Any) -> dict[str, Any]:
    response = await served.graphql(PREVIEW, caller or served.one.headers["application"], input=input_)
    assert not refusals(response), response
    return dict(response["data"]["previewTemplate"])


async def test_both_interfaces_list_the_variables_of_every_alert_and_of_the_type(served: House) -> None:
    added = await add_type(served, variables=[POWER, TIP])
    path = f"/alerttype/{added['alertTypeId']}/variables"
    listed = (await served.call("GET", path, served.one.headers["application"])).json()
    assert [variable["name"] for variable in listed] == [*BASE_NAMES, "power", "tip"]
    assert listed[-2:] == [
        {**POWER, "unit": "W", "required": True, "base": False},
        {**TIP, "unit": None, "sample": None, "description": "", "base": False},
    ]
    document = """query ($id: ID!) { node(id: $id) { ... on AlertType {
      declared ruleKind variables { name type unit sample description required base } } } }"""
    global_id = encode_global_id("AlertType", added["alertTypeId"])
    answer = await served.graphql(document, served.one.headers["account"], id=global_id)
    assert answer["data"]["node"] == {"declared": True, "ruleKind": None, "variables": listed}
    theirs = await served.call("GET", path, served.other.headers["application"])
    assert theirs.status_code == 404


async def test_samples_name_the_alert_type_and_the_culture_of_the_preview(served: House) -> None:
    added = await add_type(served, variables=[POWER])
    wanted = {"alertTypeId": added["alertTypeId"], "cultureCode": "fr-CA", "samples": True}
    html = "{{ alert.name }} {{ alert.code }} {{ recipient.culture }}"
    preview = await preview_template(served, **wanted, html=html)
    assert preview["text"] == f"{added['name']} {added['systemAlertTypeId']} fr-CA"


async def test_alert_type_without_declaration_stays_undeclared(served: House) -> None:
    alert_type = await add_type(served)
    document = "query ($id: ID!) { node(id: $id) { ... on AlertType { declared variables { name } } } }"
    global_id = encode_global_id("AlertType", alert_type["alertTypeId"])
    answer = await served.graphql(document, served.one.headers["application"], id=global_id)
    assert answer["data"]["node"]["declared"] is False
    assert [variable["name"] for variable in answer["data"]["node"]["variables"]] == BASE_NAMES
    assert (await send(served, alert_type, {"anything": [1]})).status_code == 200
    assert (await add_template(served, alert_type, htmlTemplate="{{ anything.at.all }}")).status_code == 200
    preview = await preview_template(served, alertTypeId=alert_type["alertTypeId"], html="x", subject="s")
    assert preview["report"]["namesChecked"] is False


async def test_declaration_can_be_changed_and_withdrawn(served: House) -> None:
    alert_type = await add_type(served, variables=[POWER])
    path, headers = f"/alerttype/{alert_type['alertTypeId']}", served.one.headers["application"]
    assert (await send(served, alert_type, {"tip": "x"})).status_code == 400
    assert (await served.call("PUT", path, headers, json={"variables": [TIP]})).status_code == 200
    assert (await send(served, alert_type, {"tip": "x"})).status_code == 200
    assert (await served.call("PUT", path, headers, json={"name": "Other"})).status_code == 200
    assert (await send(served, alert_type, {"power": 1})).status_code == 400
    assert (await served.call("PUT", path, headers, json={"variables": None})).status_code == 200
    assert (await send(served, alert_type, {"power": 1})).status_code == 200


@pytest.mark.parametrize(
    ("values", "path", "message"),
    [
        ({"variables": [{"name": "home.x", "type": "TEXT"}]}, ["variables", 0, "name"], "every alert has already"),
        ({"variables": [{"name": "c", "type": "MONEY", "unit": "XYZ"}]}, ["variables", 0, "unit"], "not a currency"),
        ({"variables": [TIP] * 101}, ["variables"], "the maximum is 100"),
        ({"variables": [TIP], "ruleKind": "PACE"}, ["variables"], "ruleKind defines the variables"),
        ({"variables": [{"name": "x", "type": "HEAT"}]}, ["variables", 0, "type"], "HEAT"),
    ],
)
async def test_invalid_declaration_is_refused_by_both_interfaces(
    served: House, values: dict[str, Any], path: list[Any], message: str
) -> None:
    headers = served.one.headers["application"]
    body = {"systemAlertTypeId": "T", "name": "T", **values}
    response = await served.call("POST", "/alerttype", headers, json=body)
    assert response.status_code == 400
    (problem, *_) = response.json()["problems"]
    assert problem["path"] == path
    assert message in problem["message"]
    document = (
        "mutation ($input: NewAlertType!) { createAlertType(input: $input) {"
        " ... on AlertType { alertTypeId } ...Refused } }"
    )
    answer = await served.graphql(document, headers, input=body)
    assert refusals(answer)


async def test_data_that_does_not_fit_is_refused_by_both_interfaces(served: House) -> None:
    alert_type = await add_type(served, variables=[POWER, TIP])
    wrong = {"powr": 4, "tip": 5}
    refused = await send(served, alert_type, wrong)
    assert refused.status_code == 400
    problems = [(problem["path"], problem["message"]) for problem in refused.json()["problems"]]
    assert problems == [
        (
            ["dataToFill", "powr"],
            "is not a variable of the alert type; remove it, or declare it with variables. Did you mean power?",
        ),
        (["dataToFill", "power"], "is missing; give a number (power) in W, such as 4321"),
        (["dataToFill", "tip"], "is not a text, such as Sample"),
    ]
    document = "mutation ($input: NewAlert!) { sendAlert(input: $input) { ... on Alert { alertId } ...Refused } }"
    alert = {"userId": served.one.user_id, "alertTypeId": alert_type["alertTypeId"], "channels": ["INBOX"]}
    headers = served.one.headers["application"]
    answer = await served.graphql(document, headers, input={**alert, "data": wrong})
    (error,) = refusals(answer)
    assert error["code"] == "BAD_INPUT"
    assert alert_type["systemAlertTypeId"] in error["message"]
    assert "powr is not a variable of the alert type" in error["message"]
    assert [problem["path"] for problem in error["problems"]] == [
        ["input", "data", "powr"],
        ["input", "data", "power"],
        ["input", "data", "tip"],
    ]
    for data in (None, [1], {}, {"power": "much"}, {"power": True}):
        answer = await served.graphql(document, headers, input={**alert, "data": data})
        assert refusal_of(answer)["code"] == "BAD_INPUT", data
    fitting = {"power": "1437.5", "tip": None}
    assert not refusals(await served.graphql(document, headers, input={**alert, "data": fitting}))
    many = {f"name{number}": number for number in range(5_000)}
    huge = await served.graphql(document, headers, input={**alert, "data": many})
    assert len(refusal_of(huge)["problems"]) == 100


async def test_alert_is_about_a_home_of_its_user(served: House) -> None:
    alert_type = await add_type(served, variables=[])
    own = served.one.ids["virtual_entity"]
    document = "mutation ($input: NewAlert!) { sendAlert(input: $input) { ... on Alert { homeId } ...Refused } }"
    alert = {"userId": served.one.user_id, "alertTypeId": alert_type["alertTypeId"], "channels": ["INBOX"]}
    headers = served.one.headers["application"]
    answer = await served.graphql(document, headers, input={**alert, "homeId": own})
    assert answer["data"]["sendAlert"] == {"homeId": own}
    assert (await send(served, alert_type, {}, veId=own)).status_code == 200
    refused = await send(served, alert_type, {}, veId="unknown")
    assert (refused.status_code, refused.json()["problems"][0]["path"]) == (400, ["veId"])
    for foreign in ("unknown", served.other.ids["virtual_entity"]):
        answer = await served.graphql(document, headers, input={**alert, "homeId": foreign})
        assert refusal_of(answer)["problems"][0]["path"] == ["input", "homeId"]
    somebody = await resident(served.one)
    answer = await served.graphql(document, headers, input={**alert, "userId": somebody.user_id, "homeId": own})
    assert "is not a home of the user" in refusal_of(answer)["problems"][0]["message"]


async def test_template_outside_the_contract_is_a_draft_that_cannot_be_published(served: House) -> None:
    alert_type = await add_type(served, variables=[POWER])
    refused = await add_template(served, alert_type, htmlTemplate="{% if powr %}x{% endif %}")
    assert refused.status_code == 400
    assert "did you mean power?" in refused.text
    template_id = (await add_template(served, alert_type, htmlTemplate="{{ power | power }}")).json()["templateId"]
    headers = served.one.headers["application"]
    change = await served.call("PUT", f"/template/{template_id}", headers, json={"subject": "{{ powr }}"})
    assert change.status_code == 400
    document = """mutation ($id: ID!) { createTemplateVersion(templateId: $id, input: {subject: "{{ powr }}"}) {
        ... on TemplateVersion { version }
        ...Refused } }"""
    draft = (await served.graphql(document, headers, id=template_id))["data"]["createTemplateVersion"]
    document = (
        "mutation ($id: ID!) { publishTemplate(templateId: $id, version: 2) {"
        " ... on Template { templateId } ...Refused } }"
    )
    (error,) = refusals(await served.graphql(document, headers, id=template_id))
    assert (draft["version"], error["code"]) == (2, "BAD_INPUT")
    assert "powr is not a variable of the alert type" in error["message"]


async def test_preview_reports_that_a_published_template_uses_a_removed_variable(served: House) -> None:
    alert_type = await add_type(served, variables=[POWER])
    template_id = (await add_template(served, alert_type, subject="{{ power }}")).json()["templateId"]
    assert (await preview_template(served, templateId=template_id))["report"]["ok"] is True
    renamed = [{**POWER, "name": "powerNow"}]
    path, headers = f"/alerttype/{alert_type['alertTypeId']}", served.one.headers["application"]
    assert (await served.call("PUT", path, headers, json={"variables": renamed})).status_code == 200
    report = (await preview_template(served, templateId=template_id))["report"]
    assert report["ok"] is False
    assert [finding["hint"] for finding in report["findings"] if finding["severity"] == "ERROR"] == [
        "did you mean powerNow?"
    ]


async def test_preview_uses_the_newest_alert_that_fits_or_else_samples(served: House) -> None:
    alert_type = await add_type(served, variables=[POWER])
    wanted = {
        "alertTypeId": alert_type["alertTypeId"],
        "html": "{{ power | power }}",
        "subject": "{{ recipient.name }}",
    }
    preview = await preview_template(served, **wanted)
    assert (preview["dataFrom"], preview["text"], preview["alert"]) == ("MADE", "4,321 W", None)
    assert preview["subject"] == "Ada Lovelace"
    recipient = await resident(served.one)  # without a name, so the greeting is the username
    await recipient.add_home()
    for power in (1000, 2000):
        sent = await send(served, alert_type, {"power": power}, userId=recipient.user_id)
        alert_id = sent.json()["ns_alert_id"]
    preview = await preview_template(served, **wanted)
    assert (preview["dataFrom"], preview["text"], preview["alert"]) == ("ALERT", "2,000 W", {"alertId": alert_id})
    assert preview["subject"] == preview["data"]["account"]["username"] == recipient.username
    assert preview["data"]["home"]["name"] == "Home"
    assert (await preview_template(served, **wanted, samples=True))["text"] == "4,321 W"
    assert (await preview_template(served, **wanted, data={"power": 5}))["text"] == "5 W"
    editor = await resident(served.one, template_editor=True)
    preview = await preview_template(served, editor.headers["account"], **wanted)
    assert (preview["dataFrom"], preview["alert"]) == ("MADE", None)
    headers = served.one.headers["application"]
    changed = {"variables": [POWER, {"name": "limit", "type": "POWER"}]}
    await served.call("PUT", f"/alerttype/{alert_type['alertTypeId']}", headers, json=changed)
    assert (await preview_template(served, **wanted))["dataFrom"] == "MADE"


async def test_recent_alerts_of_a_type_are_listed_newest_first(served: House) -> None:
    alert_type = await add_type(served, variables=[POWER])
    editor = await resident(served.one, template_editor=True)
    sent = [(await send(served, alert_type, {"power": power})).json()["ns_alert_id"] for power in (1, 2, 3)]
    own = (await send(served, alert_type, {"power": 4}, userId=editor.user_id)).json()["ns_alert_id"]
    path = f"/alerttype/{alert_type['alertTypeId']}/alerts"
    headers = served.one.headers["application"]
    listed = (await served.call("GET", path, headers)).json()
    assert [alert["alertId"] for alert in listed] == [own, *reversed(sent)]
    assert [alert["data"] for alert in listed][:2] == [{"power": 4}, {"power": 3}]
    document = """query ($id: ID!, $last: Int!) { node(id: $id) { ... on AlertType {
      alerts(last: $last) { edges { node { alertId } } } } } }"""
    global_id = encode_global_id("AlertType", alert_type["alertTypeId"])
    for caller, last, expected in ((headers, 2, [sent[-1], own]), (editor.headers["account"], 50, [own])):
        answer = await served.graphql(document, caller, id=global_id, last=last)
        edges = answer["data"]["node"]["alerts"]["edges"]
        assert [edge["node"]["alertId"] for edge in edges] == expected
    for limit in (0, 51):
        refused = await served.call("GET", path, headers, params={"limit": limit})
        assert (refused.status_code, refused.json()["code"]) == (400, "BAD_INPUT")
    assert (await served.call("GET", path, served.one.headers["account"])).status_code in (401, 403)
    assert (await served.call("GET", path, served.other.headers["application"])).status_code == 404


async def test_rules_send_alerts_of_types_with_their_variables_only(served: House) -> None:
    of_rules, of_application = await add_type(served, ruleKind="THRESHOLD"), await add_type(served, variables=[POWER])
    rule = {
        "name": "Much", "kind": "THRESHOLD", "windowMinutes": 60, "threshold": "2.5", "channels": ["INBOX"],
        "resourceId": served.one.ids["resource"],
    }  # fmt: skip
    headers = served.one.headers["account"]

    async def add(kind: str, alert_type: dict[str, Any]) -> Any:
        more = {"kind": kind, "alertTypeId": alert_type["systemAlertTypeId"]}
        return await served.call("POST", "/alertrule", headers, json={**rule, **more})

    refused = await add("THRESHOLD", of_application)
    assert refused.status_code == 400
    (problem,) = refused.json()["problems"]
    assert (problem["path"], "use a type with ruleKind THRESHOLD" in problem["message"]) == (["alertTypeId"], True)
    assert (await add("PACE", of_rules)).status_code == 400
    added = await add("THRESHOLD", of_rules)
    assert added.status_code == 201
    path, application = f"/alerttype/{of_rules['alertTypeId']}", served.one.headers["application"]
    conflict = await served.call("PUT", path, application, json={"ruleKind": None, "variables": [POWER]})
    assert (conflict.status_code, "1 alert rules send" in conflict.text) == (409, True)
    assert (await served.call("PUT", path, application, json={"ruleKind": "PACE"})).status_code == 409
    assert (await served.call("PUT", path, application, json={"ruleKind": None})).status_code == 200
    await served.call("DELETE", f"/alertrule/{added.json()['ruleId']}", headers)


def test_events_of_alerts_have_the_fields_of_alerts() -> None:
    fields = [
        field
        for field in get_object_definition(Alert, strict=True).fields
        if edge_of(field) is None and not is_global_id(field)
    ]
    assert {field.python_name for field in fields} <= set(AlertSent.__struct_fields__)
