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
from wattgate.graphql.cost.estimate import Cost, estimate
from wattgate.graphql.execution.compiled.variables import Plain, plain_variables
from wattgate.graphql.execution.document_limits import DocumentLimits, parse, refusal
from wattgate.graphql.execution.schema import Schema

SHORT, MAX_SHORT = 4_096, 1_000
"""Up to how many characters a document is short, and how many of these are kept: the least recently used gives way."""

MAX_LONG = 50
"""How many longer documents are kept. One of 32 KB may hold a megabyte."""

MAX_ERRORS = 20
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
    conditions: tuple[str, ...]
    cost: Cost
    variables: tuple[Plain, ...] | None = None
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
    """Reads texts within their limits. Those that are wrong are remembered too."""

    def __init__(self, schema: Schema, limits: DocumentLimits, clock: Clock = utc_now) -> None:
        self._schema = schema
        self._clock = clock
        self._limits = limits
        self._short = lru_cache(MAX_SHORT)(self._read)
        self._long = lru_cache(MAX_LONG)(self._read)

    def find(self, text: str, name: str | None = None) -> Document:
        """The operation of a text, by its name where it has several. Invalid where there is none, or it is wrong."""
        if len(text) <= SHORT:
            found = self._short(text, name)
        elif len(text) <= self._limits.characters:
            found = self._long(text, name)
        else:
            found = self._read(text, name)
        if isinstance(found, Document):
            return found
        raise Invalid(found)

    def _read(self, text: str, name: str | None) -> Document | list[GraphQLError]:
        try:
            node = parse(text, self._limits)
        except GraphQLError as error:
            return [error]
        too_much = refusal(node, self._limits)
        if too_much is not None:
            return [too_much]
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
        return Document(
            node,
            operation,
            name,
            tuple(sorted(found.names)),
            estimate(graphql, node, operation, self._clock),
            plain_variables(graphql, operation),
        )


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
