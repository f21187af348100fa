"""Alert rules: conditions on the readings of a resource that alert a user, with the state of each rule."""

from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from sqlalchemy import BigInteger, Enum, Index
from sqlmodel import Field

from wattgate.clock import utc_now
from wattgate.db.column_types import AssignedId, FixedPoint, JsonColumn, UtcDateTime, created_at_field
from wattgate.db.models.tenancy import Tenanted
from wattgate.enums import Function, Period, RuleKind, ThresholdSide

RULE_DECIMALS = 6
"""The maximum number of decimal places in the numbers of rules."""


class AlertRule(Tenanted, table=True):
    """A rule on the readings of a field of a resource; its alerts go to the user.

    `threshold` and `hysteresis` are in `unit`, which is the unit of the field. Quiet hours are texts such as 22:00, in
    the zone of the rule or else of the home. The columns from `active` on are the state of the rule. `active` is true
    while the condition holds, `told` if an alert was sent for it. Readings up to `judged_to` (ms since 1970) are
    evaluated. The next evaluation is at `due_at` or earlier.
    """

    __tablename__ = "alert_rule"
    __table_args__ = (Index(None, "enabled", "due_at"),)
    key: ClassVar[str] = "rule_id"
    owner: ClassVar[str | None] = "user_id"

    rule_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    name: str
    resource_id: str = Field(foreign_key="resource.resource_id", index=True)
    ve_id: str | None = Field(default=None, foreign_key="virtual_entity.ve_id")
    field: str
    unit: str
    kind: RuleKind = Field(sa_type=Enum(RuleKind, native_enum=False, length=16))
    function: Function = Field(default=Function.SUM, sa_type=Enum(Function, native_enum=False, length=16))
    side: ThresholdSide = Field(default=ThresholdSide.ABOVE, sa_type=Enum(ThresholdSide, native_enum=False, length=16))
    threshold: Decimal | None = Field(default=None, sa_type=FixedPoint(RULE_DECIMALS))
    hysteresis: Decimal = Field(default=Decimal(0), sa_type=FixedPoint(RULE_DECIMALS))
    window_minutes: int
    period: Period = Field(default=Period.P1M, sa_type=Enum(Period, native_enum=False, length=16))
    quiet_from: str | None = None
    quiet_to: str | None = None
    time_zone: str | None = None
    alert_type_id: str = Field(foreign_key="alert_type.alert_type_id")
    channels: list[str] = Field(sa_type=JsonColumn)
    enabled: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    active: bool = False
    told: bool = False
    judged_to: int = Field(default=0, sa_type=BigInteger)
    due_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    fired_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
