"""GraphQL types of tariffs, bills and costs."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated

import strawberry

from wattgate.clock import TimeRange
from wattgate.db.queries.series import tariffs as queries
from wattgate.db.rows.rows import Rows
from wattgate.enums import ComponentBasis, CostLineKind, NoValueReason, Period, RateUnit, TariffKind, Weekday
from wattgate.operations.core.fields import edge, list_field
from wattgate.operations.types.meters.quantities import Energy, Money, Rate
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import SERIES_ITEMS_PER_UNIT, ListSize, sample_count
from wattgate.operations.vocabulary.scalars import InputCurrency, SeriesCurrency
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described

HALF_HOUR = timedelta(minutes=30)

COMPONENT_BASIS = (
    "Quantity that the component charges for: energy, days or months of the time zone, or the peak of a month. The "
    "charge of a month is divided evenly among its days."
)
SEASON_START = (
    "First day of each year on which it holds, by the time zone: MM-DD. It is inclusive, and may be after the last one."
)
SEASON_END = "Last day of each year on which it holds: MM-DD. It is inclusive, and 02-29 is the end of February."
WINDOW = (
    "Hours, weekdays and season in which a component of ENERGY charges for the energy, and of which the highest mean "
    "power counts for a PEAK. Times that begin in it are part of a peak. A month without a day of the season has no "
    "charge for a peak."
)
IN_LIMITS = (
    "Whether the floor and the cap of `priceFormula` hold for the sum of the price and this component of ENERGY, such "
    "as a markup of the supplier. They do not include other components, such as network fees and taxes."
)
FACTOR = "Number by which each price is multiplied. The product is rounded to eight decimal places of the major unit."
FLOOR = "Least rate without VAT. It holds for the price and the components that are `inLimits`."
CAP = "Highest rate without VAT. It holds for the price and the components that are `inLimits`."
PEAK_STEPS = (
    "Charges of a month by its peak, with ascending limits. The month has the charge of the step in which its peak "
    "lies. The rate for a kW is 0."
)
PEAK_DAYS = "Number of different days of a month whose highest mean powers make the peak, by their mean."


@strawberry.type(
    description="Band of a time-of-use tariff: hours of some weekdays with their own rate, in the tariff's time zone."
)
class TariffBand:
    name: terms.Name
    rate: Rate = strawberry.field(description="Rate of energy without VAT.")
    rate_with_vat: Rate = strawberry.field(description="Rate of energy with VAT.")
    weekdays: list[Weekday] = strawberry.field(description="Weekdays on which the band starts.")
    start: str = strawberry.field(description="Time of day at which the band starts, such as 23:30.")
    end: str = strawberry.field(
        description="Time of day at which the band ends. It is on the next day if it is not after the start."
    )
    season_start: str | None = strawberry.field(description=f"{SEASON_START} Null if it holds all year.")
    season_end: str | None = strawberry.field(description=f"{SEASON_END} Null if it holds all year.")


@strawberry.type(
    description="Hours of some weekdays, and of a season, in which a component counts, in the tariff's time zone."
)
class ComponentWindow:
    weekdays: list[Weekday] = strawberry.field(description="Weekdays on which the hours start.")
    start: str = strawberry.field(description="Time of day at which the hours start, such as 07:00.")
    end: str = strawberry.field(
        description="Time of day at which the hours end. It is on the next day if it is not after the start."
    )
    season_start: str | None = strawberry.field(description=f"{SEASON_START} Null if it holds all year.")
    season_end: str | None = strawberry.field(description=f"{SEASON_END} Null if it holds all year.")


@strawberry.type(description="Block of a block tariff: the rate up to an amount of energy in a period.")
class TariffBlock:
    up_to: Energy | None = strawberry.field(
        description="Upper limit of the energy since the start of the period. Null for the last block."
    )
    rate: Rate = strawberry.field(description="Rate of energy without VAT.")
    rate_with_vat: Rate = strawberry.field(description="Rate of energy with VAT.")


@strawberry.type(description="Step of a peak: the charge of a month whose peak is below a limit.")
class PeakStep:
    up_to_kilowatts: Decimal | None = strawberry.field(
        description="Limit of the peak in kW, exclusive. Null for the last step."
    )
    rate: Rate = strawberry.field(description="Charge of a month without VAT.")
    rate_with_vat: Rate = strawberry.field(description="Charge of a month with VAT.")


@strawberry.type(
    description="Component of a tariff: a charge beside the rate of energy and the standing charge, such as a levy, a "
    "discount or the fee of a month."
)
class TariffComponent:
    name: terms.Name
    basis: ComponentBasis = strawberry.field(description=COMPONENT_BASIS)
    rate: Rate = strawberry.field(description="Charge for one unit of the basis without VAT. A discount is negative.")
    rate_with_vat: Rate = strawberry.field(description="Charge for one unit of the basis with VAT.")
    vat_percent: Decimal = strawberry.field(description="VAT of the component in percent.")
    peak_minutes: int | None = strawberry.field(description="Minutes of the mean power of a peak: 15, 30 or 60.")
    peak_days: int | None = strawberry.field(description=PEAK_DAYS)
    minimum_kilowatts: Decimal | None = strawberry.field(
        description="Power in kW that is charged for at least. Null if there is none."
    )
    window: ComponentWindow | None = strawberry.field(description=f"{WINDOW} Null if all times count.")
    steps: list[PeakStep] = strawberry.field(description=f"{PEAK_STEPS} Empty if the peak has a rate for each kW.")
    in_limits: bool = strawberry.field(description=IN_LIMITS)


@strawberry.type(description="Formula of a dynamic tariff: how its rate follows from a price.")
class PriceFormula:
    factor: Decimal = strawberry.field(description=FACTOR)
    floor: Rate | None = strawberry.field(description=f"{FLOOR} Null if there is none.")
    cap: Rate | None = strawberry.field(description=f"{CAP} Null if there is none.")


@strawberry.type(
    description="Price of a dynamic tariff for one period, before its `priceFormula`. `currency` and `per` of the "
    "tariff state its unit."
)
class TariffPrice:
    at: datetime = strawberry.field(description="Start of the period, inclusive.")
    end: datetime = strawberry.field(description="End of the period, exclusive.")
    rate: Decimal = strawberry.field(description="Price in the major unit, without VAT. It may be negative.")
    rate_with_vat: Decimal = strawberry.field(description="Price in the major unit, with VAT, without rounding.")


async def _load_prices(
    rows: Rows,
    tariffs: Sequence[queries.TariffRates],
    *,
    range: Annotated[TimeRange, Described("Time range of the periods.")],
) -> list[list[queries.PeriodPrice]]:
    return await queries.prices(rows, tariffs, start=range.start, end=range.end or rows.now)


PRICES_PER_UNIT = 2
"""Prices that cost one unit. Each is two instants and two decimals."""


def _units_of_prices(prices: Sequence[queries.PeriodPrice]) -> int:
    """Return the units of loaded prices. The estimate is lower, because it assumes many resources with prices."""
    return len(prices) // PRICES_PER_UNIT


@strawberry.type(
    description="Price of a resource's energy from `validFrom` until the next tariff. Tariffs never change: a "
    "corrected tariff replaces an earlier one, also for past energy."
)
class Tariff:
    tariff_id: ids.TariffId
    resource_id: strawberry.ID = strawberry.field(description="ID of the resource whose energy the tariff prices.")
    name: terms.Name
    kind: TariffKind = strawberry.field(description="Kind of tariff, which decides what the rate depends on.")
    currency: SeriesCurrency
    per: RateUnit = strawberry.field(description="Unit of the energy that the rates are the price of.")
    rate: Rate | None = strawberry.field(
        description="Rate of energy without VAT: the flat rate, or the rate outside all bands. Null if there is none."
    )
    rate_with_vat: Rate | None = strawberry.field(description="The same rate with VAT. Null if there is none.")
    bands: list[TariffBand] = strawberry.field(description="Bands of a time-of-use tariff. Empty for other kinds.")
    blocks: list[TariffBlock] = strawberry.field(
        description="Blocks of a block tariff, with ascending limits. Empty for other kinds."
    )
    block_period: Period | None = strawberry.field(
        description="Calendar period of a block tariff, at whose start the energy counts from zero. Null for other "
        "kinds."
    )
    price_period: Period | None = strawberry.field(
        description="How long each price of a dynamic tariff holds: PT5M, PT15M, PT30M or PT1H. Null for other kinds."
    )
    price_formula: PriceFormula | None = strawberry.field(
        description="How the rate of a dynamic tariff follows from a price. Null if it is the price, and for other "
        "kinds."
    )
    standing_charge: Rate = strawberry.field(description="Standing charge of a day without VAT.")
    standing_charge_with_vat: Rate = strawberry.field(description="Standing charge of a day with VAT.")
    components: list[TariffComponent] = strawberry.field(
        description="Charges beside the rate of energy and the standing charge."
    )
    vat_percent: Decimal = strawberry.field(
        description="VAT in percent, added to all rates and charges. 0 if they include VAT already, or if there is "
        "none: then the values with and without VAT are equal."
    )
    time_zone: str = strawberry.field(description="IANA time zone of the bands, block periods and days.")
    source: str = strawberry.field(description="Source of the tariff, such as user, supplier or meter.")
    valid_from: datetime = strawberry.field(description="When the tariff comes into force.")
    version: int = strawberry.field(description="Number of the tariff among those of the resource, counted from 1.")
    superseded_at: datetime | None = strawberry.field(
        description="When the tariff was replaced or withdrawn. Null if it was not."
    )
    created_at: terms.CreatedAt
    prices: list[TariffPrice] = edge(
        _load_prices,
        needs=Permission.RESOURCE_READ,
        result_units=_units_of_prices,
        sizes=[ListSize(sample_count(HALF_HOUR, queries.MAX_PRICES), items_per_unit=SERIES_ITEMS_PER_UNIT)],
        description="Known prices of a dynamic tariff in a time range, at most 3,000, as its source gave them, before "
        "`priceFormula` and components. Empty for other kinds. They are in the major unit of `currency` for one unit "
        "`per`.",
    )


@strawberry.type(description="Present rates of a resource's energy.")
class CurrentRates:
    rate: Rate | None = strawberry.field(
        description="Rate of energy without VAT, with the components of the tariff that charge for energy. Null if no "
        "price is known for now."
    )
    rate_with_vat: Rate | None = strawberry.field(description="The same rate with VAT. Null if it is not known.")
    standing_charge: Rate = strawberry.field(
        description="Charge of today without VAT: the standing charge, and today's share of the components that "
        "charge for days and months."
    )
    standing_charge_with_vat: Rate = strawberry.field(description="The same charge with VAT.")
    band: str | None = strawberry.field(description="Name of the present tariff band or block. Null if there is none.")


@strawberry.type(description="Span of time with one known rate.")
class PriceSpan:
    start: datetime = strawberry.field(description="Start of the span, inclusive.")
    end: datetime = strawberry.field(description="End of the span, exclusive.")
    rate: Rate = strawberry.field(
        description="Rate of energy without VAT, with the components of the tariff that charge for energy. It may be "
        "negative."
    )
    rate_with_vat: Rate = strawberry.field(description="The same rate with VAT.")
    band: str | None = strawberry.field(description="Name of the tariff band. Null outside all bands.")


@strawberry.type(description="Cheapest time for a task that draws a constant power.")
class CheapestWindow:
    start: datetime = strawberry.field(description="Start of the task.")
    end: datetime = strawberry.field(description="End of the task. With pauses, it is later than the duration.")
    mean_rate_with_vat: Rate = strawberry.field(description="Mean rate of the energy of the task, with VAT.")
    spans: list[PriceSpan] = list_field(5, description="Times in which the task runs, with their rates, in order.")
    known_to: datetime = strawberry.field(
        description="Instant up to which prices are known. Later times, until `before`, were not compared."
    )


def units_of_spans(spans: Sequence[object]) -> int:
    """Return the units of the spans of a price curve, whose number only the stored tariffs determine."""
    return len(spans) // PRICES_PER_UNIT


@strawberry.type(description="One line of a bill: a quantity at a rate.")
class CostLine:
    kind: CostLineKind = strawberry.field(description="Subject of the charge: energy, standing charge or component.")
    band: str | None = strawberry.field(
        description="Name of the tariff band or block. Null outside all bands and blocks."
    )
    component: str | None = strawberry.field(description="Name of the component of the tariff. Null for other lines.")
    quantity: Decimal = strawberry.field(
        description="Quantity, in the unit of the line. Parts of months and of peaks are rounded to six decimal places."
    )
    unit: RateUnit = strawberry.field(description="Unit of the quantity: that of energy, day, month or kW of a peak.")
    rate: Rate | None = strawberry.field(
        description="Rate without VAT. Null if the mean rate of a dynamic tariff has no energy as weight."
    )
    averaged: bool = strawberry.field(description="Whether the rate is an energy-weighted mean of changing rates.")
    subtotal: Money = strawberry.field(
        description="Exact quantity at the rate, without VAT, rounded once to the minor unit."
    )
    tariff_id: ids.TariffId
    tariff_name: str = strawberry.field(description="Display name of the tariff.")
    tariff_version: int = strawberry.field(description="Version of the tariff.")
    estimated: bool = strawberry.field(description="Whether some of the energy is estimated.")


@strawberry.type(description="VAT of a bill at one percentage.")
class CostVat:
    percent: Decimal = strawberry.field(description="VAT in percent.")
    subtotal: Money = strawberry.field(description="Sum of the rounded lines with this percentage, without VAT.")
    vat: Money = strawberry.field(description="VAT of the subtotal, rounded once to the minor unit.")


@strawberry.type(
    description="Bill for the energy in a time range. Its lines add up to its totals: each line is rounded once to the "
    "minor unit of the currency, halves away from zero, and VAT once for each percentage, on the sum of the rounded "
    "lines with it. A sample in which the rate changes is divided by time if it is known how long samples last. Else "
    "the tariff and band at its start set its price. A standing charge belongs to the range that contains the "
    "midnight at which its day starts, once the day has begun. The household that lives at the meter point then pays "
    "it."
)
class CostExplanation:
    start: datetime = strawberry.field(description="Start of the range, inclusive.")
    end: datetime = strawberry.field(description="End of the range, exclusive.")
    energy: Energy = strawberry.field(description="All energy in the range, with or without a price.")
    unpriced: Energy = strawberry.field(description="Energy without a known tariff or price. No line contains it.")
    lines: list[CostLine] = strawberry.field(
        description="Energy by tariff and band, then components that charge for energy, then days and months by "
        "tariff. Unused bands and tariffs without a standing charge have no line."
    )
    subtotal: Money = strawberry.field(description="Sum of the lines, without VAT.")
    vat: list[CostVat] = strawberry.field(description="VAT by percentage. Empty if there is none.")
    total: Money = strawberry.field(description="Subtotal plus VAT. It contains the standing charges.")
    exact: Money = strawberry.field(description="Total before any rounding.")
    estimated: bool = strawberry.field(description="Whether some of the priced energy is estimated.")
    completeness: float | None = strawberry.field(
        description="Share (0 to 1) of the range's samples that are stored. Null if sampling is irregular."
    )


@strawberry.type(
    description="Cost of one bucket, to seven decimal places. `currency` and `unit` of the series state the units of "
    "all buckets."
)
class CostBucket:
    start: datetime = strawberry.field(description="Start of the bucket, inclusive.")
    end: datetime = strawberry.field(description="End of the bucket, exclusive.")
    energy_cost_with_vat: Decimal | None = strawberry.field(
        description="Cost of the energy with VAT. Null, never zero, if no energy is stored or none has a price."
    )
    standing_charges_with_vat: Decimal = strawberry.field(
        description="Standing charges, and components that charge for days and months, with VAT: of the days that "
        "have begun, start in the bucket, and at whose start the household lives at the meter point."
    )
    total: Decimal | None = strawberry.field(
        description="Cost of the energy plus standing charges, with VAT. Standing charges are due without energy. Null "
        "if the cost of the energy is null and no standing charge is due."
    )
    unpriced: Decimal = strawberry.field(description="Energy without a known tariff or price, in `unit` of the series.")
    estimated: bool = strawberry.field(description="Whether some of the energy is estimated.")
    no_value_reason: NoValueReason | None = strawberry.field(
        description="Why `energyCostWithVat` is null: no readings, no tariff or no price. Null if it is not."
    )


@strawberry.input(description="Band of a time-of-use tariff: hours of some weekdays with their own rate.")
class NewTariffBand:
    name: terms.Name
    rate: Decimal = strawberry.field(description="Rate of energy without VAT. It may be negative.")
    weekdays: list[Weekday] = strawberry.field(description="Weekdays on which the band starts.")
    start: terms.Text100 = strawberry.field(description="Time of day at which the band starts: HH:MM.")
    end: terms.Text100 = strawberry.field(
        description="Time of day at which the band ends: HH:MM. It is on the next day if it is not after the "
        "start; 00:00 to 00:00 is a whole day."
    )
    season_start: terms.Text100 | None = strawberry.field(
        default=None, description=f"{SEASON_START} Default: it holds all year."
    )
    season_end: terms.Text100 | None = strawberry.field(
        default=None, description=f"{SEASON_END} Default: it holds all year."
    )


@strawberry.input(description="Hours of some weekdays, and of a season, in which a component counts.")
class NewComponentWindow:
    weekdays: list[Weekday] = strawberry.field(description="Weekdays on which the hours start.")
    start: terms.Text100 = strawberry.field(description="Time of day at which the hours start: HH:MM.")
    end: terms.Text100 = strawberry.field(
        description="Time of day at which the hours end: HH:MM. It is on the next day if it is not after the start; "
        "00:00 to 00:00 is a whole day."
    )
    season_start: terms.Text100 | None = strawberry.field(
        default=None, description=f"{SEASON_START} Default: it holds all year."
    )
    season_end: terms.Text100 | None = strawberry.field(
        default=None, description=f"{SEASON_END} Default: it holds all year."
    )


@strawberry.input(description="Block of a block tariff: the rate up to an amount of energy in a period.")
class NewTariffBlock:
    rate: Decimal = strawberry.field(description="Rate of energy without VAT.")
    up_to: Decimal | None = strawberry.field(
        default=None,
        description="Upper limit of the energy since the start of the period, in the unit of the readings. Omit it for "
        "the last block.",
    )


@strawberry.input(description="Step of a peak: the charge of a month whose peak is below a limit.")
class NewPeakStep:
    rate: Decimal = strawberry.field(description="Charge of a month without VAT, in the major unit.")
    up_to_kilowatts: Decimal | None = strawberry.field(
        default=None, description="Limit of the peak in kW, exclusive. Omit it for the last step."
    )


@strawberry.input(
    description="Component of a tariff: a charge beside the rate of energy and the standing charge, such as a levy, a "
    "discount or the fee of a month."
)
class NewTariffComponent:
    name: terms.Name
    basis: ComponentBasis = strawberry.field(description=COMPONENT_BASIS)
    rate: Decimal = strawberry.field(
        description="Charge for one unit of the basis without VAT, in the major unit. A discount is negative."
    )
    vat_percent: Decimal | None = strawberry.field(
        default=None, description="VAT of the component in percent. Default: that of the tariff."
    )
    peak_minutes: int | None = strawberry.field(
        default=None, description="Minutes of the mean power of a peak: 15, 30 or 60. Default: 15."
    )
    peak_days: int | None = strawberry.field(default=None, description=f"{PEAK_DAYS} From 1 to 10. Default: 1.")
    minimum_kilowatts: Decimal | None = strawberry.field(
        default=None, description="Power in kW that is charged for at least, whatever the peak is. Default: none."
    )
    window: NewComponentWindow | None = strawberry.field(
        default=None, description=f"{WINDOW} Default: all times count."
    )
    steps: list[NewPeakStep] = strawberry.field(
        default_factory=list, description=f"{PEAK_STEPS} At most 12. Default: none."
    )
    in_limits: bool = strawberry.field(default=False, description=IN_LIMITS)


@strawberry.input(description="Formula of a dynamic tariff: how its rate follows from a price.")
class NewPriceFormula:
    factor: Decimal = strawberry.field(default=Decimal(1), description=f"{FACTOR} Above 0, and at most 100.")
    floor: Decimal | None = strawberry.field(default=None, description=f"{FLOOR} Default: none.")
    cap: Decimal | None = strawberry.field(default=None, description=f"{CAP} Default: none.")


@strawberry.input(
    description="Tariff to set. It replaces the resource's tariff with the same `validFrom`; past energy is then "
    "priced again. All rates are in the major unit of `currency` for one unit of energy, such as 0.245 for 24.5 pence, "
    "with at most eight decimal places."
)
class NewTariff:
    resource_id: strawberry.ID = strawberry.field(description="ID of the resource whose energy the tariff prices.")
    name: terms.Name
    kind: TariffKind = strawberry.field(description="Kind of tariff, which decides what the rate depends on.")
    valid_from: datetime = strawberry.field(
        description="When the tariff comes into force: from the year 2000 to two years ahead."
    )
    currency: InputCurrency
    rate: Decimal | None = strawberry.field(
        default=None, description="Rate of energy without VAT: the flat rate, or the rate outside all bands."
    )
    bands: list[NewTariffBand] = strawberry.field(
        default_factory=list,
        description="Bands of a time-of-use tariff. They must not overlap in a season, and have at most 12 seasons.",
    )
    blocks: list[NewTariffBlock] = strawberry.field(
        default_factory=list, description="Blocks of a block tariff, with ascending limits."
    )
    block_period: Period | None = strawberry.field(
        default=None, description="Calendar period of a block tariff in the time zone: P1D, P1W, P1M, P3M or P1Y."
    )
    price_period: Period | None = strawberry.field(
        default=None,
        description="How long each price of a dynamic tariff holds: PT5M, PT15M, PT30M or PT1H. Default: PT30M.",
    )
    price_formula: NewPriceFormula | None = strawberry.field(
        default=None,
        description="How the rate of a dynamic tariff follows from a price. Default: the rate is the price.",
    )
    standing_charge: Decimal = strawberry.field(default=Decimal(0), description="Standing charge of a day without VAT.")
    components: list[NewTariffComponent] = strawberry.field(
        default_factory=list,
        description="At most 20 charges beside the rate of energy and the standing charge. Each has its own name.",
    )
    vat_percent: Decimal = strawberry.field(
        default=Decimal(0),
        description="VAT in percent, added to all rates and charges. Use 0 if they include VAT.",
    )
    time_zone: terms.Text100 | None = strawberry.field(
        default=None,
        description="IANA time zone of the bands, block periods and days. Default: that of the home with the resource.",
    )
    source: terms.Text100 = strawberry.field(
        default="user", description="Source of the tariff, such as user or supplier."
    )


@strawberry.input(description="Rate of a dynamic tariff for one period of its `pricePeriod`.")
class NewTariffPrice:
    at: datetime = strawberry.field(
        description="Start of the period. Periods divide the hours of the time zone of the tariff."
    )
    rate: Decimal = strawberry.field(
        description="Price of one unit of energy without VAT, in the major unit, before the `priceFormula` of the "
        "tariff. It may be negative."
    )


@strawberry.type(description="Result of setting prices of a dynamic tariff.")
class TariffPricesSet:
    tariff: Tariff = strawberry.field(description="The tariff that the prices belong to.")
    recorded: int = strawberry.field(description="Number of prices that were stored or replaced.")
