"""The options of a new home and its tariffs, and their checks that need no database."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from wattgate.app.homes.default_culture import (
    UNCHOSEN_CULTURE,
    CultureChoice,
    default_culture,
    default_currency,
    is_british,
)
from wattgate.app.homes.series import STORAGE_START
from wattgate.app.input_parser import InputParser, decode_object
from wattgate.db.models import Tariff
from wattgate.delivery.mail_addresses import NotMailable, check_address
from wattgate.delivery.templates.language.cultures import canonical_culture, is_culture
from wattgate.energy.costs.tariffs import rate_problems
from wattgate.energy.meters.meter_messages import ELECTRICITY, EXPORT, GAS
from wattgate.energy.meters.meter_points import (
    canonical_meter_point,
    has_wrong_check_digit,
    meter_point_problem,
    mpan_problem,
    mprn_problem,
)
from wattgate.energy.quantities import currency_problem, to_hundredths
from wattgate.enums import TariffKind
from wattgate.errors import BadInput, Problem
from wattgate.graphql.execution.schema import Schema
from wattgate.operations.credentials.login import normalize_username
from wattgate.operations.tariffs import build_tariff, set_tariff
from wattgate.operations.types.meters.tariffs import NewTariff
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.scalars import Currency
from wattgate.reading_files.cells import InvalidLine
from wattgate.time_zones import time_zone_problem
from wattgate.values.decimals import InvalidDecimal, parse_decimal
from wattgate.values.terms import MAX_NAME_CHARACTERS

# The tariffs of a new home: a flat rate, or the lines of a file.

MAX_TARIFFS = 1_000
"""Maximum lines of a file of tariffs of one home."""

_TERMS = (
    *("kind", "rate", "bands", "blocks", "block_period", "price_period", "price_formula", "standing_charge"),
    *("components", "vat_rate", "time_zone"),
)


@dataclass(frozen=True, slots=True)
class RequestedTariff:
    """A tariff for the energy of a classifier, from an option. `terms` are its terms as they will be stored."""

    option: str
    classifier: str
    new_tariff: NewTariff
    terms: Tariff

    def has_terms_of(self, stored: Tariff) -> bool:
        """Return whether a stored tariff has the same terms."""
        return all(getattr(stored, name) == getattr(self.terms, name) for name in _TERMS)


def flat_tariff(unit_rate: str, standing_charge: str, currency: str, zone: str, now: datetime) -> RequestedTariff:
    """Return a flat tariff for electricity that is valid for all readings. The prices include VAT, as on a bill.

    Raise BadInput, with the option at fault, if one of the prices is not a number or too large.
    """
    new_tariff = NewTariff(
        resource_id=Id(""),
        name="Flat rate",
        kind=TariffKind.FLAT,
        valid_from=datetime.fromisoformat(STORAGE_START),
        currency=Currency(currency),
        rate=_parse_amount(unit_rate, "--unit-rate", MAX_UNIT_RATE, currency),
        standing_charge=_parse_amount(standing_charge, "--standing-charge", MAX_STANDING_CHARGE, currency),
        time_zone=zone,
    )
    return RequestedTariff("--unit-rate", ELECTRICITY, new_tariff, build_tariff(new_tariff, "", now))


def parse_tariff_lines(
    lines: Iterable[tuple[int, str]],
    schema: Schema,
    classifiers: Iterable[str],
    defaults: Mapping[str, str],
    now: datetime,
) -> list[RequestedTariff]:
    """Return the tariffs of the numbered lines of a file. Raise BadInput with the problems of all lines.

    A line has the members of NewTariff without `resourceId`, and `classifier` unless it is for electricity. `defaults`
    are those of members that a line leaves out: the time zone of the home, and the currency.
    """
    parser, allowed = InputParser(schema, set_tariff, "input"), list(classifiers)
    tariffs: dict[tuple[str, datetime], RequestedTariff] = {}
    problems: list[Problem] = []
    for count, (number, text) in enumerate(lines, start=1):
        if count > MAX_TARIFFS:
            problems.append(Problem(("--tariff",), f"the file has more than {MAX_TARIFFS:,} tariffs"))
            break
        try:
            tariff = _parse_line(parser, text, allowed, defaults, now)
            if tariffs.setdefault((tariff.classifier, tariff.terms.valid_from), tariff) is not tariff:
                raise InvalidLine("validFrom: another line has a tariff from the same instant")
        except InvalidLine as error:
            problems.append(Problem(("--tariff",), f"line {number}: {error}"))
    if not tariffs and not problems:
        problems.append(Problem(("--tariff",), "the file has no tariff"))
    if problems:
        raise BadInput("Invalid file of tariffs.", problems=problems)
    return list(tariffs.values())


def _parse_line(
    parser: InputParser, text: str, classifiers: list[str], defaults: Mapping[str, str], now: datetime
) -> RequestedTariff:
    line = decode_object(text)
    if "kind" not in line:
        raise InvalidLine("has no `kind`. Set the prices of a dynamic tariff with `wattgate tariff import`")
    if "resourceId" in line:
        raise InvalidLine("has a `resourceId`. Use `classifier` instead, because the home is new")
    classifier = line.pop("classifier", ELECTRICITY)
    if classifier not in classifiers:
        raise InvalidLine(f"classifier: {classifier!r} is not one of the home: {', '.join(classifiers)}")
    new_tariff: NewTariff = parser.parse({**defaults, "source": "import", **line, "resourceId": ""})
    try:
        return RequestedTariff("--tariff", classifier, new_tariff, build_tariff(new_tariff, "", now))
    except BadInput as error:
        reasons = (f"{'.'.join(map(str, problem.path[1:]))}: {problem.message}" for problem in error.problems)
        raise InvalidLine("; ".join(reasons)) from None


MAX_UNIT_RATE, MAX_STANDING_CHARGE = Decimal(5), Decimal(20)
"""Maximum amounts of a flat tariff in a currency of IN_HUNDREDTHS. An amount above them is one in hundredths."""

IN_HUNDREDTHS: Mapping[str, str] = {
    "GBP": "pence",
    **dict.fromkeys(("EUR", "USD", "AUD", "CAD", "NZD"), "cents"),
    "CHF": "Rappen",
}
"""The hundredths in which bills state the price of a kWh, by currency."""


def _parse_amount(text: str, option: str, maximum: Decimal, currency: str) -> Decimal:
    try:
        amount = parse_decimal(text)
    except InvalidDecimal as error:
        raise BadInput("Invalid tariff.", problems=[Problem((option,), str(error))]) from None
    if problem := next(rate_problems(to_hundredths(amount)), None):
        raise BadInput("Invalid tariff.", problems=[Problem((option,), problem.message)])
    if currency in IN_HUNDREDTHS and amount > maximum:
        hundredths = IN_HUNDREDTHS[currency]
        problem = Problem(
            (option,), f"{text} is more than {maximum} {currency}. 24.5 {hundredths} are 0.245 {currency}"
        )
        raise BadInput("Invalid tariff.", problems=[problem])
    return amount


# The options of a new home, and their checks that need no database.


OPTIONS: Mapping[str, str] = {ELECTRICITY: "--electricity", GAS: "--gas", EXPORT: "--export"}
"""The option with the meter point of each source of energy, by classifier."""

_BRITISH_PROBLEMS: Mapping[str, Callable[[str], str | None]] = {
    ELECTRICITY: mpan_problem,
    GAS: mprn_problem,
    EXPORT: mpan_problem,
}
"""The checks of meter points in Great Britain, by classifier."""


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
    currency: str | None = None
    culture: str | None = None
    person: str = ""

    @property
    def tariff_currency(self) -> str | None:
        """The currency of the tariff: the option, or that of the country of the time zone."""
        return self.currency or default_currency(self.time_zone)


@dataclass(frozen=True, slots=True)
class HomeRequest:
    """A home to set up, without problems. `meter_points` maps the classifier of each source of energy to its number.

    `currency` is that of the costs. `culture` is that of the messages to a new user and of a new application.
    `has_chosen_culture` is whether an option names it. `person` is the name of a new user. `warnings` names numbers
    that are probably mistyped.
    """

    application: str
    username: str
    name: str
    time_zone: str
    meter_points: Mapping[str, str]
    currency: str
    live: bool
    tariffs: tuple[RequestedTariff, ...]
    warnings: tuple[str, ...]
    culture: CultureChoice = UNCHOSEN_CULTURE
    has_chosen_culture: bool = False
    person: str = ""


def parse_options(options: HomeOptions, build_schema: Callable[[], Schema], now: datetime) -> HomeRequest:
    """Return the home that the options describe. Raise BadInput with the problems of all options.

    `build_schema` takes some tenths of a second, and only a file of tariffs needs it.
    """
    numbers = {ELECTRICITY: options.electricity, GAS: options.gas, EXPORT: options.export}
    written = {classifier: number for classifier, number in numbers.items() if number is not None}
    problems = [*_text_problems(options), *_meter_point_problems(options, written), *_tariff_option_problems(options)]
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
        currency=options.tariff_currency or "",
        live=options.live,
        tariffs=tuple(tariffs),
        warnings=tuple(_warnings(meter_points)) if is_british(options.time_zone) else (),
        culture=_choose_culture(options),
        has_chosen_culture=options.culture is not None,
        person=options.person.strip(),
    )


def _choose_culture(options: HomeOptions) -> CultureChoice:
    if options.culture is not None:
        return CultureChoice(canonical_culture(options.culture), "as chosen")
    return default_culture(options.time_zone)


def _text_problems(options: HomeOptions) -> Iterator[Problem]:
    for option, text in (("--application", options.application), ("--name", options.name)):
        if not text.strip():
            yield Problem((option,), "is empty")
        elif len(text) > MAX_NAME_CHARACTERS:
            yield Problem((option,), f"has {len(text)} characters, and the maximum is {MAX_NAME_CHARACTERS}")
    if len(options.person) > MAX_NAME_CHARACTERS:
        yield Problem(("--person",), f"has {len(options.person)} characters, and the maximum is {MAX_NAME_CHARACTERS}")
    try:
        check_address(options.user)
    except NotMailable as error:
        yield Problem(("--user",), f"{options.user!r} {error}. Give an e-mail address")
    if problem := time_zone_problem(options.time_zone):
        yield Problem(("--time-zone",), problem)
    if (currency := options.tariff_currency) is None:
        yield Problem(("--currency",), f"is missing. No currency is known for {options.time_zone}")
    elif problem := currency_problem(currency):
        yield Problem(("--currency",), problem)
    if options.culture is not None and not is_culture(options.culture):
        yield Problem(("--culture",), f"{options.culture!r} is not a language and region such as en-GB")


def _meter_point_problems(options: HomeOptions, numbers: Mapping[str, str]) -> Iterator[Problem]:
    for classifier, number in numbers.items():
        find_problem = _BRITISH_PROBLEMS[classifier] if is_british(options.time_zone) else meter_point_problem
        if problem := find_problem(number):
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
        defaults = {"timeZone": options.time_zone, "currency": options.tariff_currency or ""}
        return parse_tariff_lines(options.tariff_lines, build_schema(), classifiers, defaults, now)
    if options.unit_rate is not None and options.standing_charge is not None:
        amounts = options.unit_rate, options.standing_charge, options.tariff_currency or ""
        return [flat_tariff(*amounts, options.time_zone, now)]
    return []


def _warnings(meter_points: Mapping[str, str]) -> Iterator[str]:
    for classifier, number in meter_points.items():
        if classifier != GAS and has_wrong_check_digit(number):
            yield (
                f"{OPTIONS[classifier]} {number}: the check digit of this MPAN is wrong, so the number is "
                "probably mistyped. Compare it with your bill."
            )
