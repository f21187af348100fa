"""Plans and graphql-core return the same results for the gateway's own schema, for tenants with homes in a database.

Some requests name records of another tenant or of nobody, some callers have few permissions, and one meter point has no
consent, so that edges return errors for single parents.
"""

from collections.abc import AsyncIterator, Callable
from itertools import islice
from random import Random

import pytest

from tests.graphql.compiled.comparing import Outcome
from tests.graphql.compiled.documents import requests
from tests.graphql.compiled.homes import Homes, open_homes
from tests.graphql.compiled.running import IGNORE_UNAWAITED_COROUTINES, Report, compare
from tests.graphql.compiled.scale import scale

pytestmark = IGNORE_UNAWAITED_COROUTINES
SCALE = scale()
EXCLUDED = frozenset({"previewTemplate", "inspectReadingFile", "previewReadingFile"})
"""Root fields that are not compared: a preview contains its duration, and a random text is no file of readings."""


CENTRAL = frozenset({"home", "resource", "device", "viewer", "application", "node", "nodes"})
"""Root fields that are requested most."""


@pytest.fixture(scope="module")
async def homes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Homes]:
    async with open_homes(f"sqlite:///{tmp_path_factory.mktemp('homes') / 'homes.sqlite3'}") as opened:
        yield opened


@pytest.mark.parametrize("seed", SCALE.seeds)
async def test_plans_return_the_results_of_graphql_core_for_homes(
    homes: Homes, seed: int, record_report: Callable[[Report], None]
) -> None:
    schema, rng = homes.gateway.schema, Random(seed)

    def wanted(root: str) -> bool:
        return root in CENTRAL or (root not in EXCLUDED and rng.random() < 0.2)

    documents = requests(schema.core, rng, pool=homes.argument_values, mutations=0, roots=wanted, size=40)
    report = await compare(schema, islice(documents, SCALE.gateway), homes.context, label=f"seed {seed}")
    record_report(report)
    assert not report.different, report.summary
    assert not report.needless_fallbacks
    assert report.outcomes[Outcome.COMPILED] >= report.outcomes.total() / 5
    assert report.outcomes[Outcome.FELL_BACK] + report.outcomes[Outcome.REPORTED]
