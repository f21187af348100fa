"""The query parameters and body members that an endpoint knows, and what it says about others in a request.

Real clients send members that the interface does not have, so that a request with them succeeds. The response names
them, because a client that believes in `?page=2` reads the first page for ever. A parameter that occurs twice has two
values, so that it is refused.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, get_type_hints
from urllib.parse import quote

from graphql import GraphQLArgument, GraphQLInputObjectType, get_named_type
from starlette.datastructures import QueryParams

from wattgate.errors import BadInput, Problem
from wattgate.operations.core.operation import RestRoute
from wattgate.rest_compat.arguments import INPUT_ARGUMENT
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.wire_shapes import RecordShape

IGNORED_HEADER = "x-ignored-members"
"""The header of responses with the names that the endpoint ignored, separated by commas and percent-encoded."""

MAX_NAMED, MAX_NAME_CHARACTERS = 20, 100
"""Maximum names in the header, and characters of each."""


@dataclass(frozen=True, slots=True)
class KnownMembers:
    """The names of query parameters and body members. None for a body whose members clients choose, or for no body."""

    query: frozenset[str]
    body: frozenset[str] | None

    @classmethod
    def of(
        cls, rest: RestRoute, legacy_format: LegacyFormat, arguments: Mapping[str, GraphQLArgument]
    ) -> "KnownMembers":
        in_path = {name for name in arguments if f"{{{name}}}" in rest.path}
        return cls(
            frozenset(_query_names(legacy_format, arguments.keys() - in_path - {INPUT_ARGUMENT})),
            _body_names(legacy_format, arguments, arguments.keys() - in_path),
        )

    def ignored(self, query: QueryParams, body: Any) -> str:
        """Return the value of IGNORED_HEADER: the names that the endpoint does not know, or an empty text."""
        names = islice(self._unknown(query, body), MAX_NAMED)
        return ", ".join(quote(name[:MAX_NAME_CHARACTERS], safe="") for name in names)

    def check_repeated(self, query: QueryParams) -> None:
        """Raise BadInput if a known query parameter occurs twice, because it is unknown which of its values counts."""
        pairs = query.multi_items()
        if len(pairs) == len(query):
            return
        names = [name for name, _ in pairs]
        repeated = [name for name in query if name in self.query and names.count(name) > 1]
        if repeated:
            problems = [Problem((name,), "is given twice") for name in repeated]
            raise BadInput("A query parameter is given twice. Send each one once. See `problems`.", problems=problems)

    def _unknown(self, query: QueryParams, body: Any) -> Iterator[str]:
        yield from (name for name in query if name not in self.query)
        if isinstance(body, dict) and self.body is not None:
            yield from (str(name) for name in body if name not in self.body)


def _query_names(legacy_format: LegacyFormat, names: Collection[str]) -> Collection[str]:
    if legacy_format.query is not None:
        return get_type_hints(legacy_format.query).keys()
    return names if legacy_format.parse_arguments is None else ()


def _body_names(
    legacy_format: LegacyFormat, arguments: Mapping[str, GraphQLArgument], names: Collection[str]
) -> frozenset[str] | None:
    body = legacy_format.body
    if isinstance(body, RecordShape):
        return None if body.is_open else frozenset(get_type_hints(body.added))
    if body is not None:
        return frozenset(get_type_hints(body))
    if INPUT_ARGUMENT in arguments:
        type_ = get_named_type(arguments[INPUT_ARGUMENT].type)
        return frozenset(type_.fields) if isinstance(type_, GraphQLInputObjectType) else None
    return frozenset(str(legacy_format.request_paths.get((name,), (name,))[0]) for name in names)
