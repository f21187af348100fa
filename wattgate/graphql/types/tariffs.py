"""Tariffs, and what energy costs by them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

import strawberry

from wattgate.db import models
from wattgate.db.queries import tariffs as queries
from wattgate.db.rows import Rows
from wattgate.enums import CostLineKind, Period, TariffKind, Weekday
from wattgate.graphql.core.cost_weights import IN_SERIES, Size, samples
from wattgate.graphql.core.fields import edge
from wattgate.graphql.types.time_ranges import TimeRange
from wattgate.principal import Permission


@strawberry.type(
    description="Hours of some weekdays that have a rate of their own, by the wall clock of the tariff's zone."
)
class TariffBand:
    name: str
    rate: Decimal = strawberry.field(description="Pence per unit of energy, without VAT.")
    weekdays: list[Weekday] = strawberry.field(description="The days on which it starts.")
    start: str = strawberry.field(description="When it starts, such as 23:30.")
    end: str = strawberry.field(description="When it ends; on the next day where that is not after the start.")


@strawberry.type(description="A rate for the energy of a period up to some amount.")
class TariffBlock:
    up_to: Decimal | None = strawberry.field(description="The limit in kWh since the period began; null in the last.")
    rate: Decimal = strawberry.field(description="Pence per unit of energy, without VAT.")


@strawberry.type(description="The rate of a dynamic tariff for the half hour from an instant on.")
class TariffPrice:
    at: datetime = strawberry.field(description="When the half hour begins.")
    rate: Decimal = strawberry.field(description="Pence per unit of energy, without VAT; may be negative.")


async def _prices(rows: Rows, tariffs: Sequence[models.Tariff], *, range: TimeRange) -> list[list[queries.TariffPrice]]:
    return await queries.prices(rows, tariffs, start=range.start, end=range.end or rows.now)


@strawberry.type(
    description="What a resource's energy costs from some instant on, until a tariff with a later one. It is never "
    "changed: a corrected one replaces it, for the past too."
)
class Tariff:
    tariff_id: strawberry.ID
    resource_id: strawberry.ID
    name: str
    kind: TariffKind = strawberry.field(description="What the rate depends on.")
    rate: Decimal | None = strawberry.field(
        description="Pence per unit of energy, without VAT: the flat rate, or the rate outside every band; null where "
        "there is none."
    )
    bands: list[TariffBand] = strawberry.field(
        description="The hours with rates of their own, of a time-of-use tariff."
    )
    blocks: list[TariffBlock] = strawberry.field(
        description="The rates by amount of a block tariff, from the first kWh."
    )
    block_period: Period | None = strawberry.field(
        description="The calendar period with whose start the energy of a block tariff counts anew."
    )
    standing_charge: Decimal = strawberry.field(description="Pence per day, without VAT.")
    vat_rate: Decimal = strawberry.field(
        description="The percentage of VAT on top of all rates; 0 where they include it or there is none."
    )
    time_zone: str = strawberry.field(description="The IANA zone whose wall clock bands, blocks and days follow.")
    source: str = strawberry.field(description="Where it is known from, such as user, supplier or meter.")
    valid_from: datetime
    version: int = strawberry.field(description="Counts the tariffs that were set for the resource, from 1 on.")
    superseded_at: datetime | None = strawberry.field(
        description="When a corrected one replaced it or it was withdrawn; null while it stands."
    )
    created_at: datetime
    prices: list[TariffPrice] = edge(
        _prices,
        needs=Permission.RESOURCE_READ,
        sizes=[Size(samples(timedelta(minutes=30), queries.MAX_PRICES), per_unit=IN_SERIES)],
        description="The known prices of a dynamic tariff in a range, at most 20,000.",
    )


@strawberry.type(description="What a resource's energy costs at a moment, in pence with VAT.")
class CurrentRates:
    rate: Decimal | None = strawberry.field(description="Per unit of energy; null where no price is known for now.")
    standing_charge: Decimal = strawberry.field(description="Per day.")
    band: str | None = strawberry.field(description="The band or block that holds now, if there are such.")


@strawberry.type(description="One line of a cost explanation: so much of something at a rate.")
class CostLine:
    kind: CostLineKind = strawberry.field(description="What it is for.")
    band: str | None = strawberry.field(description="The band or block of the tariff; null outside every one.")
    quantity: Decimal = strawberry.field(description="How much.")
    unit: str = strawberry.field(description="Of what: the unit of energy, or day.")
    rate: Decimal | None = strawberry.field(
        description="Pence per unit without VAT; null where the mean of a dynamic tariff has no energy to weigh by."
    )
    averaged: bool = strawberry.field(description="Whether the rate is the mean of changing ones, weighted by energy.")
    amount: Decimal = strawberry.field(description="Whole pence without VAT, rounded once.")
    tariff_id: strawberry.ID
    tariff_name: str = strawberry.field(description="What the tariff is called.")
    tariff_version: int = strawberry.field(description="Which version of the resource's tariffs it is.")
    estimated: bool = strawberry.field(description="Whether some of the energy is estimated.")


@strawberry.type(description="VAT at one rate, on the sum of the lines that bear it.")
class CostVat:
    rate: Decimal = strawberry.field(description="Percent.")
    on: Decimal = strawberry.field(description="The sum of the rounded lines, in whole pence.")
    amount: Decimal = strawberry.field(description="Whole pence, rounded once.")


@strawberry.type(
    description="What energy costs, in a form that adds up to the penny. One rule rounds: half up, halves away from "
    "zero, once for each line to the whole penny. The subtotal is the sum of the rounded lines; VAT is rounded once "
    "for each of its rates, on the sum of the lines that bear it; the total is the subtotal and the VAT. A sample is "
    "priced by the tariff and band in which it begins; a day is charged for in the range that holds its midnight."
)
class CostExplanation:
    start: datetime
    end: datetime
    currency: str
    energy: Decimal = strawberry.field(
        description="All energy of the range, priced or not, in the unit of the readings."
    )
    unpriced: Decimal = strawberry.field(description="The energy for which no tariff or price is known: in no line.")
    lines: list[CostLine] = strawberry.field(
        description="Energy by tariff and band, then standing charges by tariff; what comes to nothing is left out."
    )
    subtotal: Decimal = strawberry.field(description="The sum of the lines, in whole pence without VAT.")
    vat: list[CostVat] = strawberry.field(description="VAT, by its rate.")
    total: Decimal = strawberry.field(description="Subtotal and VAT, in whole pence.")
    exact: Decimal = strawberry.field(description="The total in pence before any rounding.")
    estimated: bool = strawberry.field(description="Whether some of the priced energy is estimated.")
    completeness: float | None = strawberry.field(
        description="The share (0 to 1) of the range's samples that is stored; null where sampling is irregular."
    )


@strawberry.type(description="What one span costs, in pence with VAT, at five decimal places.")
class CostBucket:
    start: datetime = strawberry.field(description="The first instant of the span.")
    end: datetime = strawberry.field(description="The first instant after the span.")
    energy: Decimal | None = strawberry.field(
        description="What the energy costs; null where none is stored or none has a price: not zero."
    )
    standing_charge: Decimal = strawberry.field(description="The charges of the days that begin in the span.")
    total: Decimal | None = strawberry.field(description="Both together; null where the energy's cost is not known.")
    unpriced: Decimal = strawberry.field(description="The energy for which no tariff or price is known.")
    estimated: bool = strawberry.field(description="Whether some of the energy is estimated.")


@strawberry.input(description="Hours of some weekdays that have a rate of their own.")
class NewTariffBand:
    name: str
    rate: Decimal = strawberry.field(description="Pence per unit of energy, without VAT; may be negative.")
    weekdays: list[Weekday] = strawberry.field(description="The days on which it starts.")
    start: str = strawberry.field(description="When it starts: HH:00 or HH:30.")
    end: str = strawberry.field(
        description="When it ends: HH:00 or HH:30. On the next day, where it is not after the start; 00:00 to 00:00 is "
        "a whole day."
    )


@strawberry.input(description="A rate for the energy of a period up to some amount.")
class NewTariffBlock:
    rate: Decimal = strawberry.field(description="Pence per unit of energy, without VAT.")
    up_to: Decimal | None = strawberry.field(
        default=None, description="The limit in kWh since the period began; the last block has none."
    )


@strawberry.input(
    description="A tariff to set. One with the instant of validity of another replaces that one; energy of the past is "
    "priced anew."
)
class NewTariff:
    resource_id: strawberry.ID = strawberry.field(description="The resource whose energy it prices.")
    name: str
    kind: TariffKind = strawberry.field(description="What the rate depends on.")
    valid_from: datetime = strawberry.field(description="From when on it applies: 2000 to two years ahead.")
    rate: Decimal | None = strawberry.field(
        default=None,
        description="Pence per unit of energy, without VAT: the rate of a flat tariff, or outside every band.",
    )
    bands: list[NewTariffBand] = strawberry.field(
        default_factory=list, description="Of a time-of-use tariff: they must not overlap."
    )
    blocks: list[NewTariffBlock] = strawberry.field(
        default_factory=list, description="Of a block tariff: with ascending limits."
    )
    block_period: Period | None = strawberry.field(
        default=None, description="Of a block tariff: P1D, P1W, P1M or P1Y, by the calendar of the zone."
    )
    standing_charge: Decimal = strawberry.field(default=Decimal(0), description="Pence per day, without VAT.")
    vat_rate: Decimal = strawberry.field(
        default=Decimal(0), description="The percentage of VAT on top of all rates; 0 where they include it."
    )
    time_zone: str = strawberry.field(
        default="Europe/London", description="The IANA zone whose wall clock bands, blocks and days follow."
    )
    source: str = strawberry.field(default="user", description="Where it is known from, such as user or supplier.")


@strawberry.input(description="The rate of a dynamic tariff for the half hour from an instant on.")
class NewTariffPrice:
    at: datetime = strawberry.field(description="When the half hour begins.")
    rate: Decimal = strawberry.field(description="Pence per unit of energy, without VAT; may be negative.")


@strawberry.type(description="What became of prices that were sent.")
class TariffPricesSet:
    tariff: Tariff = strawberry.field(description="The tariff that they belong to.")
    recorded: int = strawberry.field(description="How many prices are stored now; sent again they replace.")
