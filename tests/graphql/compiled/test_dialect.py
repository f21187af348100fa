"""The runner of graphql-core's own tests works: `make conformance` is not part of this suite."""

import pytest
from graphql import build_schema, parse

from tests.graphql.compiled import dialect

SCHEMA = build_schema(
    "interface Named { name: String! } type Query { pets(first: Int = 2): [Pet!] me: Query } "
    "type Pet implements Named { name: String! age: Int }"
)
ROOT = {"pets": lambda _info, first: [{"name": "Rex", "age": 7}, {"name": None}][:first], "me": {"me": None}}


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in dialect.PATCHES:
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("query ($n: Int = 1) { pets(first: $n) { name age __typename } me { me { me { __typename } } } }", "compiled"),
        ("{ pets { name } me { __typename } }", "fell back"),
        ("{ __typename __schema { queryType { name } } }", "not compiled"),
    ],
)
def test_plans_execute_any_schema(text: str, how: str) -> None:
    before = dialect.COUNTS[how]
    result = dialect.execute_sync(SCHEMA, parse(text), ROOT)
    assert result == dialect.ORIGINAL_EXECUTE(SCHEMA, parse(text), ROOT)
    assert dialect.COUNTS[how] == before + 1
