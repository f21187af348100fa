"""The demand flexibility service."""

import itertools
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from tests.support import people
from tests.support.house import House, Tenant, basic, operation
from tests.support.refusals import refusal_of
from tests.support.socket import socket
from wattgate.enums import DfsEventState
from wattgate.operations.flexibility import ALLOWED_TRANSITIONS
from wattgate.operations.types.content.flexibility import NewDfsEvent
from wattgate.operations.vocabulary.scalars import Currency
from wattgate.principal import Principal, Role

MOVE = (
    "mutation ($id: ID!, $to: FlexibilityEventState!) { setFlexibilityEventState(flexibilityEventId: $id, state: $to) {"
    " ... on FlexibilityEvent { state } ...Refused } }"
)


async def announce(tenant: Tenant) -> str:
    start = datetime.now(UTC) + timedelta(days=1)
    event = NewDfsEvent(
        name="Evening",
        starts_at=start,
        ends_at=start + timedelta(hours=1),
        reward=Decimal(3),
        currency=Currency("GBP"),
    )
    return str((await tenant.run("add_dfs_event", input=event)).dfs_event_id)


async def move(house: House, event_id: str, to: str, tenant: Tenant | None = None) -> Any:
    return await house.graphql(MOVE, (tenant or house.one).headers["application"], id=event_id, to=to)


async def test_event_moves_from_announced_to_settled(served: House) -> None:
    event_id = await announce(served.one)
    for state in ("OPEN", "ACTIVE", "ENDED", "SETTLED"):
        response = await move(served, event_id, state)
        assert response["data"]["setFlexibilityEventState"]["state"] == state


def test_only_listed_transitions_are_allowed() -> None:
    order = [
        DfsEventState.ANNOUNCED,
        DfsEventState.OPEN,
        DfsEventState.ACTIVE,
        DfsEventState.ENDED,
        DfsEventState.SETTLED,
    ]
    allowed = {*itertools.pairwise(order), *((before, DfsEventState.CANCELLED) for before in order[:3])}
    assert {(before, after) for before in DfsEventState for after in ALLOWED_TRANSITIONS[before]} == allowed


async def test_disallowed_transition_is_a_conflict(served: House) -> None:
    response = await move(served, await announce(served.one), "ENDED")
    assert refusal_of(response)["code"] == "CONFLICT"


async def test_only_opted_in_users_join_and_only_while_the_event_is_open(served: House) -> None:
    event_id, headers = await announce(served.one), served.one.headers["account"]
    path = "/dfs/event/user/participation"
    early = await served.call("POST", path, headers, json={"dfsEventId": event_id})
    assert (early.status_code, early.json()["code"]) == (409, "CONFLICT")
    await move(served, event_id, "OPEN")
    joined = await served.call("POST", path, headers, json={"dfsEventId": event_id})
    assert joined.status_code == 200
    again = await served.call("POST", path, headers, json={"dfsEventId": event_id})
    assert len(again.json()) == len(joined.json())  # joining again changes nothing
    mine = (await served.call("GET", "/dfs/event/user", headers)).json()
    assert [event["reward"] for event in mine if event["dfsEventId"] == event_id] == [300.0]  # pence in REST
    query = (
        "{ viewer { flexibilityParticipations { edges { node { event { flexibilityEventId reward {"
        " amount currency per } } } } } } }"
    )
    found = (await served.graphql(query, headers))["data"]["viewer"]["flexibilityParticipations"]["edges"]
    rewards = {each["node"]["event"]["flexibilityEventId"]: each["node"]["event"]["reward"] for each in found}
    assert rewards[event_id] == {"amount": "3", "currency": "GBP", "per": "KILOWATT_HOUR"}
    participants = await served.call("GET", f"/dfs/event/{event_id}/user", served.one.headers["application"])
    assert {participant["userId"] for participant in participants.json()} == {served.one.user_id}
    strangers = await served.call("POST", path, served.other.headers["account"], json={"dfsEventId": event_id})
    assert (strangers.status_code, strangers.json()["error"]) == (400, "incorrect elements -dfsEventId")


