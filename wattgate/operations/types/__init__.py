"""The types of the GraphQL schema.

Enums of other areas become GraphQL types here, before a module of this package uses one in an annotation. Otherwise
Strawberry would create a second, different type for the same enum.
"""

import strawberry

from wattgate.clock import TimeRange
from wattgate.delivery.templates.language.contract import VariableType
from wattgate.delivery.templates.language.diagnostics import Severity, TemplatePart
from wattgate.energy.display.meter import MeterKind
from wattgate.enums import (
    AccountRule,
    AmbientBasis,
    AmbientLevel,
    Baseline,
    BucketQuality,
    CarbonIndex,
    CatchUpState,
    Channel,
    ComponentBasis,
    ConsentBasis,
    CostLineKind,
    DeliveryState,
    DeviceActivity,
    DeviceProof,
    DfsEventState,
    EnergyUnit,
    ErasureAction,
    FreshnessCause,
    FreshnessState,
    Function,
    HomeMemberEnd,
    HomeMemberState,
    JobState,
    NoStandbyReason,
    NotificationState,
    NoValueReason,
    PairingState,
    Period,
    PowerUnit,
    Priority,
    RateUnit,
    ReadingQuality,
    RefusalCode,
    RuleKind,
    StepStatus,
    SuppressionCause,
    TariffKind,
    TenancyProof,
    ThresholdSide,
    TokenCheck,
    UserStatus,
    WebhookStatus,
    Weekday,
    WithheldReason,
)
from wattgate.operations.vocabulary.scalars import declare_enum

