"""Answers to requests that are not quite right: odd parameters, unknown paths, times, methods and copies."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.gateway_schema import GATEWAY_SCHEMA
from tests.support.house import House
from tests.support.openapi import DOCUMENT, resolve
from wattgate.app.server.gate.application import PATHS
from wattgate.graphql.execution.argument_binder import ArgumentBinder
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import JSON
from wattgate.rest_compat.arguments import restore_plus
from wattgate.rest_compat.error_responses import MAX_COMPARED_CHARACTERS, PathSuggestions
from wattgate.rest_compat.formats import DEFAULT_FORMAT, LEGACY_FORMATS
from wattgate.rest_compat.known_members import IGNORED_HEADER, MAX_NAMED, KnownMembers

SPAN = {"from": "2026-01-05T00:00:00", "to": "2026-01-05T01:59:59", "period": "PT30M", "function": "sum"}


def readings_path(house: House) -> str:
    return f"/resource/{house.one.ids['resource']}/readings"


@pytest.mark.parametrize("offset", ["+01:00", "+0100", "+01"])
@pytest.mark.both_databases("a range in SQL")
async def test_plus_of_an_offset_need_not_be_encoded(served: House, offset: str) -> None:
    """A form decoder makes a space of `+`. A time with a space at this place has no other meaning."""
    headers, path = served.one.headers["account"], readings_path(served)
    bare = f"from=2026-01-05T01:00:00{offset}&to=2026-01-05T02:59:59{offset}&period=PT30M&function=sum"
    one = await served.http.get(f"/api/v0-1{path}?{bare}", headers=headers)
    encoded = await served.http.get(f"/api/v0-1{path}?{bare.replace('+', '%2B')}", headers=headers)
    assert one.status_code == encoded.status_code == 200, one.text
    assert one.json()["data"] == encoded.json()["data"]
    assert [value for _, value in one.json()["data"]] == [0.125, 0.25, 0, 1.5]


async def test_plus_need_not_be_encoded_in_arguments_of_the_uniform_format(served: House) -> None:
    path = f"/api/v0-1/resource/meter-point/1/move?userId={served.one.user_id}&movedInAt=2026-01-05T00:00:00"
    headers = served.one.headers["application"]
    bare, encoded = [await served.http.get(f"{path}{plus}01:00", headers=headers) for plus in ("+", "%2B")]
    assert bare.status_code == encoded.status_code
    assert bare.json()["error"] == encoded.json()["error"]


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-05 01:00",
        "2026-01-05 01:00:00",
        "2026-01-05",
        "2026-01-05T00:00:00  01:00",
        "2026-01-05T00:00:00 x",
    ],
)
def test_other_times_stay_as_they_are(text: str) -> None:
    assert restore_plus(text) == text


@pytest.mark.parametrize("days", [1, 400])
async def test_start_in_the_future_names_its_parameter(served: House, days: int) -> None:
    ahead = (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S")
    params = {**SPAN, "from": ahead, "to": ahead}
    answer = await served.call("GET", readings_path(served), served.one.headers["account"], params=params)
    body = answer.json()
    assert (answer.status_code, body["error"]) == (400, "incorrect elements -from in the future")
    assert (body["param"], body["problems"]) == ("from", [{"path": ["from"], "message": "is in the future"}])


async def test_start_in_the_future_beside_another_problem(served: House) -> None:
    ahead = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S")
    params = {**SPAN, "from": ahead, "to": ahead, "offset": "x"}
    body = (await served.call("GET", readings_path(served), served.one.headers["account"], params=params)).json()
    assert body["error"] == "incorrect elements -offset -from in the future"
    assert body["param"] == "offset"


@pytest.mark.parametrize(
    ("path", "query", "names"),
    [
        ("/termsconditions", "version=1&reference=app&page=1&page=2&version=1", ["version"]),
        ("/faq", "reference=app&reference=app", ["reference"]),
        ("/faq", "country=GB&version=1&version=2&country=FR", ["country", "version"]),
    ],
)
async def test_parameter_that_is_given_twice_is_refused(served: House, path: str, query: str, names: list[str]) -> None:
    answer = await served.call("GET", f"{path}?{query}", served.one.headers["application"])
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT")
    assert answer.json()["problems"] == [{"path": [name], "message": "is given twice"} for name in names]
    assert answer.json()["param"] == names[0]


async def test_unknown_parameter_that_is_given_twice_is_ignored(served: House) -> None:
    listed = await served.call("GET", "/resource?page=1&page=2", served.one.headers["account"])
    assert (listed.status_code, listed.headers[IGNORED_HEADER]) == (200, "page")


@pytest.mark.both_databases("reads and writes")
async def test_ignored_members_are_named(served: House) -> None:
    account, application = served.one.headers["account"], served.one.headers["application"]
    listed = await served.call("GET", "/resource?page=2&page-size=10", account)
    assert (listed.status_code, listed.headers[IGNORED_HEADER]) == (200, "page, page-size")
    params = {**SPAN, "nulls": "1", "limit": "3"}
    readings = await served.call("GET", readings_path(served), account, params=params)
    assert readings.headers[IGNORED_HEADER] == "limit"
    account_id = await served.one.add_account("clumsy@one.example")
    body = {"name": "Grace", "e mail": "new@one.example", "status": "inactive"}
    changed = await served.call("PUT", f"/account/{account_id}", application, json={**body, "status": "active"})
    assert (changed.status_code, changed.headers[IGNORED_HEADER]) == (200, "e%20mail")
    profile = {"profileName": "Clumsy", "anything": 1}
    assert IGNORED_HEADER not in (await served.call("POST", "/accountprofile", account, json=profile)).headers
    assert IGNORED_HEADER not in (await served.call("GET", "/resource", account)).headers


async def test_ignored_names_are_bounded(served: House) -> None:
    body = {"name": "x", **{f"{number}é,\n": 1 for number in range(90)}}
    path = f"/account/{await served.one.add_account('bounded@one.example')}"
    answer = await served.call("PUT", path, served.one.headers["application"], json=body)
    names = answer.headers[IGNORED_HEADER].split(", ")
    assert (len(names), names[0]) == (MAX_NAMED, "0%C3%A9%2C%0A")


def test_known_members_are_those_of_the_document() -> None:
    for operation in OPERATIONS:
        for rest in [rest for rest in operation.rest if rest.media_type == JSON]:
            described = DOCUMENT["paths"][rest.path][rest.method.lower()]
            legacy_format = LEGACY_FORMATS.get(rest.route_key, DEFAULT_FORMAT)
            known = KnownMembers.of(rest, legacy_format, ArgumentBinder(GATEWAY_SCHEMA, operation).arguments)
            assert {one["name"] for one in described["parameters"] if one["in"] == "query"} <= known.query, rest.path
            content = described.get("requestBody", {}).get("content", {})
            if known.body is not None and "application/json" in content:
                schema: dict[str, Any] = resolve(content["application/json"]["schema"])
                assert set(schema.get("properties", ())) == known.body, rest.path
                assert "additionalProperties" not in schema


@pytest.mark.both_databases("lists of records")
async def test_unchanged_answer_is_not_sent_again(served: House) -> None:
    headers = served.one.headers["application"]
    first = await served.call("GET", "/faq", headers)
    tag = first.headers["etag"]
    for named in (tag, f'"other", W/{tag}', "*"):
        again = await served.http.get("/api/v0-1/faq", headers={**headers, "If-None-Match": named})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["cache-control"] == "no-store"
        assert {"x-graphql-operation", "ratelimit", "x-trace-id"} <= set(again.headers)
    head = await served.http.head("/api/v0-1/faq", headers={**headers, "If-None-Match": tag})
    assert head.status_code == 304
    another = await served.http.get("/api/v0-1/faq", headers={**headers, "If-None-Match": '"other"'})
    assert (another.status_code, another.json()) == (200, first.json())


async def test_changed_answer_has_another_tag(served: House) -> None:
    headers = served.one.headers["application"]
    path = f"/account/{await served.one.add_account('tagged@one.example')}"
    first = (await served.call("GET", path, headers)).headers["etag"]
    changed = await served.call("PUT", path, headers, json={"name": "Ada"})
    assert "etag" not in changed.headers
    again = await served.call("GET", path, {**headers, "If-None-Match": first})
    assert again.status_code == 200
    assert again.headers["etag"] != first


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("/resources", "/resource"),
        ("/Resource/{id}/reading", "/resource/{resourceId}/readings"),
        ("/virtual-entity", "/virtualentity"),
        ("/acount/status", "/account/status"),
        ("/user/verificaton/status/mpxn/2000/renewal", "/user/verification/status/mpxn/{mpxn}/renewal"),
        ("/charger", None),
        ("/resource/1/2/3", None),
        ("/" + "user/" * 40, None),
        ("/resourc" + "e" * MAX_COMPARED_CHARACTERS, None),
    ],
)
async def test_unknown_path_suggests_a_similar_one(served: House, wrong: str, right: str | None) -> None:
    path = wrong.replace("{id}", served.one.ids["resource"])
    assert PathSuggestions(PATHS).suggest(path) == right
    answer = await served.http.get(f"/api/v0-1{path}", headers=served.one.headers["account"])
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert (f"Did you mean /api/v0-1{right}?" in answer.json()["error"]) == (right is not None)


@pytest.mark.parametrize(
    ("path", "methods"),
    [("/resource", "GET, HEAD, OPTIONS, POST"), ("/faq/1", "GET, HEAD, OPTIONS"), ("/alert", "OPTIONS, POST")],
)
async def test_options_names_the_methods_of_a_path(served: House, path: str, methods: str) -> None:
    answer = await served.http.options(f"/api/v0-1{path}")
    assert (answer.status_code, answer.headers["allow"], answer.content) == (204, methods, b"")
    assert (await served.http.options("/api/v0-1/charger")).status_code == 404
