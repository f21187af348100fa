"""Documents named by an id or a digest on each transport: POST, GET, WebSocket and event stream."""

import json
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.support.house import House, house
from tests.support.socket import socket
from wattgate.errors import PersistedQueryNotFound
from wattgate.operations import trusted_documents
from wattgate.operations.trusted_documents import NewDocument
from wattgate.realtime.apq_store import digest_of

TRANSPORTS = ("post", "get", "socket", "stream", "stream by get")
each_transport = pytest.mark.parametrize("transport", TRANSPORTS)

RequestBody = dict[str, Any]


@pytest.fixture(scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """Yield a gateway for this module only, because these tests restrict an application to registered documents."""
    folder: Path = tmp_path_factory.mktemp("persisted")
    async with house(f"sqlite:///{folder / 'house.sqlite3'}") as opened:
        yield opened


async def send(home: House, transport: str, body: RequestBody, headers: dict[str, str]) -> Any:
    """Return the result of a request, or the errors that rejected it."""
    accept = {"accept": "text/event-stream" if "stream" in transport else "application/json"}
    match transport:
        case "socket":
            return await _send_over_socket(home, body, headers)
        case "post" | "stream":
            answer = await home.http.post("/graphql", json=body, headers=headers | accept)
        case _:
            parameters = {name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()}
            answer = await home.http.get("/graphql", params=parameters, headers=headers | accept)
    assert answer.status_code < 500
    if answer.headers["content-type"].startswith("text/event-stream"):
        (data_line,) = [data_line for data_line in answer.text.splitlines() if data_line.startswith("data: {")]
        return json.loads(data_line[6:])
    return answer.json()


async def _send_over_socket(home: House, body: RequestBody, headers: dict[str, str]) -> Any:
    async with socket(home.url, headers=headers) as client:
        await client.init()
        await client.say(type="subscribe", id="1", payload=body)
        message = await client.hear()
        return {"errors": message["payload"]} if message["type"] == "error" else message["payload"]


def document() -> str:
    """Return a document that nobody has sent or registered."""
    return f"query Q{uuid4().hex} {{ __typename }}"


def digest_request(text: str, *, version: Any = 1) -> RequestBody:
    return {"extensions": {"persistedQuery": {"version": version, "sha256Hash": digest_of(text)}}}


async def register(home: House, text: str, document_id: str | None = None) -> str:
    new = [NewDocument(document_id or digest_of(text), text, "Q")]
    await home.gateway.runner.run(trusted_documents.register_documents, home.one.system, {"documents": new})
    return document_id or f"sha256:{digest_of(text)}"


async def require(home: House, required: bool) -> None:
    """Change the setting at the gateway that serves. At another process it takes effect within 5 seconds."""
    assert home.served_gateway is not None
    runner = home.served_gateway.runner
    await runner.run(trusted_documents.require_trusted_documents, home.one.system, {"required": required})


def first_error(answer: Any) -> tuple[str, str]:
    (error,) = answer["errors"]
    return error["extensions"]["code"], error["message"]


@pytest.mark.every_case("each case is another transport")
@each_transport
async def test_digest_of_a_sent_document_is_accepted_on_each_transport(home: House, transport: str) -> None:
    text, headers = document(), home.one.headers["account"]
    assert first_error(await send(home, transport, digest_request(text), headers)) == (
        "PERSISTED_QUERY_NOT_FOUND",
        "PersistedQueryNotFound",
    )
    sent = await send(home, transport, {"query": text, **digest_request(text)}, headers)
    assert sent["data"] == {"__typename": "Query"}
    for other in TRANSPORTS:
        assert (await send(home, other, digest_request(text), headers))["data"] == {"__typename": "Query"}


async def test_unknown_digest_gets_the_status_of_its_error(home: House) -> None:
    headers = home.one.headers["account"] | {"accept": "application/graphql-response+json"}
    answer = await home.http.post("/graphql", json=digest_request(document()), headers=headers)
    assert answer.status_code == PersistedQueryNotFound.status


@each_transport
async def test_invalid_document_is_not_stored(home: House, transport: str) -> None:
    text, headers = f"query Q{uuid4().hex} {{ nothing }}", home.one.headers["account"]
    assert first_error(await send(home, transport, {"query": text, **digest_request(text)}, headers))[0] == "BAD_INPUT"
    assert first_error(await send(home, transport, digest_request(text), headers))[0] == "PERSISTED_QUERY_NOT_FOUND"


INVALID_DIGESTS = {
    "another version": {"version": 2, "sha256Hash": digest_of("{ __typename }")},
    "no version": {"sha256Hash": digest_of("{ __typename }")},
    "no digest": {"version": 1},
    "too short": {"version": 1, "sha256Hash": "abc"},
    "a number": {"version": 1, "sha256Hash": 7},
    "of another document": {"version": 1, "sha256Hash": digest_of("another")},
    "a text": "text",
}


async def test_invalid_digest_is_rejected_on_each_transport(home: House, subtests: pytest.Subtests) -> None:
    for transport, (name, reference) in product(TRANSPORTS, INVALID_DIGESTS.items()):
        with subtests.test(f"{transport}: {name}"):
            body = {"query": "{ __typename }", "extensions": {"persistedQuery": reference}}
            assert first_error(await send(home, transport, body, home.one.headers["account"]))[0] == "BAD_INPUT"


@each_transport
async def test_registered_document_is_found_by_its_id(home: House, transport: str) -> None:
    headers, custom_id = home.one.headers["account"], f"build-{uuid4().hex}"
    for document_id in (await register(home, document()), await register(home, document(), custom_id)):
        assert (await send(home, transport, {"documentId": document_id}, headers))["data"] == {"__typename": "Query"}
        other = home.other.headers["account"]
        assert first_error(await send(home, transport, {"documentId": document_id}, other))[0] == "BAD_INPUT"
        id_and_query = {"documentId": document_id, "query": "{ __typename }"}
        assert "one document" in first_error(await send(home, transport, id_and_query, headers))[1]


@each_transport
async def test_empty_query_beside_an_id_or_digest_counts_as_none(home: House, transport: str) -> None:
    """The npm package graphql-ws sends no operation without a query."""
    text, headers = document(), home.one.headers["account"]
    assert (
        first_error(await send(home, transport, {"query": "", **digest_request(text)}, headers))[0]
        == "PERSISTED_QUERY_NOT_FOUND"
    )
    document_id = await register(home, text)
    for reference in ({"documentId": document_id}, digest_request(text)):
        assert (await send(home, transport, {"query": "", **reference}, headers))["data"] == {"__typename": "Query"}
    assert first_error(await send(home, transport, {"query": ""}, headers))[0] == "BAD_INPUT"


async def test_digest_of_a_registered_document_is_known_without_sending_it(home: House) -> None:
    text = document()
    await register(home, text)
    answer = await send(home, "post", digest_request(text), home.one.headers["account"])
    assert answer["data"] == {"__typename": "Query"}


@each_transport
async def test_application_can_accept_only_registered_documents(home: House, transport: str) -> None:
    registered, other, headers = document(), document(), home.one.headers["account"]
    document_id = await register(home, registered)
    await require(home, True)
    try:
        for body in ({"query": other}, {"query": other, **digest_request(other)}):
            assert first_error(await send(home, transport, body, headers))[0] == "FORBIDDEN"
        assert (
            first_error(await send(home, transport, digest_request(other), headers))[0] == "PERSISTED_QUERY_NOT_FOUND"
        )
        for body in ({"documentId": document_id}, {"query": registered}, digest_request(registered)):
            assert (await send(home, transport, body, headers))["data"] == {"__typename": "Query"}
        assert (await send(home, transport, {"query": other}, home.other.headers["account"]))["data"]
    finally:
        await require(home, False)


@pytest.mark.parametrize("transport", ["socket", "stream"])
async def test_registered_subscription_is_found_by_its_id(home: House, transport: str) -> None:
    text = f"subscription Q{uuid4().hex} {{ alerts(since: null) {{ alertId }} }}"
    document_id = await register(home, text)
    if transport == "socket":
        answer = await send(home, transport, {"documentId": document_id}, home.one.headers["account"])
        assert answer["data"] == {"alerts": None}
        return
    headers = {"accept": "text/event-stream", **home.one.headers["account"]}
    async with home.http.stream("POST", "/graphql", json={"documentId": document_id}, headers=headers) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                assert json.loads(line[6:])["data"] == {"alerts": None}
                break
