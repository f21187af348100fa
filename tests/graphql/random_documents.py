"""Random GraphQL documents of the schema, by schemathesis: valid ones, and ones that are invalid on purpose."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.graphql import nodes, scalar

SCHEMA = (Path(__file__).parents[2] / "docs" / "reference" / "schema.graphql").read_text()

RUN_LAST = ["deleteToken", "revokeToken", "changePassword", "closeAccount", "deleteUser"]
"""Operations that run last, because they end logins or delete users."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The number of valid and invalid documents of an operation.

    One operation of `valid_every` has valid documents, and one of `invalid_every` has invalid ones.
    """

    seed: int
    valid: int
    invalid: int
    valid_every: int = 1
    invalid_every: int = 1


def scale() -> Scale:
    """Return the scale of a long run if WATTGATE_TEST_FUZZ contains its seed, else the short scale."""
    first_seed = os.environ.get("WATTGATE_TEST_FUZZ")
    if first_seed is None:
        return Scale(1, valid=1, invalid=1, valid_every=2, invalid_every=6)
    return Scale(int(first_seed), valid=40, invalid=20)


@cache
def documents() -> list[tuple[str, bool]]:
    """Return documents of all operations, and whether each is invalid on purpose.

    They are created before the gateway starts, because hypothesis fails if other code draws random numbers meanwhile.
    """
    _register_scalars()
    cases: list[tuple[str, bool]] = []
    found_in_schema = schemathesis.graphql.from_file(SCHEMA).get_all_operations()
    operations = [operation.ok() for operation in found_in_schema if isinstance(operation, Ok)]
    assert operations
    names = {operation: operation.label.partition(".")[2] for operation in operations}
    in_order = sorted(
        operations, key=lambda operation: RUN_LAST.index(names[operation]) if names[operation] in RUN_LAST else -1
    )
    for position, operation in enumerate(in_order):
        if position % scale().valid_every == 0:
            cases += _cases(operation.as_strategy(generation_mode=GenerationMode.POSITIVE), scale().valid)
        if position % scale().invalid_every == 0:
            cases += _cases(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE), scale().invalid)
    return cases


def _cases(strategy: st.SearchStrategy[Any], count: int) -> list[tuple[str, bool]]:
    cases: list[tuple[str, bool]] = []

    @seed(scale().seed)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def gather(case: Any) -> None:
        cases.append((case.body, case.meta.generation.mode.is_negative))

    gather()
    return cases


def _register_scalars() -> None:
    """Register strategies for the values of custom scalars with schemathesis."""
    numbers = st.decimals(allow_nan=False, allow_infinity=False).map(str)
    unusual = st.sampled_from(["NaN", "-Infinity", "1e400", "-0", "1_0", " 1", "0x1", ""])
    zones = st.sampled_from(["Europe/London", "UTC", "Asia/Kathmandu", "+05:30", "Nowhere", "../UTC", ""])
    text = st.text().map(nodes.String)
    scalar("Decimal", (numbers | unusual).map(nodes.String) | st.integers().map(nodes.Int))
    scalar("TimeZone", zones.map(nodes.String))
    scalar("LocalTime", st.sampled_from(["22:00", "00:30", "24:00", "7", ""]).map(nodes.String))
    scalar("MeterPointNumber", (st.sampled_from(["1234567890123", "20 0000-1"]) | text).map(nodes.String))
    scalar("Currency", (st.sampled_from(["GBP", "EUR", "gbp", ""]) | text).map(nodes.String))
    scalar("JSON", text | st.integers().map(nodes.Int) | st.booleans().map(nodes.Boolean))
