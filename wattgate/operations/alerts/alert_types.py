"""Add and change alert types with their variables, and list the variables and the newest alerts of a type."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries import alerts as queries
from wattgate.db.rows.rows import Rows
from wattgate.delivery.account_mails import ACCOUNT_MAIL_TYPES
from wattgate.delivery.templates.language.contract import SYSTEM_VARIABLES, ContractVariable, VariableDeclaration
from wattgate.delivery.templates.language.declarations import declaration_problems, with_default_units
from wattgate.enums import RuleKind, to_camel_case
from wattgate.errors import BadInput, Conflict, NotFound, Problem
from wattgate.operations.core.input_limits import to_column_values
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.types.messages import alert_types as types
from wattgate.operations.types.messages.alerts import Alert, AlertType
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import ListSize, linear_in_argument
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import AuthScheme, Permission
from wattgate.values.annotations import Described

PATH = "/alerttype"


@operation(
    OperationKind.MUTATION,
    returns=AlertType,
    needs=Permission.ALERT_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", PATH, Tag.ALERT_TYPES, scheme=AuthScheme.BASIC),
)
async def add_alert_type(call: Call, *, input: types.NewAlertType) -> models.AlertType:
    """Add an alert type to the application.

    Declare its variables, so that alerts and templates are checked.
    """
    check_free_code(input.system_alert_type_id)
    await _check_one_code(call.rows, input.system_alert_type_id)
    alert_type = models.AlertType(**to_column_values(input, models.AlertType))
    _check_contract(alert_type)
    return await call.rows.add(alert_type)


@operation(
    OperationKind.MUTATION,
    returns=AlertType,
    needs=Permission.ALERT_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("PUT", PATH + "/{alertTypeId}", Tag.ALERT_TYPES, scheme=AuthScheme.BASIC),
    raises=(Conflict,),
)
async def update_alert_type(
    call: Call, *, alert_type_id: ids.AlertTypeId, input: types.AlertTypeChange
) -> models.AlertType:
    """Change an alert type. Omitted fields keep their values.

    Templates that use a removed variable are not changed. Preview them to see their errors. Of the alert types of the
    gateway's own mails, such as account.verify, only the name and the description change.
    """
    alert_type = await call.rows.edit(models.AlertType, alert_type_id)
    before = queries.contract_of(alert_type)
    changes = to_column_values(input, models.AlertType)
    check_fixed_fields(alert_type, changes)
    for name, value in changes.items():
        setattr(alert_type, name, value)
    if alert_type.active and changes.keys() & {"system_alert_type_id", "active"}:
        await _check_one_code(call.rows, alert_type.system_alert_type_id, alert_type)
    contract = queries.contract_of(alert_type)
    if (contract.own, contract.declared) != (before.own, before.declared):
        _check_contract(alert_type)
        await _check_rules(call, alert_type)
    return alert_type


@operation(
    OperationKind.QUERY,
    returns=list[types.AlertVariable],
    needs=Permission.ALERT_READ,
    rest=RestRoute("GET", PATH + "/{alertTypeId}/variables", Tag.ALERT_TYPES),
    sizes=[types.VARIABLES_SIZE],
    in_graphql=("node", "AlertType", "variables"),
)
async def alert_type_variables(call: Call, *, alert_type_id: ids.AlertTypeId) -> list[ContractVariable]:
    """List the variables that templates of an alert type may use: first those of every alert, then its own."""
    return queries.contract_of(await require_alert_type(call.rows, alert_type_id)).listed()


@operation(
    OperationKind.QUERY,
    returns=list[Alert],
    needs=Permission.TEMPLATE_READ,
    rest=RestRoute("GET", PATH + "/{alertTypeId}/alerts", Tag.ALERT_TYPES),
    sizes=[ListSize(linear_in_argument("limit", 10, queries.MAX_RECENT_ALERTS))],
    in_graphql=("node", "AlertType", "alerts"),
)
async def recent_alerts(
    call: Call,
    *,
    alert_type_id: ids.AlertTypeId,
    limit: Annotated[int, Described("Maximum number of alerts: 1 to 50.")] = 10,
) -> list[models.Alert]:
    """List the newest alerts of a type, newest first, to preview templates with.

    A template editor sees those to the own user only.
    """
    if not 1 <= limit <= queries.MAX_RECENT_ALERTS:
        problem = Problem(("limit",), f"is not 1 to {queries.MAX_RECENT_ALERTS}")
        raise BadInput(f"Give a limit of 1 to {queries.MAX_RECENT_ALERTS}, not {limit}.", problems=[problem])
    alert_type = await require_alert_type(call.rows, alert_type_id)
    user_id = call.principal.user_id if call.principal.sees_own_records_only else None
    return await queries.recent_alerts(call.rows, alert_type.alert_type_id, limit, user_id)


def _check_contract(alert_type: models.AlertType) -> None:
    """Complete the units of an alert type's variables. Raise BadInput if they are invalid."""
    if alert_type.variables is None:
        return
    reason = None
    if alert_type.rule_kind is not None:
        reason = "must be null, because ruleKind defines the variables"
    elif alert_type.system_alert_type_id in SYSTEM_VARIABLES:
        reason = f"must be null, because the gateway defines the variables of {alert_type.system_alert_type_id}"
    problems = [((), reason)] if reason else list(declaration_problems(alert_type.variables))
    if problems:
        path, message = problems[0]
        raise BadInput(
            f"Invalid variables of the alert type: {_position(alert_type.variables, path)}{message}.",
            problems=[Problem(("input", "variables", *path), message) for path, message in problems],
        )
    alert_type.variables = with_default_units(alert_type.variables)


