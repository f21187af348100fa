"""The types of the GraphQL schema.

Enums of other areas become GraphQL types here, before a module of this package uses one in an annotation. Otherwise
Strawberry would create a second, different type for the same enum.
"""

import strawberry

from wattgate.clock import TimeRange
from wattgate.delivery.templates.contract import VariableType
from wattgate.delivery.templates.diagnostics import Severity, TemplatePart
from wattgate.energy.display.meter import MeterKind
from wattgate.enums import (
    AccountRule,
    AmbientBasis,
    AmbientLevel,
    Baseline,
    BucketQuality,
    CarbonIndex,
    CatchUpState,
    ConsentBasis,
    CostLineKind,
    DeliveryState,
    DeviceActivity,
    DeviceProof,
    ErasureAction,
    FreshnessCause,
    FreshnessState,
    Function,
    JobState,
    NotificationState,
    NoValueReason,
    PairingState,
    Period,
    ReadingQuality,
    RuleKind,
    SuppressionCause,
    TariffKind,
    TenancyProof,
    ThresholdSide,
    TokenCheck,
    Weekday,
    WithheldReason,
)

strawberry.enum(
    RuleKind,
    description="Condition of an alert rule.",
)
strawberry.enum(ConsentBasis, description="Ground on which a consent was recorded or changed.")
strawberry.enum(TenancyProof, description="On whose word a user lives at a meter point.")
strawberry.enum(WithheldReason, description="Why the data of a meter point is withheld.")
strawberry.enum(MeterKind, description="Kind of energy that a meter of a home counts.")
strawberry.enum(ThresholdSide, description="The side of the threshold on which an alert rule fires.")
strawberry.enum(NotificationState, description="State of an alert's delivery through one channel.")
strawberry.enum(JobState, description="State of an erasure or an export.")
strawberry.enum(PairingState, description="Answer of a user to a display that wants to be paired.")
strawberry.enum(ErasureAction, description="Treatment of the records of a table by an erasure.")
strawberry.enum(CatchUpState, description="State of a retrieval of readings from the meter network.")
strawberry.enum(
    DeviceActivity,
    description="Activity of a device, derived from the age of its last packet.",
)
strawberry.enum(
    AccountRule,
    description="Users of an external directory who may log in although they have no account in it yet.",
)
strawberry.enum(
    TokenCheck,
    description="How the gateway checks whether a token of an external directory is still valid, besides its signature "
    "and times.",
)
strawberry.enum(DeviceProof, description="How it was proved that a user may have a device.")
strawberry.enum(AmbientLevel, description="Level of the present energy use or price, compared with the usual value.")
strawberry.enum(CarbonIndex, description="How high the carbon intensity of electricity is.")
strawberry.enum(AmbientBasis, description="Reference that a level is compared with.")
strawberry.enum(
    FreshnessState,
    description="Freshness of the newest reading, derived from its age. One interval is `expectedEverySeconds`.",
)
strawberry.enum(FreshnessCause, description="Where readings stop on the way from the meter to the platform.")
strawberry.enum(SuppressionCause, description="Reason why an address receives no more mail.")
strawberry.enum(DeliveryState, description="State of a delivery.")
strawberry.enum(Function, description="Function that combines the readings of a bucket into one value.")
strawberry.enum(ReadingQuality, description="Quality of a reading, in the terms of the meter network.")
strawberry.enum(BucketQuality, description="Quality of a bucket, derived from its samples.")
strawberry.enum(NoValueReason, description="Reason why a value is null.")
strawberry.enum(Baseline, description="Earlier time range that a series is compared with.")
strawberry.enum(TariffKind, description="Kind of tariff, which decides what the rate depends on.")
strawberry.enum(CostLineKind, description="Subject of a line of a bill.")
strawberry.enum(TemplatePart, name="TemplatePart", description="Part of a message template.")
strawberry.enum(Severity, name="FindingSeverity", description="Severity of a finding in a template.")
strawberry.enum(VariableType, description="Type of a variable of an alert type.")
strawberry.enum(Period, description="Length of a bucket, as an ISO 8601 duration.")
strawberry.enum(Weekday, description="Day of the week.")
strawberry.input(TimeRange, description="Time range from start (inclusive) to end (exclusive).")
