"""GraphQL types of the content of an in-home display."""

from datetime import datetime
from decimal import Decimal

import strawberry

from wattgate.energy.display.meter import MeterKind
from wattgate.enums import AmbientBasis, AmbientLevel, CarbonIndex, NoValueReason, WithheldReason
from wattgate.operations.core.fields import list_field
from wattgate.operations.types.meters.readings import Freshness
from wattgate.values import terms


@strawberry.type(description="Electric power of a home at its meters, in W.")
class DisplayPower:
    net: float = strawberry.field(
        description="Imported power minus exported power, in W. Negative while the home exports more."
    )
    imported: float = strawberry.field(name="import", description="Power drawn from the grid, in W.")
    exported: float = strawberry.field(name="export", description="Power fed into the grid, in W.")
    unit: str = strawberry.field(description="Unit of the values: W.")
    at: datetime = strawberry.field(description="Instant of the newest power reading.")
    valid_until: datetime = strawberry.field(
        description="Instant of the gateway's clock from which the power is too old to be shown. Blank it then, unless "
        "a newer frame has arrived."
    )


@strawberry.type(description="Energy of one kind in a day or month so far.")
class DisplayEnergy:
    value: Decimal | None = strawberry.field(description="Amount of energy. Null, never zero, if none is known yet.")
    unit: str = strawberry.field(description="Unit of the amount, such as kWh.")
    estimated: bool = strawberry.field(
        description="Whether some of the energy is estimated, for example from live power since the last stored half "
        "hour."
    )
    complete_to: datetime = strawberry.field(
        description="Instant up to which no sample is missing. It is the start of the period, or the move of the "
        "household in it, if the first sample is missing."
    )


@strawberry.type(description="Cost of a day or month so far, in pounds with VAT.")
class DisplayCost:
    total: Decimal | None = strawberry.field(
        description="Cost of electricity and gas with standing charges, in pounds. Exported energy does not reduce it. "
        "Null if no energy of the period is known and priced yet."
    )
    standing_charge: Decimal = strawberry.field(
        description="Standing charges of the days that have begun while the household lives there, in pounds. "
        "Closed resources are left out."
    )
    includes_standing_charge: bool = strawberry.field(
        description="Whether `total` contains the standing charge. Always true."
    )
    includes_vat: bool = strawberry.field(description="Whether `total` contains VAT. Always true.")
    currency: str = strawberry.field(description="ISO 4217 code of the currency. Always GBP; amounts are in pounds.")
    unpriced: Decimal = strawberry.field(
        description="Energy without a known tariff or price, in the unit of the energy."
    )
    estimated: bool = strawberry.field(description="Whether some of the energy is estimated.")


@strawberry.type(description="Present day or calendar month of a home so far, in its time zone.")
class DisplayPeriod:
    start: datetime = strawberry.field(description="Start of the period, inclusive.")
    end: datetime = strawberry.field(description="End of the period, exclusive.")
    electricity: DisplayEnergy | None = strawberry.field(
        description="Electricity drawn from the grid. Null if it is not measured."
    )
    exported: DisplayEnergy | None = strawberry.field(
        description="Electricity fed into the grid. Null if it is not measured."
    )
    gas: DisplayEnergy | None = strawberry.field(description="Gas used. Null if it is not measured.")
    cost: DisplayCost | None = strawberry.field(description="Cost so far. Null if no tariff is known.")
    no_cost_reason: NoValueReason | None = strawberry.field(
        description="Why `cost` or its `total` is null: no readings, tariff or price. Null if both are known."
    )
    complete_to: datetime | None = strawberry.field(
        description="Instant up to which no measured sample is missing. Null if the home measures nothing."
    )


@strawberry.type(
    description="Level for an ambient light. LEARNED and BUDGET compare the imported power with the usual power at "
    "the time of day, PRICE compares the rate with the mean rate of the day."
)
class DisplayAmbient:
    level: AmbientLevel = strawberry.field(description="Present level: LOW, MEDIUM or HIGH.")
    basis: AmbientBasis = strawberry.field(description="Reference that the level is compared with.")
    low_below: float = strawberry.field(description="Threshold below which the level is LOW.")
    high_from: float = strawberry.field(description="Threshold from which the level is HIGH.")
    unit: str = strawberry.field(description="Unit of the thresholds: W, or the unit of the rate.")


@strawberry.type(description="Next rate of electricity, in pence with VAT.")
class DisplayRate:
    start: datetime = strawberry.field(description="When the rate comes into force.")
    rate: Decimal = strawberry.field(description="Rate in pence per unit of energy, with VAT.")
    band: str | None = strawberry.field(
        description="Name of the tariff band or block at that time. Null if there is none."
    )


