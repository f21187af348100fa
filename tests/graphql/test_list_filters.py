"""Filters and counts of connections, on both executors and both databases."""

import base64
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from graphql import GraphQLObjectType, get_named_type

from tests.graphql.test_nodes import by_both_executors, code_of
from tests.support.gateway_schema import SCHEMA
from tests.support.house import House, Tenant
from tests.support.residents import resident
from tests.support.scopes import EVERYTHING
from wattgate.clock import utc_now
from wattgate.db.models import Content, Tenanted
from wattgate.db.rows.rows import Rows
from wattgate.operations.alerts.alerts import mark_alerts_read
from wattgate.operations.core import pagination
from wattgate.operations.core.fields import edge_of
from wattgate.operations.core.pagination import PageArguments, RecordList, count_records, load_pages
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.principal import GRANTS, AccessScope, Permission, Role

pytestmark = pytest.mark.both_databases("separation of users and applications")

ALERTS = """query ($filter: AlertFilter, $first: Int, $after: String) { viewer {
  alerts(filter: $filter, first: $first, after: $after) {
    totalCount edges { cursor node { alertId alertTypeId readAt } }
  } } }"""


async def send(house: House, who: Tenant) -> str:
    body = {"userId": who.user_id, "alertTypeId": "CM01", "inbox": "yes"}
    sent = await house.call("POST", "/alert", house.one.headers["application"], json=body)
    return str(sent.json()["ns_alert_id"])


async def alerts(house: House, who: Tenant, **variables: Any) -> Any:
    answer = await by_both_executors(house, ALERTS, who.headers["account"], **variables)
    assert "errors" not in answer, answer
    return answer["data"]["viewer"]["alerts"]


def ids(page: Any) -> list[str]:
    return [edge["node"]["alertId"] for edge in page["edges"]]


async def test_alerts_are_filtered_and_counted(served: House) -> None:
    who = await resident(served.one)
    sent = [await send(served, who) for _ in range(3)]
    await served.gateway.runner.run(mark_alerts_read, who.account, {"alert_ids": [sent[0]]})
    everything = await alerts(served, who)
    assert (ids(everything), everything["totalCount"]) == (sent, 3)
    unread = await alerts(served, who, filter={"unread": True}, first=1)
    assert (ids(unread), unread["totalCount"]) == (sent[1:2], 2)
    assert (
        ids(await alerts(served, who, filter={"unread": True}, first=1, after=unread["edges"][0]["cursor"])) == sent[2:]
    )
    assert ids(await alerts(served, who, filter={"unread": False})) == sent[:1]
    type_id = everything["edges"][0]["node"]["alertTypeId"]
    assert ids(await alerts(served, who, filter={"unread": True, "alertTypeId": type_id})) == sent[1:]
    assert (await alerts(served, who, filter={"alertTypeId": "other"}))["totalCount"] == 0
    assert ids(await alerts(served, who, filter={"since": "2100-01-01T00:00:00Z"})) == []
    assert ids(await alerts(served, who, filter={})) == ids(await alerts(served, who, filter=None)) == sent


async def test_cursor_of_another_filter_is_rejected_with_the_reason(served: House) -> None:
    who = await resident(served.one)
    await send(served, who)
    cursor = (await alerts(served, who, filter={"unread": True}))["edges"][0]["cursor"]
    for other in (None, {"unread": True, "since": "2020-01-01T00:00:00Z"}):
        answer = await by_both_executors(served, ALERTS, who.headers["account"], filter=other, after=cursor)
        assert code_of(answer) == "BAD_INPUT"
        assert "is a cursor of the list with another filter" in answer["errors"][0]["message"]


async def test_forged_cursor_shows_nothing_that_the_list_does_not_have(served: House) -> None:
    """The mark of a filter in a cursor is a checksum, which anybody can compute. The list decides, not the mark."""
    who, stranger = await resident(served.one), await resident(served.one)
    read, unread, foreign = [await send(served, one) for one in (who, who, stranger)]
    await served.gateway.runner.run(mark_alerts_read, who.account, {"alert_ids": [read]})
    cursors = {unread: (await alerts(served, who, filter={"unread": True}))["edges"][0]["cursor"]}
    for alert_id, page in ((read, await alerts(served, who)), (foreign, await alerts(served, stranger))):
        cursors[alert_id] = next(edge["cursor"] for edge in page["edges"] if edge["node"]["alertId"] == alert_id)
    mark = json.loads(base64.urlsafe_b64decode(cursors[unread]))[0]
    for alert_id in (read, foreign):
        _, *position = json.loads(base64.urlsafe_b64decode(cursors[alert_id]))
        forged = base64.urlsafe_b64encode(json.dumps([mark, *position]).encode()).decode()
        answer = await by_both_executors(served, ALERTS, who.headers["account"], filter={"unread": True}, after=forged)
        assert "is the cursor of a record that the list does not have any more" in answer["errors"][0]["message"]


