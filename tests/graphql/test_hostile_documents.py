"""What is meant to harm, by every door: it is refused with its reason, and costs hardly more than to be read."""

import json
import sys
from collections.abc import Awaitable
from itertools import count
from types import FrameType
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from tests.support.documents import bomb, chain
from tests.support.house import House
from tests.support.socket import socket

GRAPHQL = "application/graphql-response+json"
EVENTS = "text/event-stream"
MEGABYTE = 2**20
NEW = count()


def many(number: int, one: str) -> str:
    return " ".join(one.format(n) for n in range(number))


HOSTILE = {
    "a bomb of 10 levels": (bomb(10), "512 fields at its root"),
    "a bomb of 30 levels": (bomb(30), "more than a million fields"),
    "a bomb of 99 levels": (bomb(99), "more than a million fields"),
    "a bomb of aliases": (bomb(12, spread="a: __typename ...{0} b: __typename ...{0}"), "fields"),
    "a chain of fragments": (chain(500), "tokens"),
    "1,000 aliases of __typename": (f"{{ {many(1_000, 'a{}: __typename')} }}", "tokens"),
    "600 aliases": (f"{{ resources {{ {many(600, 'a{}: name')} }} }}", "600 aliases"),
    "500 times one field": (f"{{ resources {{ {many(500, 'name')} }} }}", "500 fields of one name"),
    "500 times __typename": (f"{{ {many(500, '__typename')} }}", "500 fields at its root"),
    "a text of 2 MB": (f'{{ resource(resourceId: "{"x" * 2 * MEGABYTE}") {{ name }} }}', "characters"),
    "2 MB of spaces": ("{ __typename }" + " " * 2 * MEGABYTE, "characters"),
    "comments": ("#\n" * 16_000 + "{ __typename }", "comments"),
    "circular fragments": ("{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }", "within itself"),
    "a fragment of itself": ("{ ...a } fragment a on Query { ...a }", "within itself"),
    "10 unknown directives": (f"{{ __typename {'@aa' * 10} }}", "Unknown directive"),
    "1,000 unknown directives": (f"{{ __typename {'@aa' * 1_000} }}", "tokens"),
    "100 directives": (f"{{ __typename {'@include(if: true)' * 100} }}", "100 directives"),
    "deep fields": ("{ a " * 1_000, "nested too deeply"),
    "deep lists": (f"{{ a(b: {'[' * 10_000}", "nested too deeply"),
    "30 unknown fields": (f"{{ {many(30, 'x{}')} }}", "Cannot query field"),
    "introspection": ("{ __schema { types { name } } }", "introspection"),
}
"""Documents, and what their refusal says."""

each_hostile = pytest.mark.parametrize(("document", "why"), HOSTILE.values(), ids=HOSTILE)


def unread(document: str) -> str:
    """The document in a text that was not asked before: what was refused is remembered."""
    return f"{document} #{next(NEW)}"


async def ask(served: House, document: str) -> httpx.Response:
    body = json.dumps({"query": document})
    headers = {"content-type": "application/json", "accept": GRAPHQL, **served.one.headers["account"]}
    return await served.http.post("/graphql", content=body, headers=headers)


async def calls(awaited: Awaitable[Any]) -> int:
    """How many functions of Python are called until it is done: by client and gateway, who share this thread."""
    counted = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        counted += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        await awaited
    finally:
        sys.setprofile(before)
    return counted


def refused(answer: httpx.Response, why: str) -> None:
    """Assert that an answer refuses a document for a reason, in a few words."""
    assert (answer.status_code, answer.headers["content-type"]) == (400, GRAPHQL)
    told = answer.json()
    assert "data" not in told
    assert len(told["errors"]) <= 21
    assert {error["extensions"]["code"] for error in told["errors"]} == {"BAD_INPUT"}
    assert why in told["errors"][0]["message"]


@each_hostile
async def test_it_is_refused_with_its_reason(served: House, document: str, why: str) -> None:
    refused(await ask(served, document), why)
    refused(await ask(served, document), why)  # which is remembered


@each_hostile
async def test_refusing_it_takes_a_few_calls_for_each_character(served: House, document: str, why: str) -> None:
    await ask(served, "{ __typename }")
    usual = await calls(ask(served, "{ __typename }"))
    assert await calls(ask(served, unread(document))) < 2 * usual + 20 * min(len(document), 32_768)


