"""Upper bounds of the number of values in a response, which decide whether it is encoded at once."""

import asyncio
import sys
from typing import Any

import pytest

from tests.graphql.compiled.comparing import ObservedEngine
from tests.graphql.compiled.test_engine import ALL, SCHEMA, SEED, run
from tests.graphql.compiled.world import World
from wattgate.graphql.cost.operation_charge import OperationCharge
from wattgate.graphql.execution.json_encoding import LARGE_COST, PIECE_VALUES, count_values
from wattgate.graphql.execution.pipeline import PipelineResult
from wattgate.principal import Principal, Role
from wattgate.rate_limit.budgets import UNLIMITED_BUDGETS

WORLD = World(SCHEMA, SEED, broken=ALL)


@pytest.mark.parametrize(
    "document",
    [
        "{ meters { path } }",
        "{ meters { path __typename } a: panel { path } }",
        "{ meters { limits { whole real at colour } marks { path } grid { path } column } }",
    ],
)
async def test_bound_is_exact_if_nothing_is_null(document: str) -> None:
    result = await run(ObservedEngine(SCHEMA), document, WORLD)
    assert result.bound_values is not None
    assert result.bound_values(result.data) == count_values(result.data, sys.maxsize)


async def test_values_of_type_json_have_no_bound() -> None:
    result = await run(ObservedEngine(SCHEMA), "{ meters { path limits { extra } } }", WORLD)
    assert result.data
    assert result.bound_values is None


async def encode(charged: int, **members: Any) -> int:
    """Return the number of times that the event loop runs while a result with a charge is encoded."""
    charge = OperationCharge.flat(UNLIMITED_BUDGETS, Principal(Role.SYSTEM), charged)
    await charge.settle()
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count_turns())
    await asyncio.sleep(0)
    await PipelineResult({"a": 1}, charge=charge, **members).encode_result()
    counting.cancel()
    return turns


@pytest.mark.parametrize(
    ("charged", "members", "at_once"),
    [
        (LARGE_COST - 1, {"errors": ()}, True),
        (LARGE_COST, {"errors": ()}, False),
        (LARGE_COST, {"errors": (), "bound_values": lambda data: PIECE_VALUES}, True),
        (LARGE_COST, {"errors": (), "bound_values": lambda data: PIECE_VALUES + 1}, False),
    ],
)
async def test_result_is_encoded_at_once_if_it_is_certainly_small(
    charged: int, members: dict[str, Any], at_once: bool
) -> None:
    assert (await encode(charged, **members) == 0) == at_once
