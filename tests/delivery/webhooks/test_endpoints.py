"""Endpoints are registered and managed on both doors, and their secrets are told once."""

import asyncio
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook as Verifier

from tests.support.house import House, settle
from tests.support.schema import bring_up
from tests.support.servers import Databases, serving
from tests.support.sinks import Sink
from wattgate.app.server.factory import assemble, create_app
from wattgate.app.settings import Settings
from wattgate.delivery.channels.webhook import wants
from wattgate.delivery.http.signature import key_of
from wattgate.delivery.webhook_event_codes import EVENTS

NEW = {"url": "https://hooks.invalid/events?app=1", "events": ["alert.*", "consent.revoked"]}
PLACE = "/webhook/endpoint"


async def added(served: House, **changed: Any) -> dict[str, Any]:
    answer = await served.call("POST", PLACE, served.one.headers["application"], json={**NEW, **changed})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def test_a_registered_endpoint_is_listed_and_changed_on_both_doors(served: House) -> None:
    headers = served.one.headers["administrator"]
    issued = await added(served, description="The shop")
    endpoint = issued["endpoint"]
    assert (endpoint["url"], endpoint["events"], endpoint["ordered"]) == (NEW["url"], NEW["events"], True)
    listed = (await served.call("GET", PLACE, headers)).json()
    assert endpoint in listed
    change = (
        "mutation ($id: ID!, $input: WebhookEndpointChange!) { updateWebhookEndpoint(endpointId: $id, input: $input)"
    )
    change += " { description enabled ordered events } }"
    changed = {"enabled": False, "ordered": False, "events": ["*"]}
    told = await served.graphql(change, headers, id=endpoint["endpointId"], input=changed)
    assert told["data"]["updateWebhookEndpoint"] == {**changed, "description": "The shop"}
    one = f"{PLACE}/{endpoint['endpointId']}"
    assert (await served.call("GET", one, headers)).json()["enabled"] is False
    assert (await served.call("DELETE", one, headers)).status_code == 200
    assert (await served.call("GET", one, headers)).status_code == 404


async def test_a_secret_is_told_when_it_is_made_and_never_again(served: House) -> None:
    headers = served.one.headers["application"]
    issued = await added(served)
    one = f"{PLACE}/{issued['endpoint']['endpointId']}"
    assert len(key_of(issued["secret"])) == 32
    rotated = (await served.call("POST", f"{one}/secret", headers)).json()
    assert rotated["secret"] != issued["secret"]
    assert rotated["endpoint"]["secretExpiresAt"] is not None
    at_once = (await served.call("POST", f"{one}/secret", headers, json={"overlapHours": 0})).json()
    assert at_once["endpoint"]["secretExpiresAt"] is None
    for path in (PLACE, one):
        assert "whsec_" not in (await served.call("GET", path, headers)).text
    told = await served.graphql("{ webhookEndpoints { endpointId secret } }", headers)
    assert told["errors"][0]["message"] == "Cannot query field 'secret' on type 'WebhookEndpoint'."


@pytest.mark.parametrize("hours", [-1, 169, 2**31 - 1])
async def test_a_secret_is_not_good_for_long_beside_its_successor(served: House, hours: int) -> None:
    one = f"{PLACE}/{served.one.ids['webhook_endpoint']}/secret"
    answer = await served.call("POST", one, served.one.headers["application"], json={"overlapHours": hours})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"url": ""}, "url"),
        ({"url": "http://example.org/"}, "url"),
        ({"url": "https://127.0.0.1/"}, "url"),
        ({"url": "https://169.254.169.254/latest"}, "url"),
        ({"url": "https://user:secret@example.org/"}, "url"),
        ({"events": []}, "events"),
        ({"events": ["alert.*"] * 51}, "events"),
        ({"events": ["nothing.ever"]}, "events"),
        ({"events": ["alert.**"]}, "events"),
        ({"events": ["Alert.*"]}, "events"),
        ({"events": [""]}, "events"),
    ],
)
async def test_an_endpoint_that_cannot_be_is_refused_with_the_reason(
    served: House, changed: dict[str, Any], path: str
) -> None:
    headers = served.one.headers["application"]
    answer = await served.call("POST", PLACE, headers, json={**NEW, **changed})
    assert answer.status_code == 400
    one = f"{PLACE}/{served.one.ids['webhook_endpoint']}"
    again = await served.call("PUT", one, headers, json=changed)
    assert again.status_code == 400
    mutation = "mutation ($input: NewWebhookEndpoint!) { addWebhookEndpoint(input: $input) { secret } }"
    told = await served.graphql(mutation, headers, input={**NEW, **changed})
    assert told["errors"][0]["extensions"]["problems"][0]["path"][:2] == ["input", path]


