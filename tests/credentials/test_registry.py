"""The registry of capabilities is complete: each place that can hold one has a row, and each row has a test."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Column, LargeBinary, MetaData, String, Table

from tests.support import capability_claims, reference_pages
from tests.support.capability_tests import NO_CAPABILITY, TESTS
from wattgate.graphql.capabilities import CAPABILITIES
from wattgate.operations.credentials.credential_endings import STORED_CAPABILITIES

ROOT = Path(__file__).parents[2]
CLAIMED = [claim for capability in CAPABILITIES for claim in capability.claims]

PLACES = (
    capability_claims.stored_columns,
    capability_claims.redis_keys,
    capability_claims.classes_with_callers,
    capability_claims.waiting_work,
)

ADD_ROW = "add a row to wattgate/graphql/capabilities.py, or the reason to tests/support/capability_tests.py"


@pytest.mark.parametrize(
    "places",
    PLACES,
    ids=lambda places: places.__name__,
)
def test_every_place_belongs_to_a_row_or_has_a_reason(places: Callable[[], frozenset[str]]) -> None:
    assert places() - {*CLAIMED, *NO_CAPABILITY} == set(), ADD_ROW


def test_every_claimed_place_exists_and_belongs_to_one_row() -> None:
    places = {place for find in PLACES for place in find()}
    assert {*CLAIMED, *NO_CAPABILITY} - places == set()
    assert sorted([*CLAIMED, *NO_CAPABILITY]) == sorted({*CLAIMED, *NO_CAPABILITY})


def test_new_columns_of_secrets_are_noticed() -> None:
    table = Table("pairing", MetaData(), Column("digest", LargeBinary), Column("code", String), Column("name", String))
    noticed = [column.name for column in table.columns if capability_claims._may_hold_capability(column)]
    assert noticed == ["digest", "code"]


def test_every_table_that_ends_with_a_credential_has_a_row() -> None:
    claimed_tables = {claim.partition(".")[0] for claim in CLAIMED}
    assert {stored.model.__tablename__ for stored in STORED_CAPABILITIES} <= claimed_tables


def test_every_row_has_a_test_that_exists() -> None:
    assert [*TESTS] == [capability.name for capability in CAPABILITIES]
    for path, _, name in (test.partition("::") for test in TESTS.values()):
        functions = [node.name for node in ast.parse((ROOT / path).read_text()).body if hasattr(node, "name")]
        assert name in functions, f"{path} has no test {name}"


def test_page_is_generated_from_the_registry() -> None:
    page = reference_pages.CREDENTIALS_PAGE.read_text()
    assert page == reference_pages.with_capabilities(page), "run `python -m tests.support.reference_pages`"
