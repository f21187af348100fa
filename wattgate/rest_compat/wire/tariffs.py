"""Types of tariffs in legacy formats."""

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from wattgate.rest_compat.wire.readings import Envelope, example_envelope
from wattgate.rest_compat.wire.shapes import EXAMPLE_UUID, Uuid, WallClockTime
from wattgate.values.annotations import Described


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
