"""The legacy form of one place of the REST interface."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from wattgate.errors import GatewayError, Path
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.bulk_intake import Take
from wattgate.rest_compat.legacy_request import Again, Answer, Exchange


@dataclass(frozen=True, slots=True)
class Shape:
    """The legacy form of one place of the REST interface.

    `given` makes the arguments; `places` says where in the request something stands, by where it stands in the
    arguments; `body` makes the answer, or `stream` its bytes, for which it may ask the operation again; `refused` is
    told beside the error when credentials are refused. `form` places take a form (application/x-www-form-urlencoded)
    as well as JSON; `streams` take other bodies while they arrive, by their media type, and make the answer; `error`
    changes the body of a refusal.
    """

    given: Callable[[Exchange], RawArguments] | None = None
    places: Mapping[Path, Path] = field(default_factory=lambda: MappingProxyType({}))
    body: Callable[[Answer], Any] | None = None
    stream: Callable[[Answer, Again], AsyncIterator[bytes]] | None = None
    refused: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    form: bool = False
    streams: Mapping[str, Take] = field(default_factory=lambda: MappingProxyType({}))
    error: Callable[[GatewayError, dict[str, Any]], dict[str, Any]] | None = None