async def test_what_an_endpoint_must_have_is_not_taken_away(served: House) -> None:
    one = f"{PLACE}/{served.one.ids['webhook_endpoint']}"
    for name in ("url", "events", "enabled", "ordered", "description"):
        answer = await served.call("PUT", one, served.one.headers["application"], json={name: None})
        assert answer.status_code == 400, name


async def test_users_do_not_see_where_their_application_is_told_of_events(served: House) -> None:
    headers = served.one.headers["account"]
    assert (await served.call("GET", PLACE, headers)).status_code == 403
    told = await served.graphql("{ webhooks { endpoint { url } } }", headers)
    assert all(one["endpoint"] is None for one in (told.get("data") or {}).get("webhooks") or [])


async def test_an_application_has_so_many_endpoints_and_no_more(served: House) -> None:
    headers = served.other.headers["application"]
    known = len((await served.call("GET", PLACE, headers)).json())
    made = []
    for _ in range(50 - known):
        answer = await served.call("POST", PLACE, headers, json={**NEW, "enabled": False})
        made.append(answer.json()["endpoint"]["endpointId"])
    assert (await served.call("POST", PLACE, headers, json=NEW)).status_code == 400
    for one in made:
        await served.call("DELETE", f"{PLACE}/{one}", headers)


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("*", set(EVENTS)),
        ("alert.*", {code for code in EVENTS if code.startswith("alert.")}),
        ("alert.sent", {"alert.sent"}),
        ("alert.notification.*.sent", {f"alert.notification.{one}.sent" for one in ("email", "push", "inbox")}),
        ("*.revoked", {"consent.revoked"}),
        ("alert", set()),
        ("alert.sent.*", set()),
    ],
)
def test_a_pattern_stands_for_events(pattern: str, wanted: set[str]) -> None:
    assert {code for code in EVENTS if wants([pattern], code)} == wanted


async def complete(http: httpx.AsyncClient, webhook_id: str) -> dict[str, Any]:
    """The record of a webhook as soon as it has come to an end."""
    for _ in range(600):
        found = {one["webhookId"]: one for one in (await http.get("/webhook")).json()}[webhook_id]
        if found["status"] != "pending":
            break
        await asyncio.sleep(0.05)
    return dict(found)


async def test_a_served_gateway_delivers_by_itself_to_networks_that_its_settings_name(
    databases: Databases, there: Sink
) -> None:
    async with databases() as url:
        settings = Settings(
            _env_file=None, database_url=url, callout_networks=["127.0.0.0/8"], callout_http=True, drain_seconds=0
        )
        gateway = assemble(settings)
        await bring_up(gateway.database)
        tenant = await settle(gateway, "served")
        async with (
            serving(create_app(settings)) as address,
            httpx.AsyncClient(base_url=f"{address}/api/v0-1", headers=tenant.headers["application"]) as http,
        ):
            issued = (await http.post(PLACE, json={**NEW, "url": there.url})).json()
            sent = (await http.post(f"{PLACE}/{issued['endpoint']['endpointId']}/ping")).json()
            record = await complete(http, sent["webhookId"])
        await gateway.database.close()
    assert record["status"] == "complete"
    assert Verifier(issued["secret"]).verify(there.received[0].body.decode(), there.received[0].headers)
