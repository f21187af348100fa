"""Bills of tariffs from public sheets, each worked by hand for a month, with a clock change if the country has one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.support.pricing import WORKING_DAYS, band, blocks, half_hours, tariff
from wattgate.clock import from_ms, to_ms
from wattgate.db.models import ComponentWindow, PeakStep, PriceFormula, Tariff, TariffComponent
from wattgate.energy.costs.pricing import EnergySample, build_bill, price_samples
from wattgate.energy.costs.tariffs import find_problems, price_length_ms
from wattgate.energy.costs.timeline import (
    Price,
    find_peak,
    peak_components,
    peak_key,
    rate_spans,
    standing_charge_days,
)
from wattgate.energy.ownership import ALWAYS
from wattgate.enums import ComponentBasis, Period, TariffKind, Weekday

WEEKEND = [Weekday.SATURDAY, Weekday.SUNDAY]
TOU = TariffKind.TIME_OF_USE
DAY, MONTH, ENERGY, PEAK = ComponentBasis.DAY, ComponentBasis.MONTH, ComponentBasis.ENERGY, ComponentBasis.PEAK


def part(name: str, basis: ComponentBasis, rate: str, **peak: int) -> TariffComponent:
    return TariffComponent(name, basis, Decimal(rate), **peak)  # type: ignore[arg-type]


def stepped(name: str, *steps: tuple[int, str]) -> TariffComponent:
    """Return a component with steps of the mean of the highest hours of three days. The last one has no limit."""
    found = [PeakStep(Decimal(rate), Decimal(limit)) for limit, rate in steps]
    found[-1].up_to = None
    return TariffComponent(name, PEAK, Decimal(0), peak_minutes=60, peak_days=3, steps=found)


def hours(start: str, end: str, *season: str) -> ComponentWindow:
    """Return the window of some hours of each day, or of each day of a season."""
    return ComponentWindow(tuple(Weekday), start, end, *season)


def since(year: int, month: int, **values: Any) -> dict[str, Any]:
    """Return the terms of a tariff that is valid from a day before a month."""
    return {"valid_from": datetime(year, month, 1, tzinfo=UTC) - timedelta(days=1), **values}


@dataclass
class Recorded:
    """A tariff, a month of constant power, and the lines and the total of its bill in the major unit.

    `kettle` is the energy of one half hour of the month, in kWh, instead of that of the constant power. `prices` are
    those of a dynamic tariff in hundredths: of each day, from a local hour on.
    """

    name: str
    terms: Tariff
    month: str
    kilowatts: str
    lines: dict[str, str]
    total: str
    kettle: str | None = None
    prices: dict[int, str] = field(default_factory=dict)


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
    # Energy Saving Trust, price cap from October 2023, with VAT. October 2023 has 745 hours and 31 days.
    Recorded(
        "Great Britain, price cap",
        tariff(rate=Decimal("27.35"), standing_charge=Decimal("53.37"), **since(2023, 10)),
        "2023-10",
        "1",
        {"ENERGY": "203.76", "STANDING_CHARGE": "16.54"},
        "220.30",
    ),
    # Community Power, Smart SST, prices from 1 October 2020 without VAT of 13.5 %. The levy is 6.52 euros a month.
    Recorded(
        "Ireland, day, peak and night",
        tariff(
            TOU,
            rate=Decimal("17.5"),
            bands=[band("night", "10.98", "23:00", "08:00"), band("peak", "18.25", "17:00", "19:00")],
            standing_charge=Decimal("40.27"),
            components=[part("PSO levy", MONTH, "652")],
            vat_rate=Decimal("13.5"),
            currency="EUR",
            **since(2020, 10, time_zone="Europe/Dublin"),
        ),
        "2020-10",
        "1",
        # 31 * 9 + 1 = 280 hours, 31 * 2 = 62, 745 - 342 = 403; VAT is 13.5 % of 131.59: 17.76
        {"ENERGY": "70.53", "night": "30.74", "peak": "11.32", "STANDING_CHARGE": "12.48", "PSO levy": "6.52"},
        "149.35",
    ),
    # Electric Ireland, standard prices from 1 August 2021, urban: 167.57 euros a year, and a levy of 51.60 a year.
    Recorded(
        "Ireland, standard",
        tariff(
            rate=Decimal("19.24"),
            standing_charge=Decimal("45.909589"),  # 167.57 / 365
            components=[part("PSO levy", MONTH, "430")],  # 51.60 / 12
            vat_rate=Decimal("13.5"),
            currency="EUR",
            **since(2021, 8, time_zone="Europe/Dublin"),
        ),
        "2021-10",
        "0.5",
        {"ENERGY": "71.67", "STANDING_CHARGE": "14.23", "PSO levy": "4.30"},  # 372.5 kWh; VAT: 12.18
        "102.38",
    ),
    # Gemeindewerke Ruhpolding, basic supply from 1 January 2023, low tariff at night and from Saturday 13:00 to Monday
    # 06:00, without VAT of 19 %. A year has 365 days: 147.06, 16.81 and 10.56 euros a year. March 2023 has 743 hours.
    Recorded(
        "Germany, two tariffs",
        tariff(
            TOU,
            rate=Decimal("40.97"),
            bands=[
                band("NT", "34.71", "00:00", "06:00", WORKING_DAYS),
                band("NT", "34.71", "22:00", "00:00", WORKING_DAYS),
                band("NT", "34.71", "13:00", "00:00", WEEKEND[:1]),
                band("NT", "34.71", "00:00", "00:00", WEEKEND[1:]),
            ],
            components=[
                part("Grundpreis", DAY, "40.290411"),
                part("Moderne Messeinrichtung", DAY, "4.605479"),
                part("Tarifschaltung", DAY, "2.893151"),
            ],
            vat_rate=Decimal(19),
            currency="EUR",
            **since(2023, 1, time_zone="Europe/Berlin"),
        ),
        "2023-03",
        "1",
        # 23 * 16 + 4 * 13 = 420 hours, and 743 - 420 = 323; VAT is 19 % of 299.00: 56.81
        {
            "ENERGY": "172.07",
            "NT": "112.11",
            "Grundpreis": "12.49",
            "Moderne Messeinrichtung": "1.43",
            "Tarifschaltung": "0.90",
        },
        "355.81",
    ),
    # Goteborg Energi, network at most 63 A from 1 January 2023: the mean of the highest hours of three days. The energy
    # tax is 39.2 ore, and VAT 25 %. One hour of 3.1 kWh and hours of 1 kWh have the mean 1.7 kW.
    Recorded(
        "Sweden, three highest hours",
        tariff(
            rate=Decimal("20.4"),
            components=[
                part("Energiskatt", ENERGY, "39.2"),
                part("Abonnemang", MONTH, "11800"),
                part("Effekt", PEAK, "2900", peak_minutes=60, peak_days=3),
            ],
            vat_rate=Decimal(25),
            currency="SEK",
            **since(2023, 1, time_zone="Europe/Stockholm"),
        ),
        "2023-03",
        "1",
        # 743 + 2.1 = 745.1 kWh; VAT is 25 % of 611.38: 152.85
        {"ENERGY": "152.00", "Energiskatt": "292.08", "Abonnemang": "118.00", "Effekt": "49.30"},
        "764.23",
        "2.6",
    ),
    # BKK, network of households from 1 January 2024, with VAT: prices from April, and the second capacity step, of 2 to
    # 5 kW. October 2024 has 745 hours, 23 weekdays, and no public holiday.
    Recorded(
        "Norway, BKK",
        tariff(
            TOU,
            rate=Decimal("44.68"),
            bands=[band("day", "56.48", "06:00", "22:00", WORKING_DAYS)],
            components=[stepped("Kapasitet", (2, "14500"), (5, "24000"), (10, "40000"), (15, "57000"))],
            currency="NOK",
            **since(2024, 4, time_zone="Europe/Oslo"),
        ),
        "2024-10",
        "3",
        {"ENERGY": "505.33", "day": "623.54", "Kapasitet": "240.00"},  # 23 * 16 = 368 hours, and 377
        "1368.87",
    ),
    # Glitre Nett, network of households from 1 January 2024, with VAT: second capacity step. March has 743 hours.
    Recorded(
        "Norway, Glitre Nett",
        tariff(
            TOU,
            bands=[band("day", "42.09", "06:00", "22:00"), band("night", "30.09", "22:00", "06:00")],
            components=[stepped("Kapasitet", (2, "15500"), (5, "19500"), (10, "33500"), (15, "69000"))],
            currency="NOK",
            **since(2024, 1, time_zone="Europe/Oslo"),
        ),
        "2024-03",
        "3",
        {"day": "626.30", "night": "222.97", "Kapasitet": "195.00"},  # 31 * 16 = 496 hours, and 31 * 8 - 1 = 247
        "1044.27",
    ),
    # Nettselskapet AS, network of households from 1 January 2024, with VAT: second step, and the taxes until March.
    Recorded(
        "Norway, taxes by themselves",
        tariff(
            TOU,
            bands=[band("day", "26.88", "06:00", "22:00"), band("night", "13.38", "22:00", "06:00")],
            components=[
                part("Elavgift", ENERGY, "11.89"),
                part("Energifondet", ENERGY, "1.25"),
                stepped("Kapasitet", (2, "13750"), (5, "25000"), (10, "42500"), (15, "62500")),
            ],
            currency="NOK",
            **since(2024, 1, time_zone="Europe/Oslo"),
        ),
        "2024-03",
        "3",
        # 1,488 and 741 kWh, together 2,229
        {
            "day": "399.97",
            "night": "99.15",
            "Elavgift": "265.03",
            "Energifondet": "27.86",
            "Kapasitet": "250.00",
        },
        "1042.01",
    ),
    # issoy.fi, network by day and night, 3 x 25 A, without electricity tax and VAT of 25.5 %, as of 2025.
    Recorded(
        "Finland, day and night",
        tariff(
            TOU,
            bands=[band("day", "3.47", "07:00", "22:00"), band("night", "1.16", "22:00", "07:00")],
            components=[part("Perusmaksu", MONTH, "2438")],
            vat_rate=Decimal("25.5"),
            currency="EUR",
            time_zone="Europe/Helsinki",
        ),
        "2025-10",
        "1",
        {"day": "16.14", "night": "3.25", "Perusmaksu": "24.38"},  # 31 * 15 = 465 hours, and 280; VAT: 11.16
        "54.93",
    ),
    # Som Energia, 2.0TD by periods from June 2025, without taxes: 7.3 kW, at 29.013 and 2.788 euros a kW and year.
    # October 2025 has 745 hours and 23 weekdays. Its holiday, the twelfth, is a Sunday.
    Recorded(
        "Spain, three periods and contracted power",
        tariff(
            TOU,
            rate=Decimal("11.9"),
            bands=[
                *(
                    band("punta", "22.6", start, end, WORKING_DAYS)
                    for start, end in (("10:00", "14:00"), ("18:00", "22:00"))
                ),
                *(
                    band("llano", "15.7", start, end, WORKING_DAYS)
                    for start, end in (("08:00", "10:00"), ("14:00", "18:00"), ("22:00", "00:00"))
                ),
            ],
            components=[part("Potencia punta", DAY, "58.026"), part("Potencia valle", DAY, "5.576")],  # 7.3 / 365
            currency="EUR",
            **since(2025, 6, time_zone="Europe/Madrid"),
        ),
        "2025-10",
        "1",
        # 23 * 8 = 184 hours twice, and 377
        {
            "ENERGY": "44.86",
            "llano": "28.89",
            "punta": "41.58",
            "Potencia punta": "17.99",
            "Potencia valle": "1.73",
        },
        "135.05",
    ),
    # Meijburg & Co, Promemorie 2024: tax of electricity, and its reduction of 521.78 euros a year, without VAT of 21 %.
    Recorded(
        "Netherlands, energy tax and its reduction",
        tariff(
            rate=Decimal("10.880"),
            components=[part("Vermindering", MONTH, "-4348.166667")],
            vat_rate=Decimal(21),
            currency="EUR",
            time_zone="Europe/Amsterdam",
        ),
        "2024-03",
        "0.5",
        {"ENERGY": "40.42", "Vermindering": "-43.48"},  # 371.5 kWh; VAT is 21 % of -3.06: -0.64
        "-3.70",
    ),
    # Eskom, Homelight 60 A in 2024/25, without VAT of 15 %. South Africa has no clock changes.
    Recorded(
        "South Africa, two blocks",
        tariff(
            TariffKind.BLOCK,
            blocks=blocks(("600", "232.31"), (None, "394.86")),
            block_period=Period.P1M,
            vat_rate=Decimal(15),
            currency="ZAR",
            time_zone="Africa/Johannesburg",
        ),
        "2025-03",
        "1",
        {"block 1": "1393.86", "block 2": "568.60"},  # 744 kWh; VAT is 15 % of 1,962.46: 294.37
        "2256.83",
    ),
    # CNCITY Energy, progressive rates of households, without taxes: the base rate is that of 201 to 400 kWh. South
    # Korea has neither clock changes nor jeon.
    Recorded(
        "South Korea, three blocks",
        tariff(
            TariffKind.BLOCK,
            blocks=blocks(("200", "9330"), ("400", "18790"), (None, "28060")),
            block_period=Period.P1M,
            components=[part("Base rate", MONTH, "160000")],
            currency="KRW",
            time_zone="Asia/Seoul",
        ),
        "2025-03",
        "0.5",
        {"block 1": "18660", "block 2": "32319", "Base rate": "1600"},  # 372 kWh: 200 and 172
        "52579",
    ),
    # Localvolts, standard offer in the area of Ausgrid from 1 July 2022, EA010. April 2023 has 721 hours.
    Recorded(
        "Australia, standard offer",
        tariff(
            rate=Decimal("38.7692"),
            standing_charge=Decimal("414.2466"),
            currency="AUD",
            **since(2022, 7, time_zone="Australia/Sydney"),
        ),
        "2023-04",
        "0.5",
        {"ENERGY": "139.76", "STANDING_CHARGE": "124.27"},  # 360.5 kWh
        "264.03",
    ),
    # Genesis Energy, Classic Plan in Christchurch from 15 January 2017, without discount and GST of 15 %.
    Recorded(
        "New Zealand, low user",
        tariff(
            rate=Decimal("28.70"),
            standing_charge=Decimal("33.33"),
            vat_rate=Decimal(15),
            currency="NZD",
            **since(2017, 2, time_zone="Pacific/Auckland"),
        ),
        "2017-04",
        "0.5",
        {"ENERGY": "103.46", "STANDING_CHARGE": "10.00"},  # 721 hours, 360.5 kWh; GST is 15 % of 113.46: 17.02
        "130.48",
    ),
    # Energy Fiji Limited, domestic tariff from 1 January 2016, without VAT. January 2016 has 745 hours.
    Recorded(
        "Fiji, domestic",
        tariff(rate=Decimal("33.10"), currency="FJD", **since(2016, 1, time_zone="Pacific/Fiji")),
        "2016-01",
        "0.5",
        {"ENERGY": "123.30"},  # 372.5 kWh
        "123.30",
    ),
]

SEASONS = [
    # Radius, network of households from 1 January 2021: peak from 17:00 to 20:00 from October to March, and the tax of
    # electricity, without VAT of 25 %. March 2021 has 743 hours.
    *(
        Recorded(
            f"Denmark, peak in winter, {month}",
            tariff(
                TOU,
                rate=Decimal("23.63"),
                bands=[band("peak", "63.07", "17:00", "20:00", season=("10-01", "03-31"))],
                components=[part("Elafgift", ENERGY, "90.00"), part("Abonnement", MONTH, "2100")],
                vat_rate=Decimal(25),
                currency="DKK",
                **since(2021, 1, time_zone="Europe/Copenhagen"),
            ),
            month,
            "1",
            lines,
            total,
        )
        for month, lines, total in (
            # 31 * 3 = 93 hours, and 650; VAT is 25 % of 901.96: 225.49
            (
                "2021-03",
                {"ENERGY": "153.60", "peak": "58.66", "Elafgift": "668.70", "Abonnement": "21.00"},
                "1127.45",
            ),
            # 720 hours; VAT is 25 % of 839.14: 209.79
            ("2021-04", {"ENERGY": "170.14", "Elafgift": "648.00", "Abonnement": "21.00"}, "1048.93"),
        )
    ),
    # Griug, network from 1 January 2024, without VAT of 25 %: 11 ore more on Fridays from 16:00 to 22:00, from 1
    # October to 1 April, and the second step. October 2024 has 745 hours and four Fridays: 24 hours.
    Recorded(
        "Norway, Fridays in winter",
        tariff(
            TOU,
            rate=Decimal("26.24"),
            bands=[band("Friday", "37.24", "16:00", "22:00", [Weekday.FRIDAY], season=("10-01", "04-01"))],
            components=[stepped("Fastledd", (2, "17600"), (5, "26400"), (10, "39600"), (15, "50800"))],
            vat_rate=Decimal(25),
            currency="NOK",
            **since(2024, 4, time_zone="Europe/Oslo"),
        ),
        "2024-10",
        "3",
        {"ENERGY": "567.57", "Friday": "26.81", "Fastledd": "264.00"},  # 2,163 and 72 kWh; VAT: 214.60
        "1072.98",
    ),
    # Georgia Power, TOU-REO-10, from January 2016, without further schedules: on-peak on weekdays from 14:00 to 19:00,
    # from June to September. November 2016 has 721 hours. August 2016 has 744 hours and 23 weekdays.
    *(
        Recorded(
            f"Georgia, on-peak in summer, {month}",
            tariff(
                TOU,
                rate=Decimal("4.9409"),
                bands=[band("on-peak", "20.3217", "14:00", "19:00", WORKING_DAYS, season=("06-01", "09-30"))],
                components=[part("Basic service", MONTH, "1000")],
                currency="USD",
                **since(2016, 1, time_zone="America/New_York"),
            ),
            month,
            "1",
            lines,
            total,
        )
        for month, lines, total in (
            (
                "2016-08",
                {"ENERGY": "31.08", "on-peak": "23.37", "Basic service": "10.00"},
                "64.45",
            ),  # 629 and 115 hours
            ("2016-11", {"ENERGY": "35.62", "Basic service": "10.00"}, "45.62"),
        )
    ),
    # Ausgrid by the network prices of 2025/26, without GST of 10 %: peak from 15:00 to 21:00 from November to March and
    # from June to August, and 3.88 cents for energy. October 2025 has 743 hours, and November 720.
    *(
        Recorded(
            f"Australia, peak in summer and winter, {month}",
            tariff(
                TOU,
                rate=Decimal("5.15"),
                bands=[
                    band("peak", "29.25", "15:00", "21:00", season=("11-01", "03-31")),
                    band("peak", "29.25", "15:00", "21:00", season=("06-01", "08-31")),
                ],
                components=[part("Other charges", ENERGY, "3.88"), part("Meter", DAY, "7.54")],
                standing_charge=Decimal("55.34"),
                vat_rate=Decimal(10),
                currency="AUD",
                **since(2025, 7, time_zone="Australia/Sydney"),
            ),
            month,
            "1",
            lines,
            total,
        )
        for month, lines, total in (
            # GST is 10 % of 86.59: 8.66
            (
                "2025-10",
                {"ENERGY": "38.26", "Other charges": "28.83", "STANDING_CHARGE": "17.16", "Meter": "2.34"},
                "95.25",
            ),
            # 30 * 6 = 180 hours, and 540; GST is 10 % of 127.26: 12.73
            (
                "2025-11",
                {
                    "ENERGY": "27.81",
                    "peak": "52.65",
                    "Other charges": "27.94",
                    "STANDING_CHARGE": "16.60",
                    "Meter": "2.26",
                },
                "139.99",
            ),
        )
    ),
]


# Formulas of dynamic tariffs, and components with a window. The sheets have no prices, which are chosen here.

FORMULAS = [
    # Octopus Energy, "Agile pricing explained", December 2023: min(2.20 x W + P, cap). P is 12.00 from 16:00 to 19:00,
    # and the cap is 100 pence with VAT of 5 %. October 2025 has 745 hours.
    Recorded(
        "Great Britain, Agile",
        tariff(
            TariffKind.DYNAMIC,
            price_formula=PriceFormula(Decimal("2.2"), None, Decimal("95.238095")),
            components=[
                TariffComponent("Peak", ENERGY, Decimal(12), window=hours("16:00", "19:00"), in_limits=True),
            ],
            vat_rate=Decimal(5),
        ),
        "2025-10",
        "1",
        # 652 hours at 22, 62 at 44, and 31 at 95.238095 - 12; VAT is 5 % of 207.68: 10.38
        {"ENERGY": "196.52", "Peak": "11.16"},
        "218.06",
        prices={0: "10", 16: "45", 17: "20", 19: "10"},
    ),
    # tado and aWATTar, Hourly in Germany: the price of EPEX Spot and 3 %, and 1.5 cents (1.785 with VAT of 19 %).
    Recorded(
        "Germany, hourly",
        tariff(
            TariffKind.DYNAMIC,
            price_period=Period.PT1H,
            price_formula=PriceFormula(Decimal("1.03")),
            components=[part("Beschaffung", ENERGY, "1.5")],
            vat_rate=Decimal(19),
            currency="EUR",
            **since(2023, 10, time_zone="Europe/Berlin"),
        ),
        "2023-10",
        "1",
        # 31 * 3 + 1 = 94 hours at -2.575, and 651 at 8.36669; VAT is 19 % of 63.23: 12.01
        {"ENERGY": "52.05", "Beschaffung": "11.18"},
        "75.24",
        prices={0: "8.123", 2: "-2.5", 5: "8.123"},
    ),
    # Radius, network of households from 1 January 2021, without VAT of 25 %: 23.63 ore, and 63.07 from 17:00 to 20:00
    # from October to March; electricity tax 90.00; 21 kroner a month. March 2021 has 743 hours, and April 720.
    *(
        Recorded(
            f"Denmark, spot price and network, {month}",
            tariff(
                TariffKind.DYNAMIC,
                price_period=Period.PT1H,
                components=[
                    part("Nettarif", ENERGY, "23.63"),
                    TariffComponent(
                        "Spidslast", ENERGY, Decimal("39.44"), window=hours("17:00", "20:00", "10-01", "03-31")
                    ),
                    part("Elafgift", ENERGY, "90"),
                    part("Netabonnement", MONTH, "2100"),
                ],
                vat_rate=Decimal(25),
                currency="DKK",
                **since(2021, 1, time_zone="Europe/Copenhagen"),
            ),
            month,
            "1",
            lines,
            total,
            prices={0: "40", 17: "80", 20: "40"},
        )
        for month, lines, total in (
            # 650 hours at 40 and 93 at 80; VAT is 25 % of 1,236.35: 309.09
            (
                "2021-03",
                {
                    "ENERGY": "334.40",
                    "Nettarif": "175.57",
                    "Spidslast": "36.68",
                    "Elafgift": "668.70",
                    "Netabonnement": "21.00",
                },
                "1545.44",
            ),
            # 630 hours at 40 and 90 at 80; VAT is 25 % of 1,163.14: 290.79 (290.785)
            (
                "2021-04",
                {"ENERGY": "324.00", "Nettarif": "170.14", "Elafgift": "648.00", "Netabonnement": "21.00"},
                "1453.93",
            ),
        )
    ),
]


def prices_of(recorded: Recorded, begin: int, end: int, zone: ZoneInfo) -> list[Price]:
    """Return the prices of the half hours, or hours, of a month."""
    prices = list[Price]()
    for at in range(begin, end, price_length_ms(recorded.terms)):
        hour = max((hour for hour in recorded.prices if hour <= from_ms(at).astimezone(zone).hour), default=None)
        if hour is not None:
            prices.append(Price(at, int(Decimal(recorded.prices[hour]).scaleb(6))))
    return prices


def peak_of(component: TariffComponent, samples: Sequence[EnergySample], zone: ZoneInfo) -> int:
    """Return the peak that a component charges for, from half hours that begin with a local hour."""
    minutes, parts = component.peak_minutes or 30, Counter[int]()
    for at, energy, _ in samples:
        parts[at - at % (minutes * 60_000)] += energy
    return find_peak(parts.items(), zone, minutes, component.peak_days or 1)


@pytest.mark.parametrize("recorded", [*RECORDED, *SEASONS, *FORMULAS], ids=lambda recorded: recorded.name)
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
    peaks = {peak_key(terms, each, begin): peak_of(each, samples, zone) for each in peak_components(terms)}
    prices = {terms.tariff_id: prices_of(recorded, begin, end, zone)}
    parts = price_samples(samples, rate_spans([terms], prices, begin, end), begin, 30 * 60_000)
    bill = build_bill(parts, standing_charge_days([terms], begin, end, ALWAYS), "kWh", terms.currency, peaks)
    found = {line.band or line.component or line.kind.value: str(line.subtotal.amount) for line in bill.lines}
    assert found == recorded.lines
    assert str(bill.total.amount) == recorded.total
