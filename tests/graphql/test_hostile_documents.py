"""Hostile documents on each transport: rejected with a reason, for little more than the cost of reading them."""

import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import count
from types import FrameType
from typing import Any
from urllib.parse import urlencode

import graphql
import httpx
import pytest

import wattgate.graphql
from tests.support.documents import bomb, chain
from tests.support.house import House
from tests.support.servers import ON_SQLITE_ONLY
from tests.support.socket import socket
from tests.support.stalls import StallRecorder

GRAPHQL = "application/graphql-response+json"
EVENTS = "text/event-stream"
MEGABYTE = 2**20
COMMENT_NUMBERS = count()
READERS_OF_DOCUMENTS = (*graphql.__path__, *wattgate.graphql.__path__)


def many(number: int, field: str) -> str:
    return " ".join(field.format(n) for n in range(number))


HOSTILE = {
    "a bomb of 10 levels": (bomb(10), "512 root fields"),
    "a bomb of 30 levels": (bomb(30), "more than a million fields"),
    "a bomb of 99 levels": (bomb(99), "more than a million fields"),
    "a bomb of aliases": (bomb(12, spread="a: __typename ...{0} b: __typename ...{0}"), "fields"),
    "a chain of fragments": (chain(500), "tokens"),
    "1,000 aliases of __typename": (f"{{ {many(1_000, 'a{}: __typename')} }}", "tokens"),
    "600 aliases": (
        f"{{ viewer {{ resources {{ edges {{ node {{ {many(600, 'a{}: name')} }} }} }} }} }}",
        "600 aliases",
    ),
    "500 times one field": (
        f"{{ viewer {{ resources {{ edges {{ node {{ {many(500, 'name')} }} }} }} }} }}",
        "500 fields of the same name",
    ),
    "500 times __typename": (f"{{ {many(500, '__typename')} }}", "500 root fields"),
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
"""Hostile documents, and a part of the error message of each."""

Case = Callable[[str], AbstractContextManager[None]]


@pytest.fixture
def case(subtests: pytest.Subtests, stalls_of_session: StallRecorder) -> Case:
    """Return a function whose context reports by name the document of a failed assertion or of a stall."""

    @contextmanager
    def run(name: str) -> Iterator[None]:
        with subtests.test(name):
            yield
            stalls = [str(stall) for stall in stalls_of_session.stalls]
            stalls_of_session.stalls.clear()
            assert stalls == []

    return run


def with_new_comment(document: str) -> str:
    """Return the document as a new text, because rejected texts are cached."""
    return f"{document} #{next(COMMENT_NUMBERS)}"


async def ask(served: House, document: str) -> httpx.Response:
    body = json.dumps({"query": document})
    headers = {"content-type": "application/json", "accept": GRAPHQL, **served.one.headers["account"]}
    return await served.http.post("/graphql", content=body, headers=headers)


async def ask_anew(served: House, document: str) -> httpx.Response:
    return await ask(served, with_new_comment(document))


async def fewest_calls(request: Callable[[], Awaitable[Any]]) -> int:
    """Return the fewest calls of three requests. The first may load something."""
    return min([await calls(request()) for _ in range(3)])


async def calls(awaited: Awaitable[Any]) -> int:
    """Return the number of calls of Python functions that read documents, in this thread, until it is done.

    Functions elsewhere are not counted: background work of the gateway runs in this thread, too.
    """
    counted = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        counted += event == "call" and frame.f_code.co_filename.startswith(READERS_OF_DOCUMENTS)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        await awaited
    finally:
        sys.setprofile(before)
    return counted


def assert_rejected(answer: httpx.Response, why: str) -> None:
    """Assert that a response rejects a document with a short reason."""
    assert (answer.status_code, answer.headers["content-type"]) == (400, GRAPHQL)
    body = answer.json()
    assert "data" not in body
    assert len(body["errors"]) <= 21
    assert {error["extensions"]["code"] for error in body["errors"]} == {"BAD_INPUT"}
    assert why in body["errors"][0]["message"]


@ON_SQLITE_ONLY
async def test_hostile_document_is_rejected_with_its_reason(served: House, case: Case) -> None:
    for name, (document, why) in HOSTILE.items():
        with case(name):
            assert_rejected(await ask(served, document), why)
            assert_rejected(await ask(served, document), why)  # from the cache


COUNTING_IS_SLOW = pytest.mark.stalls("counting the calls takes most of the time of these requests")


@ON_SQLITE_ONLY
@COUNTING_IS_SLOW
async def test_rejection_takes_a_few_calls_for_each_character(served: House, subtests: pytest.Subtests) -> None:
    usual = await fewest_calls(partial(ask_anew, served, "{ __typename }"))
    for name, (document, _) in HOSTILE.items():
        with subtests.test(name):
            refusing = await fewest_calls(partial(ask_anew, served, document))
            assert refusing < 3 * usual + 20 * min(len(document), 32_768)


@ON_SQLITE_ONLY
@COUNTING_IS_SLOW
async def test_rejection_of_a_bomb_is_linear_in_its_levels(served: House) -> None:
    short = await fewest_calls(partial(ask_anew, served, bomb(10)))
    long = await fewest_calls(partial(ask_anew, served, bomb(100)))
    assert long < 12 * short


@ON_SQLITE_ONLY
async def test_hostile_document_is_rejected_over_a_socket_that_stays_open(served: House, case: Case) -> None:
    # a longer message closes the socket
    messages = {name: hostile for name, hostile in HOSTILE.items() if len(hostile[0]) <= 2**16}
    assert messages
    for name, (document, why) in messages.items():
        with case(name):
            async with socket(served.url) as client:
                await client.init(**served.one.headers["account"])
                await client.say(type="subscribe", id="1", payload={"query": document})
                message = await client.hear()
                assert (message["type"], message["payload"][0]["extensions"]["code"]) == ("error", "BAD_INPUT")
                assert why in message["payload"][0]["message"]
                await client.say(type="subscribe", id="2", payload={"query": "{ __typename }"})
                assert (await client.hear())["payload"]["data"] == {"__typename": "Query"}


@ON_SQLITE_ONLY
async def test_hostile_document_is_rejected_by_an_event_stream_that_ends(served: House, case: Case) -> None:
    headers = {"accept": EVENTS, **served.one.headers["account"]}
    for name, (document, why) in HOSTILE.items():
        with case(name):
            answer = await served.http.post("/graphql", json={"query": document}, headers=headers)
            *_, message, completed = answer.text.strip().split("\n\n")
            assert message.startswith("event: next\ndata: ")
            assert why in json.loads(message.partition("data: ")[2])["errors"][0]["message"]
            assert completed.startswith("event: complete")


@ON_SQLITE_ONLY
async def test_hostile_document_is_rejected_by_get(served: House, case: Case) -> None:
    headers = {"accept": GRAPHQL, **served.one.headers["account"]}
    query_strings = {name: (urlencode({"query": document}), why) for name, (document, why) in HOSTILE.items()}
    # a longer URL is rejected as such
    sent = {name: hostile for name, hostile in query_strings.items() if len(hostile[0]) <= 2**15}
    assert sent
    for name, (query_string, why) in sent.items():
        with case(name):
            assert_rejected(await served.http.get(f"/graphql?{query_string}", headers=headers), why)


@ON_SQLITE_ONLY
async def test_batch_of_any_length_is_rejected(served: House, case: Case) -> None:
    for length in (2, 10, 100, 1_000):
        with case(str(length)):
            batch = [{"query": "{ __typename }"}] * length
            answer = await served.http.post("/graphql", json=batch, headers={"accept": GRAPHQL})
            assert answer.status_code == 400
            assert "batches" in answer.json()["errors"][0]["message"]


@ON_SQLITE_ONLY
async def test_body_above_the_size_limit_is_rejected(served: House) -> None:
    answer = await ask(served, "#" * 5 * MEGABYTE)
    assert (answer.status_code, answer.json()["code"]) == (413, "TOO_LARGE")


@ON_SQLITE_ONLY
async def test_form_is_rejected_even_if_it_contains_a_request(served: House) -> None:
    form = {"content-type": "application/x-www-form-urlencoded", **served.one.headers["account"]}
    body = urlencode({"query": "mutation { deleteToken { __typename } }"})
    answer = await served.http.post("/graphql", content=body, headers=form)
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert (await ask(served, "{ tokenStatus { valid } }")).json()["data"]["tokenStatus"]["valid"] is True


@ON_SQLITE_ONLY
@pytest.mark.parametrize("accept", [GRAPHQL, EVENTS])
async def test_mutation_by_get_is_rejected_and_not_executed(served: House, accept: str) -> None:
    parameters = {"query": "mutation { deleteToken { __typename } }"}
    headers = {"accept": accept, **served.one.headers["account"]}
    answer = await served.http.get("/graphql", params=parameters, headers=headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert (await ask(served, "{ tokenStatus { valid } }")).json()["data"]["tokenStatus"]["valid"] is True


INTROSPECTION_BOMBS = {
    "fields of fields": (
        f"{{ __schema {{ types {{ {'fields { type { ' * 3} name {'} } ' * 3} }} }} }}",
        "introspection depth",
    ),
    "types of types": (
        "{ __schema { types { possibleTypes { interfaces { possibleTypes { name } } } } } }",
        "introspection depth",
    ),
    "30 levels": (f"{{ __schema {{ types {{ {'ofType { ' * 30} name {'} ' * 30} }} }} }}", "levels"),
    "60 aliases": (f"{{ {many(60, 'a{}: __schema {{ types {{ name }} }}')} }}", "60 aliases"),
    "fragments": (bomb(20, leaf="__schema { types { name } }"), "fields"),
}


async def test_introspection_bomb_is_rejected_if_introspection_is_enabled(demo_url: str, case: Case) -> None:
    async with httpx.AsyncClient(base_url=demo_url, timeout=30) as http:
        for name, (document, why) in INTROSPECTION_BOMBS.items():
            with case(name):
                answer = await http.post("/graphql", json={"query": document}, headers={"accept": GRAPHQL})
                assert_rejected(answer, why)
