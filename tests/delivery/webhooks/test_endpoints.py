"""Registration and management of endpoints with GraphQL and REST, and their secrets."""

import asyncio
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook as Verifier

from tests.support.house import House, settle
from tests.support.refusals import refusal_of
from tests.support.schema import bring_up
from tests.support.servers import Databases, serving
from tests.support.sinks import Sink
from wattgate.app.server.factory import build_gateway, create_app
from wattgate.app.settings import Settings
from wattgate.delivery.channels.webhook import decode_secret, matches_any
from wattgate.delivery.webhook_event_codes import EVENT_DESCRIPTIONS

NEW = {"url": "https://hooks.invalid/events?app=1", "events": ["alert.*", "consent.revoked"]}
PATH = "/webhook/endpoint"


async def add_endpoint(served: House, **changed: Any) -> dict[str, Any]:
    response = await served.call("POST", PATH, served.one.headers["application"], json={**NEW, **changed})
    assert response.status_code == 201, response.text
    return dict(response.json())


async def test_registered_endpoint_is_listed_and_changed_with_graphql_and_rest(served: House) -> None:
    headers = served.one.headers["administrator"]
    issued = await add_endpoint(served, description="The shop")
    endpoint = issued["endpoint"]
    assert (endpoint["url"], endpoint["events"], endpoint["ordered"]) == (NEW["url"], NEW["events"], True)
    listed = (await served.call("GET", PATH, headers)).json()
    assert endpoint in listed
    mutation = (
        "mutation ($id: ID!, $input: WebhookEndpointChange!) { updateWebhookEndpoint(endpointId: $id, input: $input)"
    )
    mutation += " { ... on WebhookEndpoint { description enabled ordered events } } }"
    changes = {"enabled": False, "ordered": False, "events": ["*"]}
    response = await served.graphql(mutation, headers, id=endpoint["endpointId"], input=changes)
    assert response["data"]["updateWebhookEndpoint"] == {**changes, "description": "The shop"}
    path = f"{PATH}/{endpoint['endpointId']}"
    assert (await served.call("GET", path, headers)).json()["enabled"] is False
    assert (await served.call("DELETE", path, headers)).status_code == 200
    assert (await served.call("GET", path, headers)).status_code == 404


async def test_secret_is_returned_only_when_it_is_created(served: House) -> None:
    headers = served.one.headers["application"]
    issued = await add_endpoint(served)
    endpoint_path = f"{PATH}/{issued['endpoint']['endpointId']}"
    assert len(decode_secret(issued["secret"])) == 32
    rotated = (await served.call("POST", f"{endpoint_path}/secret", headers)).json()
    assert rotated["secret"] != issued["secret"]
    assert rotated["endpoint"]["secretExpiresAt"] is not None
    at_once = (await served.call("POST", f"{endpoint_path}/secret", headers, json={"overlapHours": 0})).json()
    assert at_once["endpoint"]["secretExpiresAt"] is None
    for path in (PATH, endpoint_path):
        assert "whsec_" not in (await served.call("GET", path, headers)).text
    response = await served.graphql(
        "{ application { webhookEndpoints { edges { node { endpointId secret } } } } }", headers
    )
    assert refusal_of(response)["message"] == "Cannot query field 'secret' on type 'WebhookEndpoint'."


@pytest.mark.parametrize("hours", [-1, 169, 2**31 - 1])
async def test_overlap_of_secrets_is_limited(served: House, hours: int) -> None:
    path = f"{PATH}/{served.one.ids['webhook_endpoint']}/secret"
    response = await served.call("POST", path, served.one.headers["application"], json={"overlapHours": hours})
    assert response.status_code == 400


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
async def test_invalid_endpoint_is_rejected_with_the_path_of_the_problem(
    served: House, changed: dict[str, Any], path: str
) -> None:
    headers = served.one.headers["application"]
    added = await served.call("POST", PATH, headers, json={**NEW, **changed})
    assert added.status_code == 400
    endpoint_path = f"{PATH}/{served.one.ids['webhook_endpoint']}"
    updated = await served.call("PUT", endpoint_path, headers, json=changed)
    assert updated.status_code == 400
    mutation = (
        "mutation ($input: NewWebhookEndpoint!) { createWebhookEndpoint(input: $input) {"
        " ... on IssuedSecret { secret } ...Refused } }"
    )
    response = await served.graphql(mutation, headers, input={**NEW, **changed})
    assert refusal_of(response)["problems"][0]["path"][:2] == ["input", path]


