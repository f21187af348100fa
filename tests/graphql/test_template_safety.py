"""Templates cannot reach users by accident: drafts, undo, archived and duplicate templates."""

from typing import Any

import pytest

from tests.graphql.test_templates import (
    ADD,
    PUBLISH,
    add_alert_type,
    add_template,
    error_of,
    execute,
    send_and_load_notification,
)
from tests.support.house import House
from tests.support.refusals import refusal_of
from wattgate.operations.vocabulary.node import encode_global_id

pytestmark = pytest.mark.either_database("some tests of the module run on both")

ADD_TEMPLATE = (
    "mutation ($input: NewTemplate!) { createTemplate(input: $input) {"
    " ... on Template { templateId active published { version } } ...Refused } }"
)
STATE = """query ($id: ID!) { node(id: $id) { ... on Template {
  active archivedAt inUse htmlTemplate published { version } versions { version publishedAt }
  duplicates { templateId } } } }"""
UPDATE = (
    "mutation ($id: ID!, $input: TemplateChange!) { updateTemplate(templateId: $id, input: $input) {"
    " ... on Template { active } ...Refused } }"
)
BACK_TO = """mutation ($id: ID!, $version: Int) {
  rollBackTemplate(templateId: $id, version: $version) { ... on Template { published { version } } ...Refused } }"""
ARCHIVE = (
    "mutation ($id: ID!) { archiveTemplate(templateId: $id) { ... on Template { active archivedAt } ...Refused } }"
)
RESTORE = (
    "mutation ($id: ID!) { restoreTemplate(templateId: $id) { ... on Template { active archivedAt } ...Refused } }"
)
BROKEN = '<p><img src="https://example.org/a.png"></p>'
"""HTML that can be rendered, and has an ERROR in its report: the image has no alternative text."""


async def state_of(served: House, template_id: str) -> dict[str, Any]:
    return dict((await execute(served, STATE, id=encode_global_id("Template", template_id)))["node"])


async def add_draft(served: House, code: str, html: str = "<p>draft</p>") -> str:
    new = {"alertTypeId": await add_alert_type(served, code), "name": "Draft", "channelType": "EMAIL"}
    added = await execute(served, ADD_TEMPLATE, input={**new, "cultureCode": "en-GB", "htmlTemplate": html})
    assert added["createTemplate"] | {"templateId": None} == {"templateId": None, "active": False, "published": None}
    return str(added["createTemplate"]["templateId"])


async def test_added_template_is_a_draft_that_no_alert_uses(served: House) -> None:
    template_id = await add_draft(served, "D1")
    notification = await send_and_load_notification(served, "D1")
    assert (notification["text"], notification["templateId"]) == ("You used much", None)
    await execute(served, ADD, id=template_id, input={"htmlTemplate": "<p>second draft</p>"})
    state = await state_of(served, template_id)
    assert (state["htmlTemplate"], state["published"], state["inUse"]) == ("<p>second draft</p>", None, False)
    await execute(served, PUBLISH, id=template_id, version=2)
    state = await state_of(served, template_id)
    assert (state["active"], state["published"], state["inUse"]) == (True, {"version": 2}, True)
    assert (await send_and_load_notification(served, "D1"))["text"] == "second draft"


@pytest.mark.parametrize("path", ["/template", "/template/{type}/email/en-GB"])
async def test_rest_publishes_an_active_template_if_it_is_valid(served: House, path: str) -> None:
    headers, code = served.one.headers["application"], f"D2{len(path)}"
    alert_type_id = await add_alert_type(served, code)
    body = {"name": "Mail", "htmlTemplate": "<p>sent</p>"}
    if path == "/template":
        body |= {"alertTypeId": alert_type_id, "channelType": "email", "cultureCode": "en-GB"}
    path = path.replace("{type}", alert_type_id)
    refused = await served.call("POST", path, headers, json={**body, "active": True, "htmlTemplate": BROKEN})
    assert (refused.status_code, refused.json()["code"]) == (400, "BAD_INPUT")
    assert refused.json()["problems"][0]["path"] in (["htmlTemplate"], ["input", "htmlTemplate"])
    draft = await served.call("POST", path, headers, json=body)
    assert (draft.status_code, draft.json()["active"]) == (200, False)
    assert (await send_and_load_notification(served, code))["templateId"] is None
    published = await served.call("POST", path, headers, json={**body, "active": True})
    assert (published.status_code, published.json()["active"]) == (200, True)
    assert (await send_and_load_notification(served, code))["text"] == "sent"


