"""Size limits of documents: measured in one pass, each limit tested, harmful documents rejected early."""

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from typing import Any

import pytest
from graphql import (
    DirectiveNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    OperationDefinitionNode,
    Visitor,
    visit,
)
from graphql import parse as parse_text
from hypothesis import given

from tests.support.documents import INTROSPECTION, ROOT, bomb, chain, own, shapeless
from wattgate.graphql.execution.documents.document_limits import (
    DefinitionSize,
    DocumentLimits,
    limit_error,
    measure_document,
    parse_document,
)

LIMITS = DocumentLimits()
LARGE = DocumentLimits(**{one.name: 10**9 for one in fields(DocumentLimits)})


def rejection(text: str, limits: DocumentLimits = LIMITS) -> str | None:
    """Return the error message of a text that is rejected by the parser or by a limit, or None."""
    try:
        error = limit_error(parse_document(text, limits), limits)
    except GraphQLError as raised:
        error = raised
    return None if error is None else error.message


def size_of(text: str) -> DefinitionSize:
    """Return the size of the first operation of a document."""
    return measure_document(parse_text(text)).sizes[0][1]


def nested(depth: int) -> str:
    return "{ a " * depth + "}" * depth


def inside(count: int, field: str) -> str:
    """Return a document with many fields in one selection below the root."""
    return "{ x { " + " ".join(field.format(number) for number in range(count)) + " } }"


BOUNDS: dict[str, tuple[Callable[[int], str], str]] = {
    "characters": (lambda count: "{ a }".ljust(count), "characters"),
    "tokens": (lambda count: "{ a(b: [" + "1 " * (count - 9) + "]) }", "tokens"),
    "depth": (nested, "levels"),
    "fields": (lambda count: inside(count - 1, "a{}"), "fields"),
    "aliases": (lambda count: inside(count, "a{}: __typename"), "aliases"),
    "directives": (lambda count: "{ a " + "@x " * count + "}", "directives"),
    "root_fields": (lambda count: "{ " + " ".join(f"a{number}" for number in range(count)) + " }", "root"),
    "repeats": (lambda count: inside(count, "a"), "same name"),
    "fragments": (
        lambda count: "{ a }" + "".join(f" fragment F{n} on Query {{ a }}" for n in range(count)),
        "fragments",
    ),
}


def test_every_limit_has_a_test_document() -> None:
    assert set(BOUNDS) == {limit.name for limit in fields(DocumentLimits)}


@pytest.mark.parametrize("bound", BOUNDS)
def test_document_at_a_limit_is_accepted_and_one_above_it_is_rejected(bound: str) -> None:
    make, noun = BOUNDS[bound]
    maximum = getattr(LIMITS, bound)
    assert rejection(make(maximum)) is None
    message = rejection(make(maximum + 1))
    assert message is not None
    assert noun in message
    assert f"{maximum:,}" in message or str(maximum) in message


def test_comments_are_limited_like_tokens() -> None:
    assert rejection("#\n" * LIMITS.tokens + "{ a }") is None
    assert "comments" in str(rejection("#\n" * (LIMITS.tokens + 1) + "{ a }"))


def test_rejection_names_the_limit_and_the_definition() -> None:
    assert rejection(f"query Many {inside(51, 'a{}: b')}") == "the operation Many has 51 aliases; the limit is 50"
    unused = f"{{ a }} fragment Wide on T {inside(1000, 'a{}')}"
    assert rejection(unused) == "the fragment Wide has 1,001 fields; the limit is 1,000"
    (error,) = [limit_error(parse_document(unused, LIMITS), LIMITS)]
    assert error is not None
    assert error.formatted["locations"] == [{"line": 1, "column": 7}]


def test_each_operation_is_measured_on_its_own() -> None:
    operations = " ".join(f"query Q{number} {inside(500, 'a{}')}" for number in range(2))
    assert rejection(operations, DocumentLimits(tokens=3_000)) is None


