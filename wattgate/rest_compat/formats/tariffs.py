"""Tariffs, as the legacy interface has them: pence with VAT as JSON numbers, dates with a space and no zone."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from wattgate.db.models import Tariff
from wattgate.energy.pricing import with_vat
from wattgate.enums import TariffKind
from wattgate.rest_compat.formats import readings
from wattgate.rest_compat.legacy_request import Answer

_TYPES = {
    TariffKind.FLAT: "flatrate",
    TariffKind.TIME_OF_USE: "tou",
    TariffKind.BLOCK: "block",
    TariffKind.DYNAMIC: "dynamic",
}


def tariff(answer: Answer) -> Any:
    """The tariff that applies now as the one entry, or none where no tariff is known."""
    (found,), (current,) = answer.edges["tariff"], answer.edges["currentRates"]
    if found is None:
        return readings.envelope(answer.result, [])
    now = None if current.rate is None else float(current.rate)
    gas = answer.result.classifier.startswith("gas")
    plan = [{"weekName": "1", "source": found.source, "planDetail": _plan(found, now)}]
    told = {
        "id": found.tariff_id,
        "name": found.name,
        "commodity": "GAS" if gas else "ELEC",
        "cid": "GAS" if gas else "PWER",
        "type": _TYPES[found.kind],
        "utility": "",
        "from": _date(found),
        "currentRates": {"rate": now, "standingCharge": float(current.standing_charge)},
        "structure": plan,
        "plan": plan,
    }
    return readings.envelope(answer.result, [told])


def tariff_list(answer: Answer) -> Any:
    """Every tariff until now, newest first, in the members that clients read."""
    (tariffs,) = answer.edges["tariffs"]
    told = [
        {
            "id": one.tariff_id,
            "name": one.name,
            "displayName": one.name,
            "from": _date(one),
            "effectiveDate": _date(one),
            "plan": [{"planDetail": _plan(one, None)}],
        }
        for one in tariffs
    ]
    return readings.envelope(answer.result, told)


def _plan(one: Tariff, now: float | None) -> list[dict[str, Any]]:
    """Rate, standing charge, then what the kind of tariff adds. Clients want `rate` or `standing` in every object.

    `now` is the rate at this moment, where it is asked for and known.
    """
    parts = _PARTS[one.kind](one, now)
    first = now if one.rate is None else _with_vat(one, one.rate)
    if first is None:
        first = next((part["rate"] for part in parts if "rate" in part), None)
    standing = {"standing": _with_vat(one, one.standing_charge)}
    return [*([] if first is None else [{"rate": first}]), standing, *parts]


def _flat(one: Tariff, now: float | None) -> list[dict[str, Any]]:
    return []


def _time_of_use(one: Tariff, now: float | None) -> list[dict[str, Any]]:
    return [
        {
            "tier": number,
            "tourate": _with_vat(one, band.rate),
            "rate": _with_vat(one, band.rate),
            "time": f"{band.start}-{band.end}",
            "weekdays": [weekday.name[:3] for weekday in band.weekdays],
        }
        for number, band in enumerate(one.bands, start=1)
    ]


def _block(one: Tariff, now: float | None) -> list[dict[str, Any]]:
    return [
        {
            "tier": number,
            "rate": _with_vat(one, block.rate),
            **({} if block.up_to is None else {"limit": float(block.up_to)}),
        }
        for number, block in enumerate(one.blocks, start=1)
    ]


def _dynamic(one: Tariff, now: float | None) -> list[dict[str, Any]]:
    """The one that names the tariff; where no rate is known it repeats the standing charge, and claims no rate."""
    known = {"standing": _with_vat(one, one.standing_charge)} if now is None else {"rate": now}
    return [{"dynamic": one.name, **known}]


_PARTS: Mapping[TariffKind, Callable[[Tariff, float | None], list[dict[str, Any]]]] = {
    TariffKind.FLAT: _flat,
    TariffKind.TIME_OF_USE: _time_of_use,
    TariffKind.BLOCK: _block,
    TariffKind.DYNAMIC: _dynamic,
}


def _with_vat(one: Tariff, amount: Decimal) -> float:
    return float(with_vat(one, amount))


def _date(one: Tariff) -> str:
    return one.valid_from.strftime("%Y-%m-%d %H:%M:%S")
