"""Pages of lists, and look-ups by exactly one key."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from graphql import GraphQLObjectType, get_named_type
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlmodel import col

from tests.support.chance import examples
from tests.support.examples_areas import own_mail_suppression
from tests.support.gateway_schema import SCHEMA
from tests.support.house import House
from tests.support.residents import resident
from tests.support.scopes import EVERYTHING
from wattgate.clock import utc_now
from wattgate.db.models import Content, LanguageContent, UserAction
from wattgate.db.rows.rows import Rows
from wattgate.operations.core.pagination import MAX_PAGE_SIZE, Page, PageArguments, RecordList, load_pages

pytestmark = pytest.mark.either_database("some tests of the module run on both")


def cursor(name: str, created_at: str, key: str) -> str:
    """Return a cursor as the gateway would write it."""
    return base64.urlsafe_b64encode(json.dumps([name, created_at, key]).encode()).decode()


def content_at(second: int, reference: str = "r") -> Content:
    """Return a content object of the given second. Several may have the same."""
    return Content(reference=reference, name="c", created_at=datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC))


ORDER = [Content.created_at, Content.content_id]
PAGE = """
query ($first: Int! = 50, $after: String) {
  viewer { userActions(first: $first, after: $after) {
    edges { cursor node { userActionId userId } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  } }
}
"""


async def page(house: House, **variables: Any) -> Any:
    result = await house.graphql(PAGE, house.one.headers["account"], **variables)
    assert "errors" not in result, result
    return result["data"]["viewer"]["userActions"]


@pytest.mark.both_databases("separation of users and applications")
async def test_pages_of_a_list_have_no_gaps_and_no_duplicates(served: House) -> None:
    body = {"userActionTypeId": served.one.ids["user_action_type"]}
    for _ in range(7):
        await served.call("POST", "/useraction", served.one.headers["account"], json=body)
    plain = (await served.call("GET", "/useraction", served.one.headers["account"])).json()
    walked: list[str] = []
    after = None
    while True:
        connection = await page(served, first=3, after=after)
        assert len(connection["edges"]) <= 3
        assert connection["pageInfo"]["hasPreviousPage"] is (after is not None)
        walked += [edge["node"]["userActionId"] for edge in connection["edges"]]
        assert connection["pageInfo"]["endCursor"] == connection["edges"][-1]["cursor"]
        after = connection["pageInfo"]["endCursor"]
        if not connection["pageInfo"]["hasNextPage"]:
            break
    assert sorted(walked) == sorted(record["userActionId"] for record in plain)
    assert len(walked) == len(set(walked))


DOCUMENT = """
query ($first: Int, $after: String, $last: Int, $before: String) {
  viewer { userActions(first: $first, after: $after, last: $last, before: $before) {
    edges { cursor node { userActionId } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  } }
}
"""


INVALID: list[tuple[dict[str, Any], str]] = [
    ({"first": 0}, "first"),
    ({"first": -1}, "first"),
    ({"first": 101}, "first"),
    ({"last": 0}, "last"),
    ({"last": -5}, "last"),
    ({"last": 101}, "last"),
    ({"first": 1, "last": 1}, "last"),
    ({"after": "nonsense"}, "after"),
    ({"after": "WzFd"}, "after"),
    ({"last": 3, "before": ""}, "before"),
    ({"before": "ünlesbar"}, "before"),
    ({"after": cursor("UserAction", "0001-01-01T00:00:00+14:00", "a")}, "after"),
    ({"after": cursor("UserAction", "2026-01-01T00:00:00Z", "a\0")}, "after"),
    ({"before": cursor("UserAction", "2026-01-01T00:00:00Z", "nobody")}, "before"),
]
"""Invalid arguments of a page, and the argument that the error names."""


async def test_invalid_page_arguments_are_rejected(served: House, subtests: pytest.Subtests) -> None:
    for variables, argument in INVALID:
        with subtests.test(str(variables)):
            result = await served.graphql(DOCUMENT, served.one.headers["account"], **variables)
            error = result["errors"][0]["extensions"]
            assert error["code"] == "BAD_INPUT"
            assert [problem["path"] for problem in error["problems"]] == [[argument]]


@pytest.mark.both_databases("separation of users and applications")
async def test_cursors_of_other_lists_users_and_deleted_records_are_rejected(served: House) -> None:
    document = "{ viewer { resources(first: 1) { edges { cursor } } userActions(first: 1) { edges { cursor } } } }"
    cursors = {}
    for tenant in (served.one, served.other):
        answer = await served.graphql(document, tenant.headers["account"])
        cursors[tenant.user_id] = {name: page["edges"][0]["cursor"] for name, page in answer["data"]["viewer"].items()}
    one, other = cursors[served.one.user_id], cursors[served.other.user_id]
    good = await served.graphql(DOCUMENT, served.one.headers["account"], after=one["userActions"])
    assert "errors" not in good
    for wrong in (one["resources"], other["userActions"]):
        for argument in ("after", "before"):
            refused = await served.graphql(DOCUMENT, served.one.headers["account"], **{argument: wrong})
            assert refused["errors"][0]["extensions"]["problems"][0]["path"] == [argument]
    body = {"userActionTypeId": served.one.ids["user_action_type"]}
    await served.call("POST", "/useraction", served.one.headers["account"], json=body)
    deleted = (await served.graphql(DOCUMENT, served.one.headers["account"], last=1))["data"]["viewer"]["userActions"]
    async with served.gateway.database.session(EVERYTHING) as session:
        rows = Rows(session, served.one.application_id, now=utc_now())
        key = deleted["edges"][0]["node"]["userActionId"]
        assert await rows.delete(UserAction, col(UserAction.user_action_id) == key) == 1
        await session.commit()
    refused = await served.graphql(
        DOCUMENT, served.one.headers["account"], last=1, before=deleted["pageInfo"]["endCursor"]
    )
    assert "does not have any more" in refused["errors"][0]["message"]


async def page_of_contents(rows: Rows, arguments: PageArguments) -> Page:
    application_id = rows.application_id
    pages = await load_pages(rows, RecordList("Content", Content), "application_id", [application_id], arguments)
    return pages[application_id]


@settings(max_examples=examples(30))
@given(
    seconds=st.lists(st.integers(0, 3), max_size=9),
    size=st.integers(1, 4),
    more=st.lists(st.integers(3, 5), max_size=2),
    from_end=st.booleans(),
)
async def test_pages_are_parts_of_the_plain_list(
    served: House, seconds: list[int], size: int, more: list[int], from_end: bool
) -> None:
    """Walk a list in both directions while records are added at its end, and compare each page with the plain list."""
    async with served.gateway.database.session(EVERYTHING) as session:
        rows = Rows(session, served.one.application_id, now=utc_now())
        await rows.delete(LanguageContent)
        await rows.delete(Content)
        for second in seconds:
            await rows.add(content_at(second))
        plain = [row.content_id for row in await rows.all(Content, order_by=ORDER)]
        seen: list[str] = []
        cursor, waiting = None, list(more)
        while True:
            arguments = PageArguments(last=size, before=cursor) if from_end else PageArguments(size, cursor)
            page = await page_of_contents(rows, arguments)
            ids = [edge.node.content_id for edge in page.edges]
            plain_now = [row.content_id for row in await rows.all(Content, order_by=ORDER)]
            if ids:
                start, end = plain_now.index(ids[0]), plain_now.index(ids[-1])
                assert ids == plain_now[start : end + 1]
                assert page.page_info.has_previous_page is (start > 0)
                assert page.page_info.has_next_page is (end < len(plain_now) - 1)
                between = PageArguments(MAX_PAGE_SIZE, page.edges[0].cursor, None, page.edges[-1].cursor)
                middle = await page_of_contents(rows, between)
                assert [edge.node.content_id for edge in middle.edges] == ids[1:-1]
            else:
                assert not plain_now or cursor is not None
            seen = ids + seen if from_end else seen + ids
            has_more = page.page_info.has_previous_page if from_end else page.page_info.has_next_page
            if not has_more:
                break
            cursor = page.page_info.start_cursor if from_end else page.page_info.end_cursor
            if waiting:
                await rows.add(content_at(waiting.pop()))
        assert len(seen) == len(set(seen))
        assert set(seen) >= set(plain)
        await session.rollback()


async def test_pages_of_many_parents_equal_the_page_of_each(served: House) -> None:
    async with served.gateway.database.session(EVERYTHING) as session:
        rows = Rows(session, served.one.application_id, now=utc_now())
        for number in range(12):
            await rows.add(content_at(number % 5, reference=f"r{number % 3}"))
        for arguments in (PageArguments(2), PageArguments(last=3), PageArguments()):
            records = RecordList("Content", Content, where=(col(Content.name) == "c",))
            together = await load_pages(rows, records, "reference", ["r0", "r1", "r2", "nothing"], arguments)
            for value, page in together.items():
                assert page == (await load_pages(rows, records, "reference", [value], arguments))[value]
            assert together["nothing"].edges == []
        await session.rollback()


async def test_cursor_below_several_records_is_rejected_with_the_reason(served: House) -> None:
    document = """query ($first: Int, $after: String, $last: Int, $before: String) {
      viewer { accounts { edges { node { user {
        accounts(first: $first, after: $after, last: $last, before: $before) { edges { cursor } } } } } } }
    }"""
    of_all_users = document.replace("viewer", "application")

    async def lists_of(**arguments: Any) -> list[Any]:
        found = (await served.graphql(document, neighbour.headers["account"], **arguments))["data"]["viewer"]
        return [edge["node"]["user"]["accounts"]["edges"] for edge in found["accounts"]["edges"]]

    neighbour = await resident(served.one)
    for username in ("first", "second"):
        await neighbour.add_account(f"{username}-{neighbour.username}")
    cursor = (await lists_of(first=1))[0][0]["cursor"]
    for argument in ("after", "before"):
        answer = await served.graphql(of_all_users, served.one.headers["application"], **{argument: cursor})
        error = answer["errors"][0]
        problem = {"path": [argument], "message": "is a cursor of one list, and this field returns several lists"}
        assert (error["extensions"]["code"], error["extensions"]["problems"]) == ("BAD_INPUT", [problem])
        assert error["message"] == (
            f"`{argument}` is a cursor of one list, and this field returns several lists. "
            "Ask for the next page below one record."
        )
    assert [len(rest) for rest in await lists_of(after=cursor)] == [2, 2, 2]  # several parents, one list


@pytest.mark.both_databases("separation of users and applications")
async def test_each_connection_returns_only_records_of_the_tenant(served: House, subtests: pytest.Subtests) -> None:
    for tenant in (served.one, served.other):
        await own_mail_suppression(tenant)
    application = SCHEMA.type_map["Application"]
    assert isinstance(application, GraphQLObjectType)
    lists = [
        name for name, field in application.fields.items() if get_named_type(field.type).name.endswith("Connection")
    ]
    assert len(lists) > 10
    for name in lists:
        with subtests.test(f"Application.{name}"):
            document = f"{{ application {{ {name} {{ edges {{ cursor }} }} }} }}"
            refused = await served.graphql(document, {})
            assert refused["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
            own, other = [
                {edge["cursor"] for edge in answer["data"]["application"][name]["edges"]}
                for answer in [
                    await served.graphql(document, tenant.headers["application"])
                    for tenant in (served.one, served.other)
                ]
            ]
            assert own
            assert other
            assert not own & other


async def test_user_is_found_by_either_key(served: House) -> None:
    document = "query ($by: UserKey!) { findUser(by: $by) { userId } }"
    for by in ({"userId": served.one.user_id}, {"username": served.one.username}):
        result = await served.graphql(document, served.one.headers["application"], by=by)
        assert result["data"]["findUser"]["userId"] == served.one.user_id
    both_keys = {"userId": served.one.user_id, "username": served.one.username}
    wrong: list[dict[str, str | None]] = [{}, {**both_keys}, {"userId": None}]
    for key in wrong:
        result = await served.graphql(document, served.one.headers["application"], by=key)
        assert result["errors"][0]["extensions"]["code"] == "BAD_INPUT"
    stranger = await served.graphql(document, served.other.headers["application"], by={"userId": served.one.user_id})
    assert stranger["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_device_is_found_by_any_key(served: House) -> None:
    listed = (await served.call("GET", "/device", served.one.headers["account"])).json()
    device = listed[0]
    document = "query ($by: DeviceKey!) { findDevice(by: $by) { deviceId } }"
    resource_id = device["protocol"]["sensors"][0]["resourceId"]
    for by in ({"deviceId": device["deviceId"]}, {"hardwareId": device["hardwareId"]}, {"resourceId": resource_id}):
        result = await served.graphql(document, served.one.headers["account"], by=by)
        assert result["data"]["findDevice"]["deviceId"] == device["deviceId"], result


@pytest.mark.parametrize(("lookup", "key"), [
    ("findUser", "userId"),
    ("findUser", "username"),
    ("findDevice", "deviceId"),
    ("findDevice", "hardwareId"),
    ("findDevice", "resourceId"),
])  # fmt: skip
async def test_empty_key_finds_nothing(served: House, lookup: str, key: str) -> None:
    result = await served.graphql(
        f'{{ {lookup}(by: {{ {key}: "" }}) {{ __typename }} }}', served.one.headers["account"]
    )
    assert result["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_edges_return_the_referenced_records(served: House) -> None:
    document = """{
      application { prompts { edges { node { type { name } } } } }
      viewer {
        promptUsers { edges { node { prompt { name type { name } } } } }
        userActions { edges { node { type { name } } } }
        termsConditionsUsers { edges { node { termsConditions { version } } } }
        alerts { edges { node { alertType { systemAlertTypeId } } } }
        webhookErrors { edges { node { webhook { status } } } }
      }
    }"""
    lists = (await served.graphql(document, served.one.headers["account"]))["data"]["viewer"]
    first = {name: connection["edges"][0]["node"] for name, connection in lists.items()}
    assert first["promptUsers"]["prompt"] == {"name": "Welcome", "type": {"name": "tour"}}
    assert first["userActions"]["type"] == {"name": "opened"}
    assert first["termsConditionsUsers"]["termsConditions"] == {"version": "1"}
    assert first["alerts"]["alertType"] == {"systemAlertTypeId": "CM01"}
    assert first["webhookErrors"]["webhook"] == {"status": "FAILED"}
    of_templates = "{ application { templates { edges { node { alertType { alertTypeId } } } } } }"
    managed = await served.graphql(of_templates, served.one.headers["application"])
    assert managed["data"]["application"]["templates"]["edges"][0]["node"]["alertType"]["alertTypeId"]
