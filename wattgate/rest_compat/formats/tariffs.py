"""Legacy formats of tariffs: pence including VAT as JSON numbers, and dates with a space and no time zone."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from wattgate.clock import to_ms
from wattgate.db.models import Tariff
from wattgate.energy.costs.pricing import day_hundredths, energy_hundredths
from wattgate.energy.quantities import Rate, to_hundredths
from wattgate.enums import TariffKind
from wattgate.rest_compat.formats import readings
from wattgate.rest_compat.legacy_request import RestResult
from wattgate.rest_compat.wire_readings import Envelope, example_envelope
from wattgate.rest_compat.wire_shapes import EXAMPLE_UUID, Uuid, WallClockTime
from wattgate.values.annotations import Described

_LEGACY_TYPES = {
    TariffKind.FLAT: "flatrate",
    TariffKind.TIME_OF_USE: "tou",
    TariffKind.BLOCK: "block",
    TariffKind.DYNAMIC: "dynamic",
}


def tariff_body(result: RestResult) -> Any:
    """Return the tariff that applies now as the only entry, or no entry if no tariff is known."""
    (shown,), (current,) = result.edges["tariff"], result.edges["currentRates"]
    if shown is None:
        return readings.envelope(result.result, [])
    tariff, current_rate = shown.stored, current.rate_with_vat and _to_pence(current.rate_with_vat)
    is_gas = result.result.classifier.startswith("gas")
    plan = [{"weekName": "1", "source": tariff.source, "planDetail": _plan_detail(tariff, current_rate)}]
    entry = {
        "id": tariff.tariff_id,
        "name": tariff.name,
        "commodity": "GAS" if is_gas else "ELEC",
        "cid": "GAS" if is_gas else "PWER",
        "type": _LEGACY_TYPES[tariff.kind],
        "utility": "",
        "from": _valid_from_text(tariff),
        "currentRates": {"rate": current_rate, "standingCharge": _to_pence(current.standing_charge_with_vat)},
        "structure": plan,
        "plan": plan,
    }
    return readings.envelope(result.result, [entry])


def tariff_list_body(result: RestResult) -> Any:
    """Return every past and current tariff, newest first, with the members that clients read."""
    (tariffs,) = result.edges["tariffs"]
    entries = [
        {
            "id": tariff.tariff_id,
            "name": tariff.name,
            "displayName": tariff.name,
            "from": _valid_from_text(tariff),
            "effectiveDate": _valid_from_text(tariff),
            "plan": [{"planDetail": _plan_detail(tariff, None)}],
        }
        for tariff in (shown.stored for shown in tariffs)
    ]
    return readings.envelope(result.result, entries)


def _plan_detail(tariff: Tariff, current_rate: float | None) -> list[dict[str, Any]]:
    """Return the rate, the standing charge, and the entries of the tariff kind.

    Clients require `rate` or `standing` in every object. `current_rate` is None if it is unknown or not requested.
    """
    parts = _RATES_BY_KIND[tariff.kind](tariff, current_rate)
    first = current_rate if tariff.rate is None else _rate_with_vat(tariff, tariff.rate)
    if first is None:
        first = next((part["rate"] for part in parts if "rate" in part), None)
    standing = {"standing": _standing_charge(tariff)}
    return [*([] if first is None else [{"rate": first}]), standing, *parts]


def _flat_rates(tariff: Tariff, current_rate: float | None) -> list[dict[str, Any]]:
    return []


def _time_of_use_rates(tariff: Tariff, current_rate: float | None) -> list[dict[str, Any]]:
    return [
        {
            "tier": number,
            "tourate": _rate_with_vat(tariff, band.rate),
            "rate": _rate_with_vat(tariff, band.rate),
            "time": f"{band.start}-{band.end}",
            "weekdays": [weekday.name[:3] for weekday in band.weekdays],
            **({} if band.season_start is None else {"season": f"{band.season_start}/{band.season_end}"}),
        }
        for number, band in enumerate(tariff.bands, start=1)
    ]


def _block_rates(tariff: Tariff, current_rate: float | None) -> list[dict[str, Any]]:
    return [
        {
            "tier": number,
            "rate": _rate_with_vat(tariff, block.rate),
            **({} if block.up_to is None else {"limit": float(block.up_to)}),
        }
        for number, block in enumerate(tariff.blocks, start=1)
    ]


def _dynamic_rates(tariff: Tariff, current_rate: float | None) -> list[dict[str, Any]]:
    """Return the entry that names the tariff, with the standing charge instead of the rate if no rate is known."""
    known = {"standing": _standing_charge(tariff)} if current_rate is None else {"rate": current_rate}
    return [{"dynamic": tariff.name, **known}]


_RATES_BY_KIND: Mapping[TariffKind, Callable[[Tariff, float | None], list[dict[str, Any]]]] = {
    TariffKind.FLAT: _flat_rates,
    TariffKind.TIME_OF_USE: _time_of_use_rates,
    TariffKind.BLOCK: _block_rates,
    TariffKind.DYNAMIC: _dynamic_rates,
}


def _rate_with_vat(tariff: Tariff, rate: Decimal) -> float:
    """Return what a unit of energy costs. Legacy clients know no components, so that those are part of the rate."""
    return float(energy_hundredths(tariff, rate))


def _standing_charge(tariff: Tariff) -> float:
    """Return the charge of the first day of a tariff, with the components that charge for days and months."""
    return float(day_hundredths(tariff, to_ms(tariff.valid_from)))


def _to_pence(rate: Rate) -> float:
    return float(to_hundredths(rate.amount))


def _valid_from_text(tariff: Tariff) -> str:
    return tariff.valid_from.strftime("%Y-%m-%d %H:%M:%S")


# Types of tariffs in legacy formats.


class PlanDetail(TypedDict, total=False):
    """Part of a plan, in pence including VAT. Each object has `rate` or `standing`."""

    rate: Annotated[float, Meta(description="Pence for a kWh, including VAT.")]
    standing: Annotated[float, Meta(description="Standing charge in pence a day, including VAT.")]
    tier: Annotated[int, Meta(description="Number of the band or block, from 1.")]
    tourate: Annotated[float, Meta(description="Rate of a band, in pence for a kWh.")]
    time: Annotated[str, Meta(description="Local times of a band, such as 23:30-05:30.")]
    weekdays: Annotated[
        list[Literal["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]], Meta(description="Days of a band.")
    ]
    season: Annotated[str, Meta(description="First and last day of each year of a band, such as 11-01/03-31.")]
    limit: Annotated[float, Meta(description="Consumption in kWh at which a block ends.")]
    dynamic: Annotated[str, Meta(description="Name of a tariff whose price changes every half hour.")]


class TariffPlan(TypedDict):
    """Plan of a tariff."""

    weekName: Annotated[str, Meta(description="Always 1.")]
    source: Annotated[str, Meta(description="Source of the tariff, such as supplier or user.")]
    planDetail: Annotated[list[PlanDetail], Meta(description="Parts of the plan.")]


_BAND: PlanDetail = {"tier": 1, "tourate": 8.4, "rate": 8.4, "time": "23:30-05:30", "weekdays": ["MON", "TUE"]}
_PLAN: TariffPlan = {"weekName": "1", "source": "supplier", "planDetail": [{"rate": 24.5}, {"standing": 53.8}, _BAND]}


class CurrentRates(TypedDict):
    """Rates that apply now, in pence including VAT."""

    rate: Annotated[float | None, Meta(description="Pence for a kWh. Null if it is not known.")]
    standingCharge: Annotated[float, Meta(description="Standing charge in pence a day.")]


LegacyTariff = TypedDict(
    "LegacyTariff",
    {
        "id": Annotated[Uuid, Meta(description="ID of the tariff.")],
        "name": Annotated[str, Meta(description="Name of the tariff.")],
        "commodity": Annotated[Literal["ELEC", "GAS"], Meta(description="Kind of energy.")],
        "cid": Annotated[Literal["PWER", "GAS"], Meta(description="Kind of energy, as older clients read it.")],
        "type": Annotated[Literal["flatrate", "tou", "block", "dynamic"], Meta(description="Kind of the tariff.")],
        "utility": Annotated[str, Meta(description="Always empty. Legacy clients read it.")],
        "from": Annotated[WallClockTime, Meta(description="When the tariff begins, in UTC.")],
        "currentRates": CurrentRates,
        "structure": Annotated[list[TariffPlan], Meta(description="The same as `plan`.")],
        "plan": Annotated[list[TariffPlan], Meta(description="Rates and standing charge.")],
    },
)
LegacyTariff.__doc__ = "Tariff that applies now, in pence including VAT."


class TariffChangePlan(TypedDict):
    """Plan of a past or current tariff."""

    planDetail: Annotated[list[PlanDetail], Meta(description="Parts of the plan.")]


TariffChange = TypedDict(
    "TariffChange",
    {
        "id": Annotated[Uuid, Meta(description="ID of the tariff.")],
        "name": Annotated[str, Meta(description="Name of the tariff.")],
        "displayName": Annotated[str, Meta(description="The same as `name`.")],
        "from": Annotated[WallClockTime, Meta(description="When the tariff begins, in UTC.")],
        "effectiveDate": Annotated[WallClockTime, Meta(description="The same as `from`.")],
        "plan": Annotated[list[TariffChangePlan], Meta(description="Rates and standing charge.")],
    },
)
TariffChange.__doc__ = "Past or current tariff, in pence including VAT."


class TariffEnvelope(Envelope):
    """Resource with the tariff that applies now, or with no entry if no tariff is known."""

    data: Annotated[list[LegacyTariff], Described("Free-form JSON data of the application.")]


_TARIFF: LegacyTariff = {
    "id": EXAMPLE_UUID,
    "name": "Standard",
    "commodity": "ELEC",
    "cid": "PWER",
    "type": "tou",
    "utility": "",
    "from": "2025-10-01 00:00:00",
    "currentRates": {"rate": 24.5, "standingCharge": 53.8},
    "structure": [_PLAN],
    "plan": [_PLAN],
}
TARIFF_EXAMPLE = example_envelope([_TARIFF])


class TariffListEnvelope(Envelope):
    """Resource with its past and current tariffs, newest first."""

    data: Annotated[list[TariffChange], Described("Free-form JSON data of the application.")]


_TARIFF_CHANGE: TariffChange = {
    "id": EXAMPLE_UUID,
    "name": "Standard",
    "displayName": "Standard",
    "from": "2025-10-01 00:00:00",
    "effectiveDate": "2025-10-01 00:00:00",
    "plan": [{"planDetail": [{"rate": 24.5}, {"standing": 53.8}]}],
}
TARIFF_LIST_EXAMPLE = example_envelope([_TARIFF_CHANGE])
