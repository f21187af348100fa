"""Arguments of an operation from the path, query and body of a REST request."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson
from graphql import GraphQLArgument, GraphQLBoolean, GraphQLFloat, GraphQLInputType, GraphQLInt, get_named_type

from wattgate.errors import BadInput
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.legacy_request import LegacyRequest

INPUT_ARGUMENT = "input"
"""The argument that is a REST body as a whole; without one, the members of the body are the arguments."""


def parse_json_body(raw: bytes) -> Any:
    """The JSON value of a body; an empty object where there is none."""
    if not raw.strip():
        return {}
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"the body is not JSON: {error}") from None


def parse_form_body(raw: bytes) -> dict[str, str]:
    """The members of a form (application/x-www-form-urlencoded). BadInput where one is given twice."""
    try:
        pairs = parse_qsl(raw.decode(), errors="strict", max_num_fields=100)
    except ValueError as error:
        raise BadInput(f"the body is not a form: {error}") from None
    members = dict(pairs)
    if len(members) < len(pairs):
        raise BadInput("the form gives a member twice")
    return members


def request_arguments(request: LegacyRequest, definitions: Mapping[str, GraphQLArgument]) -> RawArguments:
    """Return the arguments of a request in the usual form: query, body and path; the path takes precedence."""
    if not isinstance(request.body, dict):
        raise BadInput("the body is not a JSON object")
    body = {INPUT_ARGUMENT: request.body} if INPUT_ARGUMENT in definitions else request.body
    query = {
        name: _parse_query_value(text, definitions[name].type)
        for name, text in request.query.items()
        if name in definitions
    }
    return RawArguments({**query, **body, **request.path})


def _parse_query_value(text: str, type_: GraphQLInputType) -> Any:
    """A query parameter's value: numbers and booleans are read from their text, the rest stays text."""
    named: Any = get_named_type(type_)
    if named is GraphQLBoolean:
        return {"true": True, "false": False, "1": True, "0": False}.get(text.lower(), text)
    if named in (GraphQLInt, GraphQLFloat):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
    return text
