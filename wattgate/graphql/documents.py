"""Documents that were read before: parsed and validated once, by their text."""

from collections.abc import Iterator
from functools import lru_cache

from graphql import DocumentNode, GraphQLError, GraphQLSchema, parse, specified_rules
from strawberry.extensions import SchemaExtension
from strawberry.schema.schema import validate_document

KEPT = 512
"""How many documents are kept; the least recently used gives way."""

LONGEST = 16 * 1024
"""Characters of the longest document that is kept."""


class Documents(SchemaExtension):
    """Hands over documents that are known to be valid. All others are read, and their errors told, as ever."""

    def on_parse(self) -> Iterator[None]:
        context = self.execution_context
        self._known = False
        if context.query and len(context.query) <= LONGEST and context.graphql_document is None:
            try:
                context.graphql_document = known(context.schema._schema, context.query)
                self._known = True
            except GraphQLError:
                pass  # graphql-core meets the same error in a moment, and tells all of them
        yield

    def on_validate(self) -> Iterator[None]:
        if self._known:
            self.execution_context.pre_execution_errors = []
        yield


@lru_cache(maxsize=KEPT)
def known(schema: GraphQLSchema, text: str) -> DocumentNode:
    """The document of a text. GraphQLError, which is not kept, where it has errors."""
    document = parse(text)
    for error in validate_document(schema, document, tuple(specified_rules)):
        raise error
    return document


def errors_of(schema: GraphQLSchema, text: str) -> list[GraphQLError]:
    """Everything that is wrong with a text."""
    try:
        return validate_document(schema, parse(text), tuple(specified_rules))
    except GraphQLError as error:
        return [error]
