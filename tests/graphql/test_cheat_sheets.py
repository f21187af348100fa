"""Checks of OWASP's cheat sheets for GraphQL and WebSocket that no other test has.

docs/explanation/security-checks.md lists all checks with their tests.
"""

from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from tests.support.gateway_schema import SCHEMA
from tests.support.house import House
from tests.support.refusals import refusals, with_refusals

PROTOCOL = Subprotocol("graphql-transport-ws")


async def test_guesses_in_one_document_cost_more_than_the_maximum(served: House) -> None:
    """Each check of a password costs 1,000 units, so that aliases do not replace requests."""
    log_in = (
        'a{0}: authenticate(applicationId: "{1}", username: "user@one.example", password: "guess {0}") {{'
        " ... on Login {{ token }} ...Refused }}"
    )
    guesses = " ".join(log_in.format(n, served.one.application_id) for n in range(25))
    answer = (await served.http.post("/graphql", json={"query": with_refusals(f"mutation {{ {guesses} }}")})).json()
    assert answer.get("data") is None
    assert [error["code"] for error in refusals(answer)] == ["COST_TOO_HIGH"]


def test_no_field_of_a_federation_finds_records_of_any_type() -> None:
    """They would be a second way to every record, beside the operations and their permissions.

    `node` and `nodes` run these operations; `test_nodes` checks each of them.
    """
    query = SCHEMA.query_type
    assert query is not None
    assert {"_entities", "_service"} & set(query.fields) == set()


async def test_compression_is_not_negotiated(served: House) -> None:
    """The client offers permessage-deflate, as browsers do."""
    address = served.url.replace("http", "ws", 1) + "/graphql"
    async with connect(address, subprotocols=[PROTOCOL], compression="deflate") as client:
        assert client.protocol.extensions == []


async def test_old_versions_of_the_protocol_are_rejected(served: House) -> None:
    upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-protocol": PROTOCOL}
    hybi_00 = {"sec-websocket-key1": "4 @1  46546xW%0l 1 5", "sec-websocket-key2": "12998 5 Y3 1  .P00"}
    version_8 = {"sec-websocket-version": "8", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}
    for headers in (hybi_00, version_8):
        answer = await served.http.get("/graphql", headers={**upgrade, **headers})
        assert answer.status_code in (400, 426)
