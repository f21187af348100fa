"""The rows of one home, which are all that a paired display or a member of the home sees.

`HOME_RULES` lists the models with rows of homes. Rows of all other models are hidden from a display, so that a new
model is hidden until somebody decides otherwise. `Rows` applies the rules, and on PostgreSQL the policies as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from sqlalchemy import ColumnElement, Table, false, select, true

from wattgate.db import models
from wattgate.db.models import Tenanted


@dataclass(frozen=True, slots=True)
class HomeRule:
    """The rows of a model that belong to a home.

    `column` is the id of the home or, with `via`, has the same name in that other model, whose rows belong to the home.
    """

    column: str
    via: type[Tenanted] | None = None


HOME_RULES: Mapping[type[Tenanted], HomeRule] = MappingProxyType(
    {
        models.VirtualEntity: HomeRule("ve_id"),
        models.VirtualEntityResource: HomeRule("ve_id"),
        models.HomeMember: HomeRule("ve_id"),
        models.PairedDisplay: HomeRule("ve_id"),
        models.Token: HomeRule("ve_id"),
        models.Resource: HomeRule("resource_id", models.VirtualEntityResource),
        models.Tariff: HomeRule("resource_id", models.VirtualEntityResource),
        models.DeviceSensor: HomeRule("resource_id", models.VirtualEntityResource),
        models.Device: HomeRule("device_id", models.DeviceSensor),
        models.MeterPointTenancy: HomeRule("mpxn", models.Resource),
    }
)
"""The models with rows of homes."""

ALL_ROWS_OF_USER: Mapping[type[Tenanted], str] = MappingProxyType(
    {
        models.MeterPointConsent: "It decides which data of the home is withheld.",
        models.User: "It has the language and the region of the household.",
        models.Intake: "It decides whether the readings of the home are fresh. It has no data of households.",
    }
)
"""The models of which a display sees the rows of its user, each with the reason. It can list none."""


def home_condition(model: type[Tenanted], application_id: Any, home: Any) -> ColumnElement[bool]:
    """Return the condition for the rows of a model that a display of a home may see."""
    if model in ALL_ROWS_OF_USER:
        return true()
    rule, columns = HOME_RULES.get(model), _table(model).columns
    if rule is None:
        return false()
    if rule.via is None:
        return cast(ColumnElement[bool], columns[rule.column] == home)
    linked = _table(rule.via).columns
    condition = home_condition(rule.via, application_id, home)
    return columns[rule.column].in_(
        select(linked[rule.column]).where(linked["application_id"] == application_id, condition)
    )


def home_sql(model: type[Tenanted], home: str) -> str:
    """Return the same condition as SQL text, for a policy. `home` is an SQL expression."""
    if model in ALL_ROWS_OF_USER:
        return "true"
    rule = HOME_RULES.get(model)
    if rule is None:
        return "false"
    if rule.via is None:
        return f"{rule.column} = {home}"
    linked = f"SELECT {rule.column} FROM {_table(rule.via).name} WHERE {home_sql(rule.via, home)}"  # noqa: S608 (names of our own tables)
    return f"{rule.column} IN ({linked})"


def _table(model: type[Tenanted]) -> Table:
    return cast(Table, model.__table__)  # type: ignore[attr-defined]
