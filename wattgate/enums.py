"""Words that every area shares: the fixed vocabularies of the interface."""

from contextvars import ContextVar
from enum import Enum
from functools import lru_cache


class Period(Enum):
    """The length of a bucket of readings, as an ISO 8601 duration."""

    PT1M = "PT1M"
    PT30M = "PT30M"
    PT1H = "PT1H"
    P1D = "P1D"
    P1W = "P1W"
    P1M = "P1M"
    P1Y = "P1Y"


class Function(Enum):
    """How the readings of a bucket become one value."""

    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    FIRST = "first"
    LAST = "last"
    COUNT = "count"


class Weekday(Enum):
    """A day of the week; the value counts from Monday, as `datetime.weekday` does."""

    MONDAY = 0
    TUESDAY = 1
    WEDNESDAY = 2
    THURSDAY = 3
    FRIDAY = 4
    SATURDAY = 5
    SUNDAY = 6


class ReadingQuality(Enum):
    """What is known of a reading, in the words of the meter network. Their order is what is stored: only append."""

    ACTUAL = "ACTUAL"
    ESTIMATED = "ESTIMATED"
    SUBSTITUTED = "SUBSTITUTED"
    QUESTIONABLE = "QUESTIONABLE"


class BucketQuality(Enum):
    """What a bucket's value is worth."""

    ACTUAL = "ACTUAL"
    ESTIMATED = "ESTIMATED"
    PARTIAL = "PARTIAL"
    MISSING = "MISSING"


class Baseline(Enum):
    """What a series is compared with."""

    PREVIOUS_PERIOD = "PREVIOUS_PERIOD"
    SAME_PERIOD_LAST_YEAR = "SAME_PERIOD_LAST_YEAR"


class AmbientLevel(Enum):
    """Whether little or much is used at the moment."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class AmbientBasis(Enum):
    """What a level is judged by."""

    LEARNED = "LEARNED"
    BUDGET = "BUDGET"
    PRICE = "PRICE"


class TariffKind(Enum):
    """What the rate of a tariff depends on."""

    FLAT = "FLAT"
    TIME_OF_USE = "TIME_OF_USE"
    BLOCK = "BLOCK"
    DYNAMIC = "DYNAMIC"


class CostLineKind(Enum):
    """What a line of a cost explanation is for."""

    ENERGY = "ENERGY"
    STANDING_CHARGE = "STANDING_CHARGE"


class CatchUpState(Enum):
    """How far a retrieval of readings from the meter network has come."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"


class DeliveryKind(Enum):
    """By what something leaves the house."""

    EMAIL = "email"
    PUSH = "push"
    WEBHOOK = "webhook"
    TEST_MAIL = "test-mail"


class DeliveryState(Enum):
    """How far something is that has to leave the house."""

    WAITING = "WAITING"
    LEASED = "LEASED"
    SENT = "SENT"
    FAILED = "FAILED"


class SuppressionCause(Enum):
    """Why an address gets no more mail."""

    REFUSED = "REFUSED"
    UNSUBSCRIBED = "UNSUBSCRIBED"


class NotificationState(Enum):
    """Whether an alert has gone out on a channel."""

    WAITING = "WAITING"
    SENT = "SENT"
    FAILED = "FAILED"


class RuleKind(Enum):
    """What an alert rule looks for in the readings of a resource."""

    THRESHOLD = "THRESHOLD"
    NO_DATA = "NO_DATA"
    PACE = "PACE"


class ThresholdSide(Enum):
    """On which side of its threshold a rule holds."""

    ABOVE = "ABOVE"
    BELOW = "BELOW"


class DeviceActivity(Enum):
    """How a device's last packet compares with how often it is expected to send."""

    LIVE = "LIVE"
    STALE = "STALE"
    OFFLINE = "OFFLINE"


class FreshnessState(Enum):
    """What the age of the newest reading says, by how often readings come (`db.freshness`)."""

    LIVE = "LIVE"
    DELAYED = "DELAYED"
    STALE = "STALE"
    OFFLINE = "OFFLINE"


class FreshnessCause(Enum):
    """Where readings stay away that do not come, as far as that is known."""

    METER = "METER"
    GATEWAY = "GATEWAY"
    PLATFORM = "PLATFORM"
    UNKNOWN = "UNKNOWN"


TRACE_ID: ContextVar[str] = ContextVar("trace_id", default="")
"""The id of the request being served; it stands in every error told and every log line."""


@lru_cache(maxsize=4096)
def camel(name: str) -> str:
    """A snake_case name as the interface writes it: resource_type_id is resourceTypeId."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
