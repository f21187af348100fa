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


class Size(NamedTuple):
    """The size of an operation or fragment, with its fragments expanded. `repeats` is that of its own text."""

    depth: int = 0
    fields: int = 0
    aliases: int = 0
    directives: int = 0
    root_fields: int = 0
    repeats: int = 0


class Measured(NamedTuple):
    """The sizes of a document's operations and fragments, and how many selections were looked at to know them."""

    sizes: list[tuple[ExecutableDefinitionNode, Size]]
    visited: int


_NOUNS = {
    "depth": "levels",
    "fields": "fields",
    "aliases": "aliases",
    "directives": "directives",
    "root_fields": "fields at its root",
    "repeats": "fields of one name in one place",
}
_LARGE = 1_000_000
"""From where on a count is not told to the digit: that of a bomb has hundreds of them."""


def parse(text: str, limits: DocumentLimits) -> DocumentNode:
    """The document of a text. GraphQLError where it is no GraphQL, or longer or deeper than is taken."""
    if len(text) > limits.characters:
        raise GraphQLError(f"the document has {len(text):,} characters, and at most {limits.characters:,} are taken")
    return parse_text(text, max_lexical_tokens=limits.tokens, max_comments=limits.tokens)


def refusal(document: DocumentNode, limits: DocumentLimits) -> GraphQLError | None:
    """Why a document is not taken; None where it is. Circular and unknown fragments are for validation to tell."""
    for definition, size in measured(document).sizes:
        for name, noun in _NOUNS.items():
            count, most = getattr(size, name), getattr(limits, name)
            if count > most and not (name == "root_fields" and isinstance(definition, FragmentDefinitionNode)):
                told = f"{count:,}" if count < _LARGE else "more than a million"
                return GraphQLError(
                    f"{_called(definition)} has {told} {noun}, and at most {most:,} are taken", definition
                )
    fragments = sum(isinstance(one, FragmentDefinitionNode) for one in document.definitions)
    if fragments > limits.fragments:
        return GraphQLError(f"the document has {fragments:,} fragments, and at most {limits.fragments:,} are taken")
    return None


def measured(document: DocumentNode) -> Measured:
    """The sizes of all operations and fragments of a document. A spread that closes a circle adds nothing."""
    definitions = [one for one in document.definitions if isinstance(one, ExecutableDefinitionNode)]
    levels = {id(one): _levels(one.selection_set) for one in definitions}
    fragments = {one.name.value: one for one in definitions if isinstance(one, FragmentDefinitionNode)}
    spreads = {
        name: [spread for level in levels[id(one)] for spread in level.spreads] for name, one in fragments.items()
    }
    known: dict[str, Size] = {}
    for name in _children_first(spreads):
        known[name] = _size(fragments[name], levels[id(fragments[name])], known)
    sizes = [(one, _size(one, levels[id(one)], known)) for one in definitions]
    return Measured(sizes, sum(level.visited for some in levels.values() for level in some))


@dataclass(slots=True)
class _Level:
    """The fields at one place, those of inline fragments too; `below` are the numbers of the levels beneath them."""

    names: Counter[str] = field(default_factory=Counter)
    below: list[int] = field(default_factory=list)
    spreads: list[str] = field(default_factory=list)
    aliases: int = 0
    directives: int = 0
    visited: int = 0


def _levels(root: SelectionSetNode) -> list[_Level]:
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
                    level.below.append(len(levels))
                    levels.append(_Level())
                    pending.append((selection.selection_set, levels[-1]))
    return levels


def _size(definition: ExecutableDefinitionNode, levels: list[_Level], known: Mapping[str, Size]) -> Size:
    """The size of a definition, by its levels and the sizes of the fragments that it spreads."""
    sizes = [Size()] * len(levels)
    for number in reversed(range(len(levels))):
        level = levels[number]
        here = level.names.total()
        below = [sizes[one] for one in level.below]
        spread = [known[name] for name in level.spreads if name in known]
        sizes[number] = Size(
            depth=max([min(here, 1), *(1 + one.depth for one in below), *(one.depth for one in spread)]),
            fields=here + sum(one.fields for one in (*below, *spread)),
            aliases=level.aliases + sum(one.aliases for one in (*below, *spread)),
            directives=level.directives + sum(one.directives for one in (*below, *spread)),
            root_fields=here + sum(one.root_fields for one in spread),
            repeats=max([0, *level.names.values(), *(one.repeats for one in below)]),
        )
    declared = [one.directives for one in definition.variable_definitions or ()]
    own = sum(len(directives or ()) for directives in (definition.directives, *declared))
    return sizes[0]._replace(directives=sizes[0].directives + own)


def _children_first(spreads: Mapping[str, Iterable[str]]) -> list[str]:
    """The names of fragments, each after those that it spreads, but for spreads that close a circle."""
    order: list[str] = []
    begun: set[str] = set()
    for root in spreads:
        path = [(root, iter(spreads[root]))] if root not in begun else []
        begun.add(root)
        while path:
            name, rest = path[-1]
            following = next((one for one in rest if one in spreads and one not in begun), None)
            if following is None:
                order.append(name)
                path.pop()
            else:
                begun.add(following)
                path.append((following, iter(spreads[following])))
    return order


def _called(definition: ExecutableDefinitionNode) -> str:
    """What a definition is called where it is told of."""
    kind = "the fragment" if isinstance(definition, FragmentDefinitionNode) else "the operation"
    return f"{kind} {definition.name.value}" if definition.name else kind
