"""GraphQL types of the content of an in-home display."""

from datetime import datetime

import strawberry

from wattgate.energy.display.meter import MeterKind
from wattgate.enums import AmbientBasis, AmbientLevel, CarbonIndex, NoValueReason, RateUnit, WithheldReason
from wattgate.operations.core.fields import list_field
from wattgate.operations.types.meters.quantities import Energy, Money, Power, Rate
from wattgate.operations.types.meters.readings import Freshness
from wattgate.operations.vocabulary.scalars import Currency


@strawberry.type(description="Electric power of a home at its meters.")
class DisplayPower:
    net: Power = strawberry.field(
        description="Imported power minus exported power. Negative while the home exports more."
    )
    imported: Power = strawberry.field(name="import", description="Power drawn from the grid.")
    exported: Power = strawberry.field(name="export", description="Power fed into the grid.")
    at: datetime = strawberry.field(description="Instant of the newest power reading.")
    valid_until: datetime = strawberry.field(
        description="Instant of the gateway's clock from which the power is too old to be shown. Blank it then, unless "
        "a newer frame has arrived."
    )


@strawberry.type(description="Energy of one kind in a day or month so far.")
class DisplayEnergy:
    energy: Energy | None = strawberry.field(
        description="Energy so far, rounded to three decimals. Null, never zero, if none is known yet."
    )
    estimated: bool = strawberry.field(
        description="Whether some of the energy is estimated, for example from live power since the last stored half "
        "hour."
    )
    unknown_share: float | None = strawberry.field(
        description="Share (0 to 1) of the period so far in which the energy is unknown and not in `energy`: no sample "
        "is stored, and live power is not known. Null if sampling is irregular."
    )
    complete_to: datetime = strawberry.field(
        description="Instant up to which no sample is missing. It is the start of the period, or the move of the "
        "household in it, if the first sample is missing."
    )


@strawberry.type(description="Cost of a day or month so far.")
class DisplayCost:
    total: Money | None = strawberry.field(
        description="Cost of electricity and gas with standing charges and VAT, rounded to two decimals. Exported "
        "energy does not reduce it. Standing charges are due without energy. Null if no energy of the period is known "
        "and priced yet, and no standing charge is due."
    )
    standing_charges_with_vat: Money = strawberry.field(
        description="Standing charges with VAT of the days that have begun while the household lives there, rounded to "
        "two decimals. Closed resources are left out."
    )
    unpriced: list[Energy] = list_field(
        1, description="Energy without a known tariff or price, one amount for each unit. Empty if all has a price."
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
        description="Why the cost of the energy is not known: no readings, tariff or price. `total` is then null, or "
        "contains standing charges alone. Null if some energy has a cost."
    )
    complete_to: datetime | None = strawberry.field(
        description="Instant up to which no measured sample is missing. Null if the home measures nothing."
    )


@strawberry.type(description="Powers between which the ambient level is MEDIUM.")
class DisplayPowerLevels:
    low_below: Power = strawberry.field(description="Power below which the level is LOW.")
    high_from: Power = strawberry.field(description="Power from which the level is HIGH.")


@strawberry.type(description="Rates between which the ambient level is MEDIUM.")
class DisplayRateLevels:
    low_below: Rate = strawberry.field(description="Rate with VAT below which the level is LOW.")
    high_from: Rate = strawberry.field(description="Rate with VAT from which the level is HIGH.")


@strawberry.type(
    description="Level for an ambient light. LEARNED and BUDGET compare the imported power with the usual power at "
    "the time of day, PRICE compares the rate with the mean rate of the day."
)
class DisplayAmbient:
    level: AmbientLevel = strawberry.field(description="Present level: LOW, MEDIUM or HIGH.")
    basis: AmbientBasis = strawberry.field(description="Reference that the level is compared with.")
    power_levels: DisplayPowerLevels | None = strawberry.field(
        description="Thresholds of the imported power. Null if the basis is PRICE."
    )
    rate_levels: DisplayRateLevels | None = strawberry.field(
        description="Thresholds of the rate with VAT. Null unless the basis is PRICE."
    )


@strawberry.type(description="Next rate of electricity.")
class DisplayRate:
    start: datetime = strawberry.field(description="When the rate comes into force.")
    rate_with_vat: Rate = strawberry.field(description="Rate of energy with VAT.")
    band: str | None = strawberry.field(
        description="Name of the tariff band or block at that time. Null if there is none."
    )


@strawberry.type(description="Present price of electricity. Rates are rounded to four decimals.")
class DisplayTariff:
    name: str = strawberry.field(description="Display name of the tariff.")
    per: RateUnit = strawberry.field(description="Unit of the energy that the rates are the price of.")
    rate_with_vat: Rate | None = strawberry.field(
        description="Rate of energy with VAT. Null if no price is known for now."
    )
    band: str | None = strawberry.field(description="Name of the present tariff band or block. Null if there is none.")
    standing_charge_with_vat: Rate = strawberry.field(description="Standing charge of a day with VAT.")
    until: datetime | None = strawberry.field(description="When the rate changes. Null if no change is known.")
    next: DisplayRate | None = strawberry.field(
        description="Rate after that change. Null if no change or no price is known."
    )


@strawberry.type(description="Span of time with one rate of electricity.")
class DisplaySlot:
    start: datetime = strawberry.field(description="Start of the slot, inclusive. It may be in the past.")
    end: datetime = strawberry.field(description="End of the slot, exclusive. It is in the future.")
    rate_with_vat: Rate = strawberry.field(description="Rate of energy with VAT, rounded to four decimals.")


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
    currency: Currency | None = strawberry.field(
        description="Currency of the costs of today. Null if no tariff is in force, or if tariffs in several "
        "currencies are, whose costs cannot be added."
    )
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
