"""Cache of parsed and validated documents, by text and operation name."""

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    DirectiveNode,
    DocumentNode,
    GraphQLError,
    NoSchemaIntrospectionCustomRule,
    OperationDefinitionNode,
    OperationType,
    ValueNode,
    ValuesOfCorrectTypeRule,
    VariableNode,
    Visitor,
    get_operation_ast,
    specified_rules,
    validate,
    visit,
)

from wattgate.clock import Clock, utc_now
from wattgate.graphql.cost.estimate import estimate_cost
from wattgate.graphql.cost.operation_cost import OperationCost
from wattgate.graphql.execution.documents.document_limits import DocumentLimits, is_long, limit_error, parse_document
from wattgate.graphql.execution.documents.variables import DecodedVariables, decoded_variables
from wattgate.graphql.execution.input_conversion import list_enum_values
from wattgate.graphql.execution.root_fields import RootField, collect_naming_values, collect_root_fields
from wattgate.graphql.execution.schema import Schema, shorten_message

SHORT_DOCUMENT_CHARACTERS, MAX_SHORT_DOCUMENTS = 4_096, 1_000
"""Maximum characters of a short document, and the number of short documents in the cache.

The least recently used is evicted.
"""

MAX_ANONYMOUS_DOCUMENTS = 200
"""Number of short documents in the cache that only anonymous callers have used. They evict no others."""

MAX_LONG_DOCUMENTS = 50
"""Number of longer documents in the cache. One of 32 KB may take a megabyte of memory."""

MAX_VALIDATION_ERRORS = 5
"""Maximum number of validation errors that are reported for a document. Each may contain the text of a large value."""

MAX_CACHED_NAME_CHARACTERS = 200
"""Maximum characters of an operation name in the cache. Clients choose the names, also for known documents."""

_LONG_NAME = re.compile(r"\w{41}")
"""A name of more than 40 characters. A document with one gets no suggestions: their time grows with the length."""

MAX_ERROR_LOCATIONS = 20
"""Maximum number of locations of one error."""


@dataclass(slots=True, eq=False)
class Document:
    """A valid operation of a document, and the data derived from it.

    `condition_variables` are the variables in its directives, and `decoded_variables` those with a decoder.
    `root_fields` are its operations with their permissions, and `naming_values` the values that name the applications
    of callers without credentials. `plans` are its compiled plans, by the values of the condition variables. One that
    `is_long` is compiled in a thread.
    """

    node: DocumentNode
    operation: OperationDefinitionNode
    name: str | None
    condition_variables: tuple[str, ...]
    cost: OperationCost
    decoded_variables: DecodedVariables = field(default_factory=dict)
    root_fields: tuple[RootField, ...] = ()
    naming_values: tuple[ValueNode | None, ...] = field(init=False)
    use_count: int = 0
    plans: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    is_long: bool = False
    kind: OperationType = field(init=False)

    def __post_init__(self) -> None:
        self.kind = self.operation.operation
        self.naming_values = collect_naming_values(self.root_fields)


class InvalidRequest(Exception):
    """The request is invalid and was not executed; `errors` contains the reasons."""

    def __init__(self, errors: Sequence[GraphQLError]) -> None:
        super().__init__(errors[0].message)
        self.errors = list(errors)


_CachedResult = Document | list[GraphQLError]


class _Cache:
    """Results by text and operation name. Above the maximum, the least recently used is evicted."""

    def __init__(self, max_results: int) -> None:
        self._max_results = max_results
        self._results: OrderedDict[tuple[str, str | None], _CachedResult] = OrderedDict()

    def find(self, key: tuple[str, str | None]) -> _CachedResult | None:
        result = self._results.get(key)
        if result is not None:
            self._results.move_to_end(key)
        return result

    def store(self, key: tuple[str, str | None], result: _CachedResult) -> None:
        self._results[key] = result
        while len(self._results) > self._max_results:
            self._results.popitem(last=False)


