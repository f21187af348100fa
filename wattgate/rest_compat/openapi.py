"""OpenAPI 3.1 document of the REST interface, built from the operation catalogue.

The GraphQL types that validate requests and render responses also describe the uniform endpoints. The examples in
`rest_compat.examples` describe the endpoints with a legacy format.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    is_required_argument,
    is_required_input_field,
)
from strawberry.types.base import StrawberryList, StrawberryObjectDefinition, StrawberryOptional
from strawberry.types.enum import StrawberryEnumDefinition

from wattgate import __version__
from wattgate.enums import to_camel_case
from wattgate.errors import GatewayError
from wattgate.graphql.core.fields import edge_of
from wattgate.graphql.core.input_limits import MAX_ID_CHARACTERS, text_limit
from wattgate.graphql.core.node import is_global_id
from wattgate.graphql.core.operation import JSON, Operation, RestRoute
from wattgate.graphql.execution.argument_binder import ArgumentBinder
from wattgate.graphql.execution.descriptions import description_for
from wattgate.graphql.execution.schema import Schema
from wattgate.principal import AuthScheme, Permission
from wattgate.rest_compat.arguments import INPUT_ARGUMENT
from wattgate.rest_compat.examples import EXAMPLES, UUID, EndpointExamples
from wattgate.rest_compat.formats import LEGACY_FORMATS
from wattgate.rest_compat.input_bounds import bounded_schema
from wattgate.rest_compat.row_renderer import wire_name

Json = dict[str, Any]

SCALAR_SCHEMAS: Mapping[str, Json] = {
    "String": {"type": "string"},
    "ID": {"type": "string"},
    "Int": {"type": "integer"},
    "Float": {"type": "number"},
    "Boolean": {"type": "boolean"},
    "DateTime": {"type": "string", "format": "date-time"},
    "Decimal": {"type": ["number", "string"]},
    "TimeZone": {"type": "string"},
    "JSON": {},
}
PYTHON_TYPE_SCHEMAS: Mapping[Any, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    Decimal: {"type": "number"},
}
SECURITY_SCHEMES: Json = {
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "Credential of an application; or username and password of an account, with the header "
        "`applicationId`.",
    },
    "token": {"type": "apiKey", "in": "header", "name": "token", "description": "Token from POST /auth."},
}
APPLICATION_HEADER: Json = {
    "name": "applicationId",
    "in": "header",
    "description": "ID of the application. Required unless the body has `applicationId`.",
    "schema": {"type": "string"},
}
LEGACY_QUERY_DESCRIPTIONS: Mapping[str, str] = {
    "from": "Start of the range, inclusive: a wall-clock time at `offset`, without a time zone.",
    "to": "End of the range, inclusive: a wall-clock time at `offset`. The response includes the bucket that starts "
    "there.",
    "period": "Length of a bucket: PT1M, PT30M, PT1H, P1D, P1W, P1M or P1Y.",
    "function": "Function that combines the readings of a bucket: sum, avg, min or max.",
    "offset": "Minutes to add to the wall-clock time to get UTC, such as -60 for British Summer Time. Default: 0.",
    "nulls": "1 returns null for missing values. Default: missing values are 0.",
}
"""Descriptions of query parameters that only the legacy interface has."""

ERROR_RESPONSES: Json = {
    str(status): {
        "description": ", ".join(sorted(kind.code for kind in GatewayError.__subclasses__() if kind.status == status)),
        "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    for status in sorted({kind.status for kind in GatewayError.__subclasses__()})
}
"""Error responses by HTTP status. All operations share them and one error format."""

_WORD = re.compile(r"[A-Za-z]+")
_PARAMETER = re.compile(r"{(\w+)}")


def build_openapi_document(operations: Iterable[Operation], schema: Schema, base_path: str) -> Json:
    """Return the OpenAPI document as JSON values."""
    components: Json = {"Error": _error_schema()}
    paths: Json = {}
    for operation in operations:
        for rest in operation.rest:
            item = paths.setdefault(rest.path, {}).setdefault(rest.method.lower(), {})
            if rest.media_type != JSON and item:  # another media type of the same endpoint
                item["responses"][str(rest.status)]["content"][rest.media_type] = _binary_content()
            else:
                item.update(_path_operation(operation, rest, schema, components))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "wattgate",
            "version": __version__,
            "description": "Metered energy readings, and the users, homes, devices and content that belong to them. "
            "Each operation is also a GraphQL field. The response header `x-graphql-operation` has its name.",
        },
        "servers": [{"url": base_path}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(components.items())),
            "responses": ERROR_RESPONSES,
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


def _path_operation(operation: Operation, rest: RestRoute, schema: Schema, components: Json) -> Json:
    arguments = ArgumentBinder(schema, operation).arguments
    shown = EXAMPLES.get(rest.route_key, EndpointExamples())
    made: Json = {
        "operationId": f"{rest.method.lower()}{''.join(part.title() for part in _WORD.findall(rest.path))}",
        "summary": _summary(operation, rest),
        "description": f"{operation.description}\n\n"
        f"GraphQL: `{operation.kind.value.lower()} {to_camel_case(operation.name)}`",
        "tags": [rest.path.split("/")[1]],
        "parameters": [
            *_path_parameters(operation, rest),
            *_query_parameters(operation, rest, arguments, shown, components),
            *([APPLICATION_HEADER] if operation.needs is Permission.ANYONE else []),
        ],
        "responses": {
            str(rest.status): _success_response(operation, rest, shown, components),
            **{status: {"$ref": f"#/components/responses/{status}"} for status in ERROR_RESPONSES},
        },
        "security": _security(operation, rest),
    }
    body = _request_body(operation, rest, arguments, shown, components)
    if body is not None:
        required = bool(body["schema"].get("required")) or INPUT_ARGUMENT in arguments
        streams = (
            {media: _binary_content() for media in LEGACY_FORMATS[rest.route_key].body_readers}
            if rest.route_key in LEGACY_FORMATS
            else {}
        )
        content = {shown.media: body, **streams}
        made["requestBody"] = {"required": required and shown.body is None, "content": content}
    return made


def _summary(operation: Operation, rest: RestRoute) -> str:
    """Return the first line of the operation's description, or the description of the only edge that is returned."""
    if len(rest.edges) == 1 and not rest.path.endswith("}"):
        for field in operation.result_type.__strawberry_definition__.fields:
            if wire_name(field) in rest.edges and len(operation.rest) > 1:
                return str(field.description)
    return operation.description.partition("\n")[0]


