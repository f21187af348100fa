"""Documents are measured in one pass, each bound holds, and what is meant to harm is refused before it can."""

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
from wattgate.graphql.execution.document_limits import DocumentLimits, Size, measured, parse, refusal

LIMITS = DocumentLimits()
LARGE = DocumentLimits(**{one.name: 10**9 for one in fields(DocumentLimits)})


def refused(text: str, limits: DocumentLimits = LIMITS) -> str | None:
    """Why a text is refused, when it is parsed or when it is measured."""
    try:
        error = refusal(parse(text, limits), limits)
    except GraphQLError as raised:
        error = raised
    return None if error is None else error.message


def size_of(text: str) -> Size:
    """The size of the first operation of a document."""
    return measured(parse_text(text)).sizes[0][1]


def nested(depth: int) -> str:
    return "{ a " * depth + "}" * depth


def inside(count: int, one: str) -> str:
    """A document with so many fields in one place that is not its root."""
    return "{ x { " + " ".join(one.format(number) for number in range(count)) + " } }"


BOUNDS: dict[str, tuple[Callable[[int], str], str]] = {
    "characters": (lambda count: "{ a }".ljust(count), "characters"),
    "tokens": (lambda count: "{ a(b: [" + "1 " * (count - 9) + "]) }", "tokens"),
    "depth": (nested, "levels"),
    "fields": (lambda count: inside(count - 1, "a{}"), "fields"),
    "aliases": (lambda count: inside(count, "a{}: __typename"), "aliases"),
    "directives": (lambda count: "{ a " + "@x " * count + "}", "directives"),
    "root_fields": (lambda count: "{ " + " ".join(f"a{number}" for number in range(count)) + " }", "root"),
    "repeats": (lambda count: inside(count, "a"), "one name"),
    "fragments": (
        lambda count: "{ a }" + "".join(f" fragment F{n} on Query {{ a }}" for n in range(count)),
        "fragments",
    ),
}


def test_every_bound_has_a_document_that_tries_it() -> None:
    assert set(BOUNDS) == {one.name for one in fields(DocumentLimits)}


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_document_at_a_bound_is_taken_and_one_above_it_is_refused(bound: str) -> None:
    make, noun = BOUNDS[bound]
    most = getattr(LIMITS, bound)
    assert refused(make(most)) is None
    told = refused(make(most + 1))
    assert told is not None
    assert noun in told
    assert f"{most:,}" in told or str(most) in told


def test_comments_are_bounded_like_tokens() -> None:
    assert refused("#\n" * LIMITS.tokens + "{ a }") is None
    assert "comments" in str(refused("#\n" * (LIMITS.tokens + 1) + "{ a }"))


def test_a_refusal_says_what_is_too_much_of_which_definition() -> None:
    assert (
        refused(f"query Many {inside(51, 'a{}: b')}") == "the operation Many has 51 aliases, and at most 50 are taken"
    )
    unused = f"{{ a }} fragment Wide on T {inside(1000, 'a{}')}"
    assert refused(unused) == "the fragment Wide has 1,001 fields, and at most 1,000 are taken"
    (error,) = [refusal(parse(unused, LIMITS), LIMITS)]
    assert error is not None
    assert error.formatted["locations"] == [{"line": 1, "column": 7}]


def test_each_operation_is_measured_alone() -> None:
    many = " ".join(f"query Q{number} {inside(500, 'a{}')}" for number in range(2))
    assert refused(many, DocumentLimits(tokens=3_000)) is None


def test_what_a_fragment_has_counts_wherever_it_is_spread() -> None:
    text = """query Q($v: Int @d) @d { ...A ...A x { ...A } ... on T @d { ...B } }
              fragment A on T @d { b: c @d { ...B } }
              fragment B on T { d { e: __typename } }"""
    assert size_of(text) == Size(depth=4, fields=12, aliases=7, directives=9, root_fields=4, repeats=1)


def test_fields_of_one_name_are_counted_where_they_stand_through_inline_fragments() -> None:
    assert size_of("{ x { a ... on T { a ... @y { a b: a } } } }").repeats == 3
    assert size_of("{ x { b: a b: c } x { b: a } }").repeats == 2


def test_fields_at_the_root_of_a_fragment_are_those_of_no_operation() -> None:
    names = " ".join(f"a{number}" for number in range(40))
    assert refused(f"{{ x {{ ...F }} }} fragment F on T {{ {names} }}") is None
    assert refused(f"{{ ...F }} fragment F on T {{ {names} }}") is not None


def test_the_documents_of_our_own_pages_and_guides_fill_no_bound_by_a_third() -> None:
    documents = own()
    assert len(documents) >= 20
    for name, text in documents.items():
        document = parse(text, LIMITS)
        assert len(text) * 3 <= LIMITS.characters
        assert document.token_count * 3 <= LIMITS.tokens, name
        assert text.count("fragment ") * 3 <= LIMITS.fragments, name
        for _, size in measured(document).sizes:
            for bound, count in size._asdict().items():
                assert count * 3 <= getattr(LIMITS, bound), (name, bound)


