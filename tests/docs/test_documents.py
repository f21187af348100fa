"""Each GraphQL document that a reader may copy, and each of the pages, names only what the schema has."""

from functools import cache

from graphql import FieldsOnCorrectTypeRule, GraphQLSchema, KnownArgumentNamesRule, build_schema, parse, validate

from tests.support.documents import ROOT, in_page, of_pages

KNOWN_NAMES = (FieldsOnCorrectTypeRule, KnownArgumentNamesRule)
"""The rules for documents of guides. Some are parts of programs, whose directives and fragments are elsewhere."""


@cache
def documented_schema() -> GraphQLSchema:
    return build_schema((ROOT / "docs" / "reference" / "schema.graphql").read_text())


@cache
def guides() -> dict[str, list[str]]:
    """Return the documents of each guide."""
    paths = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    return {path.relative_to(ROOT).as_posix(): in_page(path.read_text()) for path in paths}


def unknown_names(document: str) -> list[str]:
    return [error.message for error in validate(documented_schema(), parse(document), KNOWN_NAMES)]


def test_documents_of_guides_name_fields_and_arguments_of_the_schema() -> None:
    found = [
        (page, error) for page, documents in guides().items() for text in documents for error in unknown_names(text)
    ]
    assert found == []


def test_documents_of_pages_are_valid() -> None:
    errors = {name: validate(documented_schema(), parse(text)) for name, text in of_pages().items()}
    assert {name: found for name, found in errors.items() if found} == {}


def test_documents_in_blocks_commands_programs_and_prose_are_found() -> None:
    numbers = {page: len(documents) for page, documents in guides().items() if documents}
    assert numbers["README.md"] >= 3, "commands"
    assert numbers["docs/tutorials/first-query-and-subscription.md"] >= 8, "blocks, commands and a program in Python"
    assert numbers["docs/how-to/react-and-relay.md"] >= 7, "a program in TypeScript"
    assert numbers["docs/explanation/performance.md"] >= 1, "prose"
    assert unknown_names("{ viewer { homes2019 } }")