async def test_a_bomb_of_ten_times_the_levels_takes_ten_times_the_calls(served: House) -> None:
    short, long = [await calls(ask(served, unread(bomb(levels)))) for levels in (10, 100)]
    assert long < 12 * short


@each_hostile
async def test_it_is_refused_over_a_socket_that_goes_on(served: House, document: str, why: str) -> None:
    if len(document) > 2**16:
        return  # a message as long as that closes the socket
    async with socket(served.url) as client:
        await client.init(**served.one.headers["account"])
        await client.say(type="subscribe", id="1", payload={"query": document})
        told = await client.hear()
        assert (told["type"], told["payload"][0]["extensions"]["code"]) == ("error", "BAD_INPUT")
        assert why in told["payload"][0]["message"]
        await client.say(type="subscribe", id="2", payload={"query": "{ __typename }"})
        assert (await client.hear())["payload"]["data"] == {"__typename": "Query"}


@each_hostile
async def test_it_is_refused_by_an_event_stream_that_ends(served: House, document: str, why: str) -> None:
    headers = {"accept": EVENTS, **served.one.headers["account"]}
    answer = await served.http.post("/graphql", json={"query": document}, headers=headers)
    *_, told, completed = answer.text.strip().split("\n\n")
    assert told.startswith("event: next\ndata: ")
    assert why in json.loads(told.partition("data: ")[2])["errors"][0]["message"]
    assert completed.startswith("event: complete")


@each_hostile
async def test_it_is_refused_by_get(served: House, document: str, why: str) -> None:
    asked = urlencode({"query": document})
    if len(asked) > 2**15:
        return  # no address is as long as that
    headers = {"accept": GRAPHQL, **served.one.headers["account"]}
    refused(await served.http.get(f"/graphql?{asked}", headers=headers), why)


@pytest.mark.parametrize("length", [2, 10, 100, 1_000])
async def test_a_batch_of_any_length_is_refused_whole(served: House, length: int) -> None:
    batch = [{"query": "{ __typename }"}] * length
    answer = await served.http.post("/graphql", json=batch, headers={"accept": GRAPHQL})
    assert answer.status_code == 400
    assert "batches" in answer.json()["errors"][0]["message"]


async def test_a_body_above_the_bound_is_refused_unread(served: House) -> None:
    answer = await ask(served, "#" * 5 * MEGABYTE)
    assert (answer.status_code, answer.json()["code"]) == (413, "TOO_LARGE")


async def test_a_form_is_refused_even_where_it_holds_a_request(served: House) -> None:
    form = {"content-type": "application/x-www-form-urlencoded", **served.one.headers["account"]}
    body = urlencode({"query": "mutation { deleteToken { valid } }"})
    answer = await served.http.post("/graphql", content=body, headers=form)
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert (await ask(served, "{ tokenStatus { valid } }")).json()["data"]["tokenStatus"]["valid"] is True


@pytest.mark.parametrize("accept", [GRAPHQL, EVENTS])
async def test_a_mutation_by_get_is_refused_and_not_done(served: House, accept: str) -> None:
    asked = {"query": "mutation { deleteToken { valid } }"}
    headers = {"accept": accept, **served.one.headers["account"]}
    answer = await served.http.get("/graphql", params=asked, headers=headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert (await ask(served, "{ tokenStatus { valid } }")).json()["data"]["tokenStatus"]["valid"] is True


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (f"{{ __schema {{ types {{ {'fields { type { ' * 3} name {'} } ' * 3} }} }} }}", "introspection depth"),
        ("{ __schema { types { possibleTypes { interfaces { possibleTypes { name } } } } } }", "introspection depth"),
        (f"{{ __schema {{ types {{ {'ofType { ' * 30} name {'} ' * 30} }} }} }}", "levels"),
        (f"{{ {many(60, 'a{}: __schema {{ types {{ name }} }}')} }}", "60 aliases"),
        (bomb(20, leaf="__schema { types { name } }"), "fields"),
    ],
)
async def test_a_bomb_of_introspection_is_refused_where_introspection_is_on(
    demo_url: str, document: str, why: str
) -> None:
    async with httpx.AsyncClient(base_url=demo_url, timeout=30) as http:
        refused(await http.post("/graphql", json={"query": document}, headers={"accept": GRAPHQL}), why)
