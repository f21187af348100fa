"""Size limits of documents, and the pass that measures a document before validation.

The pass is linear in the size of the document. It measures each fragment once and never expands one: a hundred
fragments that each spread the next one twice are counted exactly.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from graphql import (
    DocumentNode,
    ExecutableDefinitionNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    SelectionSetNode,
)
from graphql import parse as parse_text


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """The size limits of a document; each has a test. Limits of an operation count its fragments expanded.

    The introspection query of common tools has 15 levels and 232 fields.
    """

    characters: int = 32_768
    """Characters of the text. Long texts and many values belong in variables."""

    tokens: int = 2_000
    """Tokens of the text, because the cost of parsing and validation grows with them.

    Comments have the same limit of their own.
    """

    depth: int = 20
    """Levels of fields in an operation. Each may be a statement that waits for the level before."""

    fields: int = 1_000
    """Fields of an operation; the same field twice counts as two. A response has at least as many values."""

    aliases: int = 50
    """Aliases in an operation, of `__typename` too, because they multiply a field."""

    directives: int = 50
    """Directives in an operation. Each is evaluated at every position where it occurs."""

    root_fields: int = 30
    """Root fields of an operation. Each runs as an operation, in a session of its own."""

    repeats: int = 20
    """Fields with the same response name in one selection. Validation compares them in pairs."""

    fragments: int = 60
    """Fragments of a document. Validation compares those spread in one selection in pairs."""


class DefinitionSize(NamedTuple):
    """The size of an operation or fragment, with its fragments expanded. `repeats` counts only its own text."""

    depth: int = 0
    fields: int = 0
    aliases: int = 0
    directives: int = 0
    root_fields: int = 0
    repeats: int = 0


class DocumentSize(NamedTuple):
    """The sizes of a document's operations and fragments. `visited` is the number of selections that were visited."""

    sizes: list[tuple[ExecutableDefinitionNode, DefinitionSize]]
    visited: int


_LIMIT_NOUNS = {
    "depth": "levels",
    "fields": "fields",
    "aliases": "aliases",
    "directives": "directives",
    "root_fields": "root fields",
    "repeats": "fields of the same name in one selection",
}
_MAX_EXACT_COUNT = 1_000_000
"""Counts from here on are reported as "more than a million": that of an attack may have hundreds of digits."""


def parse_document(text: str, limits: DocumentLimits) -> DocumentNode:
    """Parse a document. Raise GraphQLError if it is invalid or exceeds the limits of characters or tokens."""
    if len(text) > limits.characters:
        raise GraphQLError(f"the document has {len(text):,} characters; the limit is {limits.characters:,}")
    return parse_text(text, max_lexical_tokens=limits.tokens, max_comments=limits.tokens)


def limit_error(document: DocumentNode, limits: DocumentLimits) -> GraphQLError | None:
    """Return the error of a document that exceeds a limit, or None.

    Validation reports circular and unknown fragments.
    """
    for definition, size in measure_document(document).sizes:
        for name, noun in _LIMIT_NOUNS.items():
            count, maximum = getattr(size, name), getattr(limits, name)
            if count > maximum and not (name == "root_fields" and isinstance(definition, FragmentDefinitionNode)):
                shown_count = f"{count:,}" if count < _MAX_EXACT_COUNT else "more than a million"
                return GraphQLError(
                    f"{_definition_label(definition)} has {shown_count} {noun}; the limit is {maximum:,}",
                    definition,
                )
    fragments = sum(isinstance(node, FragmentDefinitionNode) for node in document.definitions)
    if fragments > limits.fragments:
        return GraphQLError(f"the document has {fragments:,} fragments; the limit is {limits.fragments:,}")
    return None


