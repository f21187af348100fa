"""Documents that requests name by an id or a digest, by every door: POST, GET, WebSocket and event stream."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.support.house import House, house
from tests.support.socket import socket
from wattgate.errors import PersistedQueryNotFound
from wattgate.graphql.resolvers import trusted_documents
from wattgate.graphql.resolvers.trusted_documents import NewDocument
from wattgate.realtime.apq_store import digest_of

DOORS = ("post", "get", "socket", "stream", "stream by get")
each_door = pytest.mark.parametrize("door", DOORS)

Asked = dict[str, Any]


@pytest.fixture(scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """A gateway of these tests alone, because they close an application to documents that are not registered."""
    folder: Path = tmp_path_factory.mktemp("persisted")
    async with house(f"sqlite:///{folder / 'house.sqlite3'}") as made:
        yield made


async def ask(home: House, door: str, asked: Asked, headers: dict[str, str]) -> Any:
    """The result of a request, or the errors by which it was refused."""
    accept = {"accept": "text/event-stream" if "stream" in door else "application/json"}
    match door:
        case "socket":
            return await _ask_socket(home, asked, headers)
        case "post" | "stream":
            answer = await home.http.post("/graphql", json=asked, headers=headers | accept)
        case _:
            given = {name: one if isinstance(one, str) else json.dumps(one) for name, one in asked.items()}
            answer = await home.http.get("/graphql", params=given, headers=headers | accept)
    assert answer.status_code < 500
    if answer.headers["content-type"].startswith("text/event-stream"):
        (line,) = [one for one in answer.text.splitlines() if one.startswith("data: {")]
        return json.loads(line[6:])
    return answer.json()


async def _ask_socket(home: House, asked: Asked, headers: dict[str, str]) -> Any:
    async with socket(home.url, headers=headers) as one:
        await one.init()
        await one.say(type="subscribe", id="1", payload=asked)
        message = await one.hear()
        return {"errors": message["payload"]} if message["type"] == "error" else message["payload"]


def document() -> str:
    """A document that nobody has sent or registered."""
    return f"query Q{uuid4().hex} {{ __typename }}"


def by_digest(text: str, *, version: Any = 1) -> Asked:
    return {"extensions": {"persistedQuery": {"version": version, "sha256Hash": digest_of(text)}}}


async def register(home: House, text: str, document_id: str | None = None) -> str:
    new = [NewDocument(document_id or digest_of(text), text, "Q")]
    await home.gateway.runner.run(trusted_documents.register_documents, home.one.system, {"documents": new})
    return document_id or f"sha256:{digest_of(text)}"


async def require(home: House, required: bool) -> None:
    await home.gateway.runner.run(trusted_documents.require_trusted_documents, home.one.system, {"required": required})


def told(answer: Any) -> tuple[str, str]:
    (error,) = answer["errors"]
    return error["extensions"]["code"], error["message"]


@each_door
async def test_a_document_that_was_sent_once_is_asked_by_its_digest(home: House, door: str) -> None:
    text, headers = document(), home.one.headers["account"]
    assert told(await ask(home, door, by_digest(text), headers)) == (
        "PERSISTED_QUERY_NOT_FOUND",
        "PersistedQueryNotFound",
    )
    sent = await ask(home, door, {"query": text, **by_digest(text)}, headers)
    assert sent["data"] == {"__typename": "Query"}
    for other in DOORS:
        assert (await ask(home, other, by_digest(text), headers))["data"] == {"__typename": "Query"}


async def test_a_digest_that_is_not_known_is_told_by_the_status_of_its_error(home: House) -> None:
    headers = home.one.headers["account"] | {"accept": "application/graphql-response+json"}
    answer = await home.http.post("/graphql", json=by_digest(document()), headers=headers)
    assert answer.status_code == PersistedQueryNotFound.status


@each_door
async def test_a_document_that_is_wrong_is_not_kept(home: House, door: str) -> None:
    text, headers = f"query Q{uuid4().hex} {{ nothing }}", home.one.headers["account"]
    assert told(await ask(home, door, {"query": text, **by_digest(text)}, headers))[0] == "BAD_INPUT"
    assert told(await ask(home, door, by_digest(text), headers))[0] == "PERSISTED_QUERY_NOT_FOUND"


@pytest.mark.parametrize(
    "named",
    [
        {"version": 2, "sha256Hash": digest_of("{ __typename }")},
        {"sha256Hash": digest_of("{ __typename }")},
        {"version": 1},
        {"version": 1, "sha256Hash": "abc"},
        {"version": 1, "sha256Hash": 7},
        {"version": 1, "sha256Hash": digest_of("another")},
        "text",
    ],
)
@each_door
async def test_a_digest_that_cannot_be_is_told(home: House, door: str, named: Any) -> None:
    asked = {"query": "{ __typename }", "extensions": {"persistedQuery": named}}
    assert told(await ask(home, door, asked, home.one.headers["account"]))[0] == "BAD_INPUT"


@each_door
async def test_a_registered_document_is_asked_by_its_id(home: House, door: str) -> None:
    headers, own = home.one.headers["account"], f"build-{uuid4().hex}"
    for document_id in (await register(home, document()), await register(home, document(), own)):
        assert (await ask(home, door, {"documentId": document_id}, headers))["data"] == {"__typename": "Query"}
        other = home.other.headers["account"]
        assert told(await ask(home, door, {"documentId": document_id}, other))[0] == "BAD_INPUT"
        both = {"documentId": document_id, "query": "{ __typename }"}
        assert "one document" in told(await ask(home, door, both, headers))[1]


@each_door
async def test_an_empty_query_beside_an_id_or_a_digest_is_none(home: House, door: str) -> None:
    """The npm package graphql-ws sends no operation without a query."""
    text, headers = document(), home.one.headers["account"]
    assert told(await ask(home, door, {"query": "", **by_digest(text)}, headers))[0] == "PERSISTED_QUERY_NOT_FOUND"
    document_id = await register(home, text)
    for named in ({"documentId": document_id}, by_digest(text)):
        assert (await ask(home, door, {"query": "", **named}, headers))["data"] == {"__typename": "Query"}
    assert told(await ask(home, door, {"query": ""}, headers))[0] == "BAD_INPUT"


async def test_the_digest_of_a_registered_document_is_known_without_being_sent(home: House) -> None:
    text = document()
    await register(home, text)
    answer = await ask(home, "post", by_digest(text), home.one.headers["account"])
    assert answer["data"] == {"__typename": "Query"}


@each_door
async def test_an_application_may_take_registered_documents_alone(home: House, door: str) -> None:
    registered, other, headers = document(), document(), home.one.headers["account"]
    document_id = await register(home, registered)
    await require(home, True)
    try:
        for asked in ({"query": other}, {"query": other, **by_digest(other)}):
            assert told(await ask(home, door, asked, headers))[0] == "FORBIDDEN"
        assert told(await ask(home, door, by_digest(other), headers))[0] == "PERSISTED_QUERY_NOT_FOUND"
        for asked in ({"documentId": document_id}, {"query": registered}, by_digest(registered)):
            assert (await ask(home, door, asked, headers))["data"] == {"__typename": "Query"}
        assert (await ask(home, door, {"query": other}, home.other.headers["account"]))["data"]
    finally:
        await require(home, False)


@pytest.mark.parametrize("door", ["socket", "stream"])
async def test_subscriptions_are_asked_by_their_ids_too(home: House, door: str) -> None:
    text = f"subscription Q{uuid4().hex} {{ alerts(since: null) {{ alertId }} }}"
    document_id = await register(home, text)
    if door == "socket":
        answer = await ask(home, door, {"documentId": document_id}, home.one.headers["account"])
        assert answer["data"] == {"alerts": None}
        return
    headers = {"accept": "text/event-stream", **home.one.headers["account"]}
    async with home.http.stream("POST", "/graphql", json={"documentId": document_id}, headers=headers) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                assert json.loads(line[6:])["data"] == {"alerts": None}
                break
