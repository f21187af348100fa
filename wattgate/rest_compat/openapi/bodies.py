"""Request bodies and successful responses of operations."""

from collections.abc import Mapping
from typing import Any

from graphql import GraphQLArgument, is_required_argument

from wattgate.enums import to_camel_case
from wattgate.operations.core.operation import JSON, Operation, RestRoute
from wattgate.operations.readings.raw_readings import ARROW
from wattgate.rest_compat.arguments import INPUT_ARGUMENT
from wattgate.rest_compat.bulk_intake import NDJSON
from wattgate.rest_compat.formats.legacy_format import FORM, LegacyFormat
from wattgate.rest_compat.openapi.components import Components, Json
from wattgate.rest_compat.openapi.input_schemas import argument_schema, input_schema
from wattgate.rest_compat.openapi.output_schemas import output_schema
from wattgate.rest_compat.openapi.parameters import names_in_path, takes_query
from wattgate.rest_compat.openapi.wire_schemas import shape_schema
from wattgate.rest_compat.row_renderer import wire_name
from wattgate.rest_compat.wire.shapes import EXAMPLE_UUID, Acknowledgement, RecordShape

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
}
"""Bodies that the gateway records while they arrive, by media type."""


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
            **{media: STREAMED_BODIES[media] for media in legacy_format.body_readers},
        },
    }


def success_response(
    operation: Operation, rest: RestRoute, legacy_format: LegacyFormat, components: Components
) -> Json:
    """Return the successful response of a route."""
    return {
        "description": "OK",
        "headers": OPERATION_HEADER,
        "content": {rest.media_type: response_content(operation, rest, legacy_format, components)},
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
        one = output_schema(operation.result_type, components, rest.edges)
        schema = {"type": "array", "items": one} if operation.returns_list else one
    return _content(schema, example)


def _content(schema: Json, example: Any) -> Json:
    return {"schema": schema, **({} if example is None else {"example": example})}


def _acknowledgement(operation: Operation, rest: RestRoute) -> RecordShape:
    """Return the shape of the answer for legacy clients: status OK, and some members of the record."""
    definition = operation.result_type.__strawberry_definition__
    names = frozenset(wire_name(field) for field in definition.fields)
    return RecordShape(
        f"{definition.name}Acknowledgement",
        operation.result_type,
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

    def make() -> Json:
        names = {name: str(legacy_format.request_paths.get((name,), (name,))[0]) for name in members}
        required = [names[name] for name, argument in members.items() if is_required_argument(argument)]
        return {
            "type": "object",
            "description": f"Request of `{owner}`.",
            "properties": {names[name]: argument_schema(argument, components) for name, argument in members.items()},
            **({"required": required} if required else {}),
        }

    return components.add(f"{owner[0].upper()}{owner[1:]}Request", make)
