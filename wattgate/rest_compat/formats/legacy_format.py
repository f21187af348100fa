"""The legacy form of one place of the REST interface."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from wattgate.errors import GatewayError, ProblemPath
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.bulk_intake import BodyReader
from wattgate.rest_compat.legacy_request import LegacyRequest, RerunOperation, RestResult


@dataclass(frozen=True, slots=True)
class LegacyFormat:
    """The legacy form of one place of the REST interface.

    `given` makes the arguments; `places` says where in the request something stands, by where it stands in the
    arguments; `body` makes the answer, or `stream` its bytes, for which it may ask the operation again; `refused` is
    told beside the error when credentials are refused. `form` places take a form (application/x-www-form-urlencoded)
    as well as JSON; `streams` take other bodies while they arrive, by their media type, and make the answer; `error`
    changes the body of a refusal.
    """

    parse_arguments: Callable[[LegacyRequest], RawArguments] | None = None
    request_paths: Mapping[ProblemPath, ProblemPath] = field(default_factory=lambda: MappingProxyType({}))
    render_body: Callable[[RestResult], Any] | None = None
    render_stream: Callable[[RestResult, RerunOperation], AsyncIterator[bytes]] | None = None
    rejection_members: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    accepts_form: bool = False
    body_readers: Mapping[str, BodyReader] = field(default_factory=lambda: MappingProxyType({}))
    transform_error: Callable[[GatewayError, dict[str, Any]], dict[str, Any]] | None = None
