"""Description of a legacy format: how one REST endpoint converts its request and its result."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from wattgate.errors import GatewayError, ProblemPath
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.requests.bodies import JSON
from wattgate.rest_compat.bulk_intake import BodyReader
from wattgate.rest_compat.file_intake import FILE_TYPES, TakeFile
from wattgate.rest_compat.legacy_request import LegacyRequest, RerunOperation, RestResult

FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class LegacyFormat:
    """The legacy format of one REST endpoint. A default value means the uniform format."""

    parse_arguments: Callable[[LegacyRequest], RawArguments] | None = None
    """Convert the request to the arguments of the operation."""
    request_paths: Mapping[ProblemPath, ProblemPath] = field(default_factory=lambda: MappingProxyType({}))
    """Paths in the request by paths in the arguments. Problems are reported with the request path."""
    render_body: Callable[[RestResult], Any] | None = None
    """Convert the result to the JSON body of the response."""
    render_stream: Callable[[RestResult, RerunOperation], AsyncIterator[bytes]] | None = None
    """Yield the bytes of the response instead of a JSON body. It may run the operation again for more rows."""
    rejection_members: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Additional members of the body if the credentials or the rate limit reject the request."""
    accepts_form: bool = False
    """Whether the body may be a form (application/x-www-form-urlencoded) as well as JSON."""
    body_readers: Mapping[str, BodyReader] = field(default_factory=lambda: MappingProxyType({}))
    """Readers of streamed bodies by media type. They record the body while it arrives and return the response."""
    take_file: TakeFile | None = None
    """The function that gets a file of readings as the body, whose media type is one of FILE_TYPES."""
    path_parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The annotations of parameters in the path that are no arguments of the operation, by name."""
    query: Any = None
    """The TypedDict of the query parameters. None means the arguments of the operation."""
    body: Any = None
    """The shape of the request body, see `wire_shapes`. None means the arguments of the operation."""
    response: Any = None
    """The shape of the response body. None means the result type of the operation."""
    body_example: Any = None
    """An example of the request body. None means that it has no example."""
    response_example: Any = None
    """An example of the response body. None means that it has no example."""
    transform_error: Callable[[GatewayError, dict[str, Any]], dict[str, Any]] | None = None
    """Adapt the body of an error response."""

    @property
    def accepted_content(self) -> tuple[str, ...]:
        """The media types of bodies that the endpoint accepts."""
        return (
            *((FORM,) if self.accepts_form else ()),
            JSON,
            *self.body_readers,
            *(FILE_TYPES if self.take_file else ()),
        )