async def test_draft_is_published_and_withdrawn_by_the_member_active(served: House) -> None:
    template_id = await add_draft(served, "D3", BROKEN)
    error = await error_of(served, UPDATE, id=template_id, input={"active": True})
    assert (error["code"], error["problems"][0]["path"]) == ("BAD_INPUT", ["input", "htmlTemplate"])
    await execute(served, UPDATE, id=template_id, input={"htmlTemplate": "<p>better</p>"})
    assert (await state_of(served, template_id))["published"] is None
    await execute(served, UPDATE, id=template_id, input={"active": True})
    assert (await state_of(served, template_id))["published"] == {"version": 2}
    error = await error_of(served, UPDATE, id=template_id, input={"htmlTemplate": BROKEN})
    assert error["code"] == "BAD_INPUT"
    await execute(served, UPDATE, id=template_id, input={"active": False})
    state = await state_of(served, template_id)
    assert (state["published"], [version["version"] for version in state["versions"]]) == (None, [2, 1])


async def test_publication_and_roll_back_can_be_undone(served: House) -> None:
    template_id = await add_template(served, await add_alert_type(served, "D4"), "<p>one</p>")
    for html in ("<p>two</p>", "<p>three</p>"):
        await execute(served, ADD, id=template_id, input={"htmlTemplate": html})
    for version in (3, 1, 3):
        await execute(served, BACK_TO if version == 1 else PUBLISH, id=template_id, version=version)
        assert (await state_of(served, template_id))["published"] == {"version": version}
    error = await error_of(served, BACK_TO, id=template_id, version=2)
    assert error["code"] == "CONFLICT"
    assert (await state_of(served, template_id))["published"] == {"version": 3}


async def test_archived_template_is_hidden_unused_and_unchanged_until_it_is_restored(served: House) -> None:
    template_id = await add_template(served, await add_alert_type(served, "D5"), "<p>kept</p>")
    assert (await send_and_load_notification(served, "D5"))["text"] == "kept"
    archived = (await execute(served, ARCHIVE, id=template_id))["archiveTemplate"]
    assert (archived["active"], archived["archivedAt"] is None) == (False, False)
    assert (await execute(served, ARCHIVE, id=template_id))["archiveTemplate"] == archived
    assert (await send_and_load_notification(served, "D5"))["templateId"] is None
    for include, found in ((False, False), (True, True)):
        rest = await served.call(
            "GET", "/template", served.one.headers["application"], params={"includeArchived": str(include).lower()}
        )
        assert (template_id in [template["templateId"] for template in rest.json()]) is found
    for document, variables in (
        (PUBLISH, {"version": 1}),
        (BACK_TO, {"version": 1}),
        (ADD, {"input": {}}),
        (UPDATE, {"input": {"active": True}}),
    ):
        assert (await error_of(served, document, id=template_id, **variables))["code"] == "CONFLICT", document
    restored = (await execute(served, RESTORE, id=template_id))["restoreTemplate"]
    assert restored == {"active": False, "archivedAt": None}
    assert (await send_and_load_notification(served, "D5"))["templateId"] is None
    await execute(served, BACK_TO, id=template_id, version=1)
    assert (await send_and_load_notification(served, "D5"))["text"] == "kept"


async def test_duplicates_of_a_template_say_which_one_alerts_use(served: House) -> None:
    alert_type_id = await add_alert_type(served, "D6")
    older = await add_template(served, alert_type_id, "<p>older</p>", "en-GB")
    newer = await add_template(served, alert_type_id, "<p>newer</p>", "en-gb")
    await add_template(served, alert_type_id, "<p>French</p>", "fr-FR")
    draft = await add_template(served, alert_type_id, "<p>draft</p>", "en-GB", active=False)
    states = {template_id: await state_of(served, template_id) for template_id in (older, newer, draft)}
    assert {template_id: state["inUse"] for template_id, state in states.items()} == {
        older: False,
        newer: True,
        draft: False,
    }
    assert states[older]["duplicates"] == [{"templateId": newer}]
    assert states[newer]["duplicates"] == [{"templateId": older}]
    assert states[draft]["duplicates"] == [{"templateId": newer}, {"templateId": older}]
    assert (await send_and_load_notification(served, "D6"))["text"] == "newer"
    await execute(served, ARCHIVE, id=newer)
    assert await state_of(served, older) | {"versions": None} == {
        "active": True,
        "archivedAt": None,
        "inUse": True,
        "htmlTemplate": "<p>older</p>",
        "published": {"version": 1},
        "versions": None,
        "duplicates": [],
    }


@pytest.mark.parametrize("name", ["archiveTemplate", "restoreTemplate", "shareTemplatePreview"])
@pytest.mark.both_databases("separation of users and applications")
async def test_template_of_another_application_is_neither_archived_nor_shared(served: House, name: str) -> None:
    document = f"mutation ($id: ID!) {{ {name}(templateId: $id) {{ ...Refused }} }}"
    template_id = served.one.ids["template"]
    answer = await served.graphql(document, served.other.headers["application"], id=template_id)
    assert refusal_of(answer)["code"] == "NOT_FOUND"
    action = name.removesuffix("Preview").removesuffix("Template")
    refused = await served.call(
        "POST", f"/template/{template_id}/{action}", served.other.headers["application"], json={}
    )
    assert refused.status_code == 404
