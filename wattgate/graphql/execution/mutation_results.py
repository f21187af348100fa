"""The results of mutations in the schema: a union of the record and of the refusals that the mutation can have.

Strawberry builds each mutation with the type of its record, because a row of the database, which Strawberry does not
know, can be the record. The unions are added to the schema of graphql-core.
"""

from functools import partial
from typing import Any

from graphql import (
    GraphQLField,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    is_list_type,
)

from wattgate.operations.core.fields import operation_of
from wattgate.operations.core.operation import Operation
from wattgate.operations.core.refusals import Refused, refusal_kinds
from wattgate.operations.types.refusals import REFUSAL_TYPES
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.values.graphql_names import graphql_type_name


def add_result_unions(schema: GraphQLSchema) -> None:
    """Make the result of each mutation a union of its record and its refusals."""
    for refusal in REFUSAL_TYPES:
        _object_type(schema, refusal.__name__).is_type_of = None  # their objects are instances of Refused
    mutations = schema.mutation_type
    for name, field in mutations.fields.items() if mutations else ():
        operation = operation_of(field.extensions[STRAWBERRY_DEFINITION])
        assert operation is not None
        union = _result_union(schema, name, field, operation)
        if schema.type_map.setdefault(union.name, union) is not union:
            raise TypeError(f"The result of the mutation {name} needs the name {union.name}, which another type has.")
        field.type = union


def _result_union(schema: GraphQLSchema, name: str, field: GraphQLField, operation: Operation) -> GraphQLUnionType:
    if is_list_type(field.type) and operation.list_type is None:
        raise TypeError(f"The mutation {name} returns a list. Declare `list_type`, because a union has no lists.")
    record_name = _record_name(field, operation)
    refusals = [_object_type(schema, kind.__name__) for kind in refusal_kinds(operation)]
    return GraphQLUnionType(
        f"{name[0].upper()}{name[1:]}Result",
        [_object_type(schema, record_name), *refusals],
        resolve_type=partial(_type_name, record_name),
        description=f"Result of `{name}`: the record, or a refusal.",
    )


def _record_name(field: GraphQLField, operation: Operation) -> str:
    if operation.list_type is None:
        return get_named_type(field.type).name
    return graphql_type_name(operation.list_type.__name__)


def _type_name(record_name: str, value: Any, *_: Any) -> str:
    return value.type_name if value.__class__ is Refused else record_name


def _object_type(schema: GraphQLSchema, name: str) -> GraphQLObjectType:
    kind = schema.type_map[name]
    if not isinstance(kind, GraphQLObjectType):
        raise TypeError(f"A mutation returns {name}, which is no object. A union has only objects: return a record.")
    return kind
