"""Cache of parsed and validated documents, by text and operation name."""

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
from wattgate.graphql.execution.root_fields import RootField, collect_root_fields
from wattgate.graphql.execution.schema import Schema

SHORT_DOCUMENT_CHARACTERS, MAX_SHORT_DOCUMENTS = 4_096, 1_000
"""Maximum characters of a short document, and the number of short documents in the cache.

The least recently used is evicted.
"""

MAX_LONG_DOCUMENTS = 50
"""Number of longer documents in the cache. One of 32 KB may take a megabyte of memory."""

MAX_VALIDATION_ERRORS = 20
"""Maximum number of validation errors that are reported for a document."""


@dataclass(slots=True, eq=False)
class Document:
    """A valid operation of a document, and the data derived from it.

    `condition_variables` are the variables in its directives. `plain_variables` are all its variables if their values
    need no coercion, else None. `root_fields` are its
    operations with their permissions. `plans` are its compiled plans, by the values of the condition variables.
    """

    node: DocumentNode
    operation: OperationDefinitionNode
    name: str | None
    condition_variables: tuple[str, ...]
    cost: OperationCost
    plain_variables: tuple[PlainVariable, ...] | None = None
    root_fields: tuple[RootField, ...] = ()
    use_count: int = 0
    plans: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    @property
    def kind(self) -> OperationType:
        return self.operation.operation


class InvalidRequest(Exception):
    """The request is invalid and was not executed; `errors` contains the reasons."""

    def __init__(self, errors: Sequence[GraphQLError]) -> None:
        super().__init__(errors[0].message)
        self.errors = list(errors)


class DocumentCache:
    """Parse and validate documents within their limits. Also cache the errors of invalid ones."""

    def __init__(self, schema: Schema, limits: DocumentLimits, clock: Clock = utc_now) -> None:
        self._schema = schema
        self._clock = clock
        self._limits = limits
        self._get_short = lru_cache(MAX_SHORT_DOCUMENTS)(self._parse_and_validate)
        self._get_long = lru_cache(MAX_LONG_DOCUMENTS)(self._parse_and_validate)

    def get(self, text: str, name: str | None = None) -> Document:
        """Return an operation of a document, by its name if there are several.

        Raise InvalidRequest if it is missing or invalid.
        """
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
            collect_root_fields(graphql, node, operation),
        )


def _missing_operation_error(name: str | None) -> GraphQLError:
    if name is None:
        return GraphQLError("a document with several operations needs an operationName")
    return GraphQLError(f"the document has no operation {name}")


class _ConditionVariables(Visitor):
    """Collect the variables in directives, because the selected fields depend on them."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def enter_directive(self, node: DirectiveNode, *position: Any) -> None:
        self.names.update(
            argument.value.name.value for argument in node.arguments or () if isinstance(argument.value, VariableNode)
        )
