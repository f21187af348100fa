"""GraphQL types of alert rules, which send an alert if readings meet a condition."""

from datetime import datetime
from decimal import Decimal

import strawberry

from wattgate.db import models
from wattgate.db.queries import alert_rules as queries
from wattgate.db.queries.content import reference_loader
from wattgate.enums import Channel, Function, Period, RuleKind, ThresholdSide
from wattgate.operations.core.fields import edge
from wattgate.operations.types.homes.resources import Resource
from wattgate.operations.types.homes.virtual_entities import VirtualEntity
from wattgate.operations.types.messages.alerts import AlertType
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import (
    EVALUATED_READINGS_PER_UNIT,
    SERIES_ITEMS_PER_UNIT,
    ListSize,
    linear_in_argument,
)
from wattgate.operations.vocabulary.node import Node
from wattgate.principal import Permission
from wattgate.values import terms


@strawberry.type(description="One time at which an alert rule would have fired.")
class Fired:
    at: datetime = strawberry.field(description="When the rule would have sent its alert.")
    value: float = strawberry.field(
        description="Value that meets the condition, in the rule's unit. For NO_DATA, the time without a reading, in "
        "seconds."
    )


@strawberry.type(
    description="Result of a back-test: how often an alert rule would have fired if each reading had arrived when it "
    "was measured."
)
class BackTest:
    start: datetime = strawberry.field(description="Start of the tested range, inclusive.")
    end: datetime = strawberry.field(description="End of the tested range, exclusive.")
    count: int = strawberry.field(description="Number of times the rule would have fired.")
    firings: list[Fired] = strawberry.field(description="The first 1,000 of these times, oldest first.")


@strawberry.type(description="A rule that sends an alert to its user if the readings of a resource meet a condition.")
class AlertRule(Node, model=models.AlertRule):
    rule_id: ids.RuleId
    application_id: ids.ApplicationId
    user_id: ids.UserId
    name: terms.Name
    resource_id: ids.ResourceId
    ve_id: strawberry.ID | None = strawberry.field(
        description="ID of the home that the rule was created for. Null if it was created for a resource."
    )
    field: str = strawberry.field(description="Storage field whose readings the rule evaluates, such as ENERGY.")
    unit: str = strawberry.field(description="Unit of the threshold and the hysteresis: the unit of the storage field.")
    kind: RuleKind = strawberry.field(description="Condition of the rule.")
    function: Function = strawberry.field(
        description="Function that combines the readings of the time window into one value."
    )
    side: ThresholdSide = strawberry.field(description="Side of the threshold on which the rule fires.")
    threshold: Decimal | None = strawberry.field(
        description="Threshold, or budget of the period for PACE. Null for NO_DATA."
    )
    hysteresis: Decimal = strawberry.field(
        description="How far the value must return past the threshold before the condition ends."
    )
    window_minutes: int = strawberry.field(
        description="Length of the time window, in minutes. For NO_DATA, the allowed time without a reading. For PACE, "
        "the part of the period that must be over before the rule fires."
    )
    period: Period = strawberry.field(description="Period of the budget of a PACE rule: P1D, P1W or P1M.")
    quiet_from: str | None = strawberry.field(
        description="Start of the quiet hours, such as 22:00. Null if there are none."
    )
    quiet_to: str | None = strawberry.field(
        description="End of the quiet hours, such as 07:00. Null if there are none."
    )
    time_zone: str | None = strawberry.field(
        description="IANA time zone of the quiet hours and the period. Null for the time zone of the home."
    )
    alert_type_id: ids.AlertTypeId
    channels: list[str] = strawberry.field(description=terms.CHANNELS)
    enabled: bool = strawberry.field(description="Whether the rule is evaluated.")
    active: bool = strawberry.field(description="Whether the condition is met at present.")
    fired_at: datetime | None = strawberry.field(description="When the rule last sent an alert. Null if it never did.")
    problem: str | None = strawberry.field(
        description="Why the last evaluation failed; the next one follows later. Null if it did not fail."
    )
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    resource: Resource | None = edge(
        reference_loader(models.Resource, "resource_id"),
        needs=Permission.RESOURCE_READ,
        description="Resource whose readings the rule evaluates. Null if the caller may not see it.",
    )
    virtual_entity: VirtualEntity | None = edge(
        reference_loader(models.VirtualEntity, "ve_id"),
        needs=Permission.VIRTUAL_ENTITY_READ,
        description="Home that the rule was created for. Null if it was created for a resource.",
    )
    alert_type: AlertType | None = edge(
        reference_loader(models.AlertType, "alert_type_id"),
        needs=Permission.ALERT_READ,
        description="Type of the alerts that the rule sends. Null if the caller may not see it.",
    )
    back_test: BackTest = edge(
        queries.back_test,
        needs=Permission.READINGS_READ,
        weight=linear_in_argument("days", 30, queries.MAX_BACK_TEST_DAYS, weight=130, weight_per_one=10),
        result_units=lambda back_test: back_test.sample_count // EVALUATED_READINGS_PER_UNIT,
        sizes=[
            ListSize(
                linear_in_argument("days", 30, queries.MAX_BACK_TEST_DAYS),
                ("BackTest.firings",),
                items_per_unit=SERIES_ITEMS_PER_UNIT,
            )
        ],
        description="How often and when the rule would have fired in the last days. Null only with an error, such as "
        "CONSENT_REVOKED.",
    )


