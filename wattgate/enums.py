"""Enumerations that all areas share: the fixed values of the GraphQL and REST interfaces."""

from contextvars import ContextVar
from enum import Enum, StrEnum
from functools import lru_cache


class Period(Enum):
    """The length of a bucket of readings, as an ISO 8601 duration."""

    PT1M = "PT1M"
    PT5M = "PT5M"
    PT15M = "PT15M"
    PT30M = "PT30M"
    PT1H = "PT1H"
    P1D = "P1D"
    P1W = "P1W"
    P1M = "P1M"
    P3M = "P3M"
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
    DIFFERENCE = "difference"


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
    """The quality of a reading, with the names of the meter network.

    The position of a member is stored in the database, so add new members only at the end.
    """

    ACTUAL = "ACTUAL"
    ESTIMATED = "ESTIMATED"
    SUBSTITUTED = "SUBSTITUTED"
    QUESTIONABLE = "QUESTIONABLE"


class BucketQuality(Enum):
    """The quality of a bucket's value."""

    ACTUAL = "ACTUAL"
    ESTIMATED = "ESTIMATED"
    PARTIAL = "PARTIAL"
    MISSING = "MISSING"


class NoValueReason(Enum):
    """Why a value is null."""

    NO_READINGS = "NO_READINGS"
    NO_POWER = "NO_POWER"
    NO_TARIFF = "NO_TARIFF"
    NO_PRICE = "NO_PRICE"
    SEVERAL_CURRENCIES = "SEVERAL_CURRENCIES"


class NoStandbyReason(Enum):
    """Why the standby power of a home, or its cost, is unknown."""

    TOO_COARSE = "TOO_COARSE"
    TOO_FEW_DAYS = "TOO_FEW_DAYS"
    NO_NIGHT_USE = "NO_NIGHT_USE"
    NO_TARIFF = "NO_TARIFF"
    NO_PRICE = "NO_PRICE"
    BLOCK_TARIFF = "BLOCK_TARIFF"
    SEVERAL_CURRENCIES = "SEVERAL_CURRENCIES"


class ConsentBasis(Enum):
    """On what ground a consent was recorded or changed."""

    USER = "user"
    APPLICATION = "application"
    PROVISIONED = "provisioned"
    OPERATOR = "operator"
    UNRECORDED = "unrecorded"


class TenancyProof(Enum):
    """On whose word a household lives at a meter point."""

    USER = "user"
    APPLICATION = "application"
    OPERATOR = "operator"


class WithheldReason(Enum):
    """Why the data of a meter point is withheld."""

    MISSING = "missing"
    REVOKED = "revoked"
    EXPIRED = "expired"


class RefusalCode(Enum):
    """The code of a refusal that a mutation returns as data. The names are the codes of the errors."""

    BAD_INPUT = "BAD_INPUT"
    NOT_FOUND = "NOT_FOUND"
    NOT_SUPPORTED = "NOT_SUPPORTED"
    CONFLICT = "CONFLICT"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    CONSENT_REVOKED = "CONSENT_REVOKED"
    REAUTHENTICATION_REQUIRED = "REAUTHENTICATION_REQUIRED"
    SECOND_FACTOR_REQUIRED = "SECOND_FACTOR_REQUIRED"


class Baseline(Enum):
    """The earlier span that a series is compared with."""

    PREVIOUS_PERIOD = "PREVIOUS_PERIOD"
    SAME_PERIOD_LAST_YEAR = "SAME_PERIOD_LAST_YEAR"


class AmbientLevel(Enum):
    """How much energy is used at present, compared with the usual amount."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class AmbientBasis(Enum):
    """The reference that an ambient level is based on."""

    LEARNED = "LEARNED"
    BUDGET = "BUDGET"
    PRICE = "PRICE"


class CarbonIndex(Enum):
    """How high the carbon intensity of electricity is."""

    VERY_LOW = "VERY_LOW"
    LOW = "LOW"
    MODERATE = "MODERATE"
    HIGH = "HIGH"
    VERY_HIGH = "VERY_HIGH"


class TariffKind(Enum):
    """The factor that the rate of a tariff depends on."""

    FLAT = "FLAT"
    TIME_OF_USE = "TIME_OF_USE"
    BLOCK = "BLOCK"
    DYNAMIC = "DYNAMIC"


class ComponentBasis(Enum):
    """The quantity that a component of a tariff charges for."""

    ENERGY = "ENERGY"
    DAY = "DAY"
    MONTH = "MONTH"
    PEAK = "PEAK"


class CostLineKind(Enum):
    """The kind of a line in a cost explanation."""

    ENERGY = "ENERGY"
    STANDING_CHARGE = "STANDING_CHARGE"
    COMPONENT = "COMPONENT"


class EnergyUnit(Enum):
    """The unit of an amount of energy, or of gas."""

    WATT_HOUR = "Wh"
    KILOWATT_HOUR = "kWh"
    MEGAWATT_HOUR = "MWh"
    CUBIC_METRE = "m3"
    OTHER = "other"


class PowerUnit(Enum):
    """The unit of a power."""

    WATT = "W"


class RateUnit(Enum):
    """The unit for which a rate is the price. Each unit of energy is one of them, under the same name."""

    WATT_HOUR = "Wh"
    KILOWATT_HOUR = "kWh"
    MEGAWATT_HOUR = "MWh"
    CUBIC_METRE = "m3"
    DAY = "day"
    MONTH = "month"
    KILOWATT = "kW"
    OTHER = "other"


class CatchUpState(Enum):
    """The progress of a request for past readings from the meter network."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"


