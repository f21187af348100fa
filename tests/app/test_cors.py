"""The headers of CORS: those of the reference, Starlette's middleware, for each origin and request."""

from itertools import product

import pytest
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Message, Receive, Scope, Send

from wattgate.app.server.gate.response_headers import ALLOWED_METHODS, EXPOSED_HEADERS, MAX_AGE_SECONDS, CorsPolicy

PAGE = "https://page.example"
ALLOWED: tuple[list[str], ...] = ([], ["*"], [PAGE], [PAGE, "https://other.example"], [PAGE, "*"])
ORIGINS = (None, PAGE, "null", "*", "", "https://page.example.evil.example", "HTTPS://PAGE.EXAMPLE", "\xff")
OWN: tuple[list[tuple[bytes, bytes]], ...] = (
    [],
    [(b"content-type", b"text/plain")],
    [(b"vary", b"Accept"), (b"etag", b"a")],
    [(b"vary", b"Accept"), (b"etag", b"a"), (b"vary", b"Accept-Encoding"), (b"age", b"1")],
)
WANTED = (None, "GET", "PATCH", "get", "")
WANTED_HEADERS = (None, "token, x-own", "")


async def no_application(scope: Scope, receive: Receive, send: Send) -> None:
    """Do nothing: the test uses only the decisions of the middleware."""


def reference(allowed: list[str]) -> CORSMiddleware:
    return CORSMiddleware(
        no_application,
        allow_origins=allowed,
        allow_methods=ALLOWED_METHODS,
        allow_headers=["*"],
        expose_headers=EXPOSED_HEADERS,
        max_age=MAX_AGE_SECONDS,
    )


@pytest.mark.parametrize("allowed", ALLOWED)
async def test_response_has_the_headers_of_the_reference(allowed: list[str]) -> None:
    async def ignore(message: Message) -> None:
        """The message has its headers already."""

    policy, library = CorsPolicy(allowed), reference(allowed)
    for origin, own in product(ORIGINS, OWN):
        message: Message = {"type": "http.response.start", "headers": list(own)}
        await library.send(message, ignore, Headers({} if origin is None else {"origin": origin}))
        fields = list(own)
        policy.extend(origin, fields)
        assert fields == message["headers"], (origin, own)


@pytest.mark.parametrize("allowed", ALLOWED)
async def test_preflight_request_gets_the_response_of_the_reference(allowed: list[str]) -> None:
    policy, library = CorsPolicy(allowed), reference(allowed)
    for origin, wanted, names, network in product(ORIGINS, WANTED, WANTED_HEADERS, (None, "true")):
        sent = {
            "origin": origin,
            "access-control-request-method": wanted,
            "access-control-request-headers": names,
            "access-control-request-private-network": network,
        }
        headers = {name: value for name, value in sent.items() if value is not None}
        response = policy.answer_preflight("OPTIONS", headers)
        if origin is None or wanted is None:
            assert response is None, headers
            continue
        expected = library.preflight_response(Headers(headers))
        assert response is not None, headers
        assert (response.status_code, response.raw_headers, response.body) == (
            expected.status_code,
            expected.raw_headers,
            expected.body,
        ), headers
        assert policy.answer_preflight("GET", headers) is None
