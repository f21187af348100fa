"""Bills of tariffs from public sheets, each worked by hand for a month, with a clock change if the country has one."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from tests.support.pricing import WORKING_DAYS, band, blocks, half_hours, tariff
from wattgate.clock import to_ms
from wattgate.db.models import Tariff, TariffComponent
from wattgate.energy.costs.pricing import build_bill, price_samples
from wattgate.energy.costs.tariffs import find_problems
from wattgate.energy.costs.timeline import find_peak, peak_components, peak_key, rate_spans, standing_charge_days
from wattgate.energy.ownership import ALWAYS
from wattgate.enums import ComponentBasis, Period, TariffKind, Weekday

WEEKEND = [Weekday.SATURDAY, Weekday.SUNDAY]
MONTH = ComponentBasis.MONTH


@dataclass
class Recorded:
    """A tariff, a month of constant power, and the lines and the total of its bill in the major unit.

    `kettle` is the energy of one half hour of the month, in kWh, instead of that of the constant power.
    """

    name: str
    terms: Tariff
    month: str
    kilowatts: str
    lines: dict[str, str]
    total: str
    kettle: str | None = None


ONTARIO = {"currency": "CAD", "time_zone": "America/Toronto"}
TORONTO_DAY = {"valid_from": datetime(2024, 11, 1, tzinfo=UTC), **ONTARIO}

RECORDED = [
    # Ontario Energy Board, news release of 18 October 2024, tables 1 and 2. March 2025 has 743 hours and 21 weekdays.
    Recorded(
        "Ontario, time of use",
        tariff(
            TariffKind.TIME_OF_USE,
            rate=Decimal("7.6"),
            bands=[
                band("mid-peak", "12.2", "11:00", "17:00", WORKING_DAYS),
                band("on-peak, morning", "15.8", "07:00", "11:00", WORKING_DAYS),
                band("on-peak, evening", "15.8", "17:00", "19:00", WORKING_DAYS),
            ],
            **TORONTO_DAY,
        ),
        "2025-03",
        "1",
        # 21 * 6 = 126 hours, 21 * 4 = 84, 21 * 2 = 42, and 743 - 252 = 491
        {"mid-peak": "15.37", "on-peak, morning": "13.27", "on-peak, evening": "6.64", "ENERGY": "37.32"},
        "72.60",
    ),
    Recorded(
        "Ontario, tiered",
        tariff(
            TariffKind.BLOCK, blocks=blocks(("1000", "9.3"), (None, "11.0")), block_period=Period.P1M, **TORONTO_DAY
        ),
        "2025-03",
        "2",
        {"block 1": "93.00", "block 2": "53.46"},  # 1,486 kWh
        "146.46",
    ),
    # The same prices, as Hydro Hawkesbury lists the hours.
    Recorded(
        "Ontario, ultra-low overnight",
        tariff(
            TariffKind.TIME_OF_USE,
            bands=[
                band("overnight", "2.8", "23:00", "07:00"),
                band("weekend", "7.6", "07:00", "23:00", WEEKEND),
                band("mid-peak, day", "12.2", "07:00", "16:00", WORKING_DAYS),
                band("on-peak", "28.4", "16:00", "21:00", WORKING_DAYS),
                band("mid-peak, evening", "12.2", "21:00", "23:00", WORKING_DAYS),
            ],
            **TORONTO_DAY,
        ),
        "2025-03",
        "1",
        # 31 * 8 - 1 = 247 hours, 10 * 16 = 160, 21 * 9 = 189, 21 * 5 = 105, 21 * 2 = 42
        {
            "overnight": "6.92",
            "weekend": "12.16",
            "mid-peak, day": "23.06",
            "on-peak": "29.82",
            "mid-peak, evening": "5.12",
        },
        "77.08",
    ),
    # Hydro-Québec, Rate Flex D in summer, from 1 April 2025. November 2025 has 721 hours, and 30 days of 40 kWh.
    Recorded(
        "Quebec, two tiers",
        tariff(
            TariffKind.BLOCK,
            blocks=blocks(("1200", "6.905"), (None, "10.652")),
            block_period=Period.P1M,
            standing_charge=Decimal("46.154"),
            currency="CAD",
            time_zone="America/Montreal",
        ),
        "2025-11",
        "2",
        {"block 1": "82.86", "block 2": "25.78", "STANDING_CHARGE": "13.85"},  # 1,442 kWh: 1,200 and 242
        "122.49",
    ),
    # EDF, Tarif Bleu, option Base, 6 kVA, from 1 August 2025, with taxes. October 2025 has 745 hours.
    Recorded(
        "France, base",
        tariff(
            rate=Decimal("19.52"),
            components=[TariffComponent("Abonnement", MONTH, Decimal("1547"))],  # 185.64 / 12
            currency="EUR",
            time_zone="Europe/Paris",
        ),
        "2025-10",
        "1",
        {"ENERGY": "145.42", "Abonnement": "15.47"},
        "160.89",
    ),
    # Fluvius, capacity of households in 2023: 3.37 euros a kW and month without VAT, at least 2.5 kW. VAT is 6 %.
    *(
        Recorded(
            f"Flanders, capacity of {peak} kW",
            tariff(
                rate=Decimal(0),
                components=[
                    TariffComponent("Capacity", ComponentBasis.PEAK, Decimal(337), minimum=Decimal("2.5")),
                ],
                vat_rate=Decimal(6),
                currency="EUR",
                time_zone="Europe/Brussels",
                valid_from=datetime(2023, 1, 1, tzinfo=UTC),
            ),
            "2023-03",
            "0.5",
            {"ENERGY": "0.00", "Capacity": capacity},
            total,
            kettle,
        )
        for peak, kettle, capacity, total in (("2.5", None, "8.43", "8.94"), ("5.2", "2.6", "17.52", "18.57"))
    ),
    # Tokyo, Juryo Dento B, 30 A, with tax, as customers listed it in 2010. Japan has neither clock changes nor sen.
    Recorded(
        "Tokyo, three tiers",
        tariff(
            TariffKind.BLOCK,
            blocks=blocks(("120", "1787"), ("300", "2286"), (None, "2413")),
            block_period=Period.P1M,
            components=[TariffComponent("Basic charge", MONTH, Decimal(81_900))],
            currency="JPY",
            time_zone="Asia/Tokyo",
        ),
        "2025-03",
        "0.5",
        {"block 1": "2144", "block 2": "4115", "block 3": "1737", "Basic charge": "819"},  # 372 kWh: 120, 180 and 72
        "8815",
    ),
]


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded.name)
def test_bill_of_a_recorded_tariff_is_that_worked_by_hand(recorded: Recorded) -> None:
    terms, zone = recorded.terms, ZoneInfo(recorded.terms.time_zone)
    assert find_problems(terms, datetime(2025, 12, 1, tzinfo=UTC)) == []
    first = datetime.fromisoformat(f"{recorded.month}-01").replace(tzinfo=zone)
    last = (first + timedelta(days=31)).replace(day=1)
    start, stop = (at.astimezone(UTC) for at in (first, last))
    samples = half_hours(start, stop, str(Decimal(recorded.kilowatts) / 2))
    if recorded.kettle:
        samples[700] = samples[700]._replace(energy=int(Decimal(recorded.kettle).scaleb(9)))
    begin, end = to_ms(start), to_ms(stop)
    energies = [sample[:2] for sample in samples]
    peaks = {peak_key(terms, part, begin): find_peak(energies, zone, 30, 1) for part in peak_components(terms)}
    parts = price_samples(samples, rate_spans([terms], {}, begin, end), begin, 30 * 60_000)
    bill = build_bill(parts, standing_charge_days([terms], begin, end, ALWAYS), "kWh", terms.currency, peaks)
    found = {line.band or line.component or line.kind.value: str(line.subtotal.amount) for line in bill.lines}
    assert found == recorded.lines
    assert str(bill.total.amount) == recorded.total
