"""Build the OpenAPI 3.1 document of the REST interface from the operation catalogue.

Endpoints in the uniform format are described by the GraphQL types that validate and render them. Endpoints in a legacy
format are described by the examples in `rest_compat.examples`.
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
from wattgate.graphql.core.operation import JSON, Operation, RestRoute
from wattgate.graphql.execution.argument_binder import ArgumentBinder
from wattgate.graphql.execution.descriptions import description_for
from wattgate.graphql.execution.schema import Schema
from wattgate.principal import AuthScheme, Permission
from wattgate.rest_compat.arguments import INPUT_ARGUMENT
from wattgate.rest_compat.examples import EXAMPLES, EndpointExamples
from wattgate.rest_compat.formats import LEGACY_FORMATS
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
    "basic": {"type": "http", "scheme": "basic", "description": "An application's credential, or an account's."},
    "token": {"type": "apiKey", "in": "header", "name": "token", "description": "A token of POST /auth."},
}
APPLICATION_HEADER: Json = {
    "name": "applicationId",
    "in": "header",
    "description": "The application, where the body does not name it.",
    "schema": {"type": "string"},
}
LEGACY_QUERY_DESCRIPTIONS: Mapping[str, str] = {
    "from": "The first instant: wall-clock time at the offset, without a zone.",
    "to": "The last instant, inclusive: the bucket that begins there is still answered.",
    "period": "PT1M, PT30M, PT1H, P1D, P1W, P1M or P1Y.",
    "function": "sum, avg, min or max.",
    "offset": "Minutes to add to the wall clock for UTC: British summer time is -60.",
    "nulls": "1 answers null for missing values, which are 0 otherwise.",
}
"""Descriptions of query parameters that have a special meaning in the legacy interface."""

ERROR_RESPONSES: Json = {
    str(status): {
        "description": ", ".join(sorted(kind.code for kind in GatewayError.__subclasses__() if kind.status == status)),
        "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    for status in sorted({kind.status for kind in GatewayError.__subclasses__()})
}
"""The error response for each status code of GatewayError. Every operation can return each of them."""

_PARAMETER = re.compile(r"{(\w+)}")


def build_openapi_document(operations: Iterable[Operation], schema: Schema, base_path: str) -> Json:
    """Return the OpenAPI document as JSON values. `base_path` is the URL of its one server."""
    components: Json = {"Error": _error_schema()}
    paths: Json = {}
    for operation in operations:
        for rest in operation.rest:
            item = paths.setdefault(rest.path, {}).setdefault(rest.method.lower(), {})
            if rest.media_type != JSON and item:  # another media type of an endpoint that is already described
                item["responses"][str(rest.status)]["content"][rest.media_type] = _binary_content()
            else:
                item.update(_path_operation(operation, rest, schema, components))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "wattgate",
            "version": __version__,
            "description": "Metered energy readings, and the users, homes, devices and content around them. Every "
            "operation is a GraphQL field too, which the header `x-graphql-operation` of its answers names.",
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
    path_operation: Json = {
        "operationId": f"{rest.method.lower()}{''.join(part.title() for part in re.findall(r'[A-Za-z]+', rest.path))}",
        "summary": _summary(operation, rest),
        "description": f"{operation.description}\n\n"
        f"GraphQL: `{operation.kind.value.lower()} {to_camel_case(operation.name)}`",
        "tags": [rest.path.split("/")[1]],
        "parameters": [
            *_path_parameters(rest),
            *_query_parameters(rest, arguments, shown, components),
            *([APPLICATION_HEADER] if operation.needs is Permission.ANYONE else []),
        ],
        "responses": {
            str(rest.status): _success_response(operation, rest, shown, components),
            **{status: {"$ref": f"#/components/responses/{status}"} for status in ERROR_RESPONSES},
        },
        "security": _security(operation, rest),
    }
    body = _request_body(rest, arguments, shown, components)
    if body is not None:
        required = bool(body["schema"].get("required")) or INPUT_ARGUMENT in arguments
        streams = (
            {media: _binary_content() for media in LEGACY_FORMATS[rest.route_key].body_readers}
            if rest.route_key in LEGACY_FORMATS
            else {}
        )
        content = {shown.media: body, **streams}
        path_operation["requestBody"] = {"required": required and shown.body is None, "content": content}
    return path_operation


def _summary(operation: Operation, rest: RestRoute) -> str:
    """Return the first line of the operation's description, or the description of the edge if the endpoint has one."""
    if len(rest.edges) == 1 and not rest.path.endswith("}"):
        for field in operation.result_type.__strawberry_definition__.fields:
            if wire_name(field) in rest.edges and len(operation.rest) > 1:
                return str(field.description)
    return operation.description.partition("\n")[0]


