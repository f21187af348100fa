"""Homes that change: resources join and leave them, and homes are closed and opened again."""

from typing import Any

import httpx
import pytest

from tests.support.house import House, Tenant
from tests.support.residents import resident

pytestmark = pytest.mark.either_database("some tests of the module run on both")


async def put(served: House, who: Tenant, path: str, caller: str = "account", **body: Any) -> httpx.Response:
    return await served.call("PUT", path, who.headers[caller], json=body)


async def resource_ids(served: House, who: Tenant, home_id: str) -> set[str]:
    home = await served.call("GET", f"/virtualentity/{home_id}", who.headers["account"])
    return {resource["resourceId"] for resource in home.json()["resources"]}


def links(*ids: str) -> list[dict[str, str]]:
    return [{"resourceId": id_} for id_ in ids]


@pytest.fixture
async def owner(served: House) -> Tenant:
    return await resident(served.one)


@pytest.mark.both_databases("a main path of its area")
async def test_put_with_resources_replaces_the_resources_of_a_home(served: House, owner: Tenant) -> None:
    first, second, third = [await owner.add_resource() for _ in "abc"]
    home_id = await owner.add_home(first, second)
    answer = await put(served, owner, f"/virtualentity/{home_id}", resources=links(second, third))
    assert (answer.status_code, answer.json()) == (201, {"status": "OK", "veId": home_id})
    assert await resource_ids(served, owner, home_id) == {second, third}
    await put(served, owner, f"/virtualentity/{home_id}", name="Renamed")
    assert await resource_ids(served, owner, home_id) == {second, third}
    await put(served, owner, f"/virtualentity/{home_id}", resources=[])
    assert await resource_ids(served, owner, home_id) == set()


async def test_home_as_it_was_read_can_be_sent_back(served: House, owner: Tenant) -> None:
    first, second = await owner.add_resource(), await owner.add_resource()
    home_id = await owner.add_home(first, second)
    await put(served, owner, f"/resource/{second}", active=False)
    home = (await served.call("GET", f"/virtualentity/{home_id}", owner.headers["account"])).json()
    answer = await put(served, owner, f"/virtualentity/{home_id}", **{**home, "name": "Renamed"})
    assert answer.status_code == 201, answer.text
    assert await resource_ids(served, owner, home_id) == {first}
    await put(served, owner, f"/resource/{second}", active=True)
    assert await resource_ids(served, owner, home_id) == {first, second}  # a closed resource stays in its home


async def test_resource_joins_and_leaves_a_home_on_both_interfaces(served: House, owner: Tenant) -> None:
    first, second = await owner.add_resource(), await owner.add_resource()
    home_id = await owner.add_home(first)
    path = f"/virtualentity/{home_id}/resources"
    joined = await served.call("POST", path, owner.headers["account"], json={"resourceId": second})
    assert joined.status_code == 201, joined.text
    assert {resource["resourceId"] for resource in joined.json()["resources"]} == {first, second}
    leave = """mutation ($home: ID!, $id: ID!) { removeResourceFromHome(homeId: $home, resourceId: $id) {
      ... on Home {
          resources { resourceId }
      }
    } }"""
    left = await served.graphql(leave, owner.headers["account"], home=home_id, id=first)
    assert left["data"]["removeResourceFromHome"]["resources"] == [{"resourceId": second}]
    gone = await served.call("DELETE", f"{path}/{second}", owner.headers["account"])
    assert (gone.status_code, gone.json()["resources"]) == (200, [])
    again = await served.call("DELETE", f"{path}/{second}", owner.headers["account"])
    assert (again.status_code, again.json()["code"]) == (404, "NOT_FOUND")


async def test_resource_that_is_in_the_home_already_is_a_conflict(served: House, owner: Tenant) -> None:
    resource_id = await owner.add_resource()
    home_id = await owner.add_home(resource_id)
    path = f"/virtualentity/{home_id}/resources"
    answer = await served.call("POST", path, owner.headers["account"], json={"resourceId": resource_id})
    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")
    assert resource_id in answer.json()["error"]


