"""Errors as REST tells them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from wattgate.errors import MAX_TOLD, BadInput, GatewayError, Internal, Path, Problem, Unauthenticated
from wattgate.request_context import refused

Change = Callable[[GatewayError, dict[str, Any]], dict[str, Any]]

NOT_KEPT = {"Cache-Control": "no-store"}
"""Answers hold personal data, or tokens (RFC 6749, section 5.1): no cache on their way keeps them."""

NOTHING_MORE: Mapping[Any, Any] = MappingProxyType({})


def refusal(
    error: GatewayError,
    more: Mapping[str, Any] = NOTHING_MORE,
    places: Mapping[Path, Path] = NOTHING_MORE,
    change: Change | None = None,
) -> Response:
    """The error contract as a REST answer. Bad input is told in the legacy words, with every problem beside.

    `change` makes of the body what one place needs. Refusals are logged.
    """
    refused(error)
    problems = [replace(problem, path=_placed(problem.path, places)) for problem in error.problems]
    body: dict[str, Any] = {**more, "error": error.message, **error.extensions}
    if isinstance(error, BadInput) and problems:
        body |= {
            "error": _legacy_words(problems),
            "description": error.message,
            "problems": [problem.told() for problem in problems[:MAX_TOLD]],
        }
    if change:
        body = change(error, body)
    headers = {}
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    return json_response(body, error.status, headers)


async def tell_http(request: Request, error: Exception) -> Response:
    """Unknown paths and methods, in the form of every other error."""
    assert isinstance(error, HTTPException)
    code = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}.get(error.status_code, "BAD_INPUT")
    told = {404: "Not found", 405: "Method not allowed"}.get(error.status_code, error.detail)
    body = {"error": told, **Internal("").extensions, "code": code}
    return json_response(body, error.status_code, dict(error.headers or {}))


def _legacy_words(problems: list[Problem]) -> str:
    """`missing elements -a -b` where nothing else is wrong, else `incorrect elements -a -b`."""
    kind = "missing" if all(problem.missing for problem in problems) else "incorrect"
    places = dict.fromkeys(".".join(map(str, problem.path)) or "body" for problem in problems[:MAX_TOLD])
    return f"{kind} elements " + " ".join(f"-{place}" for place in places)


def json_response(body: Any, status: int, headers: Mapping[str, str]) -> Response:
    """A JSON answer."""
    return Response(orjson.dumps(body), status, {**NOT_KEPT, **headers}, media_type="application/json")


def _placed(path: Path, places: Mapping[Path, Path]) -> Path:
    """Where in a REST request something stands that stands at `path` in the arguments: the longest match decides."""
    for length in range(len(path), 0, -1):
        prefix = path[:length]
        if prefix in places:
            return (*places[prefix], *path[length:])
    return path
