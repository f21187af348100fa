"""The root queries of the schema: their number, and the reason that the design rules give for each."""

import re
from pathlib import Path

from tests.support.gateway_schema import SCHEMA
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import OperationKind

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "schema-design.md"

MAX_ROOT_QUERIES = 60


def root_queries() -> set[str]:
    assert SCHEMA.query_type is not None
    return {*SCHEMA.query_type.fields}


def test_schema_has_at_most_60_root_queries() -> None:
    assert len(root_queries()) <= MAX_ROOT_QUERIES
    assert f"at most {MAX_ROOT_QUERIES} root queries" in PAGE.read_text()


def test_each_root_query_has_a_reason() -> None:
    section = PAGE.read_text().partition("### Root queries\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| (`.*`) \| (\S.*) \|$", section, re.MULTILINE)
    reasons = [name for names, _ in rows for name in re.findall(r"`(\w+)`", names)]
    assert len(reasons) == len({*reasons})
    assert {*reasons} == root_queries()


def test_query_of_rest_names_the_path_of_its_fields() -> None:
    """An operation without a root field and without a path would be missing from GraphQL."""
    queries = [operation for operation in OPERATIONS if operation.kind is OperationKind.QUERY]
    assert all(operation.rest for operation in queries if operation.in_graphql)
    assert {operation.in_graphql[0] for operation in queries if operation.in_graphql} <= root_queries()
