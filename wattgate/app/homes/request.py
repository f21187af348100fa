"""The options of a new home, and their checks that need no database."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from wattgate.app.homes.tariffs import RequestedTariff, flat_tariff, parse_tariff_lines
from wattgate.delivery.mail_addresses import NotMailable, check_address
from wattgate.energy.costs.currency import CURRENCY
from wattgate.energy.meters.meter_messages import ELECTRICITY, EXPORT, GAS
from wattgate.energy.meters.meter_points import canonical_meter_point, has_wrong_check_digit, mpan_problem, mprn_problem
from wattgate.errors import BadInput, Problem
from wattgate.graphql.execution.schema import Schema
from wattgate.operations.credentials.login import normalize_username
from wattgate.time_zones import time_zone_problem
from wattgate.values.terms import MAX_NAME_CHARACTERS

OPTIONS: Mapping[str, str] = {ELECTRICITY: "--electricity", GAS: "--gas", EXPORT: "--export"}
"""The option with the meter point of each source of energy, by classifier."""

_METER_POINT_PROBLEMS: Mapping[str, Callable[[str], str | None]] = {
    ELECTRICITY: mpan_problem,
    GAS: mprn_problem,
    EXPORT: mpan_problem,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeOptions:
    """The options of `wattgate home create` as they are written. `tariff_lines` are the lines of a file."""

    application: str
    user: str
    name: str
    time_zone: str
    electricity: str
    gas: str | None = None
    export: str | None = None
    live: bool = False
    unit_rate: str | None = None
    standing_charge: str | None = None
    tariff_lines: list[tuple[int, str]] | None = None
    currency: str = CURRENCY


@dataclass(frozen=True, slots=True)
class HomeRequest:
    """A home to set up, without problems. `meter_points` maps the classifier of each source of energy to its number.

    `warnings` names numbers that are probably mistyped.
    """

    application: str
    username: str
    name: str
    time_zone: str
    meter_points: Mapping[str, str]
    live: bool
    tariffs: tuple[RequestedTariff, ...]
    warnings: tuple[str, ...]


def parse_options(options: HomeOptions, build_schema: Callable[[], Schema], now: datetime) -> HomeRequest:
    """Return the home that the options describe. Raise BadInput with the problems of all options.

    `build_schema` takes some tenths of a second, and only a file of tariffs needs it.
    """
    numbers = {ELECTRICITY: options.electricity, GAS: options.gas, EXPORT: options.export}
    written = {classifier: number for classifier, number in numbers.items() if number is not None}
    problems = [*_text_problems(options), *_meter_point_problems(written), *_tariff_option_problems(options)]
    tariffs: list[RequestedTariff] = []
    if not problems:
        try:
            tariffs = _parse_tariffs(options, build_schema, list(written), now)
        except BadInput as error:
            problems += error.problems
    if problems:
        raise BadInput("The home cannot be set up. Nothing was changed.", problems=problems)
    meter_points = {classifier: canonical_meter_point(number) for classifier, number in written.items()}
    return HomeRequest(
        application=options.application.strip(),
        username=normalize_username(options.user),
        name=options.name.strip(),
        time_zone=options.time_zone,
        meter_points=meter_points,
        live=options.live,
        tariffs=tuple(tariffs),
        warnings=tuple(_warnings(meter_points)),
    )


def _text_problems(options: HomeOptions) -> Iterator[Problem]:
    for option, text in (("--application", options.application), ("--name", options.name)):
        if not text.strip():
            yield Problem((option,), "is empty")
        elif len(text) > MAX_NAME_CHARACTERS:
            yield Problem((option,), f"has {len(text)} characters, and the maximum is {MAX_NAME_CHARACTERS}")
    try:
        check_address(options.user)
    except NotMailable as error:
        yield Problem(("--user",), f"{options.user!r} {error}. Give an e-mail address")
    if problem := time_zone_problem(options.time_zone):
        yield Problem(("--time-zone",), problem)
    if options.currency != CURRENCY:
        yield Problem(("--currency",), f"{options.currency!r} is not supported. Costs are in pence: use {CURRENCY}")


def _meter_point_problems(numbers: Mapping[str, str]) -> Iterator[Problem]:
    for classifier, number in numbers.items():
        if problem := _METER_POINT_PROBLEMS[classifier](number):
            yield Problem((OPTIONS[classifier],), problem)


def _tariff_option_problems(options: HomeOptions) -> Iterator[Problem]:
    rate, charge = options.unit_rate is not None, options.standing_charge is not None
    if options.tariff_lines is not None and (rate or charge):
        yield Problem(("--tariff",), "cannot be used with --unit-rate and --standing-charge")
    elif rate and not charge:
        yield Problem(("--standing-charge",), "is missing. Give it beside --unit-rate, or 0 if there is none")
    elif charge and not rate:
        yield Problem(("--unit-rate",), "is missing. Give it beside --standing-charge")


def _parse_tariffs(
    options: HomeOptions, build_schema: Callable[[], Schema], classifiers: list[str], now: datetime
) -> list[RequestedTariff]:
    if options.tariff_lines is not None:
        return parse_tariff_lines(options.tariff_lines, build_schema(), classifiers, options.time_zone, now)
    if options.unit_rate is not None and options.standing_charge is not None:
        return [flat_tariff(options.unit_rate, options.standing_charge, options.time_zone, now)]
    return []


def _warnings(meter_points: Mapping[str, str]) -> Iterator[str]:
    for classifier, number in meter_points.items():
        if classifier != GAS and has_wrong_check_digit(number):
            yield (
                f"{OPTIONS[classifier]} {number}: the check digit of this MPAN is wrong, so the number is "
                "probably mistyped. Compare it with your bill."
            )