def _path_parameters(rest: RestRoute) -> Iterator[Json]:
    for name in _PARAMETER.findall(rest.path):
        meaning = description_for(name, None) or ""
        yield {"name": name, "in": "path", "required": True, "description": meaning, "schema": {"type": "string"}}


def _query_parameters(
    rest: RestRoute, arguments: Mapping[str, GraphQLArgument], examples: EndpointExamples, components: Json
) -> Iterator[Json]:
    if examples.query is not None:
        for name, example in examples.query.items():
            meaning = description_for(name, LEGACY_QUERY_DESCRIPTIONS.get(name)) or ""
            schema = {"type": "string"}
            yield {"name": name, "in": "query", "description": meaning, "schema": schema, "example": example}
    elif rest.method == "GET":
        for name, argument in arguments.items():
            if f"{{{name}}}" not in rest.path:
                yield {
                    "name": name,
                    "in": "query",
                    "required": is_required_argument(argument),
                    "description": argument.description or "",
                    "schema": _input_schema(argument.type, components),
                }


def _request_body(
    rest: RestRoute, arguments: Mapping[str, GraphQLArgument], examples: EndpointExamples, components: Json
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
            "properties": {name: _input_schema(argument.type, components) for name, argument in members.items()},
            "required": [name for name, argument in members.items() if is_required_argument(argument)],
        }
    }


def _success_response(operation: Operation, rest: RestRoute, examples: EndpointExamples, components: Json) -> Json:
    headers = {"x-graphql-operation": {"description": "The GraphQL field.", "schema": {"type": "string"}}}
    if rest.media_type != JSON:
        return {"description": "OK", "headers": headers, "content": {rest.media_type: _binary_content()}}
    if examples.response is not None:
        content: Json = _example_content(examples.response, examples)
    elif rest.acknowledged_fields:
        example = {"status": "OK", **dict.fromkeys(rest.acknowledged_fields, "b0f1b774-a586-4f72-9edd-27ead8aa7a8d")}
        content = {"schema": schema_of_example(example), "example": example}
    else:
        record_schema = _output_schema(operation.result_type, components, rest.edges)
        content = {"schema": {"type": "array", "items": record_schema} if operation.returns_list else record_schema}
    return {"description": "OK", "headers": headers, "content": {JSON: content}}


def _input_schema(type_: GraphQLInputType, components: Json) -> Json:
    """Return the JSON Schema of a GraphQL input type. Objects and enums become components."""
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
            object_schema: Json = {"type": "object", "description": type_.description or ""}
            components[type_.name] = object_schema
            object_schema["properties"] = {
                name: {**_input_schema(field.type, components), "description": field.description or ""}
                for name, field in type_.fields.items()
            }
            object_schema["required"] = [name for name, field in type_.fields.items() if is_required_input_field(field)]
        return _reference(type_.name)
    return dict(SCALAR_SCHEMAS[type_.name])


def _output_schema(type_: Any, components: Json, edges: tuple[str, ...] = ()) -> Json:
    """Return the JSON Schema of a Strawberry type as REST renders it: its plain fields and the included edges."""
    definition: StrawberryObjectDefinition = type_.__strawberry_definition__
    name = definition.name if not edges else f"{definition.name}With{''.join(edge.title() for edge in edges)}"
    if name not in components:
        object_schema: Json = {"type": "object", "description": definition.description or ""}
        components[name] = object_schema
        fields = [field for field in definition.fields if edge_of(field) is None or wire_name(field) in edges]
        object_schema["properties"] = {
            wire_name(field): {
                **_output_field_schema(field.type, components),
                "description": description_for(wire_name(field), field.description) or "",
            }
            for field in fields
        }
        object_schema["required"] = [wire_name(field) for field in fields]
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
    """Return a JSON Schema inferred from an example. None means any value, and no member is required."""
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
            return {"type": "object", "properties": {name: schema_of_example(value) for name, value in example.items()}}


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
        "description": "Why a request was refused.",
        "properties": {
            "error": {"type": "string", "description": "A sentence, or the legacy words."},
            "code": {"type": "string", "description": "UPPER_SNAKE."},
            "retryable": {"type": "boolean", "description": "Whether the same request may succeed later."},
            "retryAfter": {"type": "integer", "description": "Seconds to wait."},
            "traceId": {"type": "string", "description": "Under which the gateway's log has the request."},
            "description": {"type": "string"},
            "problems": {"type": "array", "items": problem, "description": "Everything wrong with the request."},
        },
        "required": ["error", "code", "retryable", "traceId"],
    }


def _security(operation: Operation, rest: RestRoute) -> list[Json]:
    if operation.needs is Permission.ANYONE:
        return []
    schemes = [rest.scheme] if rest.scheme else [AuthScheme.BASIC, AuthScheme.TOKEN]
    return [{scheme.value: []} for scheme in schemes]


def _binary_content() -> Json:
    return {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}}


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}