def test_introspection_with_all_its_options_is_taken() -> None:
    assert refused(INTROSPECTION) is None
    assert size_of(INTROSPECTION) == Size(depth=15, fields=232, root_fields=1, repeats=1)


class Selections(Visitor):
    """Counts the selections of a text."""

    count = 0

    def enter_field(self, *_: object) -> None:
        self.count += 1

    enter_inline_fragment = enter_fragment_spread = enter_field


def selections(document: DocumentNode) -> int:
    counted = Selections()
    visit(document, counted)
    return counted.count


@pytest.mark.parametrize("levels", [10, 30, 99])
def test_a_bomb_of_fragments_is_refused_after_one_look_at_each_selection(levels: int) -> None:
    document = parse(bomb(levels), LIMITS)
    found = measured(document)
    assert found.sizes[0][1].fields == 2 ** (levels - 1)
    assert found.visited == selections(document) == 2 * levels
    assert refusal(document, LIMITS) is not None


def test_bombs_of_aliases_in_depth_and_of_directives_are_counted_too() -> None:
    deep = bomb(12, spread="a: x {{ ...{0} }} b: x {{ ...{0} @y }}")
    size = size_of(deep)
    assert (size.aliases, size.directives) == (2**12 - 2, 2**11 - 1)
    assert (size.depth, size.root_fields) == (12, 2)
    assert refused(deep) is not None


def test_a_bomb_far_beyond_every_number_is_told_without_its_number() -> None:
    text = bomb(500, spread="...{0} " * 40)
    assert refused(text, DocumentLimits(characters=10**7, tokens=10**6)) == (
        "the operation has more than a million fields, and at most 1,000 are taken"
    )


@pytest.mark.parametrize("length", [1_000, 5_000])
def test_a_chain_of_fragments_is_measured_without_recursion(length: int) -> None:
    document = parse(chain(length), LARGE)
    found = measured(document)
    assert found.sizes[0][1] == Size(depth=1, fields=1, root_fields=1)
    assert found.visited == selections(document) == length + 1
    assert refused(chain(length)) is not None  # it has too many tokens


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
    assert refused(text) is None


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
def test_deep_nesting_is_told_and_breaks_nothing(text: str) -> None:
    for limits in (LIMITS, LARGE):
        with pytest.raises(GraphQLError) as told:
            parse(text, limits)
        assert type(told.value.__cause__) is not RecursionError


@pytest.mark.parametrize(
    ("text", "noun"),
    [
        ("{ " + " ".join(f"a{number}: __typename" for number in range(101)) + " }", "aliases"),
        (inside(1_000, "a{}: b"), "tokens"),
        ("{ " + "__typename " * 500 + "}", "root"),
        (inside(500, "a"), "one name"),
        ("{ a " + "@x " * 500 + "}", "directives"),
        ("{ __schema { types { " + "fields { type { " * 10 + "name" + " } }" * 10 + " } } }", "levels"),
        ('{ a(b: "' + "x" * 2**21 + '") }', "characters"),
        ("", "Syntax Error"),
        ("{ a", "Syntax Error"),
    ],
)
def test_what_harms_is_told_by_what_there_is_too_much_of(text: str, noun: str) -> None:
    assert noun in str(refused(text))


def expanded(document: DocumentNode) -> Iterator[tuple[FieldNode | DirectiveNode, int]]:
    """All fields and directives of the first operation, each with its depth, with fragments put in their places."""
    fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
    operation = document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)

    def inside(node: Any, depth: int) -> Iterator[tuple[FieldNode | DirectiveNode, int]]:
        yield from ((directive, depth) for directive in node.directives or ())
        if isinstance(node, FieldNode):
            yield node, depth
        for one in node.selection_set.selections if getattr(node, "selection_set", None) else ():
            yield from inside(one, depth + isinstance(one, FieldNode))
        if isinstance(node, FragmentSpreadNode) and node.name.value in fragments:
            yield from inside(fragments[node.name.value], depth)

    return inside(operation, 0)


def naive(document: DocumentNode) -> Size:
    """The size of the first operation, by walking through all that is expanded."""
    found = list(expanded(document))
    depths = [depth for node, depth in found if isinstance(node, FieldNode)]
    return Size(
        depth=max(depths, default=0),
        fields=len(depths),
        aliases=sum(isinstance(node, FieldNode) and node.alias is not None for node, _ in found),
        directives=len(found) - len(depths),
        root_fields=depths.count(1),
    )


@given(shapeless())
def test_documents_are_measured_as_if_their_fragments_were_expanded(text: str) -> None:
    document = parse_text(text)
    found = measured(document)
    assert found.sizes[0][1]._replace(repeats=0) == naive(document)
    assert found.visited == selections(document)


def test_the_page_tells_the_bounds_as_they_are() -> None:
    page = (ROOT / "docs" / "reference" / "limits.md").read_text()
    told = re.findall(r"^\| ([a-z ]+) \| ([\d,]+) \| [^|]+ \|$", page, re.MULTILINE)
    assert {name.replace(" ", "_"): int(most.replace(",", "")) for name, most in told} == asdict(LIMITS)
