"""How large the documents are that the gateway takes, and one pass that measures them before any other rule looks.

The pass is linear in the document. A fragment is measured once, wherever it is spread: a hundred of them that each
spread the next one twice are counted exactly, and not one of them is expanded.
"""

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
    """The bounds of a document; each has a test. What tools ask to know the schema has 15 levels and 232 fields."""

    characters: int = 32_768
    """Of the text, which is read to its end; long texts and many values belong in variables."""

    tokens: int = 2_000
    """Of the text: parsing and validation cost by the token. It may have as many comments besides."""

    depth: int = 20
    """Levels of fields in an operation: each may be a statement, and wait for the one before."""

    fields: int = 1_000
    """Of an operation, its fragments expanded: an answer has at least so many values; the same field twice is two."""

    aliases: int = 50
    """Of an operation, its fragments expanded: they make one field many, and `__typename` too."""

    directives: int = 50
    """Of an operation, its fragments expanded: each is a check for every place where it stands."""

    root_fields: int = 30
    """Of an operation, its fragments expanded: each runs as an operation, in a session of its own."""

    repeats: int = 20
    """Fields that are written with one name in one place: whether they can be merged is looked at pair by pair."""

    fragments: int = 60
    """Of the document; whether they can be merged is looked at pair by pair where they are spread in one place."""


class DefinitionSize(NamedTuple):
    """The size of an operation or fragment, with its fragments expanded. `repeats` is that of its own text."""

    depth: int = 0
    fields: int = 0
    aliases: int = 0
    directives: int = 0
    root_fields: int = 0
    repeats: int = 0


class DocumentSize(NamedTuple):
    """The sizes of a document's operations and fragments, and how many selections were looked at to know them."""

    sizes: list[tuple[ExecutableDefinitionNode, DefinitionSize]]
    visited: int


_LIMIT_NOUNS = {
    "depth": "levels",
    "fields": "fields",
    "aliases": "aliases",
    "directives": "directives",
    "root_fields": "fields at its root",
    "repeats": "fields of one name in one place",
}
_MAX_EXACT_COUNT = 1_000_000
"""From where on a count is not told to the digit: that of a bomb has hundreds of them."""


def parse_document(text: str, limits: DocumentLimits) -> DocumentNode:
    """The document of a text. GraphQLError where it is no GraphQL, or longer or deeper than is taken."""
    if len(text) > limits.characters:
        raise GraphQLError(f"the document has {len(text):,} characters, and at most {limits.characters:,} are taken")
    return parse_text(text, max_lexical_tokens=limits.tokens, max_comments=limits.tokens)


def limit_error(document: DocumentNode, limits: DocumentLimits) -> GraphQLError | None:
    """Why a document is not taken; None where it is. Circular and unknown fragments are for validation to tell."""
    for definition, size in measure_document(document).sizes:
        for name, noun in _LIMIT_NOUNS.items():
            count, maximum = getattr(size, name), getattr(limits, name)
            if count > maximum and not (name == "root_fields" and isinstance(definition, FragmentDefinitionNode)):
                shown_count = f"{count:,}" if count < _MAX_EXACT_COUNT else "more than a million"
                return GraphQLError(
                    f"{_definition_label(definition)} has {shown_count} {noun}, and at most {maximum:,} are taken",
                    definition,
                )
    fragments = sum(isinstance(node, FragmentDefinitionNode) for node in document.definitions)
    if fragments > limits.fragments:
        return GraphQLError(f"the document has {fragments:,} fragments, and at most {limits.fragments:,} are taken")
    return None


def measure_document(document: DocumentNode) -> DocumentSize:
    """The sizes of all operations and fragments of a document. A spread that closes a circle adds nothing."""
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
    """The fields at one place, those of inline fragments too; `below` are the numbers of the levels beneath them."""

    names: Counter[str] = field(default_factory=Counter)
    child_levels: list[int] = field(default_factory=list)
    spreads: list[str] = field(default_factory=list)
    aliases: int = 0
    directives: int = 0
    visited: int = 0


def _collect_levels(root: SelectionSetNode) -> list[_Level]:
    """The levels of a definition, without its fragments. Each stands before those beneath it."""
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
    """The size of a definition, by its levels and the sizes of the fragments that it spreads."""
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
    """The names of fragments, each after those that it spreads, but for spreads that close a circle."""
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
    """What a definition is called where it is told of."""
    kind = "the fragment" if isinstance(definition, FragmentDefinitionNode) else "the operation"
    return f"{kind} {definition.name.value}" if definition.name else kind
