"""The tenancies of meter points: who lives where, since when."""

from typing import Annotated

import strawberry

from wattgate import terms
from wattgate.annotations import Described
from wattgate.db import models
from wattgate.graphql.core.cost_weights import ListSize, linear_in_argument
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.core.pagination import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, list_after
from wattgate.graphql.core.tags import Tag
from wattgate.graphql.types import tenancies as types
from wattgate.principal import Permission


@operation(
    OperationKind.QUERY,
    returns=list[types.MeterPointTenancy],
    needs=Permission.CONSENT_READ,
    rest=RestRoute("GET", "/user/tenancy", Tag.CONSENTS),
    sizes=[ListSize(linear_in_argument("first", DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE))],
    deprecation="Use `viewer { tenancies }` or `application { tenancies }`.",
)
async def tenancies(
    call: Call,
    *,
    first: terms.FirstTenancies = DEFAULT_PAGE_SIZE,
    after: Annotated[
        strawberry.ID, Described("ID of the last tenancy that you have. Default: the list starts at the beginning.")
    ]
    | None = None,
) -> list[models.MeterPointTenancy]:
    """List the times in which the user lives or has lived at meter points, oldest record first.

    A user sees the own ones. `after` is the ID of the last tenancy that you have. `first` is the maximum number of
    tenancies, up to 100.
    """
    return await list_after(call, models.MeterPointTenancy, first, after)
