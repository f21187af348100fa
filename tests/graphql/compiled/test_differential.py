"""Plans and graphql-core tell the same of documents made by chance, on a schema that has everything.

`make fuzz` runs the same with tens of thousands of documents. A difference is told with its document, its variables
and both answers; the seed of the test and the number of the document make it again.
"""

from collections.abc import Callable
from itertools import islice
from random import Random

import pytest

from tests.graphql.compiled.comparing import How
from tests.graphql.compiled.documents import requests
from tests.graphql.compiled.running import GRAPHQL_CORE_LEAVES, Report, compare
from tests.graphql.compiled.scale import RATES, scale
from tests.graphql.compiled.schema import schema
from tests.graphql.compiled.world import World
from wattgate.graphql.core.context import Context
from wattgate.principal import Principal, Role

pytestmark = GRAPHQL_CORE_LEAVES
SCALE = scale()
Tell = Callable[[Report], None]


async def _compared(seed: int, rate: float, count: int, *, mutations: float) -> Report:
    made = schema()

    def context(number: int) -> Context:
        return Context(World(made, seed * 1_000_003 + number, rate), Principal(Role.SYSTEM))  # type: ignore[arg-type]

    some = islice(requests(made._schema, Random(f"{seed} {rate} {mutations}"), mutations=mutations), count)
    return await compare(made, some, context, place=f"seed {seed}, rate {rate}")


@pytest.mark.parametrize("seed", SCALE.seeds)
@pytest.mark.parametrize("rate", RATES)
async def test_plans_tell_what_graphql_core_tells(seed: int, rate: float, tell: Tell) -> None:
    report = await _compared(seed, rate, SCALE.documents, mutations=0.1)
    tell(report)
    assert not report.different, report.told
    assert not report.for_nothing
    assert report.hows[How.COMPILED] >= report.hows.total() / (2 if rate < 0.05 else 4)
    assert rate < 0.05 or report.hows[How.FELL_BACK]


@pytest.mark.parametrize("seed", SCALE.seeds)
@pytest.mark.parametrize("rate", [0.0, 0.05])
async def test_mutations_run_in_order_and_once_also_where_some_fail(seed: int, rate: float, tell: Tell) -> None:
    report = await _compared(seed, rate, SCALE.mutations, mutations=1.0)
    tell(report)
    assert not report.different, report.told
    assert not report.for_nothing
    assert report.hows[How.COMPILED] > 0
    assert rate < 0.05 or report.hows[How.FELL_BACK]