async def test_meter_point_is_required_only_if_the_user_has_several(served: House) -> None:
    tenant, who = served.other, await people.active(served.other)
    headers = {**basic(who["username"], people.PASSWORD), "applicationId": tenant.application_id}
    user = Principal(Role.SYSTEM, application_id=tenant.application_id, user_id=who["userId"])
    first, second = (str(uuid4().int)[:13] for _ in range(2))
    await tenant.gateway.runner.run(operation("verify_meter_point"), user, {"mpxn": first})
    alone = await served.call("POST", "/dfs/user", headers, json={})
    assert (alone.status_code, alone.json()["mpxn"]) == (200, first)
    await tenant.gateway.runner.run(operation("verify_meter_point"), user, {"mpxn": second})
    unclear = await served.call("POST", "/dfs/user", headers, json={})
    assert (unclear.status_code, unclear.json()["error"]) == (400, "missing elements -mpxn")
    named = await served.call("POST", "/dfs/user", headers, json={"mpxn": second})
    assert named.json()["mpxn"] == second
    stranger = await served.call("POST", "/dfs/user", headers, json={"mpxn": served.one.ids["mpxn"]})
    assert (stranger.status_code, stranger.json()["error"]) == (400, "incorrect elements -mpxn")
    event_id = await announce(tenant)
    await move(served, event_id, "OPEN", tenant)
    await tenant.gateway.runner.run(operation("revoke_consents"), user, {"mpxns": [second]})
    joined = await served.call("POST", "/dfs/event/user/participation", headers, json={"dfsEventId": event_id})
    assert {participation["mpxn"] for participation in joined.json()} == {first}, "the consent of the other has ended"
    out = await served.call("DELETE", "/dfs/user", headers, json={"mpxn": second})
    assert [opt_in["active"] for opt_in in out.json()] == [False]
    assert second not in [opt_in["mpxn"] for opt_in in (await served.call("GET", "/dfs/user", headers)).json()]


async def test_event_in_the_past_or_without_duration_is_rejected(served: House) -> None:
    document = (
        "mutation ($e: NewFlexibilityEvent!) { createFlexibilityEvent(input: $e) {"
        " ... on FlexibilityEvent { flexibilityEventId } ...Refused } }"
    )
    event = {
        "name": "x",
        "startsAt": "2020-01-01T00:00:00Z",
        "endsAt": "2020-01-01T00:00:00Z",
        "reward": 1,
        "currency": "GBP",
    }
    response = await served.graphql(document, served.one.headers["application"], e=event)
    arguments = [problem["path"][-1] for problem in refusal_of(response)["problems"]]
    assert arguments == ["endsAt", "startsAt"]


async def test_reward_in_a_currency_that_the_gateway_does_not_have_is_rejected(served: House) -> None:
    document = (
        "mutation ($e: NewFlexibilityEvent!) { createFlexibilityEvent(input: $e) {"
        " ... on FlexibilityEvent { flexibilityEventId } ...Refused } }"
    )
    times = {"startsAt": "2900-01-01T00:00:00Z", "endsAt": "2900-01-01T01:00:00Z"}
    event = {"name": "x", **times, "reward": 1, "currency": "USD"}
    response = await served.graphql(document, served.one.headers["application"], e=event)
    assert refusal_of(response)["message"] == "Rewards are in GBP."


@pytest.mark.parametrize("reward", ["1e20", "0.000000001"])
async def test_reward_that_cannot_be_stored_is_rejected(served: House, reward: str) -> None:
    document = (
        "mutation ($e: NewFlexibilityEvent!) { createFlexibilityEvent(input: $e) {"
        " ... on FlexibilityEvent { flexibilityEventId } ...Refused } }"
    )
    event = {
        "name": "x",
        "startsAt": "2900-01-01T00:00:00Z",
        "endsAt": "2900-01-01T01:00:00Z",
        "reward": reward,
        "currency": "GBP",
    }
    response = await served.graphql(document, served.one.headers["application"], e=event)
    assert [problem["path"] for problem in refusal_of(response)["problems"]] == [["input", "reward"]]


async def test_subscription_publishes_changes_of_events(served: House) -> None:
    event_id = await announce(served.one)
    async with socket(served.url) as client:
        await client.init(**served.one.headers["account"])
        await client.subscribe("subscription { flexibilityEventChanges(since: null) { flexibilityEventId state } }")
        while (await client.payload())["extensions"]["position"] == "":  # until the subscription is active
            continue
        document = (
            "mutation ($id: ID!) { setFlexibilityEventState(flexibilityEventId: $id, state: OPEN) {"
            " ... on FlexibilityEvent { state } ...Refused } }"
        )
        await served.graphql(document, served.one.headers["application"], id=event_id)
        assert (await client.payload())["data"]["flexibilityEventChanges"] == {
            "flexibilityEventId": event_id,
            "state": "OPEN",
        }
