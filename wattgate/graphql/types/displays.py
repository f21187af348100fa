"""What an in-home display draws."""

from datetime import datetime
from decimal import Decimal

import strawberry

from wattgate.enums import AmbientBasis, AmbientLevel
from wattgate.graphql.types.freshness import Freshness


@strawberry.type(description="A home's power at its meters at one instant.")
class DisplayPower:
    net: float = strawberry.field(description="What comes in less what goes out: below zero while more goes out.")
    imported: float = strawberry.field(name="import", description="What comes in.")
    exported: float = strawberry.field(name="export", description="What goes out.")
    unit: str = strawberry.field(description="W.")
    at: datetime


@strawberry.type(description="Energy of one kind in a day or month so far.")
class DisplayEnergy:
    value: Decimal | None = strawberry.field(description="null where nothing of it is known yet: not zero.")
    unit: str
    estimated: bool = strawberry.field(
        description="Whether some of it is estimated, as what live power has come to since the last stored half hour."
    )
    complete_to: datetime = strawberry.field(
        description="Up to when nothing of it is missing; where the span begins, if its first sample is."
    )


@strawberry.type(description="What a day or month has cost so far, in pounds with VAT.")
class DisplayCost:
    total: Decimal | None = strawberry.field(
        description="Electricity, gas and standing charges; what is exported is not set against it. null where no "
        "energy of the span is known and priced yet."
    )
    standing_charge: Decimal = strawberry.field(description="The charges of the days that have begun.")
    currency: str = strawberry.field(description="GBP: amounts are in pounds.")
    unpriced: Decimal = strawberry.field(description="The energy for which no tariff or price is known.")
    estimated: bool = strawberry.field(description="Whether some of the energy is estimated.")


@strawberry.type(description="The present day or month of a home by its wall clock, so far.")
class DisplayPeriod:
    start: datetime = strawberry.field(description="The first instant of the span.")
    end: datetime = strawberry.field(description="The first instant after the span.")
    electricity: DisplayEnergy | None = strawberry.field(description="What came in; null where none is measured.")
    exported: DisplayEnergy | None = strawberry.field(description="What went out; null where that is not measured.")
    gas: DisplayEnergy | None = strawberry.field(description="null where none is measured.")
    cost: DisplayCost | None = strawberry.field(description="null where no tariff is known.")
    complete_to: datetime | None = strawberry.field(
        description="Up to when nothing is missing of all that is measured; null where nothing is."
    )


@strawberry.type(
    description="Whether little or much is used at the moment: LOW below four fifths of what is usual, HIGH from five "
    "quarters of it on. By BUDGET and LEARNED the power that comes in is judged, by PRICE the rate."
)
class DisplayAmbient:
    level: AmbientLevel = strawberry.field(description="LOW, MEDIUM or HIGH.")
    basis: AmbientBasis = strawberry.field(description="What it is judged by.")
    low_below: float = strawberry.field(description="The level is LOW below it.")
    high_from: float = strawberry.field(description="The level is HIGH from it on.")
    unit: str = strawberry.field(description="Of the two: W, or that of the rate.")


@strawberry.type(description="What energy costs from an instant on.")
class DisplayRate:
    start: datetime = strawberry.field(description="When it begins to hold.")
    rate: Decimal = strawberry.field(description="Per unit of energy, with VAT.")
    band: str | None = strawberry.field(description="The band or block that holds then, if there are such.")


@strawberry.type(description="What electricity costs now, in pence with VAT, at two decimal places.")
class DisplayTariff:
    name: str
    rate: Decimal | None = strawberry.field(description="Per unit of energy; null where no price is known for now.")
    band: str | None = strawberry.field(description="The band or block that holds now, if there are such.")
    unit: str = strawberry.field(description="Of the rate, such as pence/kWh.")
    standing_charge: Decimal = strawberry.field(description="Pence per day.")
    currency: str
    until: datetime | None = strawberry.field(description="When the rate changes; null where no change is known.")
    next: DisplayRate | None = strawberry.field(
        description="What holds then; null where no change or no price is known."
    )


@strawberry.type(
    description="All that an in-home display draws, so that it need not compute. Amounts are as they are to be shown."
)
class Display:
    ve_id: strawberry.ID
    name: str
    time_zone: str = strawberry.field(description="The IANA zone by whose wall clock days and months begin.")
    at: datetime = strawberry.field(description="The gateway's clock when this was made.")
    power: DisplayPower | None = strawberry.field(
        description="null where there never was any, or where it is STALE or OFFLINE: an old value is not told."
    )
    today: DisplayPeriod = strawberry.field(description="The day so far.")
    month: DisplayPeriod = strawberry.field(description="The calendar month so far.")
    ambient: DisplayAmbient | None = strawberry.field(
        description="null where nothing usual is known, or no power to judge by it."
    )
    tariff: DisplayTariff | None = strawberry.field(description="null where none is known for electricity.")
    freshness: Freshness = strawberry.field(
        description="That of live power, or of the stored readings of a home that has none."
    )
    unread_alerts: int = strawberry.field(description="How many alerts of the home's owner are not read.")