declare_enum(
    Channel,
    "Channel through which an alert reaches a user.",
    EMAIL="E-mail.",
    PUSH="Push message to the user's phone or browser.",
    INBOX="Inbox inside the app.",
)
declare_enum(
    Priority,
    "Urgency of an alert.",
    HIGH="Urgent.",
    LOW="Not urgent.",
)
declare_enum(
    StepStatus,
    "Result of a step in the delivery of a notification.",
    OK="The step succeeded.",
    ERROR="The step failed.",
)
declare_enum(
    WebhookStatus,
    "State of a webhook.",
    PENDING="Waiting for its first or next attempt.",
    COMPLETE="Delivered.",
    FAILED="Given up after the last attempt.",
)
declare_enum(
    UserStatus,
    "Whether a user or an account may log in.",
    UNVERIFIED="Registered. The e-mail address is not verified yet.",
    ACTIVE="In use.",
    INACTIVE="Closed.",
    SUSPENDED="Suspended by the application. It can be reopened.",
)
declare_enum(
    DfsEventState,
    "State of a demand flexibility event.",
    ANNOUNCED="Announced, but not yet open for participation.",
    OPEN="Users can join.",
    ACTIVE="In progress.",
    ENDED="Over. Rewards are not yet known.",
    SETTLED="Over. Rewards are known.",
    CANCELLED="Cancelled.",
)
declare_enum(
    RuleKind,
    "Condition of an alert rule.",
    THRESHOLD="The combined readings of a time window are above or below a threshold.",
    NO_DATA="No reading has arrived for the length of the time window.",
    PACE="A period will exceed its budget if use continues at the present rate.",
)
declare_enum(
    ConsentBasis,
    "Ground on which a consent was recorded or changed.",
    USER="The user gave or changed it with an account.",
    APPLICATION="The application recorded it for the user.",
    PROVISIONED="The application or an administrator added a resource or a device for the user.",
    OPERATOR="The operator recorded it, for example with `wattgate home create`.",
    UNRECORDED="The gateway did not record it.",
)
declare_enum(
    TenancyProof,
    "On whose word a user lives at a meter point.",
    USER="An account of the user added or opened a resource there.",
    APPLICATION="The application or an administrator stated it.",
    OPERATOR="The operator stated it, for example with `wattgate home create`.",
)
declare_enum(
    WithheldReason,
    "Why the data of a meter point is withheld.",
    MISSING="No consent is recorded for the meter point.",
    REVOKED="The user has revoked the consent.",
    EXPIRED="The consent has expired.",
)
declare_enum(
    RefusalCode,
    "Code of a refusal.",
    BAD_INPUT="A value is wrong or missing. `problems` names it.",
    NOT_FOUND="The caller has no such record.",
    NOT_SUPPORTED="The record exists, but its kind does not support the operation.",
    CONFLICT="The state of the record does not allow the change.",
    QUOTA_EXCEEDED="The user or the application has as many records of the kind as it may have.",
    CONSENT_REVOKED="The consent to the use of the data is revoked, expired or not recorded.",
    REAUTHENTICATION_REQUIRED="The log-in of the token is too old for this change. Send the password, or log in again.",
    SECOND_FACTOR_REQUIRED="The password is right; a code of the second factor is missing or wrong.",
)
declare_enum(
    MeterKind,
    "Kind of energy that a meter of a home counts.",
    ELECTRICITY="Electricity drawn from the grid.",
    EXPORTED="Electricity fed into the grid.",
    GAS="Gas.",
)
declare_enum(
    ThresholdSide,
    "The side of the threshold on which an alert rule fires.",
    ABOVE="Fire above the threshold.",
    BELOW="Fire below the threshold.",
)
declare_enum(
    NotificationState,
    "State of an alert's delivery through one channel.",
    WAITING="Delivery is in progress or waits for a retry.",
    SENT="The alert is in the inbox, or a mail server or push provider accepted it.",
    FAILED="Delivery failed for good, or the user has no address for the channel.",
    RATE_LIMITED="Every mail exceeded a bound and is not sent. The alert itself is kept.",
)
declare_enum(
    JobState,
    "State of an erasure or an export.",
    QUEUED="Waiting for a worker.",
    RUNNING="A worker is busy with it.",
    DONE="The work is complete.",
    FAILED="The work has failed. See `reason`.",
)
declare_enum(
    PairingState,
    "Answer of a user to a display that wants to be paired.",
    PENDING="No user has answered yet.",
    APPROVED="A user has approved the display for a home.",
    DENIED="A user has refused the display, or the home no longer belongs to the user.",
)
declare_enum(
    HomeMemberState,
    "State of the access of another person to a home.",
    INVITED="The owner has invited the person, who has not accepted yet.",
    EXPIRED="Nobody has accepted the invitation in time.",
    JOINED="The person may read the home.",
    ENDED="The access or the invitation has ended. See `endReason`.",
)
declare_enum(
    HomeMemberEnd,
    "Why the access of another person to a home, or the invitation, has ended.",
    WITHDRAWN="The owner has withdrawn the invitation.",
    REMOVED="The owner has removed the person.",
    LEFT="The person has left the home.",
    HOME_CLOSED="The home was closed.",
)
declare_enum(
    ErasureAction,
    "Treatment of the records of a table by an erasure.",
    ERASED="The records are deleted.",
    REPLACED="The records stay, without personal values.",
    KEPT="The records stay as they are.",
)
declare_enum(
    CatchUpState,
    "State of a retrieval of readings from the meter network.",
    QUEUED="Waiting for a worker.",
    RUNNING="A worker retrieves readings.",
    DONE="All readings of the network are recorded.",
    FAILED="The network did not respond, or its readings could not be recorded.",
)
declare_enum(
    DeviceActivity,
    "Activity of a device, derived from the age of its last packet.",
    LIVE="Packets arrive as expected.",
    STALE="Packets are overdue.",
    OFFLINE="The last packet is too old, or no packet has ever arrived.",
)
declare_enum(
    AccountRule,
    "Users of an external directory who may log in although they have no account in it yet.",
    EXISTING="Nobody. The application adds the accounts.",
    LINK="The only user of the application with the same e-mail address, if the directory has verified it.",
    CREATE="Everybody. The gateway creates a new user.",
)
declare_enum(
    TokenCheck,
    "How the gateway checks whether a token of an external directory is still valid, besides its signature and times.",
    SIGNATURE="Not at all.",
    USERINFO="It sends the access token to the userinfo endpoint of the directory.",
    INTROSPECTION="It asks the introspection endpoint of the directory (RFC 7662).",
)
declare_enum(
    DeviceProof,
    "How it was proved that a user may have a device.",
    NETWORK="The meter network lists the device at a verified meter point of the user.",
    CODE="The user had the claim code that the application registered for the device.",
    APPLICATION="The application added the device or moved it to the user.",
)
declare_enum(
    AmbientLevel,
    "Level of the present energy use or price, compared with the usual value.",
    LOW="Below `lowBelow`: less than 0.8 times the usual value.",
    MEDIUM="From `lowBelow` to less than `highFrom`.",
    HIGH="At least `highFrom`. For power: 1.5 times what nine of ten usual half hours do not exceed, and at least 1 "
    "kW. For prices: 1.25 times the mean rate of the day.",
)
declare_enum(
    CarbonIndex,
    "How high the carbon intensity of electricity is.",
    VERY_LOW="Less than 50 gCO2/kWh.",
    LOW="From 50 to less than 125 gCO2/kWh.",
    MODERATE="From 125 to less than 200 gCO2/kWh.",
    HIGH="From 200 to less than 300 gCO2/kWh.",
    VERY_HIGH="At least 300 gCO2/kWh.",
)
declare_enum(
    AmbientBasis,
    "Reference that a level is compared with.",
    LEARNED="Power at the same time of day in the last two weeks. The usual value is the median of half hours, and "
    "nine of ten are within the usual range.",
    BUDGET="The usual power of LEARNED, scaled so that a day of the usual shape uses up the owner's daily budget.",
    PRICE="Mean rate of the day, for tariffs whose rate changes within a day.",
)
declare_enum(
    FreshnessState,
    "Freshness of the newest reading, derived from its age. One interval is `expectedEverySeconds`.",
    LIVE="Readings arrive as expected: less than 2 intervals or 30 seconds old, whichever is longer.",
    DELAYED="Readings are late: less than 4 intervals or 2 minutes old, whichever is longer.",
    STALE="The value is too old to be current: less than 8 intervals or 15 minutes old, whichever is longer.",
    OFFLINE="The newest reading is older than that, or there is no reading.",
)
declare_enum(
    FreshnessCause,
    "Where readings stop on the way from the meter to the platform.",
    METER="The device in the home responds, but the readings of its meter do not arrive.",
    GATEWAY="The display or bridge in the home sends nothing. It does not mean wattgate.",
    PLATFORM="The platform does not accept messages at present.",
    UNKNOWN="The cause is not known.",
)
declare_enum(
    SuppressionCause,
    "Reason why an address receives no more mail.",
    REFUSED="A mail server reported that the address does not exist.",
    BOUNCED="The application reported that a mail came back after a mail server had accepted it.",
    UNSUBSCRIBED="The recipient followed the unsubscribe link of a mail.",
)
declare_enum(
    DeliveryState,
    "State of a delivery.",
    WAITING="Waiting for the first attempt or for a retry.",
    LEASED="An attempt is in progress.",
    SENT="The recipient's server accepted the message.",
    FAILED="Delivery failed for good. There are no more attempts.",
    SUPPRESSED="The delivery exceeded a bound when it was added, and is never sent.",
)
declare_enum(
    Function,
    "Function that combines the readings of a bucket into one value.",
    SUM="Sum of the readings. Use it for energy and cost.",
    AVG="Arithmetic mean of the readings. Use it for power.",
    MIN="Smallest reading.",
    MAX="Largest reading.",
    FIRST="First reading in time.",
    LAST="Last reading in time. Use it for cumulative registers.",
    COUNT="Number of readings.",
    DIFFERENCE="Rise of a cumulative register since the last reading of the bucket before it that has one, or within "
    "the first bucket. Null if the register was replaced.",
)
declare_enum(
    ReadingQuality,
    "Quality of a reading, in the terms of the meter network.",
    ACTUAL="Measured value.",
    ESTIMATED="Estimate of the meter network.",
    SUBSTITUTED="Substitute for a lost reading.",
    QUESTIONABLE="Measured value that the meter network doubts.",
)
declare_enum(
    BucketQuality,
    "Quality of a bucket, derived from its samples.",
    ACTUAL="All samples are stored and have the quality ACTUAL.",
    ESTIMATED="All samples are stored. Some do not have the quality ACTUAL.",
    PARTIAL="Some samples are missing or have not been taken yet.",
    MISSING="No sample is stored. The value is null, never zero.",
)
declare_enum(
    NoValueReason,
    "Reason why a value is null.",
    NO_READINGS="No reading is stored.",
    NO_POWER="No power reading is at most 15 minutes old, so the present value is unknown.",
    NO_TARIFF="No tariff applies. Set one with `setTariff`.",
    NO_PRICE="A dynamic tariff applies, but its price for the time is not known.",
    SEVERAL_CURRENCIES="Tariffs in several currencies apply, and their costs cannot be added.",
)
declare_enum(
    NoStandbyReason,
    "Reason why the standby power of a home, or its cost, is null.",
    TOO_COARSE="The readings are for more than an hour each, or at irregular times.",
    TOO_FEW_DAYS="Fewer than 14 of the 28 days before today have all their readings.",
    NO_NIGHT_USE="The meter shows no use at night, because panels or a battery supply the home.",
    NO_TARIFF="No tariff applies. Set one with `setTariff`.",
    NO_PRICE="A dynamic tariff applies, and some of its prices are not known.",
    SEVERAL_CURRENCIES="Tariffs in several currencies apply, and their prices cannot be averaged.",
    BLOCK_TARIFF="The price depends on the other use of the home.",
)
declare_enum(
    Baseline,
    "Earlier time range that a series is compared with.",
    PREVIOUS_PERIOD="The time range of the same length directly before.",
    SAME_PERIOD_LAST_YEAR="The same time range one year before.",
)
declare_enum(
    TariffKind,
    "Kind of tariff, which decides what the rate depends on.",
    FLAT="The rate is the same at all times.",
    TIME_OF_USE="The rate depends on the weekday and the time of day.",
    BLOCK="The rate depends on the energy used since the start of a calendar period.",
    DYNAMIC="Each period of 5 to 60 minutes has its own price.",
)
declare_enum(
    CostLineKind,
    "Subject of a line of a bill.",
    ENERGY="Energy that was used.",
    STANDING_CHARGE="Daily charge that does not depend on use.",
    COMPONENT="Component of the tariff, such as a levy, a discount or the fee of a month.",
)
declare_enum(
    ComponentBasis,
    "Quantity that a component of a tariff charges for.",
    ENERGY="Energy that has a price, in the unit of the readings.",
    DAY="Days of the tariff's time zone.",
    MONTH="Calendar months of the tariff's time zone. A day has an equal share of its month.",
    PEAK="Highest mean power of each calendar month, in kW. A day has an equal share of its month.",
)
declare_enum(
    EnergyUnit,
    "Unit of an amount of energy, or of the gas that has it.",
    WATT_HOUR="Watt hours.",
    KILOWATT_HOUR="Kilowatt hours.",
    MEGAWATT_HOUR="Megawatt hours.",
    CUBIC_METRE="Cubic metres of gas.",
    OTHER="Any other unit: `baseUnit` of the resource names it.",
)
declare_enum(
    PowerUnit,
    "Unit of a power.",
    WATT="Watts.",
)
declare_enum(
    RateUnit,
    "Unit for which a rate is the price.",
    WATT_HOUR="For each Wh.",
    KILOWATT_HOUR="For each kWh.",
    MEGAWATT_HOUR="For each MWh.",
    CUBIC_METRE="For each cubic metre of gas.",
    DAY="For each day.",
    MONTH="For each month.",
    KILOWATT="For each kW of the peak of a month.",
    OTHER="For each unit that `baseUnit` of the resource names.",
)
declare_enum(
    TemplatePart,
    "Part of a message template.",
    SUBJECT="Subject of a mail, or title of a push message.",
    PREHEADER="Preview text that mail programs show after the subject.",
    HTML="HTML body.",
    TEXT="Plain-text body.",
)
declare_enum(
    Severity,
    "Severity of a finding in a template.",
    graphql_name="FindingSeverity",
    ERROR="The template cannot be published until this is fixed.",
    WARNING="Some recipients may see less than intended.",
    INFO="Informational.",
)
declare_enum(
    VariableType,
    "Type of a variable of an alert type.",
    TEXT="A text.",
    NUMBER="A number, as JSON number or as text. Written with at most two decimal places.",
    ENERGY="Energy in Wh, kWh or MWh. Written in kWh with two decimal places.",
    POWER="Power in W or kW. Written in whole W, or from 10 kW on in kW.",
    MONEY="An amount of money. Written with the decimal places of its currency.",
    PERCENTAGE="A percentage: 12.5 is 12.5 %.",
    INSTANT="An instant in ISO 8601 with a UTC offset. Written in the time zone of the home.",
    DATE="A calendar date, such as 2026-01-05.",
    BOOLEAN="True or false.",
    URL="A web address that begins with https:// or http://.",
    LIST="A list. Its items may have variables, such as days[].use.",
)
declare_enum(
    Period,
    "Length of a bucket, as an ISO 8601 duration.",
    PT1M="One minute.",
    PT5M="Five minutes.",
    PT15M="A quarter of an hour.",
    PT30M="Half an hour.",
    PT1H="One hour.",
    P1D="One day of the time zone: 23 to 25 hours when clocks change.",
    P1W="One week, which starts on the day of the argument `weekStart`.",
    P1M="One calendar month.",
    P3M="A quarter of a calendar year, from January, April, July or October.",
    P1Y="One calendar year.",
)
declare_enum(
    Weekday,
    "Day of the week.",
    MONDAY="Monday.",
    TUESDAY="Tuesday.",
    WEDNESDAY="Wednesday.",
    THURSDAY="Thursday.",
    FRIDAY="Friday.",
    SATURDAY="Saturday.",
    SUNDAY="Sunday.",
)
strawberry.input(TimeRange, description="Time range from start (inclusive) to end (exclusive).")
