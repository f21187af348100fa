"""The types of the GraphQL schema.

Enumerations of other areas become GraphQL types here, before any module of this package uses one: Strawberry makes a
second, different type of an enumeration that it meets first in an annotation.
"""

import strawberry

from wattgate.clock import TimeRange
from wattgate.delivery.templates.diagnostics import Part, Severity
from wattgate.enums import (
    AmbientBasis,
    AmbientLevel,
    Baseline,
    BucketQuality,
    CatchUpState,
    CostLineKind,
    DeliveryState,
    DeviceActivity,
    FreshnessCause,
    FreshnessState,
    Function,
    NotificationState,
    Period,
    ReadingQuality,
    RuleKind,
    SuppressionCause,
    TariffKind,
    ThresholdSide,
    Weekday,
)

strawberry.enum(
    RuleKind,
    description="What a rule looks for: readings over a window beyond a threshold; no reading for as long as the "
    "window; a budget that a period will exceed if it goes on like this.",
)
strawberry.enum(ThresholdSide, description="On which side of its threshold a rule holds.")
strawberry.enum(NotificationState, description="Whether an alert has gone out on a channel.")
strawberry.enum(CatchUpState, description="How far a retrieval of readings from the meter network has come.")
strawberry.enum(
    DeviceActivity,
    description="LIVE: it sends as expected; STALE: packets are overdue; OFFLINE: none for very long, or never.",
)
strawberry.enum(AmbientLevel, description="Whether little or much is used at the moment.")
strawberry.enum(AmbientBasis, description="What a level is judged by.")
strawberry.enum(
    FreshnessState,
    description="What the age of the newest reading says, by how often readings come. An interval is "
    "`expectedEverySeconds`.",
)
strawberry.enum(FreshnessCause, description="Where readings stay away that do not come.")
strawberry.enum(SuppressionCause, description="Why an address gets no more mail.")
strawberry.enum(DeliveryState, description="How far something is that is sent.")
strawberry.enum(Function, description="How the readings of a bucket become one value.")
strawberry.enum(ReadingQuality, description="What is known of a reading, in the words of the meter network.")
strawberry.enum(BucketQuality, description="What a bucket's value is worth.")
strawberry.enum(Baseline, description="What a series is compared with.")
strawberry.enum(TariffKind, description="What the rate of a tariff depends on.")
strawberry.enum(CostLineKind, description="What a line of a cost explanation is for.")
strawberry.enum(Part, name="TemplatePart", description="A part of a template.")
strawberry.enum(Severity, name="FindingSeverity", description="What is to be done about a finding.")
strawberry.enum(Period, description="The length of a bucket, as an ISO 8601 duration.")
strawberry.enum(Weekday, description="A day of the week.")
strawberry.input(TimeRange, description="A span of time: from start to before end, or to now.")
