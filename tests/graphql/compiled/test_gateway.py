"""Plans and graphql-core tell the same of the gateway's own schema, for tenants with homes in a real database.

Some ask for records that are another tenant's or nobody's, some may ask for little, and one meter point's consent is
withdrawn, so that edges tell errors of single parents.
"""

from collections.abc import AsyncIterator, Callable
from itertools import islice
from random import Random

import pytest

from tests.graphql.compiled.comparing import How
from tests.graphql.compiled.documents import requests
from tests.graphql.compiled.homes import Homes, homes_on
from tests.graphql.compiled.running import GRAPHQL_CORE_LEAVES, Report, compare
from tests.graphql.compiled.scale import scale

pytestmark = GRAPHQL_CORE_LEAVES
SCALE = scale()
APART = frozenset({"previewTemplate"})
"""Root fields that are not compared: a preview tells how long it took."""


CENTRAL = frozenset(
    {"virtualEntities", "virtualEntity", "resources", "resource", "devices", "device", "readings", "rawReadings"}
    | {"meterRead", "resourceConnection", "virtualEntityConnection", "display", "userAlerts", "consents", "alertTypes"}
)
"""Root fields that are asked for most."""


@pytest.fixture(scope="module")
async def homes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Homes]:
    async with homes_on(f"sqlite:///{tmp_path_factory.mktemp('homes') / 'homes.sqlite3'}") as made:
        yield made


@pytest.mark.parametrize("seed", SCALE.seeds)
async def test_plans_tell_of_homes_what_graphql_core_tells(
    homes: Homes, seed: int, tell: Callable[[Report], None]
) -> None:
    schema, rng = homes.gateway.schema, Random(seed)

    def wanted(root: str) -> bool:
        return root in CENTRAL or (root not in APART and rng.random() < 0.2)

    asked = requests(schema._schema, rng, pool=homes.known, mutations=0, roots=wanted, size=40)
    report = await compare(schema, islice(asked, SCALE.gateway), homes.context, place=f"seed {seed}")
    tell(report)
    assert not report.different, report.told
    assert not report.for_nothing
    assert report.hows[How.COMPILED] >= report.hows.total() / 5
    assert report.hows[How.FELL_BACK]
