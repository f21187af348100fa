"""Legacy formats of tariffs: pence including VAT as JSON numbers, and dates with a space and no time zone."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from wattgate.db.models import Tariff
from wattgate.energy.costs.pricing import add_vat
from wattgate.enums import TariffKind
from wattgate.rest_compat.formats import readings
from wattgate.rest_compat.legacy_request import RestResult

_LEGACY_TYPES = {
    TariffKind.FLAT: "flatrate",
    TariffKind.TIME_OF_USE: "tou",
    TariffKind.BLOCK: "block",
    TariffKind.DYNAMIC: "dynamic",
}


def tariff_body(result: RestResult) -> Any:
    """Return the tariff that applies now as the only entry, or no entry if no tariff is known."""
    (tariff,), (current,) = result.edges["tariff"], result.edges["currentRates"]
    if tariff is None:
        return readings.envelope(result.result, [])
    current_rate = None if current.rate is None else float(current.rate)
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
        "currentRates": {"rate": current_rate, "standingCharge": float(current.standing_charge)},
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
        for tariff in tariffs
    ]
    return readings.envelope(result.result, entries)


def _plan_detail(tariff: Tariff, current_rate: float | None) -> list[dict[str, Any]]:
    """Return the rate, the standing charge, and the entries of the tariff kind.

    Clients require `rate` or `standing` in every object. `current_rate` is None if it is unknown or not requested.
    """
    parts = _RATES_BY_KIND[tariff.kind](tariff, current_rate)
    first = current_rate if tariff.rate is None else _with_vat(tariff, tariff.rate)
    if first is None:
        first = next((part["rate"] for part in parts if "rate" in part), None)
    standing = {"standing": _with_vat(tariff, tariff.standing_charge)}
    return [*([] if first is None else [{"rate": first}]), standing, *parts]


def _flat_rates(tariff: Tariff, current_rate: float | None) -> list[dict[str, Any]]:
    return []


def _time_of_use_rates(tariff: Tariff, current_rate: float | None) -> list[dict[str, Any]]:
    return [
        {
            "tier": number,
            "tourate": _with_vat(tariff, band.rate),
            "rate": _with_vat(tariff, band.rate),
            "time": f"{band.start}-{band.end}",
            "weekdays": [weekday.name[:3] for weekday in band.weekdays],
        }
        for number, band in enumerate(tariff.bands, start=1)
    ]


def _block_rates(tariff: Tariff, current_rate: float | None) -> list[dict[str, Any]]:
    return [
        {
            "tier": number,
            "rate": _with_vat(tariff, block.rate),
            **({} if block.up_to is None else {"limit": float(block.up_to)}),
        }
        for number, block in enumerate(tariff.blocks, start=1)
    ]


def _dynamic_rates(tariff: Tariff, current_rate: float | None) -> list[dict[str, Any]]:
    """Return the entry that names the tariff, with the standing charge instead of the rate if no rate is known."""
    known = {"standing": _with_vat(tariff, tariff.standing_charge)} if current_rate is None else {"rate": current_rate}
    return [{"dynamic": tariff.name, **known}]


_RATES_BY_KIND: Mapping[TariffKind, Callable[[Tariff, float | None], list[dict[str, Any]]]] = {
    TariffKind.FLAT: _flat_rates,
    TariffKind.TIME_OF_USE: _time_of_use_rates,
    TariffKind.BLOCK: _block_rates,
    TariffKind.DYNAMIC: _dynamic_rates,
}


def _with_vat(tariff: Tariff, amount: Decimal) -> float:
    return float(add_vat(tariff, amount))


def _valid_from_text(tariff: Tariff) -> str:
    return tariff.valid_from.strftime("%Y-%m-%d %H:%M:%S")
