"""GraphQL types of alert types and the variables that their alerts supply to templates."""

import strawberry

from wattgate.db import models
from wattgate.db.queries import alerts as queries
from wattgate.delivery.templates.language.contract import VariableType
from wattgate.enums import RuleKind
from wattgate.operations.core.fields import edge
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import ListSize
from wattgate.operations.vocabulary.node import Node
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Permission
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


@strawberry.type(description="Type of alert, to which alerts and templates belong.")
class AlertType(Node, model=models.AlertType):
    alert_type_id: ids.AlertTypeId
    application_id: ids.ApplicationId
    name: terms.Name
    system_alert_type_id: str = strawberry.field(description="Short code of the alert type, such as CM01.")
    description: terms.Description
    active: terms.Active
    rule_kind: RuleKind | None = edge(
        queries.rule_kinds,
        needs=Permission.ALERT_READ,
        description="Kind of the alert rules that send alerts of this type and define its variables. Null if the "
        "application sends them.",
    )
    declared: bool = edge(
        queries.declared,
        needs=Permission.ALERT_READ,
        description="Whether the variables are declared. If not, alerts may have any data, and names in templates "
        "cannot be checked.",
    )
    variables: list[AlertVariable] = edge(
        queries.variables,
        needs=Permission.ALERT_READ,
        sizes=[VARIABLES_SIZE],
        description="Variables that templates may use: first those of every alert, then those of the type.",
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
