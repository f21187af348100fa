"""Alert rules as a household states them, turned into the rules that the gateway evaluates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from types import MappingProxyType

from wattgate.app.homes.household_alerts import HOURS_OF_DAY, MINUTES_OF_HOUR
from wattgate.db.models import AlertType, Resource
from wattgate.db.queries.series.tariffs import COST_SUFFIX
from wattgate.energy.quantities import PENCE, to_hundredths
from wattgate.energy.storage_fields import POWER_FIELD, parse_fields
from wattgate.enums import Channel, Function, Period, RuleKind
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.operations.types.messages.alert_rules import NewAlertRule
from wattgate.operations.vocabulary.arguments import Id
from wattgate.values.decimals import InvalidDecimal, parse_decimal

POWER_WINDOW_MINUTES = 10
"""The time of which a rule about power uses the mean, as in the display."""

HYSTERESIS = Decimal("0.1")
"""A rule of power ends when the power is this part below the limit, so that a limit is not crossed again and again."""

WATTS_OF_KILOWATT = 1_000

_QUARTERS: Mapping[Period, int] = MappingProxyType({Period.P1D: 6, Period.P1W: 48, Period.P1M: 168})
"""The hours of a period that must be over before its pace says something: about a quarter of it."""

_PERIOD_WORDS: Mapping[Period, str] = MappingProxyType({Period.P1D: "day", Period.P1W: "week", Period.P1M: "month"})


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """A rule as a household states it: exactly one of the first five, about the meter of a classifier.

    `above` is energy in `hours`, `power` is in kW, `budget` is energy and `spend` money of the `period`, and
    `no_readings` is a number of hours.
    """

    above: str | None = None
    power: str | None = None
    budget: str | None = None
    spend: str | None = None
    no_readings: int | None = None
    hours: int = HOURS_OF_DAY
    period: Period = Period.P1M
    classifier: str = "electricity.consumption"
    meter_name: str = "Electricity"
    channels: tuple[Channel, ...] = (Channel.INBOX, Channel.EMAIL)


def build_rule(
    options: RuleOptions, ve_id: str, resources: Sequence[Resource], alert_types: Sequence[AlertType]
) -> NewAlertRule:
    """Return the rule of a home with these resources, with the alert type of its kind.

    Raise BadInput unless exactly one condition is given, its amount is positive, and the home has its meter. Raise
    NotFound if the application has no alert type for rules of the kind.
    """
    named = [option for option in _BUILDERS if getattr(options, option) is not None]
    if len(named) != 1:
        known = ", ".join(f"--{option.replace('_', '-')}" for option in _BUILDERS)
        raise BadInput(f"Name exactly one condition: {known}.")
    energy = next((one for one in resources if one.classifier == options.classifier), None)
    if energy is None:
        raise BadInput("Invalid alert rule.", problems=[Problem(("--meter",), f"the home has no {options.classifier}")])
    fields = {field.name: field.unit for field in parse_fields(energy.storage)}
    if options.power is not None and POWER_FIELD not in fields:
        reason = "the home stores no live power. `home create --live` makes a home that does"
        raise BadInput("Invalid alert rule.", problems=[Problem(("--power",), reason)])
    unit = next(iter(fields.values()))
    if options.spend is not None:
        cost = next((one for one in resources if one.classifier == options.classifier + COST_SUFFIX), None)
        unit = PENCE if cost is None else parse_fields(cost.storage)[0].unit
    rule = _BUILDERS[named[0]](options, unit)
    rule.alert_type_id = Id(_find_alert_type(rule.kind, alert_types))
    rule.ve_id, rule.channels = Id(ve_id), list(options.channels)
    return rule


def _find_alert_type(kind: RuleKind, alert_types: Sequence[AlertType]) -> str:
    found = sorted((one for one in alert_types if one.active and one.rule_kind is kind), key=lambda one: one.name)
    if not found:
        raise NotFound(
            f"The application has no alert type for rules of kind {kind.name}. `wattgate home create` adds one, unless "
            "the application has alert types for rules of its own: then add one with createAlertType."
        )
    return found[0].alert_type_id


def _above(options: RuleOptions, unit: str) -> NewAlertRule:
    limit = _parse_amount(options.above, "--above")
    return _rule(
        f"{options.meter_name} above {limit} {unit} in {options.hours} hours",
        RuleKind.THRESHOLD,
        options.hours * MINUTES_OF_HOUR,
        options.classifier,
        threshold=limit,
    )


def _power(options: RuleOptions, unit: str) -> NewAlertRule:
    limit = _parse_amount(options.power, "--power")
    watts = round(limit * WATTS_OF_KILOWATT)
    rule = _rule(
        f"{options.meter_name} above {limit} kW",
        RuleKind.THRESHOLD,
        POWER_WINDOW_MINUTES,
        options.classifier,
        threshold=Decimal(watts),
    )
    rule.field, rule.function = POWER_FIELD, Function.AVG
    rule.hysteresis = (watts * HYSTERESIS).to_integral_value(ROUND_FLOOR)
    return rule


def _budget(options: RuleOptions, unit: str) -> NewAlertRule:
    limit = _parse_amount(options.budget, "--budget")
    name = f"{options.meter_name} budget of {limit} {unit} a {_PERIOD_WORDS[options.period]}"
    return _pace(options, name, options.classifier, limit)


def _spend(options: RuleOptions, unit: str) -> NewAlertRule:
    limit = _parse_amount(options.spend, "--spend")
    is_pence = unit == PENCE
    amount = f"£{limit}" if is_pence else f"{limit} {unit}"
    name = f"{options.meter_name} budget of {amount} a {_PERIOD_WORDS[options.period]}"
    return _pace(options, name, options.classifier + COST_SUFFIX, to_hundredths(limit) if is_pence else limit)


def _pace(options: RuleOptions, name: str, classifier: str, threshold: Decimal) -> NewAlertRule:
    minutes = _QUARTERS[options.period] * MINUTES_OF_HOUR
    rule = _rule(name, RuleKind.PACE, minutes, classifier, threshold=threshold)
    rule.period = options.period
    return rule


def _no_readings(options: RuleOptions, unit: str) -> NewAlertRule:
    hours = options.no_readings or 0
    name = f"{options.meter_name}: no reading for {hours} hours"
    return _rule(name, RuleKind.NO_DATA, hours * MINUTES_OF_HOUR, options.classifier)


_BUILDERS: Mapping[str, Callable[[RuleOptions, str], NewAlertRule]] = MappingProxyType(
    {"above": _above, "power": _power, "budget": _budget, "spend": _spend, "no_readings": _no_readings}
)
"""Return the rule of each condition, by its option. They take the unit of the energy, or of its cost, of the meter."""


def _rule(
    name: str, kind: RuleKind, minutes: int, classifier: str, *, threshold: Decimal | None = None
) -> NewAlertRule:
    return NewAlertRule(
        name=name,
        kind=kind,
        window_minutes=minutes,
        alert_type_id=Id(""),
        channels=[],
        classifier=classifier,
        threshold=threshold,
    )


def _parse_amount(text: str | None, option: str) -> Decimal:
    try:
        amount = parse_decimal(text)
    except InvalidDecimal as error:
        raise BadInput("Invalid alert rule.", problems=[Problem((option,), str(error))]) from None
    if amount <= 0:
        raise BadInput("Invalid alert rule.", problems=[Problem((option,), f"{text} is not more than 0")])
    return amount