@strawberry.type(description="Present price of electricity, in pence with VAT, rounded to two decimal places.")
class DisplayTariff:
    name: str = strawberry.field(description="Display name of the tariff.")
    rate: Decimal | None = strawberry.field(
        description="Rate in pence per unit of energy, with VAT. Null if no price is known for now."
    )
    band: str | None = strawberry.field(description="Name of the present tariff band or block. Null if there is none.")
    unit: str = strawberry.field(description="Unit of the rate, such as pence/kWh.")
    standing_charge: Decimal = strawberry.field(description="Standing charge in pence per day, with VAT.")
    currency: terms.Currency
    until: datetime | None = strawberry.field(description="When the rate changes. Null if no change is known.")
    next: DisplayRate | None = strawberry.field(
        description="Rate after that change. Null if no change or no price is known."
    )


@strawberry.type(description="Span of time with one rate of electricity, in pence with VAT.")
class DisplaySlot:
    start: datetime = strawberry.field(description="Start of the slot, inclusive. It may be in the past.")
    end: datetime = strawberry.field(description="End of the slot, exclusive. It is in the future.")
    rate: Decimal = strawberry.field(description="Rate in pence per unit of energy, with VAT.")


@strawberry.type(description="Carbon intensity of a home's electricity.")
class DisplayCarbon:
    intensity: float = strawberry.field(description="Carbon intensity, in `unit`.")
    unit: str = strawberry.field(description="Unit of the intensity: gCO2/kWh.")
    at: datetime = strawberry.field(description="Start of the half hour that the intensity applies to.")
    valid_until: datetime = strawberry.field(
        description="Instant of the gateway's clock from which the intensity is too old to be shown. Blank it then, "
        "unless a newer frame has arrived."
    )
    index: CarbonIndex = strawberry.field(description="How high the intensity is.")


@strawberry.type(description="Meter of a home whose data is not in the display, because it is withheld.")
class DisplayWithheld:
    resource_id: strawberry.ID = strawberry.field(description="ID of the resource whose data is withheld.")
    name: str = strawberry.field(description="Display name of the resource.")
    kind: MeterKind = strawberry.field(description="Kind of the meter.")
    mpxn: str | None = strawberry.field(description="Number of the meter point.")
    reason: WithheldReason = strawberry.field(description="Why the data is withheld.")
    message: str = strawberry.field(description="The reason in words, and what to do.")


@strawberry.type(description="Complete content of an in-home display. All amounts are rounded and ready to show.")
class Display:
    ve_id: strawberry.ID = strawberry.field(description="ID of the home.")
    name: str = strawberry.field(description="Display name of the home.")
    time_zone: str = strawberry.field(description="IANA time zone in which days and months begin.")
    at: datetime = strawberry.field(description="Time of the gateway's clock when this content was computed.")
    power: DisplayPower | None = strawberry.field(
        description="Present power. Null if there is no power reading, or if the freshness is STALE or OFFLINE."
    )
    today: DisplayPeriod = strawberry.field(description="Present day so far.")
    month: DisplayPeriod = strawberry.field(description="Present calendar month so far.")
    ambient: DisplayAmbient | None = strawberry.field(
        description="Level for an ambient light. Null if the usual value or the present value is not known."
    )
    tariff: DisplayTariff | None = strawberry.field(description="Present electricity tariff. Null if none is known.")
    freshness: Freshness = strawberry.field(
        description="Freshness of the live power, or of the stored readings if the home has no live power."
    )
    unread_alerts: int = strawberry.field(
        description="Number of unread alerts of the home's owner. 0 for a paired display, which sees no alerts."
    )
    frame_version: int = strawberry.field(
        description="Version of the content, now 1. New fields do not change it. Do not draw a version that the screen "
        "does not know."
    )
    locale: str = strawberry.field(
        description="Language and region of the home's owner, such as en-GB, to format numbers and times."
    )
    utc_offset_minutes: int = strawberry.field(
        description="Minutes by which the wall clock of the home is ahead of UTC now, for screens without time zones."
    )
    currency: str = strawberry.field(description="ISO 4217 code of the currency of all amounts. Always GBP.")
    link_timeout_seconds: int = strawberry.field(
        description="Seconds without anything from the gateway, heartbeats included, after which a screen treats the "
        "connection as lost and blanks the power."
    )
    cheapest: DisplaySlot | None = strawberry.field(
        description="Slot with the lowest electricity rate of today and tomorrow that has not ended, as far as prices "
        "are known. Null if the rate does not depend on the time, or does not change."
    )
    carbon: DisplayCarbon | None = strawberry.field(
        description="Present carbon intensity of the electricity. Null if the home has no resource with the "
        "classifier carbon.intensity, or no recent reading of it."
    )
    withheld: list[DisplayWithheld] = list_field(
        1,
        description="Meters of the home that the content leaves out, because there is no valid consent to their data.",
    )