def test_contents_of_a_fragment_count_at_each_spread() -> None:
    text = """query Q($v: Int @d) @d { ...A ...A x { ...A } ... on T @d { ...B } }
              fragment A on T @d { b: c @d { ...B } }
              fragment B on T { d { e: __typename } }"""
    assert size_of(text) == DefinitionSize(depth=4, fields=12, aliases=7, directives=9, root_fields=4, repeats=1)


def test_repeated_fields_are_counted_through_inline_fragments() -> None:
    assert size_of("{ x { a ... on T { a ... @y { a b: a } } } }").repeats == 3
    assert size_of("{ x { b: a b: c } x { b: a } }").repeats == 2


def test_root_fields_of_a_fragment_do_not_count_as_root_fields_of_an_operation() -> None:
    names = " ".join(f"a{number}" for number in range(40))
    assert rejection(f"{{ x {{ ...F }} }} fragment F on T {{ {names} }}") is None
    assert rejection(f"{{ ...F }} fragment F on T {{ {names} }}") is not None


def test_own_documents_use_at_most_8_levels_and_a_third_of_each_other_limit() -> None:
    documents = own()
    assert len(documents) >= 20
    assert LIMITS.depth == 20
    del documents["schema.js IdeIntrospection"]  # a part of the introspection with all options, see below
    for name, text in documents.items():
        document = parse_document(text, LIMITS)
        assert len(text) * 3 <= LIMITS.characters
        assert document.token_count * 3 <= LIMITS.tokens, name
        assert text.count("fragment ") * 3 <= LIMITS.fragments, name
        for definition, size in measure_document(document).sizes:
            for bound, count in size._asdict().items():
                if bound == "root_fields" and isinstance(definition, FragmentDefinitionNode):
                    continue  # the limit is that of operations
                maximum = 8 if bound == "depth" else getattr(LIMITS, bound) // 3
                assert count <= maximum, (name, bound)


def test_introspection_with_all_options_is_within_the_limits() -> None:
    assert rejection(INTROSPECTION) is None
    assert size_of(INTROSPECTION) == DefinitionSize(depth=15, fields=232, root_fields=1, repeats=1)


class SelectionCounter(Visitor):
    """Count the selections of a document."""

    count = 0

    def enter_field(self, *_: object) -> None:
        self.count += 1

    enter_inline_fragment = enter_fragment_spread = enter_field


def count_selections(document: DocumentNode) -> int:
    counter = SelectionCounter()
    visit(document, counter)
    return counter.count


@pytest.mark.parametrize("levels", [10, 30, 99])
def test_fragment_bomb_is_rejected_after_one_visit_of_each_selection(levels: int) -> None:
    document = parse_document(bomb(levels), LIMITS)
    measured = measure_document(document)
    assert measured.sizes[0][1].fields == 2 ** (levels - 1)
    assert measured.visited == count_selections(document) == 2 * levels
    assert limit_error(document, LIMITS) is not None


def test_bombs_of_nested_aliases_and_directives_are_counted() -> None:
    deep = bomb(12, spread="a: x {{ ...{0} }} b: x {{ ...{0} @y }}")
    size = size_of(deep)
    assert (size.aliases, size.directives) == (2**12 - 2, 2**11 - 1)
    assert (size.depth, size.root_fields) == (12, 2)
    assert rejection(deep) is not None


def test_very_large_count_is_reported_without_its_digits() -> None:
    text = bomb(500, spread="...{0} " * 40)
    assert rejection(text, DocumentLimits(characters=10**7, tokens=10**6)) == (
        "the operation has more than a million fields; the limit is 1,000"
    )


@pytest.mark.parametrize("length", [1_000, 5_000])
def test_chain_of_fragments_is_measured_without_recursion(length: int) -> None:
    document = parse_document(chain(length), LARGE)
    measured = measure_document(document)
    assert measured.sizes[0][1] == DefinitionSize(depth=1, fields=1, root_fields=1)
    assert measured.visited == count_selections(document) == length + 1
    assert rejection(chain(length)) is not None  # it has too many tokens


