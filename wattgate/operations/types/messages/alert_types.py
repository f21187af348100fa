"""GraphQL types of the variables that alerts supply to templates, and the inputs of alert types."""

import strawberry

from wattgate.delivery.templates.language.contract import VariableType
from wattgate.enums import RuleKind
from wattgate.operations.vocabulary.cost_weights import ListSize
from wattgate.operations.vocabulary.scalars import Json
from wattgate.values import terms

VARIABLES_SIZE = ListSize(25)


@strawberry.type(description="A variable that the alerts of a type supply, and that their templates may use.")
class AlertVariable:
    name: str = strawberry.field(
        description="Name in templates: parts with dots, such as home.name. [] stands for any item of a list."
    )
    type: VariableType = strawberry.field(description="Type of the values.")
    unit: str | None = strawberry.field(
        description="Unit of the values: kWh, W, %, a currency, or any other unit. Null if they have none."
    )
    sample: Json | None = strawberry.field(description="Value for previews without an alert.")
    description: terms.Description
    required: bool = strawberry.field(description="Whether every alert has a value. Otherwise it may be empty.")
    base: bool = strawberry.field(
        description="Whether the gateway supplies the variable to the templates of every alert type."
    )


@strawberry.input(description="A variable of an alert type.")
class NewAlertVariable:
    name: terms.Text200 = strawberry.field(
        description="Name in templates: parts of letters, digits and underscores, with dots between them, such as "
        "usage.total. days[].use is a part of any item of the list days."
    )
    type: VariableType = strawberry.field(description="Type of the values.")
    unit: terms.Text100 | None = strawberry.field(
        default=None,
        description="Unit of the values. ENERGY: Wh, kWh (default) or MWh. POWER: W (default) or kW. MONEY: a currency "
        "such as GBP, which is required. NUMBER: any text.",
    )
    sample: Json | None = strawberry.field(
        default=None, description="Value for previews without an alert. Default: a value of the type."
    )
    description: terms.Description = ""
    required: bool = strawberry.field(
        default=True, description="Whether every alert must have a value. Otherwise it may be empty."
    )


_RULE_KIND = (
    "Kind of the alert rules that send alerts of this type. They define its variables. Do not combine it with "
    "`variables`."
)
_VARIABLES = (
    "Variables that every alert of this type must fit. Do not repeat those of every alert, such as home.name. Null: "
    "alerts may have any data."
)


@strawberry.input(description="Alert type to add.")
class NewAlertType:
    system_alert_type_id: terms.SystemAlertTypeId
    name: terms.Name
    description: terms.Description = ""
    variables: list[NewAlertVariable] | None = strawberry.field(default=None, description=_VARIABLES)
    rule_kind: RuleKind | None = strawberry.field(default=None, description=_RULE_KIND)


@strawberry.input(description="Fields of an alert type to change. Omitted fields keep their values.")
class AlertTypeChange:
    name: terms.Name | None = strawberry.UNSET
    description: terms.Description | None = strawberry.UNSET
    system_alert_type_id: terms.SystemAlertTypeId | None = strawberry.UNSET
    active: terms.Active | None = strawberry.UNSET
    variables: list[NewAlertVariable] | None = strawberry.field(default=strawberry.UNSET, description=_VARIABLES)
    rule_kind: RuleKind | None = strawberry.field(default=strawberry.UNSET, description=_RULE_KIND)
