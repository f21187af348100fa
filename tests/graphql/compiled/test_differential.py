"""Plans and graphql-core return the same results for random documents on a schema with every feature.

`make fuzz` runs the same tests with tens of thousands of documents. A difference is shown with its document, its
variables and both answers. The seed of the test and the number of the document reproduce it.
"""

from collections.abc import Callable
from itertools import islice
from random import Random

import pytest

from tests.graphql.compiled.comparing import Outcome
from tests.graphql.compiled.documents import requests
from tests.graphql.compiled.running import IGNORE_UNAWAITED_COROUTINES, Report, compare
from tests.graphql.compiled.scale import RATES, scale
from tests.graphql.compiled.schema import schema
from tests.graphql.compiled.world import World
from wattgate.operations.core.context import GraphQLContext
from wattgate.principal import Principal, Role

pytestmark = IGNORE_UNAWAITED_COROUTINES
SCALE = scale()
RecordReport = Callable[[Report], None]


async def _compare_documents(seed: int, rate: float, count: int, *, mutations: float) -> Report:
    compared_schema = schema()

    def context(number: int) -> GraphQLContext:
        return GraphQLContext(World(compared_schema, seed * 1_000_003 + number, rate), Principal(Role.SYSTEM))  # type: ignore[arg-type]

    documents = islice(requests(compared_schema.core, Random(f"{seed} {rate} {mutations}"), mutations=mutations), count)
    return await compare(compared_schema, documents, context, label=f"seed {seed}, rate {rate}")


@pytest.mark.parametrize("seed", SCALE.seeds)
@pytest.mark.parametrize("rate", RATES)
async def test_plans_return_the_results_of_graphql_core(seed: int, rate: float, record_report: RecordReport) -> None:
    report = await _compare_documents(seed, rate, SCALE.documents, mutations=0.1)
    record_report(report)
    assert not report.different, report.summary
    assert not report.needless_fallbacks
    assert report.outcomes[Outcome.COMPILED] >= report.outcomes.total() / (2 if rate < 0.05 else 4)
    assert rate < 0.05 or report.outcomes[Outcome.FELL_BACK]


@pytest.mark.parametrize("seed", SCALE.seeds)
@pytest.mark.parametrize("rate", [0.0, 0.05])
async def test_mutations_run_once_and_in_order_even_if_some_fail(
    seed: int, rate: float, record_report: RecordReport
) -> None:
    report = await _compare_documents(seed, rate, SCALE.mutations, mutations=1.0)
    record_report(report)
    assert not report.different, report.summary
    assert not report.needless_fallbacks
    assert report.outcomes[Outcome.COMPILED] > 0
    assert rate < 0.05 or report.outcomes[Outcome.FELL_BACK] + report.outcomes[Outcome.REPORTED]
