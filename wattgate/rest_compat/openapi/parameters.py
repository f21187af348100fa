"""Parameters of operations: those in the path, those in the query, and headers."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from graphql import GraphQLArgument, GraphQLEnumType, get_named_type, is_required_argument

from wattgate.operations.core.input_limits import MAX_ID_CHARACTERS
from wattgate.operations.core.operation import Operation, RestRoute
from wattgate.operations.vocabulary.directives import declared_facts
from wattgate.principal import ACTING_EXCEPTIONS, GRANTS, AuthScheme, Permission, Role
from wattgate.rest_compat.arguments import INPUT_ARGUMENT
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.openapi.components import Components, Json
from wattgate.rest_compat.openapi.input_bounds import bounded_schema
from wattgate.rest_compat.openapi.input_schemas import enum_schema, input_schema
from wattgate.rest_compat.openapi.wire_schemas import typed_dict_schema
from wattgate.values.annotations import facts_of

APPLICATION_HEADER: Json = {
    "name": "applicationId",
    "in": "header",
    "description": "ID of the application. Required unless the body has `applicationId`.",
    "schema": {"type": "string", "maxLength": MAX_ID_CHARACTERS},
}

USER_HEADER: Json = {
    "name": "userId",
    "in": "header",
    "description": "ID of the user for whom an application acts. Accounts leave it out.",
    "schema": {"type": "string", "maxLength": MAX_ID_CHARACTERS},
}

_PARAMETER = re.compile(r"{(\w+)}")


def parameters(
    operation: Operation,
    rest: RestRoute,
    legacy_format: LegacyFormat,
    arguments: Mapping[str, GraphQLArgument],
    components: Components,
) -> list[Json]:
    """Return the parameters of a route."""
    query: Iterable[Json] = ()
    if legacy_format.query is not None:
        query = _legacy_query(legacy_format.query, components)
    elif takes_query(rest) and legacy_format.body is None:
        query = _uniform_query(rest, arguments, components)
    return [
        *_path_parameters(rest, legacy_format, arguments, components),
        *query,
        *([APPLICATION_HEADER] if operation.needs is Permission.ANYONE else []),
        *([USER_HEADER] if _accepts_acting_applications(operation, rest) else []),
    ]


def names_in_path(rest: RestRoute) -> list[str]:
    """Return the names of the parameters in a path."""
    return _PARAMETER.findall(rest.path)


def _accepts_acting_applications(operation: Operation, rest: RestRoute) -> bool:
    """Return whether an application may send a request for one of its users."""
    if operation.needs is Permission.ANYONE or rest.accepted_scheme is AuthScheme.TOKEN:
        return False
    shared = GRANTS[Role.ACCOUNT].keys() & GRANTS[Role.APPLICATION].keys()
    return operation.needs in shared or operation.needs in ACTING_EXCEPTIONS


def takes_query(rest: RestRoute) -> bool:
    """Return whether the arguments of a uniform route are in the query. The body of a DELETE has no defined meaning."""
    return rest.method in ("GET", "DELETE")


def _path_parameters(
    rest: RestRoute, legacy_format: LegacyFormat, arguments: Mapping[str, GraphQLArgument], components: Components
) -> Iterator[Json]:
    for name in names_in_path(rest):
        argument = arguments.get(name)
        type_ = get_named_type(argument.type) if argument else None
        facts = declared_facts(argument) if argument else facts_of(legacy_format.path_parameters[name])
        if isinstance(type_, GraphQLEnumType):
            schema = enum_schema(type_, components)
        else:
            schema = {"type": "string", "maxLength": facts.max_characters or MAX_ID_CHARACTERS}
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": facts.description or "",
            "schema": schema,
        }


def _uniform_query(rest: RestRoute, arguments: Mapping[str, GraphQLArgument], components: Components) -> Iterator[Json]:
    in_path = names_in_path(rest)
    for name, argument in arguments.items():
        if name not in in_path and name != INPUT_ARGUMENT:
            schema = input_schema(argument.type, components)
            yield {
                "name": name,
                "in": "query",
                "required": is_required_argument(argument),
                "description": argument.description or "",
                "schema": without_null(bounded_schema(argument, schema)),
            }


def _legacy_query(query: Any, components: Components) -> Iterator[Json]:
    declared = typed_dict_schema(query, components)
    for name, schema in declared["properties"].items():
        description, examples = schema.pop("description"), schema.pop("examples", None)
        yield {
            "name": name,
            "in": "query",
            "required": name in declared.get("required", []),
            "description": description,
            "schema": schema,
            **({"example": examples[0]} if examples else {}),
        }


def without_null(schema: Json) -> Json:
    """Return a schema that does not permit null: a query has no null."""
    if "anyOf" in schema:
        options = [option for option in schema["anyOf"] if option != {"type": "null"}]
        return options[0] if len(options) == 1 else {**schema, "anyOf": options}
    kinds = schema.get("type")
    if isinstance(kinds, list):
        others = [kind for kind in kinds if kind != "null"]
        return {**schema, "type": others[0] if len(others) == 1 else others}
    return schema
