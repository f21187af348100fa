"""The OpenAPI 3.1 document, put together from the catalogue of operations, with their parameters and bodies."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from graphql import GraphQLArgument, GraphQLEnumType, get_named_type, is_required_argument
from strawberry.types import get_object_definition

from wattgate import __version__
from wattgate.enums import to_camel_case
from wattgate.graphql.execution.argument_binder import ArgumentBinder
from wattgate.graphql.execution.schema import Schema
from wattgate.operations.core.input_limits import MAX_ID_CHARACTERS
from wattgate.operations.core.operation import JSON, Operation, OperationKind, RestRoute
from wattgate.operations.readings.raw_readings import ARROW
from wattgate.operations.vocabulary.directives import declared_facts
from wattgate.operations.vocabulary.strawberry_adapter import rest_name_of
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import ACTING_EXCEPTIONS, GRANTS, AuthScheme, Permission, Role
from wattgate.rest_compat.arguments import INPUT_ARGUMENT
from wattgate.rest_compat.bulk_intake import NDJSON
from wattgate.rest_compat.file_intake import FILE_TYPES
from wattgate.rest_compat.formats import DEFAULT_FORMAT, LEGACY_FORMATS
from wattgate.rest_compat.formats.legacy_format import FORM, LegacyFormat
from wattgate.rest_compat.openapi.components import Components, Json
from wattgate.rest_compat.openapi.errors import error_kinds, error_responses, error_schemas
from wattgate.rest_compat.openapi.graphql_twins import graphql_twin
from wattgate.rest_compat.openapi.input_schemas import argument_schema, bounded_schema, enum_schema, input_schema
from wattgate.rest_compat.openapi.output_schemas import output_schema
from wattgate.rest_compat.openapi.wire_schemas import shape_schema, typed_dict_schema
from wattgate.rest_compat.wire_shapes import EXAMPLE_UUID, Acknowledgement, RecordShape
from wattgate.values.annotations import facts_of

SECURITY_SCHEMES: Json = {
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "Credential of an application; or username and password of an account, with the header "
        "`applicationId`.",
    },
    "token": {"type": "apiKey", "in": "header", "name": "token", "description": "Token from POST /auth."},
}

DESCRIPTION = (
    "Metered energy readings, and the users, homes, devices and content that belong to them. GraphQL has the same "
    "records: the response header `x-graphql-operation` names the field, or the path of fields. A path of the document "
    "that does not have the method of a request answers with 405 and the code METHOD_NOT_ALLOWED. The response header "
    "`x-ignored-members` names members of a request that the path does not know. Answers of GET have an `ETag`, and a "
    "request with it in `If-None-Match` gets 304 if nothing has changed."
)

DESTRUCTIVE_FIELDS = ("deactivate", "delete", "erase", "remove", "revoke", "withdraw")
"""How the names of fields begin that take something away."""

_WORD = re.compile(r"[A-Za-z]+")


def build_openapi_document(operations: Iterable[Operation], schema: Schema, base_path: str) -> Json:
    """Return the OpenAPI document as JSON values."""
    components = Components(schema)
    for name, error in error_schemas().items():
        components.put(name, error)
    responses: dict[str, Json] = {}
    paths: Json = {}
    for operations_of_endpoint in _by_endpoint(operations):
        operation, rest = operations_of_endpoint[0]
        item = _path_operation(operation, rest, schema, components)
        kinds = set().union(*(error_kinds(*route) for route in operations_of_endpoint))
        for other_operation, other in operations_of_endpoint[1:]:  # other media types of the same endpoint
            content = item["responses"][str(rest.status)]["content"]
            content[other.media_type] = response_content(
                other_operation, other, LEGACY_FORMATS.get(other.route_key, DEFAULT_FORMAT), components
            )
        item["responses"].update(error_responses(kinds, responses))
        paths.setdefault(rest.path, {})[rest.method.lower()] = item
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "wattgate",
            "version": __version__,
            "description": DESCRIPTION,
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_path, "description": "The gateway that serves this document."}],
        **_tag_members(),
        "security": [{"token": []}, {"basic": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(components.schemas.items())),
            "responses": dict(sorted(responses.items())),
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


def operation_id(operation: Operation, rest: RestRoute) -> str:
    """Return the name of the operation. Routes of the same operation after the first one add a part of their path."""
    name = to_camel_case(operation.name)
    first = operation.rest[0]
    if rest == first:
        return name
    shared = first.path.split("/")
    own = [part for part in rest.path.split("/") if part not in shared and not part.startswith("{")]
    return name + "".join(word.title() for part in own for word in _WORD.findall(part))


def _tag_members() -> Json:
    """Return the members `tags` and `x-tagGroups` of the document."""
    groups: dict[str, list[str]] = {}
    for tag in Tag:
        groups.setdefault(tag.group, []).append(tag.title)
    return {
        "tags": [{"name": tag.title, "description": tag.description} for tag in Tag],
        "x-tagGroups": [{"name": group, "tags": titles} for group, titles in groups.items()],
    }


def _by_endpoint(operations: Iterable[Operation]) -> Iterable[list[tuple[Operation, RestRoute]]]:
    """Return the routes of each method and path, the one with JSON first."""
    endpoints: dict[tuple[str, str], list[tuple[Operation, RestRoute]]] = {}
    for operation in operations:
        for rest in operation.rest:
            endpoints.setdefault((rest.path, rest.method), []).append((operation, rest))
    return [sorted(routes, key=lambda route: route[1].media_type != JSON) for routes in endpoints.values()]


def _path_operation(operation: Operation, rest: RestRoute, schema: Schema, components: Components) -> Json:
    arguments = ArgumentBinder(schema, operation).arguments
    legacy_format = LEGACY_FORMATS.get(rest.route_key, DEFAULT_FORMAT)
    body = request_body(operation, rest, legacy_format, arguments, components)
    first_line, _, notes = operation.description.partition("\n")
    summary = rest.summary or first_line
    return {
        "operationId": operation_id(operation, rest),
        "summary": summary.rstrip("."),
        "description": f"{summary}\n{notes}".rstrip(),
        "tags": [rest.tag.title],
        "x-effect": _effect(operation, rest),
        "x-graphql": graphql_twin(operation, rest.edges, schema),
        "parameters": parameters(operation, rest, legacy_format, arguments, components),
        **({} if body is None else {"requestBody": body}),
        "responses": {str(rest.status): success_response(operation, rest, legacy_format, components)},
        "security": _security(operation, rest),
    }


def _effect(operation: Operation, rest: RestRoute) -> str:
    """Return how dangerous a call is: `read`, `write`, or `destructive` if it takes something away."""
    if operation.kind is OperationKind.QUERY:
        return "read"
    name = to_camel_case(operation.name)
    return "destructive" if rest.method == "DELETE" or name.startswith(DESTRUCTIVE_FIELDS) else "write"


def _security(operation: Operation, rest: RestRoute) -> list[dict[str, Any]]:
    if operation.needs is Permission.ANYONE:
        return []
    schemes = [rest.accepted_scheme] if rest.accepted_scheme else [AuthScheme.BASIC, AuthScheme.TOKEN]
    return [{scheme.value: []} for scheme in schemes]


# Request bodies and successful responses of operations.

OPERATION_HEADER: Json = {
    "x-graphql-operation": {"description": "Name of the GraphQL field.", "schema": {"type": "string"}}
}
STREAMED_BODIES: Mapping[str, Json] = {
    NDJSON: {
        "schema": {
            "type": "string",
            "description": "Lines of JSON, each an object with `resourceId`, `at`, `value`, and optionally `field` and "
            "`quality`.",
        }
    },
    ARROW: {"schema": {"type": "string", "format": "binary", "contentMediaType": ARROW}},
    **{media: {"schema": {"type": "string", "format": "binary", "contentMediaType": media}} for media in FILE_TYPES},
}
"""Bodies that the gateway records while they arrive, by media type."""

PROGRESS_LINES: Json = {
    "schema": {
        "type": "string",
        "description": "Lines of JSON while the gateway works, each an object with `progress` from 0 to 1. The last "
        "line has `status`, the status of the answer, and `result` or `error`, its body.",
    }
}


def request_body(
    operation: Operation,
    rest: RestRoute,
    legacy_format: LegacyFormat,
    arguments: Mapping[str, GraphQLArgument],
    components: Components,
) -> Json | None:
    """Return the request body of a route, or None if it has none."""
    schema = _body_schema(operation, rest, legacy_format, arguments, components)
    if schema is None:
        return None
    content = _content(schema, legacy_format.body_example)
    has_required = bool(components.resolve(schema).get("required"))
    return {
        "required": has_required or INPUT_ARGUMENT in arguments,
        "content": {
            **({FORM: content} if legacy_format.accepts_form else {}),
            JSON: content,
            **{media: STREAMED_BODIES[media] for media in legacy_format.accepted_content if media in STREAMED_BODIES},
        },
    }


def success_response(
    operation: Operation, rest: RestRoute, legacy_format: LegacyFormat, components: Components
) -> Json:
    """Return the successful response of a route."""
    return {
        "description": "OK",
        "headers": OPERATION_HEADER,
        "content": {
            rest.media_type: response_content(operation, rest, legacy_format, components),
            **({NDJSON: PROGRESS_LINES} if legacy_format.take_file else {}),
        },
    }


def response_content(
    operation: Operation, rest: RestRoute, legacy_format: LegacyFormat, components: Components
) -> Json:
    """Return the schema of the response of a route, with an example if it has one."""
    if rest.media_type != JSON:
        return {"schema": {"type": "string", "format": "binary", "contentMediaType": rest.media_type}}
    example = legacy_format.response_example
    if legacy_format.response is not None:
        schema = shape_schema(legacy_format.response, components)
    elif rest.acknowledged_fields:
        schema = shape_schema(_acknowledgement(operation, rest), components)
        example = {"status": "OK", **dict.fromkeys(rest.acknowledged_fields, EXAMPLE_UUID)}
    else:
        one = output_schema(operation.rest_result_type, components, rest.edges)
        schema = {"type": "array", "items": one} if operation.rest_returns_list else one
    return _content(schema, example)


def _content(schema: Json, example: Any) -> Json:
    return {"schema": schema, **({} if example is None else {"example": example})}


def _acknowledgement(operation: Operation, rest: RestRoute) -> RecordShape:
    """Return the shape of the answer for legacy clients: status OK, and some members of the record."""
    definition = get_object_definition(operation.rest_result_type, strict=True)
    names = frozenset(rest_name_of(field) for field in definition.fields)
    return RecordShape(
        f"{definition.name}Acknowledgement",
        operation.rest_result_type,
        Acknowledgement,
        omitted=names - set(rest.acknowledged_fields),
        description="Acknowledgement of a change.",
    )


def _body_schema(
    operation: Operation,
    rest: RestRoute,
    legacy_format: LegacyFormat,
    arguments: Mapping[str, GraphQLArgument],
    components: Components,
) -> Json | None:
    if legacy_format.body is not None:
        return shape_schema(legacy_format.body, components)
    if takes_query(rest):
        return None
    if INPUT_ARGUMENT in arguments:
        return input_schema(arguments[INPUT_ARGUMENT].type, components)
    in_path = names_in_path(rest)
    members = {name: argument for name, argument in arguments.items() if name not in in_path}
    if not members:
        return None
    owner = to_camel_case(operation.name)
    # generators name the parameters of an operation with a form `...Request`
    suffix = "Form" if legacy_format.accepts_form else "Request"

    def make() -> Json:
        names = {name: str(legacy_format.request_paths.get((name,), (name,))[0]) for name in members}
        required = [names[name] for name, argument in members.items() if is_required_argument(argument)]
        return {
            "type": "object",
            "description": f"Request of `{owner}`.",
            "properties": {names[name]: argument_schema(argument, components) for name, argument in members.items()},
            **({"required": required} if required else {}),
        }

    return components.add(f"{owner[0].upper()}{owner[1:]}{suffix}", make)


# Parameters of operations: those in the path, those in the query, and headers.

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

SHARED_HOME_HEADER: Json = {
    "name": "sharedHomeId",
    "in": "header",
    "description": "ID of a home that its owner shares with the account. The request then reads this home only.",
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
        *([SHARED_HOME_HEADER] if operation.needs in GRANTS[Role.MEMBER] else []),
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
