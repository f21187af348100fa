"""REST error responses."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from wattgate import __version__
from wattgate.errors import (
    MAX_LISTED_PROBLEMS,
    METHOD_NOT_ALLOWED,
    BadInput,
    GatewayError,
    Internal,
    Problem,
    ProblemPath,
    Unauthenticated,
    UnsupportedMediaType,
    documentation_url,
)
from wattgate.requests.request_context import log_access_error
from wattgate.values.stored_json import encode_json

TransformBody = Callable[[GatewayError, dict[str, Any]], dict[str, Any]]

NO_STORE = {"Cache-Control": "no-store"}
"""Headers of every JSON response: it may contain personal data or tokens (RFC 6749, section 5.1), so never cache it."""

MAX_SHOWN_CHARACTERS = 200
"""Maximum characters of a path that a message repeats."""

MAX_COMPARED_CHARACTERS = 80
"""Maximum characters of an unknown path that is compared with those of the interface. It may have a UUID."""

_PARAMETER = "{}"

_VERSION = re.compile(r"v\d{1,4}(-\d{1,4}){0,3}")

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
    body: dict[str, Any] = {**extra_members, "error": error.message, **error.rest_members}
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
    if isinstance(error, UnsupportedMediaType):
        headers["Accept"] = error.accepted
    return json_response(body, error.status, headers)


def http_error_handler(
    base_path: str, paths: Iterable[str] = ()
) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return the handler of unknown paths and methods, which responds in the format of all other errors.

    `paths` are those of the interface, which the response to an unknown path suggests. OPTIONS is answered for each
    path with its methods, also without the header Origin.
    """
    suggest = PathSuggestions(paths).suggest

    async def respond(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        if error.status_code == 405 and request.method == "OPTIONS":
            allowed = {*headers.get("Allow", "").split(", "), "OPTIONS"} - {""}
            return Response(status_code=204, headers={**NO_STORE, "Allow": ", ".join(sorted(allowed))})
        path = request.scope["path"][:MAX_SHOWN_CHARACTERS]
        code, message = "BAD_INPUT", error.detail
        if error.status_code == 404:
            code, message = "NOT_FOUND", _unknown_path_message(path, base_path, suggest)
        elif error.status_code == 405:
            methods = ", ".join(sorted(headers.get("Allow", "").split(", ")))
            code = METHOD_NOT_ALLOWED
            message = f"{path} does not have the method {request.method[:MAX_SHOWN_CHARACTERS]}. It has {methods}."
        body = {"error": message, **Internal("").rest_members, "code": code, "docUrl": documentation_url(code)}
        return json_response(body, error.status_code, headers)

    return respond


def _unknown_path_message(path: str, base_path: str, suggest: Callable[[str], str | None]) -> str:
    """Return the message for an unknown path. It names the version that the gateway serves, and a similar path."""
    root, _, served = base_path.rpartition("/")
    document = f"{base_path}/openapi.json"
    named = path.removeprefix(f"{root}/").partition("/")[0] if path.startswith(f"{root}/") else ""
    if _VERSION.fullmatch(served) and _VERSION.fullmatch(named) and named != served:
        return (
            f"This gateway serves version {served} of the REST interface under {base_path}, not {named}. "
            f"Its document is {document}."
        )
    if path.startswith(f"{base_path}/"):
        similar = suggest(path.removeprefix(base_path))
        hint = "" if similar is None else f"Did you mean {base_path}{similar}? "
        return f"{path} is not a path of version {__version__} of the interface. {hint}See {document}."
    return f"{path} is not a path of this gateway."


class PathSuggestions:
    """The paths of the interface by a form without case, hyphens and plurals, to find one that is written nearly so."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[tuple[str, ...], str] = {}
        self._segments: dict[str, None] = {}
        for path in paths:
            key = tuple(_PARAMETER if "{" in segment else _plain(segment) for segment in path.split("/")[1:])
            self._paths[key] = path
            self._segments |= dict.fromkeys(segment for segment in key if segment != _PARAMETER)
        self._longest = max(map(len, self._paths), default=0)

    def suggest(self, path: str) -> str | None:
        """Return the path that a client probably means, or None. A long path is not compared, because it takes long."""
        segments = [_plain(segment) for segment in path.split("/") if segment]
        if len(path) > MAX_COMPARED_CHARACTERS or len(segments) > self._longest:
            return None
        keys: list[tuple[str, ...]] = [()]
        for segment in segments:
            names = [] if any(letter.isdigit() for letter in segment) else self._similar(segment)
            keys = [(*key, name) for key in keys for name in (*names, _PARAMETER)]
        return next((self._paths[key] for key in keys if key in self._paths), None)

    def _similar(self, segment: str) -> list[str]:
        return [segment] if segment in self._segments else get_close_matches(segment, self._segments, n=1, cutoff=0.75)


def _plain(segment: str) -> str:
    """Return a segment of a path without case, hyphens, underscores and the `s` of a plural."""
    return segment.lower().replace("-", "").replace("_", "").removesuffix("s")


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