def _path_parameters(operation: Operation, rest: RestRoute) -> Iterator[Json]:
    for name in _PARAMETER.findall(rest.path):
        description = description_for(to_camel_case(operation.name), name) or ""
        schema = {"type": "string", "maxLength": text_limit(to_camel_case(operation.name), name) or MAX_ID_CHARACTERS}
        yield {"name": name, "in": "path", "required": True, "description": description, "schema": schema}


def _query_parameters(
    operation: Operation,
    rest: RestRoute,
    arguments: Mapping[str, GraphQLArgument],
    examples: EndpointExamples,
    components: Json,
) -> Iterator[Json]:
    if examples.query is not None:
        for name, example in examples.query.items():
            owner, own_description = to_camel_case(operation.name), LEGACY_QUERY_DESCRIPTIONS.get(name)
            yield {
                "name": name,
                "in": "query",
                "description": description_for(owner, name, own_description) or "",
                "schema": {"type": "string"},
                "example": example,
            }
    elif rest.method == "GET":
        for name, argument in arguments.items():
            if f"{{{name}}}" not in rest.path:
                yield {
                    "name": name,
                    "in": "query",
                    "required": is_required_argument(argument),
                    "description": argument.description or "",
                    "schema": bounded_schema(
                        to_camel_case(operation.name), name, argument.type, _input_schema(argument.type, components)
                    ),
                }


def _request_body(
    operation: Operation,
    rest: RestRoute,
    arguments: Mapping[str, GraphQLArgument],
    examples: EndpointExamples,
    components: Json,
) -> Json | None:
    if examples.body is not None:
        return _example_content(examples.body, examples)
    if rest.method == "GET":
        return None
    if INPUT_ARGUMENT in arguments:
        return {"schema": _input_schema(arguments[INPUT_ARGUMENT].type, components)}
    members = {name: argument for name, argument in arguments.items() if f"{{{name}}}" not in rest.path}
    if not members:
        return None
    return {
        "schema": {
            "type": "object",
            "properties": {
                name: bounded_schema(
                    to_camel_case(operation.name), name, argument.type, _input_schema(argument.type, components)
                )
                for name, argument in members.items()
            },
            "required": [name for name, argument in members.items() if is_required_argument(argument)],
        }
    }


def _success_response(operation: Operation, rest: RestRoute, examples: EndpointExamples, components: Json) -> Json:
    headers = {"x-graphql-operation": {"description": "Name of the GraphQL field.", "schema": {"type": "string"}}}
    if rest.media_type != JSON:
        return {"description": "OK", "headers": headers, "content": {rest.media_type: _binary_content()}}
    if examples.response is not None:
        content: Json = _example_content(examples.response, examples)
    elif rest.acknowledged_fields:
        example = {"status": "OK", **dict.fromkeys(rest.acknowledged_fields, UUID)}
        content = {"schema": schema_of_example(example), "example": example}
    else:
        one = _output_schema(operation.result_type, components, rest.edges)
        content = {"schema": {"type": "array", "items": one} if operation.returns_list else one}
    return {"description": "OK", "headers": headers, "content": {JSON: content}}


def _input_schema(type_: GraphQLInputType, components: Json) -> Json:
    """Return the JSON Schema of a GraphQL input type. Add objects and enums to the components."""
    if isinstance(type_, GraphQLNonNull):
        return _non_null_schema(type_.of_type, components)
    return {"anyOf": [_non_null_schema(type_, components), {"type": "null"}]}


