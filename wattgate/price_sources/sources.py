"""Price sources: how the answers of a market or a supplier with prices look. A source is a TOML file.

The package has sources in the folder `sources`. A user's own is read by its path. A source names where the prices are
in an answer, in which unit and currency, and how to ask for them.
"""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Literal

import msgspec
from msgspec import Struct

from wattgate.energy.quantities import currency_problem
from wattgate.errors import BadInput
from wattgate.time_zones import time_zone_problem
from wattgate.values.toml_files import parse_toml, toml_names, toml_text

_FOLDER, _KIND = ("wattgate.price_sources", "sources"), "price source"

MAX_FACTOR = Decimal(1000)

Times = Literal["iso", "seconds", "milliseconds"]
"""How times are written: ISO 8601, or a number since 1970."""

RequestTimes = Literal["iso", "date", "seconds", "milliseconds", "compact"]
"""How a request writes times: as answers do, as a date, or as `202610250000`."""

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
RANGE_PARAMETERS = frozenset({"start", "end"})
"""Placeholders of a request that are the start and the end of its time range."""


class Prices(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the prices are in an answer. A path is names with `/` between them; a list on the way stands for its items.

    `rows` leads to the prices, and the other paths begin there. With `points`, a row is a curve of prices of equal
    length: `position` counts them from 1, and a position that is left out repeats the price before it. With `columns`,
    the row has lists instead of values. `where` has the values that a row must have; a missing one is an empty text.
    """

    price: str
    rows: str = ""
    start: str | None = None
    end: str | None = None
    minutes: str | int | None = None
    columns: bool = False
    points: str | None = None
    position: str | None = None
    resolution: str | None = None
    where: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """How to ask for prices. The URL, the headers and the body have placeholders such as `{start}` or `{token}`.

    `next` is the path of the URL of the next page. A request covers `max_days`, and the next one waits for a pause.
    """

    url: str
    times: RequestTimes = "iso"
    body: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    next: str | None = None
    max_days: int = 31
    pause_seconds: float = 1.0


class PriceSource(Struct, frozen=True, forbid_unknown_fields=True):
    """A price source. `factor` converts a price to the major unit of the currency for a kWh.

    `zone` is that of times without an offset. `vat` says whether prices include it. `parameters` describes each
    placeholder, by its name. `currency_path` and `unit_path` lead from the top of an answer to the currency and the
    unit that it states itself: another one than `currency` and `unit` is refused.
    """

    title: str
    format: Literal["json", "xml"]
    currency: str
    factor: str
    vat: Literal["included", "excluded"]
    prices: Prices
    name: str = ""
    country: str = ""
    website: str = ""
    licence: str = ""
    zone: str | None = None
    times: Times = "iso"
    currency_path: str | None = None
    unit: str | None = None
    unit_path: str | None = None
    request: Request | None = None
    parameters: dict[str, str] = msgspec.field(default_factory=dict)


def source_names() -> list[str]:
    """Return the names of the sources of the package."""
    return toml_names(*_FOLDER)


def source_text(name: str) -> str:
    """Return the file of a source of the package. Raise BadInput if there is none of this name."""
    return toml_text(*_FOLDER, name, _KIND)


def packaged_source(name: str) -> PriceSource:
    """Return a source of the package. Raise BadInput if there is none of this name."""
    return parse_source(source_text(name).encode(), name)


def parse_source(content: bytes, name: str) -> PriceSource:
    """Return the source of a TOML file. Raise BadInput with the place of what is wrong in it."""
    source = parse_toml(content, PriceSource, name, _KIND)
    if problems := _problems(source):
        raise BadInput(f"The price source {name} is not valid: {'; '.join(problems)}.")
    return source


def _problems(source: PriceSource) -> list[str]:
    problems, prices = [], source.prices
    if not _PLACEHOLDER.search(source.currency) and (problem := currency_problem(source.currency)):
        problems.append(f"currency {problem}")
    try:
        factor = Decimal(source.factor)
    except InvalidOperation:
        factor = Decimal("NaN")
    if not (factor.is_finite() and 0 < factor <= MAX_FACTOR):
        problems.append(f"factor {source.factor!r} is not a number above 0, up to {MAX_FACTOR:,}")
    if source.zone is not None and (problem := time_zone_problem(source.zone)):
        problems.append(f"zone {problem}")
    if (source.unit is None) != (source.unit_path is None):
        problems.append("unit and unit_path belong together, and one is missing")
    if prices.start is None and (prices.end is None or prices.minutes is None):
        problems.append("prices has no start, and not both end and minutes")
    if prices.points is not None and not (prices.position and prices.resolution and prices.start and prices.end):
        problems.append("prices.points needs position, resolution, start and end")
    described = source.parameters.keys() | (RANGE_PARAMETERS if source.request else set())
    problems += [f"{{{name}}} is not in parameters" for name in placeholders(source) if name not in described]
    if source.request and not (0 < source.request.max_days <= 366 and 0 <= source.request.pause_seconds <= 60):
        problems.append("request.max_days is not from 1 to 366, or request.pause_seconds not from 0 to 60")
    return problems


def placeholders(source: PriceSource, *, with_request: bool = True) -> list[str]:
    """Return the names of the placeholders of a source, each once. Without its request, those of its answers."""
    prices = source.prices
    texts = [source.currency, source.currency_path or "", source.unit_path or "", prices.rows, prices.price]
    texts += [text for texts in prices.where.values() for text in texts]
    if source.request is not None and with_request:
        texts += [source.request.url, source.request.body, *source.request.headers.values()]
    return list(dict.fromkeys(name for text in texts for name in _PLACEHOLDER.findall(text)))


def check_parameters(source: PriceSource, parameters: Mapping[str, str], *, with_request: bool) -> None:
    """Raise BadInput if a parameter is missing or unknown."""
    known = ", ".join(f"{name} ({text})" for name, text in source.parameters.items()) or "none"
    for name in parameters:
        if name not in source.parameters:
            raise BadInput(f"The price source {source.name} has no parameter {name!r}. It has: {known}.")
    for name in placeholders(source, with_request=with_request):
        if name not in parameters and name not in RANGE_PARAMETERS:
            raise BadInput(f"The price source {source.name} needs --parameter {name}=VALUE: {source.parameters[name]}.")


def fill_in(text: str, parameters: Mapping[str, str]) -> str:
    """Return a text with its placeholders replaced. A placeholder without a parameter stays."""
    return _PLACEHOLDER.sub(lambda found: parameters.get(found[1], found[0]), text)
