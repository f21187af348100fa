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
    specified_rules,
    validate,
    visit,
)

from wattgate.clock import Clock, utc_now
from wattgate.graphql.cost.estimate import OperationCost, estimate_cost
from wattgate.graphql.execution.compiled.variables import PlainVariable, plain_variables
from wattgate.graphql.execution.document_limits import DocumentLimits, limit_error, parse_document
from wattgate.graphql.execution.schema import Schema

SHORT_DOCUMENT_CHARACTERS, MAX_SHORT_DOCUMENTS = 4_096, 1_000
"""Up to how many characters a document is short, and how many of these are kept: the least recently used gives way."""

MAX_LONG_DOCUMENTS = 50
"""How many longer documents are kept. One of 32 KB may hold a megabyte."""

MAX_VALIDATION_ERRORS = 20
"""How many errors of a document are told."""


@dataclass(slots=True, eq=False)
class Document:
    """A valid operation of a text, and what was made of it.

    `conditions` are the variables that its directives name, `cost` is what it costs, and `variables` are all of them
    where their values may be taken as they are.
    """

    node: DocumentNode
    operation: OperationDefinitionNode
    name: str | None
    condition_variables: tuple[str, ...]
    cost: OperationCost
    plain_variables: tuple[PlainVariable, ...] | None = None
    use_count: int = 0
    plans: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    @property
    def kind(self) -> OperationType:
        return self.operation.operation


class InvalidRequest(Exception):
    """A request is wrong before anything is executed; the errors say how."""

    def __init__(self, errors: Sequence[GraphQLError]) -> None:
        super().__init__(errors[0].message)
        self.errors = list(errors)


class DocumentCache:
    """Reads texts within their limits. Those that are wrong are remembered too."""

    def __init__(self, schema: Schema, limits: DocumentLimits, clock: Clock = utc_now) -> None:
        self._schema = schema
        self._clock = clock
        self._limits = limits
        self._get_short = lru_cache(MAX_SHORT_DOCUMENTS)(self._parse_and_validate)
        self._get_long = lru_cache(MAX_LONG_DOCUMENTS)(self._parse_and_validate)

    def get(self, text: str, name: str | None = None) -> Document:
        """The operation of a text, by its name where it has several. Invalid where there is none, or it is wrong."""
        if len(text) <= SHORT_DOCUMENT_CHARACTERS:
            result = self._get_short(text, name)
        elif len(text) <= self._limits.characters:
            result = self._get_long(text, name)
        else:
            result = self._parse_and_validate(text, name)
        if isinstance(result, Document):
            return result
        raise InvalidRequest(result)

    def _parse_and_validate(self, text: str, name: str | None) -> Document | list[GraphQLError]:
        try:
            node = parse_document(text, self._limits)
        except GraphQLError as error:
            return [error]
        size_error = limit_error(node, self._limits)
        if size_error is not None:
            return [size_error]
        graphql = self._schema._schema
        rules = (
            (*specified_rules, NoSchemaIntrospectionCustomRule) if self._schema.hides_introspection else specified_rules
        )
        errors = validate(
            graphql, node, rules, MAX_VALIDATION_ERRORS, hide_suggestions=self._schema.hides_introspection
        )
        if errors:
            return errors
        operation = get_operation_ast(node, name)
        if operation is None:
            return [_missing_operation_error(name)]
        conditions = _ConditionVariables()
        visit(node, conditions)
        return Document(
            node,
            operation,
            name,
            tuple(sorted(conditions.names)),
            estimate_cost(graphql, node, operation, self._clock),
            plain_variables(graphql, operation),
        )


def _missing_operation_error(name: str | None) -> GraphQLError:
    if name is None:
        return GraphQLError("a document of several operations needs an operationName")
    return GraphQLError(f"the document has no operation {name}")


class _ConditionVariables(Visitor):
    """Gathers the variables that directives name: what is selected depends on them."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def enter_directive(self, node: DirectiveNode, *position: Any) -> None:
        self.names.update(
            argument.value.name.value for argument in node.arguments or () if isinstance(argument.value, VariableNode)
        )
