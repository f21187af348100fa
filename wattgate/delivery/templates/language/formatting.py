"""Numbers and times as a culture writes them. Each kind of number has a fixed rounding, halves away from zero."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from zoneinfo import ZoneInfo

from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_time, get_datetime_format
from babel.numbers import format_currency, format_decimal, format_percent, get_currency_precision, list_currencies
from babel.units import format_unit

from wattgate.delivery.templates.language.cultures import culture_fallbacks
from wattgate.time_zones import is_time_zone
from wattgate.values.decimals import InvalidDecimal, parse_decimal

ENERGY_UNITS: Mapping[str, Decimal] = {"Wh": Decimal("0.001"), "kWh": Decimal(1), "MWh": Decimal(1000)}
"""The units of energy, in kWh."""

POWER_UNITS: Mapping[str, Decimal] = {"W": Decimal(1), "kW": Decimal(1000)}
"""The units of power, in W."""

MINOR_CURRENCIES: Mapping[str, str] = {"pence": "GBP"}
"""The currencies of units that are a hundredth of a currency."""

KILOWATTS_FROM = 10_000
"""Power from this many W on is written in kW."""

TIME_STYLES = ("long", "short", "date", "time")
"""The styles of the filter `at`: date and time with the month in words or in digits, and one of both alone."""

MAX_NUMBER = 10**15
"""The largest absolute value of a number in a message. JSON numbers up to this one are exact."""


class FormatError(ValueError):
    """A value does not have the type of its format; the message says what it must be."""


@lru_cache(maxsize=256)
def find_locale(culture: str) -> Locale:
    """Return the formats of a culture, or of the nearest culture that has formats: its language, then en-GB."""
    for code in culture_fallbacks(culture):
        try:
            return Locale.parse(code, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    raise LookupError(f"no formats for {culture}")


@lru_cache(maxsize=1)
def known_currencies() -> frozenset[str]:
    """Return the codes of all currencies (ISO 4217)."""
    return frozenset(list_currencies())


@dataclass(frozen=True, slots=True)
class Formats:
    """Writes values for a culture and a time zone. An unknown zone counts as UTC."""

    culture: str = "en-GB"
    time_zone: str = "UTC"

    @property
    def locale(self) -> Locale:
        return find_locale(self.culture)

    def number(self, value: object, decimals: int = 2) -> str:
        """Return a number with at most `decimals` decimal places."""
        return format_decimal(_round(to_number(value), decimals), format=_pattern(0, decimals), locale=self.locale)

    def fixed(self, value: object, decimals: int = 2) -> str:
        """Return a number with exactly `decimals` decimal places."""
        number = _round(to_number(value), decimals)
        return format_decimal(number, format=_pattern(decimals, decimals), locale=self.locale)

    def energy(self, value: object, unit: str | None = None) -> str:
        """Return energy in kWh with two decimal places."""
        kilowatt_hours = _round(to_number(value) * _factor(ENERGY_UNITS, unit or "kWh", "energy"), 2)
        return format_unit(kilowatt_hours, "energy-kilowatt-hour", "short", format=_pattern(2, 2), locale=self.locale)

    def power(self, value: object, unit: str | None = None) -> str:
        """Return power in whole W, or from 10 kW on in kW with two decimal places."""
        watts = to_number(value) * _factor(POWER_UNITS, unit or "W", "power")
        if abs(watts) >= KILOWATTS_FROM:
            kilowatts = _round(watts / 1000, 2)
            return format_unit(kilowatts, "power-kilowatt", "short", format=_pattern(2, 2), locale=self.locale)
        return format_unit(_round(watts, 0), "power-watt", "short", format=_pattern(0, 0), locale=self.locale)

    def money(self, value: object, currency: str | None = None) -> str:
        """Return an amount with the decimal places of its currency, such as two for GBP."""
        amount = to_number(value)
        if currency is None:
            raise FormatError('needs a currency, such as money: "GBP"')
        if currency in MINOR_CURRENCIES:
            amount, currency = amount / 100, MINOR_CURRENCIES[currency]
        if currency not in known_currencies():
            raise FormatError(f"does not know the currency {currency[:20]!r}; use a code such as GBP or EUR")
        return format_currency(_round(amount, get_currency_precision(currency)), currency, locale=self.locale)

    def currency_decimals(self, currency: str | None) -> int:
        """Return the number of decimal places of a currency."""
        return 2 if currency is None else int(get_currency_precision(currency))

    def percentage(self, value: object) -> str:
        """Return a percentage with at most one decimal place. The value 12.5 is 12.5 %."""
        locale = self.locale
        pattern = locale.percent_formats[None].pattern.replace("0", "0.#", 1) if locale.percent_formats else "0.#%"
        return format_percent(_round(to_number(value), 1) / 100, format=pattern, locale=locale)

    def duration(self, value: object) -> str:
        """Return a number of seconds as whole hours and minutes."""
        hours, minutes = divmod(int(_round(to_number(value) / 60, 0)), 60)
        parts = [(hours, "duration-hour"), (minutes, "duration-minute")]
        shown = [part for part in parts if part[0]] or parts[1:]
        return " ".join(format_unit(count, unit, "long", locale=self.locale) for count, unit in shown)

    def quantity(self, value: object, unit: str) -> str:
        """Return a number with its unit, in the format of the unit."""
        if unit in ENERGY_UNITS:
            return self.energy(value, unit)
        if unit in POWER_UNITS:
            return self.power(value, unit)
        if unit in MINOR_CURRENCIES or unit in known_currencies():
            return self.money(value, unit)
        if unit == "%":
            return self.percentage(value)
        if unit == "s":
            return self.duration(value)
        return f"{self.number(value)}\N{NO-BREAK SPACE}{unit}" if unit else self.number(value)

    def time(self, value: object, style: str = "long") -> str:
        """Return an instant in the time zone, in one of TIME_STYLES."""
        if style not in TIME_STYLES:
            raise FormatError(f"has the styles {', '.join(TIME_STYLES)}, not {style[:20]!r}")
        zone = ZoneInfo(self.time_zone) if is_time_zone(self.time_zone) else UTC
        local, locale = to_instant(value).astimezone(zone), self.locale
        day = format_date(local, "short" if style == "short" else "long", locale=locale)
        clock = format_time(local, "short", locale=locale)
        if style in ("date", "time"):
            return day if style == "date" else clock
        return str(get_datetime_format("medium", locale)).replace("{1}", day).replace("{0}", clock)

    def day(self, value: object) -> str:
        """Return a calendar date."""
        return format_date(to_date(value), "long", locale=self.locale)


def to_number(value: object) -> Decimal:
    """Return a number from a JSON number or a text with an exact decimal number. Raise FormatError."""
    try:
        number = parse_decimal(value)
    except InvalidDecimal:
        raise FormatError(f"takes a number, not {_shorten(value)}") from None
    if abs(number) > MAX_NUMBER:
        raise FormatError(f"takes numbers up to {MAX_NUMBER:,}")
    return number


def to_instant(value: object) -> datetime:
    """Return an instant from ISO 8601 with an offset from UTC. Raise FormatError."""
    try:
        instant = datetime.fromisoformat(value) if isinstance(value, str) and len(value) <= 40 else None
    except ValueError:
        instant = None
    if instant is None or instant.tzinfo is None or not 1900 <= instant.year <= 9000:
        raise FormatError(f"takes an instant such as 2026-01-05T18:30:00Z, not {_shorten(value)}")
    return instant


def to_date(value: object) -> date:
    """Return a calendar date from ISO 8601. Raise FormatError."""
    try:
        if isinstance(value, str) and len(value) == len("2026-01-05"):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise FormatError(f"takes a date such as 2026-01-05, not {_shorten(value)}")


def plain_number(value: float | Decimal, decimals: int = 6) -> str:
    """Return a number for programs: with a point, without groups, and with at most `decimals` decimal places."""
    text = f"{_round(parse_decimal(value), decimals):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _round(number: Decimal, decimals: int) -> Decimal:
    rounded = number.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return abs(rounded) if rounded == 0 else rounded


def _pattern(fewest: int, most: int) -> str:
    fraction = "0" * fewest + "#" * (most - fewest)
    return f"#,##0.{fraction}" if fraction else "#,##0"


def _factor(units: Mapping[str, Decimal], unit: str, quantity: str) -> Decimal:
    if unit not in units:
        raise FormatError(f"takes {quantity} in {', '.join(units)}, not in {unit[:20]!r}")
    return units[unit]


def _shorten(value: object) -> str:
    if isinstance(value, str):
        return repr(value[:40])
    return str(value) if isinstance(value, int | float | Decimal) else "a list or an object"
