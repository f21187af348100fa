"""The content types of bodies: each path that reads a body refuses those that a page of any origin could send."""

import json
from collections.abc import Iterator
from itertools import cycle
from uuid import uuid4

import httpx
import pytest
from starlette.routing import BaseRoute, Mount, Route

from tests.support.house import House
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings

BODY = json.dumps({"query": "{ __typename }"})

FOREIGN = {
    "a form": {"content-type": "application/x-www-form-urlencoded"},
    "a form of parts": {"content-type": "multipart/form-data; boundary=x"},
    "text": {"content-type": "text/plain;charset=UTF-8"},
    "text that names JSON": {"content-type": "text/plain; application/json"},
    "no type, as of a Blob": {},
    "another charset": {"content-type": "application/json; charset=utf-16"},
    "a compressed body": {"content-type": "application/json", "content-encoding": "gzip"},
}
"""Headers of a body, the first five of which a page may send to any origin without a preflight request."""

READ_NO_BODY = {
    ("POST", "/unsubscribe/{token}"),
    ("DELETE", "/outbox/mails"),
    ("PUT", "/graphql"),
    ("DELETE", "/graphql"),
}
"""Routes that ignore the body of a request: mail programs, for instance, send a form to the link of a mail."""

EVENT_STREAM = {"accept": "text/event-stream"}


def routes_of(routes: list[BaseRoute], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the method and the path of each route that may have a body."""
    for route in routes:
        if isinstance(route, Mount):
            yield from routes_of(list(route.routes), prefix + route.path)
        elif isinstance(route, Route):
            yield from ((method, prefix + route.path) for method in sorted((route.methods or set()) - {"GET", "HEAD"}))


async def test_each_path_refuses_bodies_that_a_page_of_any_origin_can_send(
    served: House, subtests: pytest.Subtests
) -> None:
    """Each path gets a text and one of the others. The response names the types of the OpenAPI document."""
    settings = Settings(
        _env_file=None,
        environment="development",
        database_url="sqlite:///unused",
        public_url=served.url,
        link_key=32 * "k",
    )
    found = set(routes_of(list(create_app(settings).routes)))
    document = (await served.http.get("/api/v0-1/openapi.json")).json()["paths"]
    assert len(found) > 100
    assert found >= READ_NO_BODY
    names = cycle(name for name in FOREIGN if name != "text")
    for method, path in sorted(found - READ_NO_BODY):
        operation = document.get(path.removeprefix("/api/v0-1").removeprefix("/ns"), {}).get(method.lower(), {})
        accepted = list(operation.get("requestBody", {"content": ["application/json"]})["content"])
        for name in ("text", next(names)):
            headers = FOREIGN[name]
            if headers.get("content-type") in accepted and "content-encoding" not in headers:
                continue
            with subtests.test(f"{method} {path}: {name}"):
                address = path.replace("{", "").replace("}", "")
                answer = await served.http.request(method, address, content=BODY, headers=headers)
                assert (answer.status_code, answer.headers.get("accept")) == (415, ", ".join(accepted))


async def test_a_page_of_another_origin_registers_no_account(served: House, subtests: pytest.Subtests) -> None:
    """Event streams in both modes, REST, and bodies in chunks have the same rule."""
    page = {"origin": "https://elsewhere.example", "applicationid": served.one.application_id}
    username = f"planted-{uuid4().hex}"
    member = {"name": "Page", "username": username, "password": uuid4().hex, "email": f"{username}@example.org"}
    fields = ", ".join(f'{name}: "{value}"' for name, value in member.items())
    operation = {
        "query": (f"mutation {{ register({fields}) {{ ... on User {{ id }} }} }}"),
        "extensions": {"operationId": "one"},
    }

    async def chunks() -> object:
        yield json.dumps(operation).encode()

    cases = {
        "event stream": ("/graphql", json.dumps(operation), EVENT_STREAM),
        "event stream in chunks": ("/graphql", chunks(), EVENT_STREAM),
        "operation of a stream": ("/graphql?token=x", json.dumps(operation), {}),
        "REST": ("/api/v0-1/register", json.dumps(member), {}),
    }
    for name, (path, content, headers) in cases.items():
        with subtests.test(name):
            send = {**page, **headers, "content-type": "text/plain"}
            answer = await served.http.post(path, content=content, headers=send)  # type: ignore[arg-type]
            assert answer.status_code == 415, answer.text
            error = answer.json().get("errors", [{"message": answer.json().get("error")}])[0]
            assert (
                error["message"]
                == "This path does not accept the content type 'text/plain'. Send application/json, in UTF-8."
            )


async def test_bodies_of_other_types_where_they_are_accepted(served: House) -> None:
    """A form for OAuth, and readings as NDJSON; a request without a body needs no type."""
    rest = f"{served.url}/api/v0-1"
    async with httpx.AsyncClient() as client:
        form = await client.post(f"{rest}/auth/oauth/access", data={"grant_type": "refresh_token"})
        empty = await client.post(f"{rest}/auth/oauth/access", content=b"", headers={"content-type": "text/plain"})
        refused = await client.post(f"{rest}/auth/oauth/access", content=b"a=b", headers={"content-type": "text/plain"})
        lines = await client.post(f"{rest}/readings", content=b"{}", headers={"content-type": "Application/X-NDJSON"})
    assert (form.status_code, empty.status_code, lines.status_code) == (400, 400, 401)
    assert refused.json()["error"] == "invalid_request"