class Audience(Enum):
    """A kind of callers of the GraphQL schema. The value names it in tags, in paths and in `wattgate schema`."""

    APP = "app"
    DISPLAY = "display"
    EDITOR = "editor"
    SUPPORT = "support"
    BACK_END = "back-end"


class JobState(Enum):
    """The progress of a job on the data of a user."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"


class ErasureStage(Enum):
    """The stage of an erasure. CHECK repeats PERSONAL once, for records of transactions that were still open."""

    PERSONAL = "PERSONAL"
    CHECK = "CHECK"
    BILLING = "BILLING"
    ENDED = "ENDED"


class ErasureAction(Enum):
    """The treatment of the records of a table by an erasure."""

    ERASED = "ERASED"
    REPLACED = "REPLACED"
    KEPT = "KEPT"


class DeliveryKind(Enum):
    """The channel of a delivery."""

    EMAIL = "email"
    PUSH = "push"
    WEBHOOK = "webhook"
    TEST_MAIL = "test-mail"
    ACCOUNT_MAIL = "account-mail"


class DeliveryState(Enum):
    """The progress of a delivery."""

    WAITING = "WAITING"
    LEASED = "LEASED"
    SENT = "SENT"
    FAILED = "FAILED"
    SUPPRESSED = "SUPPRESSED"


class SuppressionCause(Enum):
    """Why an address gets no more mail."""

    REFUSED = "REFUSED"
    BOUNCED = "BOUNCED"
    UNSUBSCRIBED = "UNSUBSCRIBED"


class NotificationState(Enum):
    """Whether an alert was sent on a channel."""

    WAITING = "WAITING"
    SENT = "SENT"
    FAILED = "FAILED"
    RATE_LIMITED = "RATE_LIMITED"


class Channel(StrEnum):
    """The way on which an alert reaches a user."""

    EMAIL = "email"
    PUSH = "push"
    INBOX = "inbox"


class Priority(StrEnum):
    """The urgency of an alert."""

    HIGH = "High"
    LOW = "Low"


class StepStatus(StrEnum):
    """The result of a step in the delivery of a notification."""

    OK = "OK"
    ERROR = "ERROR"


class WebhookStatus(StrEnum):
    """The progress of a webhook."""

    PENDING = "pending"
    COMPLETE = "complete"
    FAILED = "failed"


class UserStatus(StrEnum):
    """Whether a user, or an account, may log in."""

    UNVERIFIED = "unverified"
    ACTIVE = "active"
    INACTIVE = "inactive"
    SUSPENDED = "suspended"


class DfsEventState(StrEnum):
    """The progress of a demand flexibility event."""

    ANNOUNCED = "announced"
    OPEN = "open"
    ACTIVE = "active"
    ENDED = "ended"
    SETTLED = "settled"
    CANCELLED = "cancelled"


class RuleKind(Enum):
    """The condition that an alert rule checks in the readings of a resource."""

    THRESHOLD = "THRESHOLD"
    NO_DATA = "NO_DATA"
    PACE = "PACE"


class ThresholdSide(Enum):
    """The side of its threshold on which a rule is active."""

    ABOVE = "ABOVE"
    BELOW = "BELOW"


class DeviceProof(Enum):
    """How it was proved that a user may have a device."""

    NETWORK = "NETWORK"
    CODE = "CODE"
    APPLICATION = "APPLICATION"


class PairingState(Enum):
    """The answer of a user to a display that wants to be paired."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    DENIED = "DENIED"


class HomeMemberState(Enum):
    """How far the access of another person to a home is."""

    INVITED = "INVITED"
    EXPIRED = "EXPIRED"
    JOINED = "JOINED"
    ENDED = "ENDED"


class HomeMemberEnd(Enum):
    """Why the access of another person to a home, or the invitation, has ended."""

    WITHDRAWN = "WITHDRAWN"
    REMOVED = "REMOVED"
    LEFT = "LEFT"
    HOME_CLOSED = "HOME_CLOSED"


class AccountRule(Enum):
    """Users of an external directory who may log in although they have no account in it yet."""

    EXISTING = "EXISTING"
    LINK = "LINK"
    CREATE = "CREATE"


class TokenCheck(Enum):
    """How the gateway finds out whether a token of an external directory is still valid."""

    SIGNATURE = "SIGNATURE"
    USERINFO = "USERINFO"
    INTROSPECTION = "INTROSPECTION"


class DeviceActivity(Enum):
    """The age of a device's last packet, compared with its expected interval."""

    LIVE = "LIVE"
    STALE = "STALE"
    OFFLINE = "OFFLINE"


class FreshnessState(Enum):
    """The age of the newest reading, compared with the expected interval (`energy.freshness`)."""

    LIVE = "LIVE"
    DELAYED = "DELAYED"
    STALE = "STALE"
    OFFLINE = "OFFLINE"


class FreshnessCause(Enum):
    """The part of the chain that causes missing readings, as far as it is known."""

    METER = "METER"
    GATEWAY = "GATEWAY"
    PLATFORM = "PLATFORM"
    UNKNOWN = "UNKNOWN"


class DateOrder(Enum):
    """The order of the parts of a date in a file."""

    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"
    YEAR_FIRST = "year-first"


class Times(Enum):
    """Whether a time in a file is the start or the end of its interval."""

    START = "start"
    END = "end"


class Epoch(Enum):
    """The clock of the seconds since 1970 in a file: UTC, or local time."""

    UTC = "utc"
    LOCAL = "local"


TRACE_ID: ContextVar[str] = ContextVar("trace_id", default="")
"""The id of the current request. Every error response and every log record has it."""


@lru_cache(maxsize=4096)
def to_camel_case(name: str) -> str:
    """Return a snake_case name as the interfaces spell it: resource_type_id becomes resourceTypeId."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