@strawberry.input(description="Alert rule to add for one resource: by `resourceId`, or by `veId` and `classifier`.")
class NewAlertRule:
    name: terms.Name
    kind: RuleKind = strawberry.field(description="Condition of the rule.")
    window_minutes: int = strawberry.field(
        description="Length of the time window: 1 to 44,640 minutes (31 days), or to 1,440 minutes (one day) for a "
        "THRESHOLD on a field without an interval. For NO_DATA, the allowed time without a reading. For PACE, the part "
        "of the period that must be over before the rule fires.",
    )
    alert_type_id: ids.AlertTypeId
    channels: list[Channel] = strawberry.field(description=terms.CHANNELS)
    resource_id: strawberry.ID | None = strawberry.field(
        default=None, description="ID of the resource. Omit it if `veId` is set."
    )
    ve_id: strawberry.ID | None = strawberry.field(
        default=None, description="ID of a home that has exactly one resource of the classifier."
    )
    classifier: terms.Text100 = strawberry.field(
        default="electricity.consumption", description="Classifier of the resource, if `veId` is set."
    )
    field: terms.ChosenField | None = None
    function: Function = strawberry.field(
        default=Function.SUM,
        description="Function that combines the readings of the time window: SUM, AVG, MIN or MAX.",
    )
    side: ThresholdSide = strawberry.field(
        default=ThresholdSide.ABOVE,
        description="Side of the threshold on which the rule fires. Use ABOVE for a budget.",
    )
    threshold: Decimal | None = strawberry.field(
        default=None,
        description="Threshold, or budget of the period for PACE, in the unit of the storage field. Must be null for "
        "NO_DATA.",
    )
    hysteresis: Decimal = strawberry.field(
        default=Decimal(0),
        description="How far the value must return past the threshold before the rule can fire again.",
    )
    period: Period = strawberry.field(
        default=Period.P1M, description="Period of the budget of a PACE rule: P1D, P1W or P1M."
    )
    quiet_from: terms.Text100 | None = strawberry.field(
        default=None, description="Start of the quiet hours, in which the rule sends no alert, such as 22:00."
    )
    quiet_to: terms.Text100 | None = strawberry.field(
        default=None, description="End of the quiet hours, such as 07:00."
    )
    time_zone: terms.Text100 | None = strawberry.field(
        default=None,
        description="IANA time zone of the quiet hours and the period. Default: the time zone of the home.",
    )
    enabled: bool = strawberry.field(default=True, description="Whether the rule is evaluated.")


@strawberry.input(
    description="Fields of an alert rule to change. Omitted fields keep their values. The rule then starts again."
)
class AlertRuleChange:
    name: terms.Name | None = strawberry.UNSET
    window_minutes: int | None = strawberry.field(
        default=strawberry.UNSET, description="Length of the time window, in minutes."
    )
    alert_type_id: ids.AlertTypeId | None = strawberry.UNSET
    channels: list[Channel] | None = strawberry.field(default=strawberry.UNSET, description=terms.CHANNELS)
    threshold: Decimal | None = strawberry.field(
        default=strawberry.UNSET, description="Threshold, or budget of the period."
    )
    hysteresis: Decimal | None = strawberry.field(
        default=strawberry.UNSET,
        description="How far the value must return past the threshold before the rule can fire again.",
    )
    quiet_from: terms.Text100 | None = strawberry.field(
        default=strawberry.UNSET, description="Start of the quiet hours, such as 22:00. Null removes them."
    )
    quiet_to: terms.Text100 | None = strawberry.field(
        default=strawberry.UNSET, description="End of the quiet hours, such as 07:00. Null removes them."
    )
    time_zone: terms.Text100 | None = strawberry.field(
        default=strawberry.UNSET, description="IANA time zone. Null for the time zone of the home."
    )
    enabled: bool | None = strawberry.field(default=strawberry.UNSET, description="Whether the rule is evaluated.")
