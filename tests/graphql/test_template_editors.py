"""Template editors: accounts that edit the templates of their application, and see no records of other users."""

from typing import Any

import pytest

from tests.support.examples import EXAMPLES
from tests.support.house import PASSWORD, House, Tenant
from tests.support.interfaces import by_graphql, by_rest, is_in_graphql, rest_endpoints
from tests.support.refusals import refusal_of, refusals, with_refusals
from tests.support.residents import resident
from tests.support.servers import ON_SQLITE_ONLY
from tests.support.short_form import share
from tests.support.socket import socket
from wattgate.errors import BadInput, Forbidden
from wattgate.operations.accounts import provisioning
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import Operation, OperationKind, RestRoute
from wattgate.operations.core.row_reader import check_permission
from wattgate.principal import GRANTS, AccessScope, Permission, Principal, Role

CASES: list[tuple[Operation, RestRoute | None]] = [
    *(
        (operation, None)
        for operation in OPERATIONS
        if is_in_graphql(operation) and operation.kind is not OperationKind.SUBSCRIPTION
    ),
    *rest_endpoints(),
]
REFUSED = [case for case in CASES if case[0].needs not in GRANTS[Role.TEMPLATE_EDITOR]]
"""The operations that an editor may not run, each with a REST endpoint, or None for GraphQL."""
FOREIGN_STREAMS = {
    "readings": 'readings(resourceIds: ["{resource}"]) { value }',
    "freshness": 'freshness(resourceIds: ["{resource}"]) { resourceId }',
    "display": 'display(homeId: "{virtual_entity}") { at }',
}


@pytest.fixture
async def editor(served: House) -> Tenant:
    return await resident(served.one, template_editor=True)


def test_editor_has_the_permissions_of_an_account_and_those_for_templates() -> None:
    more = {
        permission: scope
        for permission, scope in GRANTS[Role.TEMPLATE_EDITOR].items()
        if GRANTS[Role.ACCOUNT].get(permission) is not scope
    }
    assert more == dict.fromkeys((Permission.TEMPLATE_READ, Permission.TEMPLATE_WRITE), AccessScope.APPLICATION)
    assert set(GRANTS[Role.ACCOUNT]) < set(GRANTS[Role.TEMPLATE_EDITOR])


async def test_editor_sees_no_record_of_another_user(served: House, editor: Tenant) -> None:
    headers = editor.headers["account"]
    document = """{
      viewer { alerts(first: 9) { edges { node { alertId } } }
        homes(first: 9) { edges { node { homeId } } } resources(first: 9) { edges { node { resourceId } } }
        consents(first: 9) { edges { node { meterPointNumber } } } alertRules { ruleId }
        devices(first: 9) { edges { node { deviceId } } } accounts(first: 9) { edges { node { accountId } } } }
    }"""
    data = (await served.graphql(document, headers))["data"]
    assert data["viewer"] == {
        "alerts": {"edges": []},
        "homes": {"edges": []},
        "resources": {"edges": []},
        "consents": {"edges": []},
        "alertRules": [],
        "devices": {"edges": []},
        "accounts": {"edges": [{"node": {"accountId": editor.account_id}}]},
    }
    for path in ("/virtualentity", "/resource", "/device", "/alert/user", "/alertrule"):
        answer = await served.call("GET", path, headers)
        assert (answer.status_code, answer.json()) == (200, []), path
    ids = served.one.ids
    of_others = (f"/virtualentity/{ids['virtual_entity']}", f"/resource/{ids['resource']}/current")
    for path in (*of_others, f"/resource/{ids['resource']}", f"/alert/{ids['alert']}"):
        assert (await served.call("GET", path, headers)).status_code == 404, path


@pytest.mark.parametrize("selection", FOREIGN_STREAMS.values(), ids=FOREIGN_STREAMS)
async def test_editor_subscribes_to_no_live_data_of_another_user(served: House, editor: Tenant, selection: str) -> None:
    for name, record_id in served.one.ids.items():
        selection = selection.replace(f"{{{name}}}", record_id)
    document = f"subscription {{ {selection} }}"
    async with socket(served.url) as client:
        await client.init(**editor.headers["account"])
        await client.subscribe(document)
        assert _codes(await client.hear()) == ["NOT_FOUND"]
    stream = {**editor.headers["account"], "Accept": "text/event-stream"}
    answer = await served.http.post("/graphql", json={"query": with_refusals(document)}, headers=stream)
    assert "NOT_FOUND" in answer.text


def _codes(answer: Any) -> list[str]:
    return [
        error["code"]
        for error in refusals({"errors": answer["payload"]} if answer["type"] == "error" else answer["payload"])
    ]


def name_of(case: tuple[Operation, RestRoute | None]) -> str:
    operation, rest = case
    return f"graphql {operation.name}" if rest is None else f"rest {rest.route_key}"


def kind_of(case: tuple[Operation, RestRoute | None]) -> tuple[bool, Permission]:
    return case[1] is None, case[0].needs


