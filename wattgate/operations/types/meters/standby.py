"""The GraphQL type of the standby power of a home."""

from datetime import datetime

import strawberry

from wattgate.enums import NoStandbyReason
from wattgate.operations.types.meters.quantities import Energy, Money, Power


@strawberry.type(
    description="Standby power of a home: the median of the lowest hours of its nights, from 21:00 to 06:00. A load "
    "that runs all night, such as a storage heater, is part of it."
)
class Standby:
    start: datetime = strawberry.field(description="Start of the first of the 28 days before today.")
    end: datetime = strawberry.field(description="End of the last of these days.")
    days: int = strawberry.field(description="Number of these days that have all their readings, and count.")
    power: Power | None = strawberry.field(description="Standby power. Null if unknown; `noPowerReason` says why.")
    no_power_reason: NoStandbyReason | None = strawberry.field(
        description="Why the power is null. Null if it is known."
    )
    yearly_energy: Energy | None = strawberry.field(
        description="Energy of the standby power in a year of 8,766 hours, in whole kWh. Null if the power is."
    )
    yearly_cost_with_vat: Money | None = strawberry.field(
        description="Cost of this energy at the mean price of these days, with VAT and without standing charges. Null "
        "if unknown; `noCostReason` says why."
    )
    no_cost_reason: NoStandbyReason | None = strawberry.field(description="Why the cost is null. Null if it is known.")
