"""The culture of messages to a new household, and the currency of its tariff: by the time zone of the home.

The culture of a zone of no country is that of the machine.
"""

import locale
from dataclasses import dataclass

from babel.core import get_global
from babel.languages import get_official_languages
from babel.numbers import get_territory_currencies

from wattgate.delivery.templates.language.cultures import DEFAULT_CULTURE, canonical_culture, is_culture
from wattgate.energy.quantities import currency_problem

NO_TERRITORY = "ZZ"
"""The territory of zones that belong to no country, such as UTC."""

MEANINGLESS_LOCALES = ("C", "POSIX")


@dataclass(frozen=True, slots=True)
class CultureChoice:
    """A culture, and the words that say where it comes from."""

    culture: str
    source: str


UNCHOSEN_CULTURE = CultureChoice(DEFAULT_CULTURE, "the default")


def default_culture(time_zone: str, machine_locale: str | None = None) -> CultureChoice:
    """Return the culture for a home in a time zone.

    Of several languages of its country, take that of the machine, or else the first official one. A zone of no country,
    such as UTC, has the culture of the machine, or else the default of applications.
    """
    machine = _machine_culture() if machine_locale is None else _parse_locale(machine_locale)
    territory = _territory(time_zone)
    languages = () if territory is None else get_official_languages(territory, de_facto=True)
    if territory is not None and languages:
        spoken = machine.partition("-")[0] if machine else ""
        language = spoken if spoken in languages else languages[0]
        return CultureChoice(canonical_culture(f"{language.replace('_', '-')}-{territory}"), f"of {time_zone}")
    if machine:
        return CultureChoice(machine, "of this machine")
    return UNCHOSEN_CULTURE


def default_currency(time_zone: str) -> str | None:
    """Return the currency of the country of a time zone.

    None for a zone of no country, such as UTC, and where the data of Babel are older than a new currency.
    """
    territory = _territory(time_zone)
    currencies = () if territory is None else get_territory_currencies(territory)
    return next((str(code) for code in currencies if currency_problem(code) is None), None)


def is_british(time_zone: str) -> bool:
    """Return whether a time zone is that of Great Britain, whose meter points are MPANs and MPRNs."""
    return _territory(time_zone) == "GB"


def _territory(time_zone: str) -> str | None:
    """Return the country of a time zone, or None. Former names, such as US/Eastern, count as the present ones."""
    name = get_global("zone_aliases").get(time_zone, time_zone)
    found = get_global("zone_territories").get(name)
    return None if found in (None, NO_TERRITORY) else str(found)


def _machine_culture() -> str | None:
    return _parse_locale(locale.getlocale()[0] or locale.setlocale(locale.LC_CTYPE))


def _parse_locale(name: str) -> str | None:
    """Return the culture of a locale such as fr_CA.UTF-8, or None for C and POSIX."""
    code = name.partition(".")[0].partition("@")[0].replace("_", "-")
    return canonical_culture(code) if code not in MEANINGLESS_LOCALES and is_culture(code) else None