async def test_unknown_filter_is_no_valid_document_and_a_long_value_is_rejected(served: House) -> None:
    headers = served.one.headers["account"]
    unknown = await served.graphql("{ viewer { alerts(filter: {read: true}) { totalCount } } }", headers)
    assert "Expected value of type 'AlertFilter' not to include unknown field 'read'" in unknown["errors"][0]["message"]
    document = "query ($name: String) { application { accounts(filter: {name: $name}) { totalCount } } }"
    answer = await by_both_executors(served, document, headers, name="x" * 201)
    assert code_of(answer) == "BAD_INPUT"


FILTERED: dict[str, tuple[str, str, Callable[[Tenant], str]]] = {
    "accounts": ('{username: "%s"}', "username", lambda tenant: f" {tenant.username.upper()}"),
    "devices": ('{hardwareId: "%s"}', "hardwareId", lambda tenant: ""),
    "resources": ('{resourceTypeId: "%s"}', "resourceTypeId", lambda tenant: tenant.ids["resource_type"]),
    "contents": ('{reference: "%s"}', "reference", lambda tenant: "tips"),
    "prompts": ('{promptTypeId: "%s"}', "promptTypeId", lambda tenant: tenant.ids["prompt_type"]),
    "resourceTypes": ('{classifier: "%s"}', "classifier", lambda tenant: "electricity.consumption"),
    "templates": ('{cultureCode: "%s", archived: false, channelType: EMAIL}', "cultureCode", lambda tenant: "en-GB"),
}
"""A filter of each list of the application, the field that it compares, and its value."""


@pytest.mark.parametrize("name", FILTERED)
async def test_list_of_the_application_is_filtered(served: House, name: str) -> None:
    text, field, value_of = FILTERED[name]
    headers = served.one.headers["application"]
    if name == "devices":
        listed = await served.graphql("{ application { devices { edges { node { hardwareId } } } } }", headers)
        value = listed["data"]["application"]["devices"]["edges"][0]["node"]["hardwareId"].lower()
    else:
        value = value_of(served.one)
    for given, found in ((value, True), ("nothing", False)):
        document = (
            f"{{ application {{ {name}(filter: {text % given}) {{ totalCount edges {{ node {{ {field} }} }} }} }} }}"
        )
        page = (await by_both_executors(served, document, headers))["data"]["application"][name]
        assert {edge["node"][field].lower() for edge in page["edges"]} == ({value.strip().lower()} if found else set())
        assert page["totalCount"] >= len(page["edges"])
        assert (page["totalCount"] > 0) is found


async def test_count_stops_at_its_bound(served: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pagination, "MAX_TOTAL", 3)
    reference = str(uuid4())
    async with served.gateway.database.session(EVERYTHING) as session:
        rows = Rows(session, served.one.application_id, now=utc_now())
        for number in range(5):
            await rows.add(Content(reference=reference if number < 2 else "many", name="c"))
        pages = await load_pages(
            rows, RecordList("Content", Content), "reference", [reference, "many"], PageArguments()
        )
        assert await count_records(rows, [pages[reference], pages["many"], pages[reference]]) == [2, 3, 2]
        await session.rollback()


async def test_count_is_charged_when_it_is_selected(served: House) -> None:
    costs = []
    for selection in ("edges { cursor }", "edges { cursor } totalCount"):
        answer = await served.graphql(f"{{ viewer {{ alerts {{ {selection} }} }} }}", served.one.headers["account"])
        costs.append(answer["extensions"]["cost"]["estimated"])
    assert costs[1] - costs[0] >= pagination.COUNT_WEIGHT


def test_permission_of_the_count_reaches_as_far_as_that_of_each_list() -> None:
    """A count runs with USER_READ. Records without an owner belong to the application, and have no narrower reach."""
    lists = [
        (edge.needs, get_named_type(field.type))
        for kind in SCHEMA.type_map.values()
        if isinstance(kind, GraphQLObjectType) and not kind.name.startswith("__")
        for field in kind.fields.values()
        if (declared := field.extensions.get(STRAWBERRY_DEFINITION)) and (edge := edge_of(declared))
        if get_named_type(field.type).name.endswith("Connection")
    ]
    assert len(lists) > 40
    for needs, connection in lists:
        node = get_named_type(get_named_type(connection.fields["edges"].type).fields["node"].type)
        model: type[Tenanted] | None = getattr(node.extensions[STRAWBERRY_DEFINITION].origin, "node_model", None)
        for role in Role:
            scope = GRANTS[role].get(needs)
            if scope is None or (model is not None and model.owner is None):
                continue
            counted = GRANTS[role].get(Permission.USER_READ)  # a paired display has none, so it counts nothing
            assert counted in (None, scope, AccessScope.OWN), (needs, role)