@pytest.mark.parametrize(
    "text",
    [
        "{ ...A } fragment A on T { ...A }",
        "{ ...A } fragment A on T { a ...B } fragment B on T { b { ...A } ...C } fragment C on T { ...B }",
        "{ ...A ...Unknown } fragment A on T { ...Unknown }",
        "{ a } { b } fragment A on T { a } fragment A on T { ...A }",
    ],
)
def test_circular_and_unknown_fragments_are_left_to_validation(text: str) -> None:
    assert rejection(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "{" * 10_000,
        "{ a " * 10_000,
        "{ a(b: " + "[" * 10_000,
        "{ a(b: " + "{ c: " * 10_000,
        "query ($a: " + "[" * 10_000,
    ],
)
def test_deep_nesting_is_rejected_without_a_recursion_error(text: str) -> None:
    for limits in (LIMITS, LARGE):
        with pytest.raises(GraphQLError) as caught:
            parse_document(text, limits)
        assert type(caught.value.__cause__) is not RecursionError


@pytest.mark.parametrize(
    ("text", "noun"),
    [
        ("{ " + " ".join(f"a{number}: __typename" for number in range(101)) + " }", "aliases"),
        (inside(1_000, "a{}: b"), "tokens"),
        ("{ " + "__typename " * 500 + "}", "root"),
        (inside(500, "a"), "same name"),
        ("{ a " + "@x " * 500 + "}", "directives"),
        ("{ __schema { types { " + "fields { type { " * 10 + "name" + " } }" * 10 + " } } }", "levels"),
        ('{ a(b: "' + "x" * 2**21 + '") }', "characters"),
        ("", "Syntax Error"),
        ("{ a", "Syntax Error"),
    ],
)
def test_rejection_of_a_harmful_document_names_the_exceeded_limit(text: str, noun: str) -> None:
    assert noun in str(rejection(text))


def expanded(document: DocumentNode) -> Iterator[tuple[FieldNode | DirectiveNode, int]]:
    """Yield all fields and directives of the first operation with their depth, with fragments expanded."""
    fragments = {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    operation = document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)

    def inside(node: Any, depth: int) -> Iterator[tuple[FieldNode | DirectiveNode, int]]:
        yield from ((directive, depth) for directive in node.directives or ())
        if isinstance(node, FieldNode):
            yield node, depth
        for child in node.selection_set.selections if getattr(node, "selection_set", None) else ():
            yield from inside(child, depth + isinstance(child, FieldNode))
        if isinstance(node, FragmentSpreadNode) and node.name.value in fragments:
            yield from inside(fragments[node.name.value], depth)

    return inside(operation, 0)


def naive_size(document: DocumentNode) -> DefinitionSize:
    """Return the size of the first operation by walking through its expanded fragments."""
    nodes = list(expanded(document))
    depths = [depth for node, depth in nodes if isinstance(node, FieldNode)]
    return DefinitionSize(
        depth=max(depths, default=0),
        fields=len(depths),
        aliases=sum(isinstance(node, FieldNode) and node.alias is not None for node, _ in nodes),
        directives=len(nodes) - len(depths),
        root_fields=depths.count(1),
    )


@given(shapeless())
def test_measured_size_equals_that_with_expanded_fragments(text: str) -> None:
    document = parse_text(text)
    measured = measure_document(document)
    assert measured.sizes[0][1]._replace(repeats=0) == naive_size(document)
    assert measured.visited == count_selections(document)


def test_limits_page_lists_the_actual_limits() -> None:
    page = (ROOT / "docs" / "reference" / "limits.md").read_text().partition("## Limits on requests")[0]
    documented = re.findall(r"^\| ([a-z ]+) \| ([\d,]+) \| [^|]+ \|$", page, re.MULTILINE)
    assert {name.replace(" ", "_"): int(maximum.replace(",", "")) for name, maximum in documented} == asdict(LIMITS)
