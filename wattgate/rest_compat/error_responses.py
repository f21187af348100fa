"""REST error responses."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from wattgate.errors import (
    MAX_LISTED_PROBLEMS,
    METHOD_NOT_ALLOWED,
    BadInput,
    GatewayError,
    Internal,
    Problem,
    ProblemPath,
    Unauthenticated,
    documentation_url,
)
from wattgate.request_context import log_access_error
from wattgate.stored_json import encode_json

TransformBody = Callable[[GatewayError, dict[str, Any]], dict[str, Any]]

NO_STORE = {"Cache-Control": "no-store"}
"""Headers of every JSON response: it may contain personal data or tokens (RFC 6749, section 5.1), so never cache it."""

EMPTY_MAPPING: Mapping[Any, Any] = MappingProxyType({})


def error_response(
    error: GatewayError,
    extra_members: Mapping[str, Any] = EMPTY_MAPPING,
    request_paths: Mapping[ProblemPath, ProblemPath] = EMPTY_MAPPING,
    transform_body: TransformBody | None = None,
) -> Response:
    """Return the response for an error, and log access errors.

    Bad input gets the legacy `error` text; the message moves to `description`, and `problems` lists at most
    MAX_LISTED_PROBLEMS problems. `request_paths` maps argument paths to request paths, see `LegacyFormat`.
    `transform_body` adapts the body to the format of one endpoint.
    """
    log_access_error(error)
    problems = [replace(problem, path=_request_path(problem.path, request_paths)) for problem in error.problems]
    body: dict[str, Any] = {**extra_members, "error": error.message, **error.extensions}
    if isinstance(error, BadInput) and problems:
        body |= {
            "error": _legacy_error_text(problems),
            "description": error.message,
            "problems": [problem.to_json() for problem in problems[:MAX_LISTED_PROBLEMS]],
        }
        body |= problems[0].named_param
    if transform_body:
        body = transform_body(error, body)
    headers = {}
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    return json_response(body, error.status, headers)


async def http_error_response(request: Request, error: Exception) -> Response:
    """Return the response for an unknown path or method, in the format of all other errors."""
    assert isinstance(error, HTTPException)
    code = {404: "NOT_FOUND", 405: METHOD_NOT_ALLOWED}.get(error.status_code, "BAD_INPUT")
    message = {404: "Not found", 405: "Method not allowed"}.get(error.status_code, error.detail)
    body = {"error": message, **Internal("").extensions, "code": code, "docUrl": documentation_url(code)}
    return json_response(body, error.status_code, dict(error.headers or {}))


def _legacy_error_text(problems: list[Problem]) -> str:
    """Return `missing elements -a -b` if every problem is a missing element, else `incorrect elements -a -b`."""
    kind = "missing" if all(problem.is_missing for problem in problems) else "incorrect"
    paths = dict.fromkeys(".".join(map(str, problem.path)) or "body" for problem in problems[:MAX_LISTED_PROBLEMS])
    return f"{kind} elements " + " ".join(f"-{path}" for path in paths)


def json_response(body: Any, status: int, headers: Mapping[str, str]) -> Response:
    """Return a JSON response that must not be cached."""
    return Response(encode_json(body), status, {**NO_STORE, **headers}, media_type="application/json")


def _request_path(path: ProblemPath, request_paths: Mapping[ProblemPath, ProblemPath]) -> ProblemPath:
    """Return the path in the REST request for a path in the arguments. The longest matching prefix is replaced."""
    for length in range(len(path), 0, -1):
        prefix = path[:length]
        if prefix in request_paths:
            return (*request_paths[prefix], *path[length:])
    return path
