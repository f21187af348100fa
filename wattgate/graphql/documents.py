"""Documents that were read before: parsed and validated once, by their text and the name of their operation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from graphql import (
    DirectiveNode,
    DocumentNode,
    GraphQLError,
    NoSchemaIntrospectionCustomRule,
    OperationDefinitionNode,
    OperationType,
    VariableNode,
    Visitor,
    get_operation_ast,
    parse,
    specified_rules,
    validate,
    visit,
)

from wattgate.graphql.schema import Schema

KEPT = 1_000
"""How many documents are kept; the least recently used gives way."""

LONGEST = 16 * 1024
"""Characters of the longest document that is kept."""

MAX_ERRORS = 20
"""How many errors of a document are told."""


@dataclass(slots=True, eq=False)
class Document:
    """A valid operation of a text, and what was made of it. `conditions` are the variables that its directives name."""

    node: DocumentNode
    operation: OperationDefinitionNode
    name: str | None
    conditions: tuple[str, ...]
    uses: int = 0
    plans: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    @property
    def kind(self) -> OperationType:
        return self.operation.operation


class Invalid(Exception):
    """A request is wrong before anything is executed; the errors say how."""

    def __init__(self, errors: Sequence[GraphQLError]) -> None:
        super().__init__(errors[0].message)
        self.errors = list(errors)


class Documents:
    """Reads texts. Those that are wrong are remembered too."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._known = lru_cache(KEPT)(self._read)

    def find(self, text: str, name: str | None = None) -> Document:
        """The operation of a text, by its name where it has several. Invalid where there is none, or it is wrong."""
        found = self._known(text, name) if len(text) <= LONGEST else self._read(text, name)
        if isinstance(found, Document):
            return found
        raise Invalid(found)

    def _read(self, text: str, name: str | None) -> Document | list[GraphQLError]:
        try:
            node = parse(text)
        except GraphQLError as error:
            return [error]
        graphql = self._schema._schema
        rules = (*specified_rules, NoSchemaIntrospectionCustomRule) if self._schema.hides else specified_rules
        errors = validate(graphql, node, rules, MAX_ERRORS, hide_suggestions=self._schema.hides)
        if errors:
            return errors
        operation = get_operation_ast(node, name)
        if operation is None:
            return [_no_operation(name)]
        found = _Conditions()
        visit(node, found)
        return Document(node, operation, name, tuple(sorted(found.names)))


def _no_operation(name: str | None) -> GraphQLError:
    if name is None:
        return GraphQLError("a document of several operations needs an operationName")
    return GraphQLError(f"the document has no operation {name}")


class _Conditions(Visitor):
    """Gathers the variables that directives name: what is selected depends on them."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def enter_directive(self, node: DirectiveNode, *place: Any) -> None:
        self.names.update(one.value.name.value for one in node.arguments or () if isinstance(one.value, VariableNode))