def _non_null_schema(type_: Any, components: Json) -> Json:
    if isinstance(type_, GraphQLList):
        return {"type": "array", "items": _input_schema(type_.of_type, components)}
    if isinstance(type_, GraphQLEnumType):
        components[type_.name] = {"type": "string", "enum": list(type_.values), "description": type_.description or ""}
        return _reference(type_.name)
    if isinstance(type_, GraphQLInputObjectType):
        if type_.name not in components:
            made: Json = {"type": "object", "description": type_.description or ""}
            components[type_.name] = made
            made["properties"] = {
                name: {
                    **bounded_schema(type_.name, name, field.type, _input_schema(field.type, components)),
                    "description": field.description or "",
                }
                for name, field in type_.fields.items()
            }
            made["required"] = [name for name, field in type_.fields.items() if is_required_input_field(field)]
        return _reference(type_.name)
    return dict(SCALAR_SCHEMAS[type_.name])


def _output_schema(type_: Any, components: Json, edges: tuple[str, ...] = ()) -> Json:
    """Return the JSON Schema of a Strawberry type as REST renders it: its plain fields and the given edges."""
    definition: StrawberryObjectDefinition = type_.__strawberry_definition__
    name = definition.name if not edges else f"{definition.name}With{''.join(edge.title() for edge in edges)}"
    if name not in components:
        made: Json = {"type": "object", "description": definition.description or ""}
        components[name] = made
        fields = [
            one
            for one in definition.fields
            if (edge_of(one) is None and not is_global_id(one)) or wire_name(one) in edges
        ]
        made["properties"] = {
            wire_name(one): {
                **_output_field_schema(one.type, components),
                "description": description_for(definition.name, wire_name(one), one.description) or "",
            }
            for one in fields
        }
        made["required"] = [wire_name(one) for one in fields]
    return _reference(name)


def _output_field_schema(type_: Any, components: Json) -> Json:
    if isinstance(type_, StrawberryOptional):
        return {"anyOf": [_output_field_schema(type_.of_type, components), {"type": "null"}]}
    if isinstance(type_, StrawberryList):
        return {"type": "array", "items": _output_field_schema(type_.of_type, components)}
    if isinstance(type_, StrawberryEnumDefinition):
        return {"type": "string", "enum": [value.value for value in type_.values]}
    if isinstance(type_, type) and issubclass(type_, Enum):
        return {"type": "string", "enum": [value.value for value in type_]}
    if hasattr(type_, "__strawberry_definition__"):
        return _output_schema(type_, components)
    return dict(
        PYTHON_TYPE_SCHEMAS.get(type_, SCALAR_SCHEMAS["String"] if getattr(type_, "__name__", "") == "ID" else {})
    )


def _example_content(example: Any, examples: EndpointExamples) -> Json:
    return {"schema": {"type": "object"} if examples.is_free_form else schema_of_example(example), "example": example}


def schema_of_example(example: Any) -> Json:
    """Return the JSON Schema of values like an example. None permits any value; no member is required."""
    match example:
        case None:
            return {}
        case bool():
            return {"type": "boolean"}
        case int() | float():
            return {"type": ["number", "null"]}
        case str():
            return {"type": ["string", "null"]}
        case list():
            return {"type": "array", **({"items": schema_of_example(example[0])} if example else {})}
        case _:
            return {"type": "object", "properties": {name: schema_of_example(one) for name, one in example.items()}}


def _error_schema() -> Json:
    problem = {
        "type": "object",
        "properties": {
            "path": {"type": "array", "items": {"type": ["string", "integer"]}},
            "message": {"type": "string"},
        },
        "required": ["path", "message"],
    }
    return {
        "type": "object",
        "description": "Error response.",
        "properties": {
            "error": {
                "type": "string",
                "description": "Error message. Some endpoints keep the message of the legacy interface.",
            },
            "code": {"type": "string", "description": "Machine-readable error code, such as BAD_INPUT."},
            "retryable": {"type": "boolean", "description": "Whether the same request may succeed later."},
            "retryAfter": {"type": "integer", "description": "Seconds to wait before a retry."},
            "traceId": {"type": "string", "description": "ID of the request in the log of the gateway."},
            "description": {"type": "string"},
            "problems": {
                "type": "array",
                "items": problem,
                "description": "All problems of the request, each with its path.",
            },
        },
        "required": ["error", "code", "retryable", "traceId"],
    }


def _security(operation: Operation, rest: RestRoute) -> list[Json]:
    if operation.needs is Permission.ANYONE:
        return []
    schemes = [rest.accepted_scheme] if rest.accepted_scheme else [AuthScheme.BASIC, AuthScheme.TOKEN]
    return [{scheme.value: []} for scheme in schemes]


def _binary_content() -> Json:
    return {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}}


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}