def test_every_operation_of_administrators_is_refused() -> None:
    """GraphQL, REST and subscriptions ask this function before an operation, with its permission."""
    refused = {operation.name for operation in OPERATIONS if _is_refused(operation)}
    of_editors = GRANTS[Role.ACCOUNT].keys() | {Permission.TEMPLATE_READ, Permission.TEMPLATE_WRITE}
    assert refused == {operation.name for operation in OPERATIONS if operation.needs not in of_editors}
    assert len(refused) > 40


def _is_refused(operation: Operation) -> bool:
    editor = Principal(Role.TEMPLATE_EDITOR, application_id="application", user_id="user", account_id="account")
    try:
        check_permission(editor, operation.needs, is_read=operation.is_read)
    except Forbidden:
        return True
    return False


@ON_SQLITE_ONLY
async def test_each_interface_refuses_operations_of_each_permission(
    served: House, editor: Tenant, subtests: pytest.Subtests
) -> None:
    """The table above has all operations. These are an eighth of them, and one of each permission on each interface."""
    for case in share(REFUSED, name_of, kind_of):
        operation, rest = case
        with subtests.test(name_of(case)):
            variables = await EXAMPLES[operation.name](served.one)
            if rest is None:
                refused = await by_graphql(served, operation, variables, editor.headers["account"])
                assert refused.code == "FORBIDDEN", refused.body
            else:
                variables = {**served.one.ids, **variables}
                refused = await by_rest(served, operation, rest, variables, editor.headers["account basic"])
                assert (refused.status, refused.code) in {(403, "FORBIDDEN"), (401, "UNAUTHENTICATED")}, refused.body


async def test_editor_reads_previews_and_publishes_templates(served: House, editor: Tenant) -> None:
    body = {"name": "Edited", "active": True, "htmlTemplate": "<p>{{ value }}</p>"}
    path = f"/template/{served.one.ids['alert_type']}/email/de-DE"
    added = await served.call("POST", path, editor.headers["account basic"], json=body)
    assert added.status_code == 200, added.text
    template_id = added.json()["templateId"]
    assert (await served.call("GET", f"/template/{template_id}", editor.headers["account"])).json()["name"] == "Edited"
    document = """mutation ($id: ID!) {
      createTemplateVersion(templateId: $id, input: {subject: "New"}) {
          ... on TemplateVersion { version createdBy } ...Refused }
      publishTemplate(templateId: $id, version: 2) { ... on Template { published { subject publishedBy } } ...Refused }
    }"""
    data = (await served.graphql(document, editor.headers["account"], id=template_id))["data"]
    assert data == {
        "createTemplateVersion": {"version": 2, "createdBy": editor.account_id},
        "publishTemplate": {"published": {"subject": "New", "publishedBy": editor.account_id}},
    }
    account = (await served.call("GET", "/template", (await resident(served.one)).headers["account"])).status_code
    assert account == 403


async def test_editor_previews_with_alerts_of_its_own_user_only(served: House, editor: Tenant) -> None:
    send = "mutation ($input: NewAlert!) { sendAlert(input: $input) { ... on Alert { alertId } ...Refused } }"
    alert = {"userId": editor.user_id, "alertTypeId": "CM01", "channels": ["INBOX"], "data": {"value": 3}}
    sent = (await served.graphql(send, served.one.headers["application"], input=alert))["data"]["sendAlert"]
    document = """query ($alert: ID!) {
      previewTemplate(input: {html: "<p>{{ value }}</p>", alertId: $alert}) { html data }
    }"""
    own = await served.graphql(document, editor.headers["account"], alert=sent["alertId"])
    assert own["data"]["previewTemplate"]["data"]["value"] == 3
    foreign = await served.graphql(document, editor.headers["account"], alert=served.one.ids["alert"])
    assert refusal_of(foreign)["code"] == "NOT_FOUND"
    by_administrator = await served.graphql(
        document, served.one.headers["administrator"], alert=served.one.ids["alert"]
    )
    assert not refusals(by_administrator)


async def test_editor_needs_the_same_proof_as_an_account(served: House, editor: Tenant) -> None:
    device = {"deviceTypeId": served.one.ids["device_type"], "hardwareId": "70B3D5EDEDED", "hardwareIds": {}}
    refused = await served.call("POST", "/device", editor.headers["account"], json=device)
    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
    resource = {"resourceTypeId": served.one.ids["resource_type"], "name": "electricity", "mpxn": "2300000000119"}
    refused = await served.call("POST", "/resource", editor.headers["account"], json=resource)
    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")


async def test_editor_of_another_application_sees_no_template(served: House) -> None:
    stranger = await resident(served.other, template_editor=True)
    path = f"/template/{served.one.ids['template']}"
    assert (await served.call("GET", path, stranger.headers["account"])).status_code == 404


async def test_account_is_either_administrator_or_editor(served: House) -> None:
    both = {"username": "both@one.example", "password": PASSWORD, "administrator": True, "template_editor": True}
    with pytest.raises(BadInput, match="Set one of the two"):
        await served.gateway.runner.run(provisioning.create_user, served.one.system, both)


async def test_editor_keeps_only_its_own_rights_as_the_user_of_an_application(served: House, editor: Tenant) -> None:
    answer = await served.call("GET", "/template", editor.headers["acting"])
    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
