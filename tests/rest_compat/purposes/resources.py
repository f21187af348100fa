"""Purposes of resources, their types, readings and tariffs."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from tests.rest_compat.purposes.walk import Person, Walk, nodes
from tests.support.metering import metered

RECORD = "mutation ($s: [NewReadings!]!) { recordReadings(series: $s) { ... on Recorded { recorded } ...Refused } }"
STORAGE = [
    {
        "type": "timeseries",
        "sampling": "regular",
        "start": "2014-01-06T00:00:00+01:00",
        "fields": [{"fieldName": "ENERGY", "unit": "kWh", "datatype": "fixedpoint(3)", "negative": False}],
    }
]
RANGE = {"start": "2026-03-01T00:00:00Z", "end": "2026-03-01T02:00:00Z"}
TIMES = ("2026-03-01T00:00:00Z", "2026-03-01T00:30:00Z", "2026-03-01T01:30:00Z")


def epoch(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


async def walk_resource_types(walk: Walk) -> None:
    administrator, app = walk.tenant.headers["administrator"], walk.application
    body = {"name": "gas", "classifier": "gas.consumption", "storage": STORAGE, "description": "Gas"}
    with walk.purpose("/resourcetype", "POST"):
        first = (await walk.rest("POST", "/resourcetype", administrator, json=body))["resourceTypeId"]
        fields = "name classifier description storage { start fields { fieldName unit } }"
        shown = await walk.node("ResourceType", first, fields, app)
        (storage,) = shown.pop("storage")
        assert storage == {"start": STORAGE[0]["start"], "fields": [{"fieldName": "ENERGY", "unit": "kWh"}]}
        assert shown == {name: body[name] for name in shown}
    add = (
        "mutation ($i: NewResourceType!) { createResourceType(input: $i) {"
        " ... on ResourceType { resourceTypeId } ...Refused } }"
    )
    second = (await walk.graphql(add, administrator, i={**body, "name": "other gas"}))["resourceTypeId"]
    with walk.purpose("/resourcetype/{id}", "find a resource type"):
        found = await walk.rest("GET", f"/resourcetype/{second}", app)
        assert (found["name"], found["classifier"]) == ("other gas", "gas.consumption")
        assert found["storage"][0]["fields"] == STORAGE[0]["fields"]
    with walk.purpose("/resourcetype", "list resource types"):
        listed = {each["resourceTypeId"] for each in await walk.rest("GET", "/resourcetype", app)}
        query = "{ application { resourceTypes(first: 100) { edges { node { resourceTypeId } } } } }"
        assert listed == {each["resourceTypeId"] for each in nodes((await walk.graphql(query, app))["resourceTypes"])}
        assert {first, second} <= listed
    await _walk_resources(walk, second)


async def _walk_resources(walk: Walk, type_id: str) -> None:
    """Add resources of a new type for two people, and read the lists of each and of all."""
    person, other, app = await walk.person(), await walk.person(), walk.application
    with walk.purpose("/resource", "add a resource"):
        body = {"resourceTypeId": type_id, "name": "gas", "description": "In the hall"}
        first = (await walk.rest("POST", "/resource", person.acting, json=body))["resourceId"]
        shown = await walk.node("Resource", first, "resourceTypeId name description ownerId", person.token)
        assert shown == {**body, "ownerId": person.user_id}
    add = "mutation ($i: NewResource!) { createResource(input: $i) { ... on Resource { resourceId } ...Refused } }"
    second = (await walk.graphql(add, other.acting, i=body))["resourceId"]
    with walk.purpose("/resource/{id}", "find a resource"):
        found = await walk.rest("GET", f"/resource/{second}", other.token)
        assert (found["ownerId"], found["description"]) == (other.user_id, "In the hall")
    with walk.purpose("/resource", "list resources per user or application"):
        assert [each["resourceId"] for each in await walk.rest("GET", "/resource", other.token)] == [second]
        everyone = {each["resourceId"] for each in await walk.rest("GET", "/resource", app)}
        query = "{ application { resources(first: 100) { edges { node { resourceId } } } } }"
        assert everyone == {each["resourceId"] for each in nodes((await walk.graphql(query, app))["resources"])}
        assert {first, second} <= everyone
    with walk.purpose("/resourcetype/{id}/resource", "resources of that type belonging to a user"):
        of_type = await walk.rest("GET", f"/resourcetype/{type_id}/resource", person.token)
        assert [each["resourceId"] for each in of_type] == [first]
    with walk.purpose("/resourcetype/{id}/appresource", "resources of that type the application can access"):
        of_type = await walk.rest("GET", f"/resourcetype/{type_id}/appresource", app)
        assert {each["resourceId"] for each in of_type} == {first, second}
    with walk.purpose("/resource/count", "count of resources per resource type"):
        counts = {each["resourceTypeId"]: each for each in await walk.rest("GET", "/resource/count", person.token)}
        assert (counts[type_id]["count"], counts[type_id]["resourceIdList"]) == (1, [first])
        assert list(counts.values()) == await walk.query("resource_counts", person.token)


async def _recorded(walk: Walk, person: Person) -> str:
    """Record three half hours and a power of a new resource over GraphQL, and return its ID."""
    add = "mutation ($i: NewResource!) { createResource(input: $i) { ... on Resource { resourceId } ...Refused } }"
    new = {"resourceTypeId": walk.tenant.ids["resource_type"], "name": "electricity"}
    resource_id = (await walk.graphql(add, person.acting, i=new))["resourceId"]
    values = [{"at": at, "value": value} for at, value in zip(TIMES, ("0.125", "0.25", "1.5"), strict=True)]
    now = datetime.now(UTC).replace(microsecond=0).isoformat()
    series = [
        {"resourceId": resource_id, "field": "ENERGY", "readings": values},
        {"resourceId": resource_id, "field": "POWER", "readings": [{"at": now, "value": 640}]},
    ]
    assert await walk.graphql(RECORD, person.acting, s=series) == {"recorded": 4}
    return str(resource_id)


async def walk_readings(walk: Walk) -> None:
    person = await walk.person()
    resource_id = await _recorded(walk, person)
    path, asked = f"/resource/{resource_id}", "/resource/{id}"
    with walk.purpose(f"{asked}/readings", "readings"):
        params: dict[str, Any] = {"from": "2026-03-01T00:00:00", "to": "2026-03-01T01:59:59"}
        params |= {"period": "PT30M", "function": "sum", "nulls": 1}
        answer = await walk.rest("GET", f"{path}/readings", person.token, params=params)
        series = await walk.query("readings", person.token, resourceId=resource_id, range=RANGE, period="PT30M")
        assert answer["data"] == [[epoch(each["start"]), each["value"]] for each in series["buckets"]]
        assert [value for _, value in answer["data"]] == [0.125, 0.25, None, 1.5]
    with walk.purpose(f"{asked}/current", "current reading"):
        ((_, value),) = (await walk.rest("GET", f"{path}/current", person.token))["data"]
        current = (await walk.node("Resource", resource_id, "current { value }", person.token))["current"]
        assert (value, current) == (640, {"value": 640})
    with walk.purpose(f"{asked}/first-time", "UTC time of first available reading"):
        assert (await walk.rest("GET", f"{path}/first-time", person.token))["data"] == {"firstTs": epoch(TIMES[0])}
    with walk.purpose(f"{asked}/last-time", "UTC time of most recent reading"):
        last = (await walk.node("Resource", resource_id, "lastTime", person.token))["lastTime"]
        assert (await walk.rest("GET", f"{path}/last-time", person.token))["data"] == {"lastTs": epoch(last)}
        assert epoch(last) == epoch(TIMES[2]), "the newest half hour"
    with walk.purpose(f"{asked}/platformbinary", "raw data in the platform's binary format"):
        raw = await walk.query("raw_readings", person.token, resourceId=resource_id, field="ENERGY")
        assert raw["value"] == [0.125, 0.25, 1.5]
        answer = await walk.columns(f"{path}/platformbinary", person.token, params={"field": "ENERGY"})
        assert answer["value"] == raw["value"]
    await _walk_tariffs(walk, person, resource_id)


async def _walk_tariffs(walk: Walk, person: Person, resource_id: str) -> None:
    set_tariff = "mutation ($i: NewTariff!) { setTariff(input: $i) { ... on Tariff { tariffId } ...Refused } }"
    ids = []
    for name, start, rate in (("Old", "2024-01-01T00:00:00Z", "0.2"), ("New", "2025-01-01T00:00:00Z", "0.3")):
        tariff = {"resourceId": resource_id, "name": name, "kind": "FLAT", "currency": "GBP", "rate": rate}
        tariff |= {"validFrom": start, "standingCharge": "0.5", "timeZone": "Europe/London"}
        ids.append((await walk.graphql(set_tariff, person.acting, i=tariff))["tariffId"])
    with walk.purpose("/resource/{id}/tariff", "latest tariff applied"):
        (latest,) = (await walk.rest("GET", f"/resource/{resource_id}/tariff", person.token))["data"]
        assert (latest["id"], latest["name"]) == (ids[1], "New")
        assert latest["currentRates"] == {"rate": 30.0, "standingCharge": 50.0}
    with walk.purpose("/resource/{id}/tariff-list", "tariff history of a cost resource"):
        history = (await walk.rest("GET", f"/resource/{resource_id}/tariff-list", person.token))["data"]
        shown = (await walk.node("Resource", resource_id, "tariffs { tariffId name }", person.token))["tariffs"]
        assert [(each["id"], each["name"]) for each in history] == [(each["tariffId"], each["name"]) for each in shown]
        assert {each["id"] for each in history} == set(ids)


async def walk_network(walk: Walk) -> None:
    """Ask for readings of the meter network: a worker of the gateway stores them."""
    point, account = await metered(walk.tenant), walk.tenant.headers["account"]
    with walk.purpose("/resource/{id}/meterread", "cumulative value on the metering device"):
        ((at, value),) = (await walk.rest("GET", f"/resource/{point.resource_id}/meterread", account))["data"]
        shown = (await walk.node("Resource", point.resource_id, "meterRead { at value }", account))["meterRead"]
        assert (at, value) == (epoch(shown["at"]), shown["value"])
        assert value == 4711.25
        resource_id = walk.tenant.ids["resource"]
        assert await walk.refused("GET", f"/resource/{resource_id}/meterread", account) == 404
    clause = "trigger retrieval of the latest available readings from the data communications company"
    with walk.purpose("/resource/{id}/catchup", clause):
        answer = await walk.rest("GET", f"/resource/{point.resource_id}/catchup", account)
        fields = "catchUps { catchUpId state recorded finishedAt } rawReadings { value }"
        waiting = await walk.node("Resource", point.resource_id, fields, account)
        assert [each["catchUpId"] for each in waiting["catchUps"]] == [answer["data"]["catchUpId"]]
        async with asyncio.timeout(60):
            done = waiting
            while done["catchUps"][0]["finishedAt"] is None:
                await asyncio.sleep(0.02)
                done = await walk.node("Resource", point.resource_id, fields, account)
        assert [(each["state"], each["recorded"]) for each in done["catchUps"]] == [("DONE", 3)]
        assert done["rawReadings"]["value"] == [0.1, 0.2, 0.3]


JOURNEYS = (walk_resource_types, walk_readings, walk_network)
