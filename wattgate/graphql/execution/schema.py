"""The GraphQL schema, built from the operations of the catalogue."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import strawberry
from graphql import (
    GraphQLArgument,
    GraphQLError,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLString,
    Undefined,
    get_named_type,
    get_nullable_type,
    is_list_type,
)
from strawberry.schema.config import StrawberryConfig
from strawberry.tools import create_type

from wattgate.errors import BadInput, GatewayError, Internal
from wattgate.graphql.cost.directives import COST_DIRECTIVES, add_cost_directives
from wattgate.graphql.execution.audience_tags import Tag, add_audience_tags
from wattgate.graphql.execution.executor import Executor
from wattgate.graphql.execution.input_conversion import install_converters, names_with_default
from wattgate.graphql.execution.mutation_results import add_result_unions
from wattgate.graphql.execution.rest_inputs import RestInputs, add_text_scalars
from wattgate.operations.core.fields import build_root_field, edge_of, is_rest_only, without_nulls_for_defaults
from wattgate.operations.core.input_limits import describe_limits
from wattgate.operations.core.operation import Operation, OperationKind
from wattgate.operations.types.refusals import REFUSAL_TYPES
from wattgate.operations.vocabulary.directives import ONLY_ON_ERROR, STRAWBERRY_DEFINITION, Cost, declared_facts
from wattgate.operations.vocabulary.node import is_node_type
from wattgate.operations.vocabulary.scalars import SCALARS
from wattgate.operations.vocabulary.strawberry_adapter import (
    GlossaryNames,
    StrawberryArgument,
    convert_for_resolver,
    core_schema,
    object_type,
)
from wattgate.requests.request_context import log_access_error
from wattgate.values.annotations import Facts
from wattgate.values.graphql_names import graphql_text

log = logging.getLogger(__name__)

MAX_REPORTED_ERRORS = 50
"""Maximum number of errors that are reported for an operation."""

MAX_ERROR_CHARACTERS = 1_000
"""Maximum characters of an error message. graphql-core repeats texts and whole values of the client in messages."""

INPUT_DESCRIPTION = "Values of the record."
"""Description of an argument `input` that does not describe itself."""

ROOT_DESCRIPTIONS = {
    "Query": "Read operations. An account sees the records of its user and the shared records of the application. "
    "Administrators and applications see all records of the application, template editors all templates. The acting "
    "user is the user of the calling account, or the user whom an application names in the header `userId`.",
    "Mutation": "Write operations. Each one is a transaction of its own. The acting user is the user of the calling "
    "account, or the user whom an application names in the header `userId`.",
    "Subscription": "Live operations over WebSockets or server-sent events. The acting user is the user of the calling "
    "account, or the user whom an application names in the header `userId`.",
}


class Schema(strawberry.Schema):
    """Strawberry's schema. With `hides_introspection`, clients cannot discover it: introspection is invalid, and errors
    suggest no names.
    """

    hides_introspection = False
    rest_inputs: RestInputs
    rest_root: GraphQLObjectType | None = None
    """The fields of operations that only REST has. They are no part of the schema; REST reads their arguments."""

    @property
    def core(self) -> GraphQLSchema:
        """The schema of graphql-core."""
        return core_schema(self)

    def convert_arguments(self, values: dict[str, Any], declared: list[StrawberryArgument]) -> dict[str, Any]:
        """Return values that graphql-core has coerced, by GraphQL names, as keyword arguments of a resolver."""
        if None in values.values():
            values = without_nulls_for_defaults(values, names_with_default(declared, self.config))
        return convert_for_resolver(self, values, declared)


def normalize_error(error: GraphQLError) -> None:
    """Set the code of the error contract on a GraphQL error. Mask the message of an internal error and log it.

    A long message is shortened.
    """
    shorten_message(error)
    original = error.original_error
    if isinstance(original, GatewayError):
        log_access_error(original)
        return  # graphql-core has copied its extensions already
    is_scalar_error = isinstance(original, ValueError) and error.path is None  # raised by a scalar before execution
    if original is None or isinstance(original, GraphQLError) or is_scalar_error:
        error.extensions = {**(error.extensions or {}), **BadInput(error.message).extensions}
        return
    log.error("Resolver failed at %s", error.path, exc_info=original)
    masked = Internal("an unexpected error has occurred")
    error.message, error.extensions = masked.message, masked.extensions


def shorten_message(error: GraphQLError) -> None:
    """Shorten the message of an error to MAX_ERROR_CHARACTERS. It ends with the number of its characters."""
    count = len(error.message)
    if count > MAX_ERROR_CHARACTERS:
        note = f"... (a message of {count:,} characters)"
        error.message = error.message[: MAX_ERROR_CHARACTERS - len(note)] + note


def normalize_errors(errors: Sequence[GraphQLError]) -> list[GraphQLError]:
    """Return the first MAX_REPORTED_ERRORS errors with the error contract on them, and the number of further errors."""
    reported = list(errors[:MAX_REPORTED_ERRORS])
    for error in reported:
        normalize_error(error)
    if len(errors) > MAX_REPORTED_ERRORS:
        remainder = GraphQLError(f"{len(errors) - MAX_REPORTED_ERRORS:,} more errors are not shown")
        normalize_error(remainder)
        reported.append(remainder)
    return reported


@cache
def build_schema(operations: tuple[Operation, ...], *, hides_introspection: bool = False) -> Schema:
    """Return the schema of these operations. It is cached, so that all gateways of a process share it."""
    roots: dict[OperationKind, list[Operation]] = {kind: [] for kind in OperationKind}
    for operation in operations:
        if operation.has_field:
            roots[operation.kind].append(operation)
    schema = Schema(
        query=_build_root_type(OperationKind.QUERY.value, roots[OperationKind.QUERY]),
        mutation=_build_root_type(OperationKind.MUTATION.value, roots[OperationKind.MUTATION]),
        subscription=_build_root_type(OperationKind.SUBSCRIPTION.value, roots[OperationKind.SUBSCRIPTION]),
        config=StrawberryConfig(scalar_map=dict(SCALARS), name_converter=GlossaryNames()),
        types=[
            *COST_DIRECTIVES,
            Tag,
            *REFUSAL_TYPES,
            *(each.list_type for each in operations if each.list_type),
            *(each.result_type for each in operations if each.is_read_by_node),
        ],
        execution_context_class=Executor,
    )
    schema.hides_introspection = hides_introspection
    schema.rest_root = _build_rest_root(schema, [each for each in operations if not each.has_field])
    _accept_rows_as_nodes(schema)
    install_converters(schema.core)
    _remove_rest_fields(schema.core)
    add_result_unions(schema.core)
    make_edges_nullable(schema.core)
    types = [*schema.core.type_map.values(), *([schema.rest_root] if schema.rest_root else [])]
    remove_null_defaults(types)
    accept_null_for_defaults(types)
    _add_descriptions(types)
    schema.rest_inputs = RestInputs(types)
    _translate_descriptions(schema.core)
    add_text_scalars(schema.core)
    add_cost_directives(schema.core)
    add_audience_tags(schema.core)
    return schema


def _remove_rest_fields(schema: GraphQLSchema) -> None:
    """Remove the fields that only REST has."""
    for kind in schema.type_map.values():
        if not isinstance(kind, GraphQLObjectType):
            continue
        for name, field in list(kind.fields.items()):
            declared = field.extensions.get(STRAWBERRY_DEFINITION)
            if declared is not None and is_rest_only(declared):
                del kind.fields[name]


def _accept_rows_as_nodes(schema: Schema) -> None:
    """Let rows be objects of types that implement `Node`. Strawberry accepts only instances of the type's class."""
    for kind in schema.core.type_map.values():
        if isinstance(kind, GraphQLObjectType) and is_node_type(kind):
            kind.is_type_of = None