class DocumentCache:
    """Parse and validate documents within their limits, in any thread. Also cache the errors of invalid ones.

    Documents of anonymous callers are in a cache of their own, so that they evict none that known callers use.
    """

    def __init__(self, schema: Schema, limits: DocumentLimits, clock: Clock = utc_now) -> None:
        self._schema = schema
        self._clock = clock
        self._limits = limits
        self._short, self._long = _Cache(MAX_SHORT_DOCUMENTS), _Cache(MAX_LONG_DOCUMENTS)
        self._anonymous = _Cache(MAX_ANONYMOUS_DOCUMENTS)
        self._lock = threading.Lock()
        """Held while the caches are used, never while a document is read."""

    def get(self, text: str, name: str | None = None, *, is_known: bool = True) -> Document:
        """Return an operation of a document, by its name if there are several.

        `is_known` is false for anonymous callers. Raise InvalidRequest if the document is missing or invalid.
        """
        cached = self._find(text, name)
        if cached is None:
            cached = self._parse_and_validate(text, name)
            self._store(text, name, cached, is_known=is_known)
        return _document_or_error(cached)

    def find(self, text: str, name: str | None = None) -> Document | None:
        """Return an operation of a document that is in the cache, or None. Raise InvalidRequest if it is invalid."""
        cached = self._find(text, name)
        return None if cached is None else _document_or_error(cached)

    def _find(self, text: str, name: str | None) -> _CachedResult | None:
        key = text, name
        with self._lock:
            if len(text) > SHORT_DOCUMENT_CHARACTERS:
                return self._long.find(key)
            return self._short.find(key) or self._anonymous.find(key)

    def _store(self, text: str, name: str | None, result: _CachedResult, *, is_known: bool) -> None:
        if len(name or "") > MAX_CACHED_NAME_CHARACTERS:
            return
        with self._lock:
            if len(text) <= SHORT_DOCUMENT_CHARACTERS:
                (self._short if is_known else self._anonymous).store((text, name), result)
            elif len(text) <= self._limits.characters and is_known:
                self._long.store((text, name), result)

    def _parse_and_validate(self, text: str, name: str | None) -> _CachedResult:
        result = self._read(text, name)
        if not isinstance(result, Document):
            for error in result:
                shorten_message(error)
        return result

    def _read(self, text: str, name: str | None) -> _CachedResult:
        try:
            node = parse_document(text, self._limits)
        except GraphQLError as error:
            return [error]
        size_error = limit_error(node, self._limits)
        if size_error is not None:
            return [size_error]
        graphql = self._schema.core
        rules = (
            (*specified_rules, NoSchemaIntrospectionCustomRule) if self._schema.hides_introspection else specified_rules
        )
        errors = validate(graphql, node, rules, MAX_VALIDATION_ERRORS, hide_suggestions=True)
        if errors and not self._schema.hides_introspection and not _LONG_NAME.search(text):
            # A search of similar types takes 12 ms, so only the first error has one. Values of enums are few.
            of_values = validate(graphql, node, (ValuesOfCorrectTypeRule,), MAX_VALIDATION_ERRORS)
            _add_suggestions(errors, [*of_values, *validate(graphql, node, rules, 1)[:1]])
        if errors:
            return _merge_equal_errors(list_enum_values(errors, graphql))
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
            decoded_variables(graphql, operation),
            collect_root_fields(graphql, node, operation),
            is_long=is_long(text),
        )


def _add_suggestions(errors: Sequence[GraphQLError], suggested: Sequence[GraphQLError]) -> None:
    """Replace messages by those of the same errors with suggestions."""
    for error in errors:
        messages = (other.message for other in suggested if other.message.startswith(error.message))
        error.message = next(messages, error.message)


def _merge_equal_errors(errors: Sequence[GraphQLError]) -> list[GraphQLError]:
    """Return one error for each message of a validation rule, with the locations of all errors that have it.

    A repeated mistake then adds its locations to the response, and not a complete error for each. Errors of scalars
    stay separate, because each has its own cause. An error has at most MAX_ERROR_LOCATIONS locations.
    """
    merged: dict[object, list[GraphQLError]] = {}
    for error in errors:
        merged.setdefault(error.message if error.original_error is None else id(error), []).append(error)
    return [_join_equal_errors(equal) for equal in merged.values()]


def _join_equal_errors(errors: Sequence[GraphQLError]) -> GraphQLError:
    nodes = [node for error in errors for node in error.nodes or ()]
    if len(errors) == 1 and len(nodes) <= MAX_ERROR_LOCATIONS:
        return errors[0]
    return GraphQLError(errors[0].message, nodes[:MAX_ERROR_LOCATIONS])


def _document_or_error(result: _CachedResult) -> Document:
    if isinstance(result, Document):
        return result
    raise InvalidRequest(result)


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