def _position(variables: Sequence[VariableDeclaration], path: Sequence[str | int]) -> str:
    """Return the position of a problem for its message, such as "variable 2, unit ", or an empty text."""
    return f"variable {int(path[0]) + 1}, {path[1]} " if path else ""


async def _check_rules(call: Call, alert_type: models.AlertType) -> None:
    """Raise Conflict if rules send alerts of the type without its variables."""
    if not queries.contract_of(alert_type).declared:
        return
    conditions = [col(models.AlertRule.alert_type_id) == alert_type.alert_type_id]
    if alert_type.rule_kind is not None:
        conditions.append(col(models.AlertRule.kind) != alert_type.rule_kind)
    count = await call.rows.count_in_application(models.AlertRule, *conditions)
    if count:
        kinds = ", ".join(kind.name for kind in RuleKind)
        raise Conflict(
            f"{count} alert rules send alerts of this type, and do not supply these variables. Set ruleKind to the "
            f"kind of the rules ({kinds}), or give the rules another alert type first."
        )


# Find an alert type by its id or short code.


async def find_alert_type(rows: Rows, id_or_code: str) -> models.AlertType | None:
    """Return the alert type with this id, or the active one with this short code, or None."""
    alert_types = await rows.all(
        models.AlertType,
        (col(models.AlertType.alert_type_id) == id_or_code)
        | ((col(models.AlertType.system_alert_type_id) == id_or_code) & col(models.AlertType.active).is_(True)),
        order_by=[models.AlertType.name],
    )
    return alert_types[0] if alert_types else None


def sending_problem(alert_type: models.AlertType) -> str | None:
    """Return why callers and rules cannot send alerts of a type, or None if they can."""
    if alert_type.system_alert_type_id in ACCOUNT_MAIL_TYPES:
        return f"{alert_type.system_alert_type_id} is a mail of the gateway itself, which only the gateway sends"
    return None


def check_free_code(short_code: str) -> None:
    """Raise Conflict if a short code belongs to a mail of the gateway itself."""
    if short_code in ACCOUNT_MAIL_TYPES:
        raise Conflict(
            f"The short code {short_code} belongs to a mail of the gateway itself, and the application has its alert "
            "type already. Use another one."
        )


async def _check_one_code(rows: Rows, short_code: str, own: models.AlertType | None = None) -> None:
    """Raise Conflict if another active alert type has a short code, so that it is unknown which one an alert means."""
    model = models.AlertType
    others = [] if own is None else [col(model.alert_type_id) != own.alert_type_id]
    known = await rows.first(model, col(model.system_alert_type_id) == short_code, col(model.active).is_(True), *others)
    if known is not None:
        raise Conflict(
            f"The alert type {known.alert_type_id} has the short code {short_code} already. Use another one, or set "
            "active of that alert type to false first."
        )


def check_fixed_fields(alert_type: models.AlertType, changes: Mapping[str, Any]) -> None:
    """Raise BadInput or Conflict if changes of an alert type take or give up the short code of a gateway's own mail."""
    if alert_type.system_alert_type_id not in ACCOUNT_MAIL_TYPES:
        return check_free_code(changes.get("system_alert_type_id", alert_type.system_alert_type_id))
    problems = [
        Problem(("input", to_camel_case(name)), "cannot change")
        for name, value in changes.items()
        if name not in ("name", "description") and value != getattr(alert_type, name)
    ]
    if problems:
        raise BadInput(
            f"{alert_type.system_alert_type_id} is a mail of the gateway itself. Only its name and description can "
            "change.",
            problems=problems,
        )
    return None


def account_mail_alert_types() -> list[models.AlertType]:
    """Return the alert types of the gateway's own mails, which each application has."""
    return [
        models.AlertType(name=kind.name, system_alert_type_id=short_code, description=kind.description)
        for short_code, kind in ACCOUNT_MAIL_TYPES.items()
    ]


async def require_alert_type(rows: Rows, id_or_code: str) -> models.AlertType:
    """Return the alert type with this id or short code. Raise NotFound if there is none."""
    alert_type = await find_alert_type(rows, id_or_code)
    if alert_type is None:
        raise NotFound(f"No alert type has the id or short code {id_or_code!r}.")
    return alert_type