async def test_required_fields_of_an_endpoint_cannot_be_set_to_null(served: House) -> None:
    path = f"{PATH}/{served.one.ids['webhook_endpoint']}"
    for name in ("url", "events", "enabled", "ordered", "description"):
        response = await served.call("PUT", path, served.one.headers["application"], json={name: None})
        assert response.status_code == 400, name


async def test_users_cannot_see_the_endpoints_of_their_application(served: House) -> None:
    headers = served.one.headers["account"]
    assert (await served.call("GET", PATH, headers)).status_code == 403
    response = await served.graphql("{ viewer { webhooks { edges { node { endpoint { url } } } } } }", headers)
    edges = response["data"]["viewer"]["webhooks"]["edges"]
    assert all(edge["node"]["endpoint"] is None for edge in edges)


async def test_number_of_endpoints_of_an_application_is_limited(served: House) -> None:
    headers = served.other.headers["application"]
    existing = len((await served.call("GET", PATH, headers)).json())
    added = []
    for _ in range(50 - existing):
        response = await served.call("POST", PATH, headers, json={**NEW, "enabled": False})
        added.append(response.json()["endpoint"]["endpointId"])
    assert (await served.call("POST", PATH, headers, json=NEW)).status_code == 400
    for endpoint_id in added:
        await served.call("DELETE", f"{PATH}/{endpoint_id}", headers)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", set(EVENT_DESCRIPTIONS)),
        ("alert.*", {code for code in EVENT_DESCRIPTIONS if code.startswith("alert.")}),
        ("alert.sent", {"alert.sent"}),
        ("alert.notification.*.sent", {f"alert.notification.{one}.sent" for one in ("email", "push", "inbox")}),
        ("*.revoked", {"consent.revoked"}),
        ("alert", set()),
        ("alert.sent.*", set()),
    ],
)
def test_pattern_matches_event_codes(pattern: str, expected: set[str]) -> None:
    assert {code for code in EVENT_DESCRIPTIONS if matches_any([pattern], code)} == expected


async def wait_until_complete(http: httpx.AsyncClient, webhook_id: str) -> dict[str, Any]:
    """Poll a webhook until it is complete or failed, and return it."""
    for _ in range(600):
        webhook = {row["webhookId"]: row for row in (await http.get("/webhook")).json()}[webhook_id]
        if webhook["status"] != "pending":
            break
        await asyncio.sleep(0.05)
    return dict(webhook)


@pytest.mark.long("starts a gateway process; the allowed networks have shorter tests")
async def test_running_gateway_delivers_to_networks_of_its_settings(databases: Databases, receiver: Sink) -> None:
    async with databases() as url:
        settings = Settings(
            _env_file=None, database_url=url, callout_networks=["127.0.0.0/8"], callout_http=True, drain_seconds=0
        )
        gateway = build_gateway(settings)
        await bring_up(gateway.database)
        tenant = await settle(gateway, "served")
        async with (
            serving(create_app(settings)) as address,
            httpx.AsyncClient(base_url=f"{address}/api/v0-1", headers=tenant.headers["application"]) as http,
        ):
            issued = (await http.post(PATH, json={**NEW, "url": receiver.url})).json()
            sent = (await http.post(f"{PATH}/{issued['endpoint']['endpointId']}/ping")).json()
            record = await wait_until_complete(http, sent["webhookId"])
        await gateway.database.close()
    assert record["status"] == "complete"
    assert Verifier(issued["secret"]).verify(receiver.received[0].body.decode(), receiver.received[0].headers)
