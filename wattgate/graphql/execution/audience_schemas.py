"""The part of the schema that each audience may use, as SDL and for introspection.

An audience is a kind of callers, with the permissions of one role. Its schema has the root fields and edges that the
role may use, and the types that they lead to. It is built from the SDL: the fields that need another permission are
removed, then the types that nothing leads to any more.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from graphql import (
    DefinitionNode,
    DirectiveDefinitionNode,
    DocumentNode,
    FieldDefinitionNode,
    GraphQLSchema,
    NamedTypeNode,
    Node,
    ObjectTypeDefinitionNode,
    Visitor,
    build_ast_schema,
    parse,
    print_ast,
    visit,
)

from wattgate.enums import Audience
from wattgate.graphql.execution.audience_tags import ROLES, TAG, needs_of
from wattgate.graphql.execution.schema import Schema
from wattgate.operations.core.fields import operation_of
from wattgate.operations.core.operation import OperationKind
from wattgate.operations.entities import reading_operations
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.principal import GRANTS, Permission, Role

_ROOTS = frozenset(kind.value for kind in OperationKind)


def audience_sdl(schema: Schema, audience: Audience) -> str:
    """Return the schema of an audience as SDL."""
    return print_ast(_document_of(schema, ROLES[audience])) + "\n"


@lru_cache(maxsize=16)
def schema_for_role(schema: Schema, role: Role) -> GraphQLSchema:
    """Return the schema of the callers with a role, for introspection.

    It is the whole schema for callers without credentials, because credentials are chosen for the operations to call,
    and for members of homes, because they use the software of accounts.
    """
    if role not in ROLES.values():
        return schema.core
    return build_ast_schema(_document_of(schema, role), assume_valid=True)


@lru_cache(maxsize=16)
def _document_of(schema: Schema, role: Role) -> DocumentNode:
    permitted = _with_permitted_fields(_definitions_of(schema), _needs_by_coordinate(schema), role)
    members = _members_of_interfaces(schema, role)
    reached = set(_reach(permitted, members))
    kept = [
        definition
        for definition in permitted.values()
        if isinstance(definition, DirectiveDefinitionNode) or definition.name.value in reached  # type: ignore[attr-defined]
    ]
    return DocumentNode(definitions=tuple(kept))


@lru_cache(maxsize=2)
def _definitions_of(schema: Schema) -> tuple[DefinitionNode, ...]:
    """Return the definitions of the whole schema, which the documents of all audiences share."""
    return tuple(parse(schema.as_str(), no_location=True).definitions)


def _needs_by_coordinate(schema: Schema) -> dict[tuple[str, str], Permission]:
    """Return the permission that each root field and edge needs, by the names of its type and field."""
    needs: dict[tuple[str, str], Permission] = {}
    for kind in schema.core.type_map.values():
        for name, field in getattr(kind, "fields", {}).items():
            if permission := needs_of(field.extensions.get(STRAWBERRY_DEFINITION)):
                needs[kind.name, name] = permission
    return needs


def _with_permitted_fields(
    definitions: Iterable[DefinitionNode], needs: Mapping[tuple[str, str], Permission], role: Role
) -> dict[str, DefinitionNode]:
    """Return the definitions by name, without the fields that need a permission that the role does not have."""
    permitted: dict[str, DefinitionNode] = {}
    for definition in definitions:
        name = definition.name.value  # type: ignore[attr-defined]
        if isinstance(definition, ObjectTypeDefinitionNode):
            fields = tuple(
                _without_tags(field)
                for field in definition.fields or ()
                if (name, field.name.value) not in needs or needs[name, field.name.value] in GRANTS[role]
            )
            if not fields:
                continue  # a root type of which the role may use nothing
            definition = replace(definition, fields=fields)
        if name != TAG:
            permitted[f"@{name}" if isinstance(definition, DirectiveDefinitionNode) else name] = definition
    return permitted


def _without_tags(field: FieldDefinitionNode) -> FieldDefinitionNode:
    """Return a field without its tags, which tell audiences apart and mean nothing to one of them."""
    return replace(field, directives=tuple(one for one in field.directives or () if one.name.value != TAG))


def _members_of_interfaces(schema: Schema, role: Role) -> frozenset[str]:
    """Return the types of which the role may read single records, by the permission of the operation that reads one."""
    roots = [root for root in (schema.core.query_type, schema.rest_root) if root]
    operations = [
        operation
        for root in roots
        for field in root.fields.values()
        if (operation := operation_of(field.extensions[STRAWBERRY_DEFINITION]))
    ]
    readers = reading_operations(operations)
    return frozenset(name for name, reader in readers.items() if reader.needs in GRANTS[role])


def _reach(definitions: Mapping[str, DefinitionNode], members: frozenset[str]) -> Iterator[str]:
    """Yield the names of the types that the root types, the directives and `members` lead to."""
    pending = [name for name in definitions if name in _ROOTS or name in members or name.startswith("@")]
    known = set(pending)
    while pending:
        name = pending.pop()
        yield name
        definition = definitions.get(name)
        found = _named_types(definition) - known if definition else set()
        known |= found
        pending.extend(found)


def _named_types(definition: Node) -> set[str]:
    names: set[str] = set()

    class Collector(Visitor):
        def enter_named_type(self, node: NamedTypeNode, *_: Any) -> None:
            names.add(node.name.value)

    visit(definition, Collector())
    return names
