"""Convert the path, query and body of a REST request to the arguments of an operation."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import orjson
from graphql import GraphQLArgument, GraphQLBoolean, GraphQLFloat, GraphQLInputType, GraphQLInt, get_named_type

from wattgate.errors import BadInput
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.requests.request_limits import MAX_PARAMETERS
from wattgate.rest_compat.legacy_request import LegacyRequest

INPUT_ARGUMENT = "input"
"""The argument that receives the whole request body. An operation without it receives each member of the body."""


_TIME_AND_OFFSET = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?) (\d\d(?::?\d\d)?)", re.ASCII)


def restore_plus(text: str) -> str:
    """Return a time of a query with the `+` of its offset, which arrives as a space if a client did not encode it.

    No other time has a space at this place, so nothing is guessed.
    """
    found = _TIME_AND_OFFSET.fullmatch(text)
    return text if found is None else f"{found[1]}+{found[2]}"


def parse_json_body(raw: bytes) -> Any:
    """Return the JSON value of a body, or an empty object if the body is empty. Raise BadInput if it is not JSON."""
    if not raw.strip():
        return {}
    try:
        return msgspec.json.decode(raw)  # it keeps the digits of large integers, unlike orjson
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"the body is not JSON: {error}") from None


def parse_form_body(raw: bytes) -> dict[str, str]:
    """Return the members of a form (application/x-www-form-urlencoded), at most MAX_PARAMETERS.

    Raise BadInput if the body is not a form or contains a member twice.
    """
    try:
        pairs = parse_qsl(raw.decode(), errors="strict", max_num_fields=MAX_PARAMETERS)
    except ValueError as error:
        raise BadInput(f"the body is not a form: {error}") from None
    members = dict(pairs)
    if len(members) < len(pairs):
        raise BadInput("the form contains the same member twice")
    return members


def request_arguments(request: LegacyRequest, definitions: Mapping[str, GraphQLArgument]) -> RawArguments:
    """Return the arguments of a request in the uniform REST format.

    They come from the query, the body and the path. If a name occurs in several of them, the body overrides the query
    and the path overrides both. Query parameters without a definition are ignored.
    """
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
    """Return the value of a query parameter. Text that is no number or boolean stays text, for validation to reject."""
    named: Any = get_named_type(type_)
    if named.name == "DateTime":
        return restore_plus(text)
    if named is GraphQLBoolean:
        return {"true": True, "false": False, "1": True, "0": False}.get(text.lower(), text)
    if named in (GraphQLInt, GraphQLFloat):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
    return text