def measure_document(document: DocumentNode) -> DocumentSize:
    """Measure all operations and fragments of a document. A spread that closes a circle adds nothing."""
    definitions = [
        definition for definition in document.definitions if isinstance(definition, ExecutableDefinitionNode)
    ]
    levels = {id(definition): _collect_levels(definition.selection_set) for definition in definitions}
    fragments = {
        definition.name.value: definition
        for definition in definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    spreads = {
        name: [spread for level in levels[id(fragment)] for spread in level.spreads]
        for name, fragment in fragments.items()
    }
    fragment_sizes: dict[str, DefinitionSize] = {}
    for name in _dependency_order(spreads):
        fragment_sizes[name] = _definition_size(fragments[name], levels[id(fragments[name])], fragment_sizes)
    sizes = [
        (definition, _definition_size(definition, levels[id(definition)], fragment_sizes)) for definition in definitions
    ]
    return DocumentSize(
        sizes, sum(level.visited for definition_levels in levels.values() for level in definition_levels)
    )


@dataclass(slots=True)
class _Level:
    """The fields of one selection, including those of its inline fragments.

    `child_levels` are the indexes of the levels below.
    """

    names: Counter[str] = field(default_factory=Counter)
    child_levels: list[int] = field(default_factory=list)
    spreads: list[str] = field(default_factory=list)
    aliases: int = 0
    directives: int = 0
    visited: int = 0


def _collect_levels(root: SelectionSetNode) -> list[_Level]:
    """Collect the levels of a definition, without those of its fragment spreads.

    Each level comes before its children.
    """
    levels = [_Level()]
    pending = [(root, levels[0])]
    while pending:
        selection_set, level = pending.pop()
        for selection in selection_set.selections:
            level.visited += 1
            level.directives += len(selection.directives or ())
            if isinstance(selection, FragmentSpreadNode):
                level.spreads.append(selection.name.value)
            elif isinstance(selection, InlineFragmentNode):
                pending.append((selection.selection_set, level))
            elif isinstance(selection, FieldNode):
                level.aliases += selection.alias is not None
                level.names[(selection.alias or selection.name).value] += 1
                if selection.selection_set:
                    level.child_levels.append(len(levels))
                    levels.append(_Level())
                    pending.append((selection.selection_set, levels[-1]))
    return levels


def _definition_size(
    definition: ExecutableDefinitionNode, levels: list[_Level], fragment_sizes: Mapping[str, DefinitionSize]
) -> DefinitionSize:
    """Compute the size of a definition from its levels and the sizes of the fragments that it spreads."""
    sizes = [DefinitionSize()] * len(levels)
    for level_index in reversed(range(len(levels))):
        level = levels[level_index]
        field_count = level.names.total()
        children = [sizes[index] for index in level.child_levels]
        spread_sizes = [fragment_sizes[name] for name in level.spreads if name in fragment_sizes]
        sizes[level_index] = DefinitionSize(
            depth=max(
                [min(field_count, 1), *(1 + size.depth for size in children), *(size.depth for size in spread_sizes)]
            ),
            fields=field_count + sum(size.fields for size in (*children, *spread_sizes)),
            aliases=level.aliases + sum(size.aliases for size in (*children, *spread_sizes)),
            directives=level.directives + sum(size.directives for size in (*children, *spread_sizes)),
            root_fields=field_count + sum(size.root_fields for size in spread_sizes),
            repeats=max([0, *level.names.values(), *(size.repeats for size in children)]),
        )
    variable_directives = [variable.directives for variable in definition.variable_definitions or ()]
    own_directives = sum(len(directives or ()) for directives in (definition.directives, *variable_directives))
    return sizes[0]._replace(directives=sizes[0].directives + own_directives)


def _dependency_order(spreads: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names of fragments, each after those that it spreads. Ignore spreads that close a circle."""
    order: list[str] = []
    visited: set[str] = set()
    for root in spreads:
        path = [(root, iter(spreads[root]))] if root not in visited else []
        visited.add(root)
        while path:
            name, remaining = path[-1]
            next_name = next(
                (spread_name for spread_name in remaining if spread_name in spreads and spread_name not in visited),
                None,
            )
            if next_name is None:
                order.append(name)
                path.pop()
            else:
                visited.add(next_name)
                path.append((next_name, iter(spreads[next_name])))
    return order


def _definition_label(definition: ExecutableDefinitionNode) -> str:
    """Return the kind and name of a definition for an error message."""
    kind = "the fragment" if isinstance(definition, FragmentDefinitionNode) else "the operation"
    return f"{kind} {definition.name.value}" if definition.name else kind


# The size of a document before the parser gets its text: the tokens, counted in one pass, and their price.

FREE_TOKENS = 32
"""Tokens of a new document that cost nothing. To parse and validate so few takes about as long as the request."""

UNITS_PER_TOKEN = 3
"""Cost of each further token of a new document.

The slowest documents within the limits take 72 µs of processor time for each token, most of it for validation.
"""

LONG_TOKENS, LONG_CHARACTERS = 200, 4_096
"""Tokens and characters above which a document is long: a thread parses, validates and compiles it.

For a shorter document, each of these steps holds the event loop for 15 ms at most.
"""

_TOKEN = re.compile(
    r"""
    \# [^\n\r]*+                                                # a comment
    | "{3} (?: [^"\\] | \\"{3} | \\ | "(?!"") )*+ (?: "{3} )?   # a block string, or an unfinished one
    | " (?: [^"\\\n\r] | \\. )*+ "?                             # a string, or an unfinished one
    | [A-Za-z_] [A-Za-z0-9_]*+                                  # a name
    | -?[0-9]++ (?: \.[0-9]++ )? (?: [Ee][+-]?[0-9]++ )?        # a number
    | \.{3}                                                     # a spread
    | [^\s,\ufeff]                                              # a punctuator, or a character that is not allowed
    """,
    re.VERBOSE,
)
"""A token or comment of GraphQL. An unfinished text matches, too: no second attempt starts inside it."""


def count_tokens(text: str) -> int:
    """Return the number of tokens and comments that a parser reads in a text, or more if the text is invalid."""
    return sum(1 for _ in _TOKEN.finditer(text))


def is_long(text: str) -> bool:
    """Return whether a thread parses a document, and not the event loop."""
    return len(text) > LONG_CHARACTERS or (len(text) > LONG_TOKENS and count_tokens(text) > LONG_TOKENS)


def parse_cost(text: str, limits: DocumentLimits) -> int:
    """Return the cost of parsing and validating a document, in units.

    The parser refuses a text above the limit of characters unread, and stops at the limits of tokens and comments.
    """
    if len(text) > limits.characters:
        return 0
    return max(0, min(count_tokens(text), 2 * limits.tokens) - FREE_TOKENS) * UNITS_PER_TOKEN
