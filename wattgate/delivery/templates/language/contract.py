"""The contract of an alert type: the variables that its alerts supply and its templates may use.

A contract has the base variables, which every alert has, and the own variables of the alert type. The own variables
are those of the gateway's alert types (`SYSTEM_VARIABLES`), those of a kind of alert rules (`RULE_VARIABLES`), or those
that the application has declared. An alert type without any of them is undeclared: its alerts may have any data.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from wattgate.delivery import account_mails
from wattgate.enums import RuleKind


class VariableType(StrEnum):
    """The type of a variable, which defines its values and how templates write them."""

    TEXT = "TEXT"
    NUMBER = "NUMBER"
    ENERGY = "ENERGY"
    POWER = "POWER"
    MONEY = "MONEY"
    PERCENTAGE = "PERCENTAGE"
    INSTANT = "INSTANT"
    DATE = "DATE"
    BOOLEAN = "BOOLEAN"
    URL = "URL"
    LIST = "LIST"


NUMBER_TYPES = frozenset(
    (VariableType.NUMBER, VariableType.ENERGY, VariableType.POWER, VariableType.MONEY, VariableType.PERCENTAGE)
)
"""The types whose values are JSON numbers, or texts with an exact decimal number."""


class VariableDeclaration(msgspec.Struct, frozen=True):
    """A variable of a contract.

    The parts of `name` are separated by dots. A part that ends with [] is any item of a list, such as `days[].use`.
    `unit` is the unit of the values: kWh for energy, a currency for money, or any unit of a number. `required` says
    whether every alert has a value. Without a value, the variable is empty.
    """

    name: str
    type: VariableType
    description: str = ""
    sample: Any = None
    unit: str | None = None
    required: bool = True


class ContractVariable(VariableDeclaration, frozen=True):
    """A variable of a contract in a list. `base` says whether every alert has the variable."""

    base: bool = False


class Contract(msgspec.Struct, frozen=True):
    """The variables of an alert type. If it is not `declared`, its alerts may have data with any other names."""

    base: tuple[VariableDeclaration, ...]
    own: tuple[VariableDeclaration, ...] = ()
    declared: bool = False

    @property
    def variables(self) -> tuple[VariableDeclaration, ...]:
        """All variables: those of every alert first."""
        return (*self.base, *self.own)

    def with_samples(self, samples: Mapping[str, Any]) -> "Contract":
        """Return the contract with other samples of base variables, by name."""
        base = (msgspec.structs.replace(known, sample=samples.get(known.name, known.sample)) for known in self.base)
        return msgspec.structs.replace(self, base=tuple(base))

    def listed(self) -> list[ContractVariable]:
        """Return all variables, each with whether every alert has it."""
        return [
            ContractVariable(**msgspec.structs.asdict(variable), base=is_base)
            for variables, is_base in ((self.base, True), (self.own, False))
            for variable in variables
        ]


_TEXT, _NUMBER, _INSTANT = VariableType.TEXT, VariableType.NUMBER, VariableType.INSTANT
_URL = VariableType.URL

UNSUBSCRIBE_URL, PREFERENCES_URL, REASON = "recipient.unsubscribeUrl", "recipient.preferencesUrl", "alert.reason"
"""The variables that say in a mail why it arrives, and how to stop it."""

BASE_VARIABLES = (
    VariableDeclaration(
        "recipient.name", _TEXT, "Name of the user's account, or its username if it has no name.", "Ada Lovelace"
    ),
    VariableDeclaration(
        "recipient.culture", _TEXT, "Language and region of the message, which format its numbers and times.", "en-GB"
    ),
    VariableDeclaration(
        UNSUBSCRIBE_URL,
        _URL,
        "Link that stops the mails to the address of the recipient. Empty in other channels, and if the gateway has no "
        "WATTGATE_PUBLIC_URL or WATTGATE_LINK_KEY.",
        "https://energy.example/unsubscribe/example",
        required=False,
    ),
    VariableDeclaration(
        PREFERENCES_URL,
        _URL,
        "Page on which the recipient chooses alerts. Empty if the gateway has no WATTGATE_PUBLIC_URL.",
        "https://energy.example/display",
        required=False,
    ),
    VariableDeclaration("account.username", _TEXT, "Username of the user's account.", "ada", required=False),
    VariableDeclaration(
        "account.email", _TEXT, "E-mail address of the user's account.", "ada@example.com", required=False
    ),
    VariableDeclaration("home.name", _TEXT, "Name of the home.", "Rose Cottage", required=False),
    VariableDeclaration("home.address", _TEXT, "Street address of the home.", "1 High Street", required=False),
    VariableDeclaration("home.city", _TEXT, "City of the home.", "Exampleton", required=False),
    VariableDeclaration("home.postcode", _TEXT, "Postcode of the home.", "A1 1AA", required=False),
    VariableDeclaration("home.timeZone", _TEXT, "Time zone of the home, or UTC. Times are in it.", "Europe/London"),
    VariableDeclaration("alert.id", _TEXT, "ID of the alert.", "5f0c1f9e-6a3a-4c55-9a0e-0d7a3c3f4b11"),
    VariableDeclaration("alert.code", _TEXT, "Short code of the alert type.", "CM01"),
    VariableDeclaration("alert.name", _TEXT, "Name of the alert type.", "High consumption"),
    VariableDeclaration(
        REASON,
        _TEXT,
        "Why the recipient gets the alert: the name of its rule, or else the description of the alert type.",
        "Electricity above 5 kWh in 24 hours",
    ),
    VariableDeclaration("alert.at", _INSTANT, "When the alert was created.", "2026-01-05T18:30:00.000Z"),
)
"""The variables that every alert has. An optional one is empty if the user has no account or home with a value."""

RESERVED_NAMES = frozenset(variable.name.partition(".")[0] for variable in BASE_VARIABLES)
"""The first parts of the names of base variables. No alert type declares variables that begin with them."""

_RULE_VARIABLES = (
    VariableDeclaration("ruleId", _TEXT, "ID of the alert rule.", "0b8d2c54-64d9-4c40-8d80-5a2f8a3f6c0e"),
    VariableDeclaration("rule", _TEXT, "Name of the alert rule.", "Electricity above 5 kWh in 24 hours"),
    VariableDeclaration("kind", _TEXT, "Kind of the alert rule: THRESHOLD, NO_DATA or PACE.", "THRESHOLD"),
    VariableDeclaration("resourceId", _TEXT, "ID of the resource.", "d2a1b6c4-4f0f-4b4e-8a55-2f4d8e1f9a77"),
    VariableDeclaration("resource", _TEXT, "Name of the resource.", "electricity consumption"),
    VariableDeclaration("field", _TEXT, "Field of the resource whose readings the rule evaluates.", "ENERGY"),
    VariableDeclaration("unit", _TEXT, "Unit of `value` and `threshold`.", "kWh"),
    VariableDeclaration("windowMinutes", _NUMBER, "Time window of the rule.", 1440, "minutes"),
    VariableDeclaration("at", _INSTANT, "When the rule fired.", "2026-01-05T18:30:00.000Z"),
)


def _rule_variables(**samples: Any) -> tuple[VariableDeclaration, ...]:
    """Return the variables that rules of all kinds supply, with the samples of a kind by name."""
    return tuple(
        msgspec.structs.replace(known, sample=samples.get(known.name, known.sample)) for known in _RULE_VARIABLES
    )


_THRESHOLD = VariableDeclaration("threshold", _NUMBER, "Threshold of the rule, in `unit`.", 5)

RULE_VARIABLES: Mapping[RuleKind, tuple[VariableDeclaration, ...]] = {
    RuleKind.THRESHOLD: (
        *_RULE_VARIABLES,
        VariableDeclaration("value", _NUMBER, "Value that meets the condition, in `unit`.", 8.41),
        _THRESHOLD,
    ),
    RuleKind.NO_DATA: (
        *_rule_variables(kind="NO_DATA", unit="s", rule="No electricity readings", windowMinutes=120),
        VariableDeclaration("value", _NUMBER, "Time without a reading. `unit` is s.", 10_800, "s"),
    ),
    RuleKind.PACE: (
        *_rule_variables(kind="PACE", rule="Electricity budget of the month"),
        VariableDeclaration("value", _NUMBER, "Total of the period at the present pace, in `unit`.", 312.5),
        msgspec.structs.replace(_THRESHOLD, description="Budget of the period, in `unit`.", sample=250),
        VariableDeclaration("period", _TEXT, "Period of the budget: P1D, P1W or P1M.", "P1M"),
    ),
}
"""The variables that rules of each kind supply."""

_APPLICATION_NAME = VariableDeclaration("application.name", _TEXT, "Name of the application.", "Example Energy")

_CODE_VARIABLES = (
    _APPLICATION_NAME,
    VariableDeclaration("code", _TEXT, "Code that the recipient enters.", "4711"),
    VariableDeclaration(
        "link",
        VariableType.URL,
        "Page of the gateway that takes the code. Empty if the gateway has no WATTGATE_PUBLIC_URL.",
        "https://energy.example/verify?application=demo#username=ada&code=4711",
        required=False,
    ),
    VariableDeclaration("minutes", _NUMBER, "Time for which the code is valid, from its request.", 60, "minutes"),
)

SYSTEM_VARIABLES: Mapping[str, tuple[VariableDeclaration, ...]] = {
    account_mails.VERIFY: _CODE_VARIABLES,
    account_mails.RESET: _CODE_VARIABLES,
    account_mails.CONFIRM_EMAIL: _CODE_VARIABLES,
    account_mails.HOME_INVITATION: tuple(known for known in _CODE_VARIABLES if known.name != "link"),
    account_mails.EMAIL_CHANGE_REQUESTED: (_APPLICATION_NAME,),
    account_mails.EMAIL_CHANGED: (_APPLICATION_NAME,),
    account_mails.PASSWORD_CHANGED: (_APPLICATION_NAME,),
    account_mails.TENANCY_ENDED: (
        _APPLICATION_NAME,
        VariableDeclaration("meterPoint", _TEXT, "Number of the meter point.", "2300000000116"),
        VariableDeclaration("endedAt", _INSTANT, "When the user moved out.", "2026-01-05T00:00:00.000Z"),
    ),
}
"""The own variables of the alert types that the gateway itself sends, by their short codes."""


def build_contract(
    short_code: str, rule_kind: RuleKind | None = None, variables: Sequence[VariableDeclaration] | None = None
) -> Contract:
    """Return the contract of an alert type with this short code, kind of rules, and declaration of the application."""
    if short_code in SYSTEM_VARIABLES:
        return Contract(BASE_VARIABLES, SYSTEM_VARIABLES[short_code], declared=True)
    if rule_kind is not None:
        return Contract(BASE_VARIABLES, RULE_VARIABLES[rule_kind], declared=True)
    if variables is not None:
        return Contract(BASE_VARIABLES, tuple(variables), declared=True)
    return Contract(BASE_VARIABLES)


def name_path(name: str) -> tuple[str, ...]:
    """Return the path of a declared name: `days[].use` is ("days", "[]", "use")."""
    return tuple(segment for segment in name.replace("[]", ".[]").split(".") if segment)


def by_path(variables: Iterable[VariableDeclaration]) -> dict[tuple[str, ...], VariableDeclaration]:
    """Return declarations by their paths."""
    return {name_path(variable.name): variable for variable in variables}
