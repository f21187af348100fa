"""Purposes of homes and their types, and of flexibility events."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from tests.rest_compat.purposes.walk import Person, Walk, nodes

HOMES = "{ viewer { homes { edges { node { homeId name } } } } }"


async def new_resource(walk: Walk, person: Person) -> str:
    """Add a resource of a person over GraphQL and return its ID."""
    mutation = "mutation ($i: NewResource!) { createResource(input: $i) { ... on Resource { resourceId } ...Refused } }"
    new = {"resourceTypeId": walk.tenant.ids["resource_type"], "name": "electricity"}
    return str((await walk.graphql(mutation, person.acting, i=new))["resourceId"])


async def home_of(walk: Walk, ve_id: str, person: Person) -> Any:
    fields = "name active attributes resources { resourceId }"
    return await walk.node("Home", ve_id, fields, person.token)


async def walk_homes(walk: Walk) -> None:
    person = await walk.person()
    type_id, resource_id = walk.tenant.ids["virtual_entity_type"], await new_resource(walk, person)
    before = await walk.query("application_statistics", walk.application)
    with walk.purpose("/virtualentity", "add virtual entities"):
        body = {"veTypeId": type_id, "name": "First", "resources": [{"resourceId": resource_id}]}
        first = (await walk.rest("POST", "/virtualentity", person.token, json=body))["veId"]
        home = await home_of(walk, first, person)
        assert (home["name"], home["resources"]) == ("First", [{"resourceId": resource_id}])
    mutation = "mutation ($i: NewHome!) { createHome(input: $i) { ... on Home { homeId } ...Refused } }"
    new = {"homeTypeId": type_id, "name": "Second", "postalCode": "A1 1AA"}
    second = (await walk.graphql(mutation, person.token, i=new))["homeId"]
    with walk.purpose("/virtualentity/{id}", "find"):
        found = await walk.rest("GET", f"/virtualentity/{second}", person.token)
        assert (found["name"], found["postalCode"], found["ownerId"]) == ("Second", "A1 1AA", person.user_id)
    with walk.purpose("/virtualentity", "list"):
        listed = {(each["veId"], each["name"]) for each in await walk.rest("GET", "/virtualentity", person.token)}
        assert listed == {(first, "First"), (second, "Second")}
        homes = nodes((await walk.graphql(HOMES, person.token))["homes"])
        assert listed == {(each["homeId"], each["name"]) for each in homes}
    with walk.purpose("/virtualentity/{id}", "update"):
        await walk.rest("PUT", f"/virtualentity/{first}", person.token, json={"name": "Renamed"})
        assert (await home_of(walk, first, person))["name"] == "Renamed"
    with walk.purpose("/virtualentity/{id}/resources", "resources belonging to the virtual entity"):
        added = await new_resource(walk, person)
        join = """mutation ($v: ID!, $r: ID!) {
            addResourceToHome(homeId: $v, resourceId: $r) { ... on Home { homeId } ...Refused } }"""
        await walk.graphql(join, person.token, v=first, r=added)
        answer = await walk.rest("GET", f"/virtualentity/{first}/resources", person.token)
        assert {each["resourceId"] for each in answer["resources"]} == {resource_id, added}
    with walk.purpose("/vesys/appstats", "count of virtual entities per application"):
        after = await walk.rest("GET", "/vesys/appstats", walk.application)
        assert after["totalVirtualEntities"] == before["totalVirtualEntities"] + 2
    with walk.purpose("/virtualentity/{id}", "delete a virtual entity"):
        await walk.rest("DELETE", f"/virtualentity/{first}", person.token)
        homes = nodes((await walk.graphql(HOMES, person.token))["homes"])
        assert [each["homeId"] for each in homes if each["homeId"] != first] == [second]
        assert (await home_of(walk, first, person))["active"] is False


async def walk_attributes(walk: Walk) -> None:
    person, path = await walk.person(), "/virtualentity/{id}/attribute"
    mutation = "mutation ($i: NewHome!) { createHome(input: $i) { ... on Home { homeId } ...Refused } }"
    new = {"homeTypeId": walk.tenant.ids["virtual_entity_type"], "name": "Home"}
    ve_id = (await walk.graphql(mutation, person.token, i=new))["homeId"]
    own = f"/virtualentity/{ve_id}/attribute"
    with walk.purpose(path, "add or update"):
        await walk.rest("POST", own, person.token, json={"rooms": 3, "kind": "flat"})
        await walk.rest("POST", own, person.token, json={"rooms": 4})
        assert (await home_of(walk, ve_id, person))["attributes"] == {"rooms": 4, "kind": "flat"}
    with walk.purpose(path, "find"):
        change = (
            "mutation ($v: ID!, $a: JSON!) { setHomeAttributes(homeId: $v, attributes: $a) {"
            " ... on Home { homeId } ...Refused } }"
        )
        await walk.graphql(change, person.token, v=ve_id, a={"floors": 2})
        expected = {"rooms": 4, "kind": "flat", "floors": 2}
        assert (await walk.rest("GET", own, person.token))["attribute"] == expected
    with walk.purpose(path, "delete metadata"):
        await walk.rest("DELETE", own, person.token, json={"removeAttributes": {"kind": ""}})
        assert (await home_of(walk, ve_id, person))["attributes"] == {"rooms": 4, "floors": 2}


async def walk_satisfaction(walk: Walk) -> None:
    person, type_id = await walk.person(), walk.tenant.ids["virtual_entity_type"]
    path = "/vetype/{id}/resources"
    with walk.purpose(path, "a user's resources satisfying the resource types of the virtual entity type"):
        resource_id = await new_resource(walk, person)
        await new_resource(walk, await walk.person())
        answer = await walk.rest("GET", f"/vetype/{type_id}/resources", person.token)
        assert answer == await walk.query("virtual_entity_type_resources", person.token, veTypeId=type_id)
        assert resource_id in str(answer["resources"])
        assert str(answer["resources"]).count("'resourceId':") == 1


async def walk_flexibility(walk: Walk) -> None:
    person, app = await walk.person(), walk.application
    numbers = [str(uuid4().int)[:13] for _ in range(2)]
    for number in numbers:
        verify = (
            "mutation ($m: MeterPointNumber!) { verifyMeterPoint(meterPointNumber: $m) {"
            " ... on MeterPointConsent { state } ...Refused } }"
        )
        await walk.graphql(verify, person.acting, m=number)
    enrolments = "{ viewer { flexibilityEnrolments { meterPointNumber active } } }"
    with walk.purpose("/dfs/user", "opt in for a meter point"):
        assert await walk.refused("POST", "/dfs/user", person.token) == 400, "the user has two meter points"
        for number in numbers:
            await walk.rest("POST", "/dfs/user", person.token, json={"mpxn": number})
        found = (await walk.graphql(enrolments, person.token))["flexibilityEnrolments"]
        assert {each["meterPointNumber"] for each in found if each["active"]} == set(numbers)
    with walk.purpose("/dfs/user", "list users opted in"):
        everyone = await walk.rest("GET", "/dfs/user", app)
        assert {each["mpxn"] for each in everyone if each["userId"] == person.user_id} == set(numbers)
    with walk.purpose("/dfs/user", "opt out"):
        await walk.rest("DELETE", "/dfs/user", person.token, json={"mpxn": numbers[1]})
        found = (await walk.graphql(enrolments, person.token))["flexibilityEnrolments"]
        assert {each["meterPointNumber"] for each in found if each["active"]} == {numbers[0]}
    event_id = await _open_event(walk)
    with walk.purpose("/dfs/event/user/participation", "indicate a user participating in an event"):
        await walk.rest("POST", "/dfs/event/user/participation", person.token, json={"dfsEventId": event_id})
        query = (
            "{ viewer { flexibilityParticipations { edges { node { meterPointNumber event {"
            " flexibilityEventId } } } } } }"
        )
        joined = nodes((await walk.graphql(query, person.token))["flexibilityParticipations"])
        assert joined == [{"meterPointNumber": numbers[0], "event": {"flexibilityEventId": event_id}}]
    other = await _open_event(walk)
    join = (
        "mutation ($e: ID!) { joinFlexibilityEvent(flexibilityEventId: $e) {"
        " ... on FlexibilityParticipations { items { meterPointNumber } } ...Refused } }"
    )
    await walk.graphql(join, person.token, e=other)
    with walk.purpose("/dfs/event/user", "events a user signed up for"):
        events = await walk.rest("GET", "/dfs/event/user", person.token)
        assert {event["dfsEventId"] for event in events} == {event_id, other}
    with walk.purpose("/dfs/event/{dfsEventId}/user", "users who participated in an event"):
        users = await walk.rest("GET", f"/dfs/event/{other}/user", app)
        assert [(each["userId"], each["mpxn"]) for each in users] == [(person.user_id, numbers[0])]


async def _open_event(walk: Walk) -> str:
    """Add an event over GraphQL and open it."""
    start = datetime.now(UTC) + timedelta(days=1)
    event = {
        "name": "Evening",
        "startsAt": start.isoformat(),
        "endsAt": (start + timedelta(hours=1)).isoformat(),
        "reward": "3",
        "currency": "GBP",
    }
    add = (
        "mutation ($i: NewFlexibilityEvent!) { createFlexibilityEvent(input: $i) {"
        " ... on FlexibilityEvent { flexibilityEventId } ...Refused } }"
    )
    event_id = str((await walk.graphql(add, walk.application, i=event))["flexibilityEventId"])
    move = (
        "mutation ($e: ID!) { setFlexibilityEventState(flexibilityEventId: $e, state: OPEN) {"
        " ... on FlexibilityEvent { state } ...Refused } }"
    )
    await walk.graphql(move, walk.application, e=event_id)
    return event_id


JOURNEYS = (walk_homes, walk_attributes, walk_satisfaction, walk_flexibility)