def _add_descriptions(types: Iterable[GraphQLNamedType]) -> None:
    """Set the descriptions that annotations state."""
    for type_ in types:
        if type_.name in ROOT_DESCRIPTIONS:
            type_.description = ROOT_DESCRIPTIONS[type_.name]
        if type_.name.startswith("__") or not isinstance(type_, GraphQLObjectType | GraphQLInputObjectType):
            continue
        for field in type_.fields.values():
            facts = declared_facts(field)
            field.description = field.description or facts.description
            if isinstance(field, GraphQLInputField):
                _describe_limits(field, facts)
                continue
            for name, argument in field.args.items():
                facts = declared_facts(argument)
                default = INPUT_DESCRIPTION if name == "input" else None
                argument.description = argument.description or facts.description or default
                _describe_limits(argument, facts)


def _translate_descriptions(schema: GraphQLSchema) -> None:
    """Give all descriptions the words of GraphQL. REST keeps those of the specification."""
    for type_ in schema.type_map.values():
        if type_.name.startswith("__"):
            continue
        members: list[Any] = [type_]
        for member in [*getattr(type_, "fields", {}).values(), *getattr(type_, "values", {}).values()]:
            members += [member, *getattr(member, "args", {}).values()]
        for member in members:
            if member.description:
                member.description = graphql_text(member.description)


