"""Alert rules: what in readings alerts a user."""

from datetime import datetime
from decimal import Decimal

import strawberry

from wattgate.db.queries import alert_rules as queries
from wattgate.enums import Function, Period, RuleKind, ThresholdSide
from wattgate.graphql.core.cost_weights import IN_SERIES, Size, number
from wattgate.graphql.core.fields import edge
from wattgate.graphql.types.alerts import Channel
from wattgate.principal import Permission


@strawberry.type(description="An instant at which a rule would have fired.")
class Fired:
    at: datetime = strawberry.field(description="When it would have been told.")
    value: float = strawberry.field(description="The value that it is told of, in the rule's unit; silence in seconds.")


@strawberry.type(description="How often a rule would have fired, had readings come as they were measured.")
class BackTest:
    start: datetime = strawberry.field(description="From when on.")
    end: datetime = strawberry.field(description="Until when.")
    count: int = strawberry.field(description="How often it would have fired.")
    firings: list[Fired] = strawberry.field(description="When, oldest first; at most the first 1,000.")


@strawberry.type(description="A rule on the readings of a resource, whose alerts go to the user.")
class AlertRule:
    rule_id: strawberry.ID
    application_id: strawberry.ID
    user_id: strawberry.ID
    name: str
    resource_id: strawberry.ID
    ve_id: strawberry.ID | None = strawberry.field(description="The home that it was made for, if for one.")
    field: str = strawberry.field(description="The storage field that is watched.")
    unit: str = strawberry.field(description="The unit of its numbers: the field's.")
    kind: RuleKind = strawberry.field(description="What it looks for.")
    function: Function = strawberry.field(description="How the readings of a window become one value.")
    side: ThresholdSide = strawberry.field(description="On which side of the threshold it holds.")
    threshold: Decimal | None = strawberry.field(description="The limit, or the budget of a period; null for no data.")
    hysteresis: Decimal = strawberry.field(description="By how much the value has to come back until it holds no more.")
    window_minutes: int = strawberry.field(
        description="The length of the window; for no data how long there may be none; for a budget how much of the "
        "period has to be over first."
    )
    period: Period = strawberry.field(description="What a budget is for: P1D, P1W or P1M.")
    quiet_from: str | None = strawberry.field(description="When quiet hours begin, such as 22:00.")
    quiet_to: str | None = strawberry.field(description="When they end, such as 07:00.")
    time_zone: str | None = strawberry.field(description="The zone of its quiet hours and periods; null: the home's.")
    alert_type_id: strawberry.ID
    channels: list[str]
    enabled: bool = strawberry.field(description="Whether it is evaluated.")
    active: bool = strawberry.field(description="Whether it holds at present.")
    fired_at: datetime | None = strawberry.field(description="When it has alerted last; null where it has not.")
    created_at: datetime
    updated_at: datetime
    back_test: BackTest = edge(
        queries.back_test,
        needs=Permission.READINGS_READ,
        weight=number("days", 30, queries.MAX_DAYS, weight=130, of_one=10),
        sizes=[Size(number("days", 30, queries.MAX_DAYS), ("BackTest.firings",), per_unit=IN_SERIES)],
        description="How often it would have fired in the last days, and when.",
    )


@strawberry.input(description="A rule to add: on a resource, or on the only resource of a home of some classifier.")
class NewAlertRule:
    name: str
    kind: RuleKind = strawberry.field(description="What it looks for.")
    window_minutes: int = strawberry.field(
        description="The length of the window, 1 to 44,640 minutes (31 days); to 1,440 (a day) for thresholds on "
        "fields without an interval.",
    )
    alert_type_id: strawberry.ID
    channels: list[Channel]
    resource_id: strawberry.ID | None = None
    ve_id: strawberry.ID | None = strawberry.field(default=None, description="A home, in the place of a resource.")
    classifier: str = "electricity.consumption"
    field: str | None = None
    function: Function = strawberry.field(default=Function.SUM, description="SUM, AVG, MIN or MAX of the window.")
    side: ThresholdSide = strawberry.field(default=ThresholdSide.ABOVE, description="A budget is exceeded above it.")
    threshold: Decimal | None = strawberry.field(
        default=None, description="The limit or the budget, in the field's unit; no data takes none."
    )
    hysteresis: Decimal = strawberry.field(
        default=Decimal(0), description="By how much the value has to come back until the rule can fire again."
    )
    period: Period = strawberry.field(default=Period.P1M, description="What a budget is for: P1D, P1W or P1M.")
    quiet_from: str | None = strawberry.field(default=None, description="When quiet hours begin, such as 22:00.")
    quiet_to: str | None = strawberry.field(default=None, description="When they end, such as 07:00.")
    time_zone: str | None = strawberry.field(default=None, description="The home's zone where it is left out.")
    enabled: bool = strawberry.field(default=True, description="Whether it is evaluated.")


@strawberry.input(description="What may change on a rule; what is left out stays as it is. It then begins anew.")
class AlertRuleChange:
    name: str | None = strawberry.UNSET
    window_minutes: int | None = strawberry.field(default=strawberry.UNSET, description="The length of the window.")
    alert_type_id: strawberry.ID | None = strawberry.UNSET
    channels: list[Channel] | None = strawberry.UNSET
    threshold: Decimal | None = strawberry.field(default=strawberry.UNSET, description="The limit or the budget.")
    hysteresis: Decimal | None = strawberry.field(default=strawberry.UNSET, description="See the rule.")
    quiet_from: str | None = strawberry.field(default=strawberry.UNSET, description="null: there are none.")
    quiet_to: str | None = strawberry.field(default=strawberry.UNSET, description="null: there are none.")
    time_zone: str | None = strawberry.field(default=strawberry.UNSET, description="null: the home's.")
    enabled: bool | None = strawberry.field(default=strawberry.UNSET, description="Whether it is evaluated.")
