"""No GraphQL document that a reader may copy, and none of the pages, uses a deprecated field or argument."""

from functools import cache

from graphql import GraphQLSchema, build_schema, parse, validate
from graphql.validation import NoDeprecatedCustomRule

from tests.support.documents import ROOT, in_page, of_pages

ALLOWED = {"gateway.js Homes": "one list for users and for administrators, who see the homes of all users"}
"""Documents that use a deprecated field, with the reason."""


@cache
def documented_schema() -> GraphQLSchema:
    return build_schema((ROOT / "docs" / "reference" / "schema.graphql").read_text())


@cache
def guides() -> dict[str, list[str]]:
    """Return the documents of each guide."""
    paths = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    return {path.relative_to(ROOT).as_posix(): in_page(path.read_text()) for path in paths}


def warnings(document: str) -> list[str]:
    return [error.message for error in validate(documented_schema(), parse(document), [NoDeprecatedCustomRule])]


def test_documents_of_guides_use_no_deprecated_field() -> None:
    found = [
        (page, warning) for page, documents in guides().items() for text in documents for warning in warnings(text)
    ]
    assert found == []


def test_documents_of_pages_use_no_deprecated_field() -> None:
    deprecated = {name: warnings(text) for name, text in of_pages().items()}
    assert {name for name, found in deprecated.items() if found} == set(ALLOWED)


def test_documents_in_blocks_commands_programs_and_prose_are_found() -> None:
    numbers = {page: len(documents) for page, documents in guides().items() if documents}
    assert numbers["README.md"] >= 3, "commands"
    assert numbers["docs/tutorials/first-query-and-subscription.md"] >= 8, "blocks, commands and a program in Python"
    assert numbers["docs/how-to/react-and-relay.md"] >= 7, "a program in TypeScript"
    assert numbers["docs/explanation/decisions/small-decisions.md"] >= 1, "prose"
    for word in ("virtualEntities { name }", "accounts { name }"):
        assert warnings(f"{{ {word} }}"), word
