"""The REST interface as an OpenAPI 3.1 document, made from the catalogue.

Uniform places are described by the same GraphQL types that validate and render them; places of the legacy form by the
examples of `rest_compat.examples`.
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
from wattgate.enums import camel
from wattgate.errors import GatewayError
from wattgate.graphql.core.fields import edge_of
from wattgate.graphql.core.operation import JSON, Operation, Rest
from wattgate.graphql.execution.argument_binder import ArgumentBinder
from wattgate.graphql.execution.descriptions import described
from wattgate.graphql.execution.schema import Schema
from wattgate.principal import Permission, Scheme
from wattgate.rest_compat.arguments import INPUT
from wattgate.rest_compat.examples import EXAMPLES, Documented
from wattgate.rest_compat.formats import SHAPES
from wattgate.rest_compat.row_renderer import name_of

Json = dict[str, Any]

SCALARS: Mapping[str, Json] = {
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
LEAVES: Mapping[Any, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    Decimal: {"type": "number"},
}
SCHEMES: Json = {
    "basic": {"type": "http", "scheme": "basic", "description": "An application's credential, or an account's."},
    "token": {"type": "apiKey", "in": "header", "name": "token", "description": "A token of POST /auth."},
}
APPLICATION: Json = {
    "name": "applicationId",
    "in": "header",
    "description": "The application, where the body does not name it.",
    "schema": {"type": "string"},
}
LEGACY_QUERY: Mapping[str, str] = {
    "from": "The first instant: wall-clock time at the offset, without a zone.",
    "to": "The last instant, inclusive: the bucket that begins there is still answered.",
    "period": "PT1M, PT30M, PT1H, P1D, P1W, P1M or P1Y.",
    "function": "sum, avg, min or max.",
    "offset": "Minutes to add to the wall clock for UTC: British summer time is -60.",
    "nulls": "1 answers null for missing values, which are 0 otherwise.",
}
"""The query parameters of the legacy interface whose names mean something of their own."""

REFUSALS: Json = {
    str(status): {
        "description": ", ".join(sorted(kind.code for kind in GatewayError.__subclasses__() if kind.status == status)),
        "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    for status in sorted({kind.status for kind in GatewayError.__subclasses__()})
}
"""Every status with which any operation may refuse, in the one form of all errors."""

_PARAMETER = re.compile(r"{(\w+)}")


def document(operations: Iterable[Operation], schema: Schema, base_path: str) -> Json:
    """The OpenAPI document, as JSON values."""
    components: Json = {"Error": _error()}
    paths: Json = {}
    for operation in operations:
        for rest in operation.rest:
            item = paths.setdefault(rest.path, {}).setdefault(rest.method.lower(), {})
            if rest.media != JSON and item:  # a further media type of a place that is there already
                item["responses"][str(rest.status)]["content"][rest.media] = _binary()
            else:
                item.update(_place(operation, rest, schema, components))
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
            "responses": REFUSALS,
            "securitySchemes": SCHEMES,
        },
    }


def _place(operation: Operation, rest: Rest, schema: Schema, components: Json) -> Json:
    arguments = ArgumentBinder(schema, operation).arguments
    shown = EXAMPLES.get(rest.place, Documented())
    made: Json = {
        "operationId": f"{rest.method.lower()}{''.join(part.title() for part in re.findall(r'[A-Za-z]+', rest.path))}",
        "summary": _summary(operation, rest),
        "description": f"{operation.description}\n\nGraphQL: `{operation.kind.value.lower()} {camel(operation.name)}`",
        "tags": [rest.path.split("/")[1]],
        "parameters": [
            *_path_parameters(rest),
            *_query_parameters(rest, arguments, shown, components),
            *([APPLICATION] if operation.needs is Permission.ANYONE else []),
        ],
        "responses": {
            str(rest.status): _answer(operation, rest, shown, components),
            **{status: {"$ref": f"#/components/responses/{status}"} for status in REFUSALS},
        },
        "security": _security(operation, rest),
    }
    body = _body(rest, arguments, shown, components)
    if body is not None:
        required = bool(body["schema"].get("required")) or INPUT in arguments
        streams = {media: _binary() for media in SHAPES[rest.place].streams} if rest.place in SHAPES else {}
        content = {shown.media: body, **streams}
        made["requestBody"] = {"required": required and shown.body is None, "content": content}
    return made


def _summary(operation: Operation, rest: Rest) -> str:
    """What the operation does; of a place for one edge of a record, what that edge is."""
    if len(rest.edges) == 1 and not rest.path.endswith("}"):
        for field in operation.shape.__strawberry_definition__.fields:
            if name_of(field) in rest.edges and len(operation.rest) > 1:
                return str(field.description)
    return operation.description.partition("\n")[0]


def _path_parameters(rest: Rest) -> Iterator[Json]:
    for name in _PARAMETER.findall(rest.path):
        meaning = described(name, None) or ""
        yield {"name": name, "in": "path", "required": True, "description": meaning, "schema": {"type": "string"}}


def _query_parameters(
    rest: Rest, arguments: Mapping[str, GraphQLArgument], shown: Documented, components: Json
) -> Iterator[Json]:
    if shown.query is not None:
        for name, example in shown.query.items():
            meaning = described(name, LEGACY_QUERY.get(name)) or ""
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
                    "schema": _input(argument.type, components),
                }


def _body(rest: Rest, arguments: Mapping[str, GraphQLArgument], shown: Documented, components: Json) -> Json | None:
    if shown.body is not None:
        return _example(shown.body, shown)
    if rest.method == "GET":
        return None
    if INPUT in arguments:
        return {"schema": _input(arguments[INPUT].type, components)}
    members = {name: argument for name, argument in arguments.items() if f"{{{name}}}" not in rest.path}
    if not members:
        return None
    return {
        "schema": {
            "type": "object",
            "properties": {name: _input(argument.type, components) for name, argument in members.items()},
            "required": [name for name, argument in members.items() if is_required_argument(argument)],
        }
    }


def _answer(operation: Operation, rest: Rest, shown: Documented, components: Json) -> Json:
    headers = {"x-graphql-operation": {"description": "The GraphQL field.", "schema": {"type": "string"}}}
    if rest.media != JSON:
        return {"description": "OK", "headers": headers, "content": {rest.media: _binary()}}
    if shown.answer is not None:
        content: Json = _example(shown.answer, shown)
    elif rest.acknowledges:
        example = {"status": "OK", **dict.fromkeys(rest.acknowledges, "b0f1b774-a586-4f72-9edd-27ead8aa7a8d")}
        content = {"schema": schema_of_example(example), "example": example}
    else:
        one = _output(operation.shape, components, rest.edges)
        content = {"schema": {"type": "array", "items": one} if operation.many else one}
    return {"description": "OK", "headers": headers, "content": {JSON: content}}


def _input(type_: GraphQLInputType, components: Json) -> Json:
    """The JSON Schema of a GraphQL input type; objects and enums become components."""
    if isinstance(type_, GraphQLNonNull):
        return _bare(type_.of_type, components)
    return {"anyOf": [_bare(type_, components), {"type": "null"}]}


def _bare(type_: Any, components: Json) -> Json:
    if isinstance(type_, GraphQLList):
        return {"type": "array", "items": _input(type_.of_type, components)}
    if isinstance(type_, GraphQLEnumType):
        components[type_.name] = {"type": "string", "enum": list(type_.values), "description": type_.description or ""}
        return _reference(type_.name)
    if isinstance(type_, GraphQLInputObjectType):
        if type_.name not in components:
            made: Json = {"type": "object", "description": type_.description or ""}
            components[type_.name] = made
            made["properties"] = {
                name: {**_input(field.type, components), "description": field.description or ""}
                for name, field in type_.fields.items()
            }
            made["required"] = [name for name, field in type_.fields.items() if is_required_input_field(field)]
        return _reference(type_.name)
    return dict(SCALARS[type_.name])


def _output(shape: Any, components: Json, edges: tuple[str, ...] = ()) -> Json:
    """The JSON Schema of a Strawberry type as REST renders it: its plain fields, and the edges that are included."""
    definition: StrawberryObjectDefinition = shape.__strawberry_definition__
    name = definition.name if not edges else f"{definition.name}With{''.join(edge.title() for edge in edges)}"
    if name not in components:
        made: Json = {"type": "object", "description": definition.description or ""}
        components[name] = made
        fields = [one for one in definition.fields if edge_of(one) is None or name_of(one) in edges]
        made["properties"] = {
            name_of(one): {**_leaf(one.type, components), "description": described(name_of(one), one.description) or ""}
            for one in fields
        }
        made["required"] = [name_of(one) for one in fields]
    return _reference(name)


def _leaf(type_: Any, components: Json) -> Json:
    if isinstance(type_, StrawberryOptional):
        return {"anyOf": [_leaf(type_.of_type, components), {"type": "null"}]}
    if isinstance(type_, StrawberryList):
        return {"type": "array", "items": _leaf(type_.of_type, components)}
    if isinstance(type_, StrawberryEnumDefinition):
        return {"type": "string", "enum": [value.value for value in type_.values]}
    if isinstance(type_, type) and issubclass(type_, Enum):
        return {"type": "string", "enum": [value.value for value in type_]}
    if hasattr(type_, "__strawberry_definition__"):
        return _output(type_, components)
    return dict(LEAVES.get(type_, SCALARS["String"] if getattr(type_, "__name__", "") == "ID" else {}))


def _example(example: Any, shown: Documented) -> Json:
    return {"schema": {"type": "object"} if shown.free else schema_of_example(example), "example": example}


def schema_of_example(example: Any) -> Json:
    """What an example shows of a value's form. None stands for any value, and nothing is required."""
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


def _error() -> Json:
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


def _security(operation: Operation, rest: Rest) -> list[Json]:
    if operation.needs is Permission.ANYONE:
        return []
    schemes = [rest.scheme] if rest.scheme else [Scheme.BASIC, Scheme.TOKEN]
    return [{scheme.value: []} for scheme in schemes]


def _binary() -> Json:
    return {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}}


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}