@pytest.mark.parametrize("caller", ["account", "acting", "administrator", "application"])
@pytest.mark.both_databases("a main path of its area")
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_resource_of_another_user_or_tenant_does_not_join_a_home(
    served: House, owner: Tenant, caller: str
) -> None:
    home_id = await owner.add_home()
    foreign = [await (await resident(served.one)).add_resource(), served.other.ids["resource"], "unknown"]
    for resource_id in foreign:
        path = f"/virtualentity/{home_id}"
        replaced = await put(served, owner, path, caller, resources=links(resource_id))
        if caller == "administrator":  # it sees the home of every user
            assert replaced.status_code == 400, replaced.text
        joined = await served.call("POST", f"{path}/resources", owner.headers[caller], json={"resourceId": resource_id})
        for answer in (replaced, joined):
            assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT"), answer.text
    assert await resource_ids(served, owner, home_id) == set()


@pytest.mark.both_databases("a main path of its area")
async def test_new_home_has_no_resource_of_another_user(served: House) -> None:
    theirs = await (await resident(served.one)).add_resource()
    body = {"veTypeId": served.one.ids["virtual_entity_type"], "name": "Mine", "resources": links(theirs)}
    answer = await served.call("POST", "/virtualentity", served.one.headers["administrator"], json=body)
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -resources")


async def test_closed_home_is_opened_again_with_its_resources(served: House, owner: Tenant) -> None:
    resource_id = await owner.add_resource()
    home_id = await owner.add_home(resource_id)
    listed = {"query": "{ viewer { homes { edges { node { homeId } } } } }"}
    await served.call("DELETE", f"/virtualentity/{home_id}", owner.headers["account"])
    assert (await served.call("GET", "/virtualentity", owner.headers["account"])).json() == []
    opened = await put(served, owner, f"/virtualentity/{home_id}", active=True)
    assert opened.status_code == 201
    (home,) = (await served.call("GET", "/virtualentity", owner.headers["account"])).json()
    assert (home["active"], [item["resourceId"] for item in home["resources"]]) == (True, [resource_id])
    answer = await served.graphql(
        ("mutation ($id: ID!) { updateHome(homeId: $id, input: {active: false}) { ... on Home { active } } }"),
        owner.headers["account"],
        id=home_id,
    )
    assert answer["data"]["updateHome"] == {"active": False}
    homes = (await served.graphql(listed["query"], owner.headers["account"]))["data"]["viewer"]["homes"]
    assert homes == {"edges": []}


async def test_closed_home_takes_and_gives_no_resource_until_it_is_open(served: House, owner: Tenant) -> None:
    inside, outside = await owner.add_resource(), await owner.add_resource()
    home_id = await owner.add_home(inside)
    path = f"/virtualentity/{home_id}"
    await served.call("DELETE", path, owner.headers["account"])
    answers = [
        await served.call("POST", f"{path}/resources", owner.headers["account"], json={"resourceId": outside}),
        await served.call("DELETE", f"{path}/resources/{inside}", owner.headers["account"]),
        await put(served, owner, path, resources=links(outside)),
    ]
    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")
        assert "closed" in answer.json()["error"]
    opened = await put(served, owner, path, active=True, resources=links(outside))
    assert opened.status_code == 201, opened.text
    assert await resource_ids(served, owner, home_id) == {outside}


@pytest.mark.parametrize("body", [{"active": None}, {"resources": None}])
async def test_null_is_no_value_for_resources_and_active(served: House, owner: Tenant, body: dict[str, Any]) -> None:
    home_id = await owner.add_home()
    answer = await put(served, owner, f"/virtualentity/{home_id}", **body)
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT")


@pytest.mark.both_databases("a main path of its area")
async def test_home_of_another_user_does_not_change(served: House, owner: Tenant) -> None:
    home_id, stranger = await owner.add_home(), await resident(served.one)
    own = await stranger.add_resource()
    path = f"/virtualentity/{home_id}"
    answers = [
        await put(served, stranger, path, resources=links(own)),
        await put(served, stranger, path, active=False),
        await served.call("POST", f"{path}/resources", stranger.headers["account"], json={"resourceId": own}),
        await served.call("DELETE", f"{path}/resources/{own}", stranger.headers["account"]),
    ]
    assert {answer.status_code for answer in answers} == {404}