def _describe_limits(declared: GraphQLArgument | GraphQLInputField, facts: Facts) -> None:
    """Append the bounds of an argument or input field to its description."""
    is_text = get_named_type(declared.type) is GraphQLString
    is_list = is_list_type(get_nullable_type(declared.type))
    if limits := describe_limits(facts, is_text=is_text, is_list=is_list):
        declared.description = f"{declared.description} {limits}" if declared.description else limits


def _build_rest_root(schema: Schema, operations: Sequence[Operation]) -> GraphQLObjectType | None:
    if not operations:
        return None
    return object_type(schema, _build_root_type("RestQuery", operations))


def _build_root_type(name: str, operations: Sequence[Operation]) -> type:
    fields = [build_root_field(operation) for operation in operations]
    return create_type(name, fields, directives=[Cost(weight="0")])


# Null in the schema: which fields can be null, what null means, and no null as a default.


def make_edges_nullable(schema: GraphQLSchema) -> None:
    """Make each edge nullable, because each is loaded by a query of its own, which can fail or be refused.

    Mark the edges whose declared type is not null: they are null only with an error.
    """
    for type_ in schema.type_map.values():
        if not isinstance(type_, GraphQLObjectType) or type_.name.startswith("__"):
            continue
        for field in type_.fields.values():
            if isinstance(field.type, GraphQLNonNull) and _is_edge(field):
                declared = field.extensions[STRAWBERRY_DEFINITION]
                field.type = field.type.of_type
                if ONLY_ON_ERROR not in declared.directives:  # another schema may have the same type
                    declared.directives = [*declared.directives, ONLY_ON_ERROR]


def remove_null_defaults(types: Iterable[GraphQLNamedType]) -> None:
    """Remove the default of each argument and input field that is null by default.

    Resolvers and input classes have their own default, so the meaning of leaving one out stays the same.
    """
    for declared in _inputs_of(types):
        if declared.default_value is None:
            declared.default_value = Undefined


def accept_null_for_defaults(types: Iterable[GraphQLNamedType]) -> None:
    """Make each argument and input field with a default nullable. Null stands for the default.

    Code generators leave out a value that is null. Many of them demand one for a type that is not nullable, although it
    has a default.
    """
    for declared in _inputs_of(types):
        if isinstance(declared.type, GraphQLNonNull) and declared.default_value is not Undefined:
            declared.type = declared.type.of_type


def _is_edge(field: GraphQLField) -> bool:
    declared = field.extensions.get(STRAWBERRY_DEFINITION)
    return declared is not None and edge_of(declared) is not None


def _inputs_of(types: Iterable[GraphQLNamedType]) -> Iterator[GraphQLArgument | GraphQLInputField]:
    for type_ in types:
        if isinstance(type_, GraphQLInputObjectType):
            yield from type_.fields.values()
        elif isinstance(type_, GraphQLObjectType) and not type_.name.startswith("__"):
            for field in type_.fields.values():
                yield from field.args.values()
