"""Types of arguments and fields that several declarations share, with their descriptions and bounds.

A name that one declaration uses alone is described there. IDs are in `operations.vocabulary.ids`.
"""

from datetime import datetime, tzinfo
from types import MappingProxyType
from typing import Annotated

from wattgate.clock import TimeRange
from wattgate.enums import Baseline, Channel, Function, JobState, Period, ReadingQuality, Weekday
from wattgate.values.annotations import Described, MaxCharacters

# Texts with a bound alone. Their descriptions are at their declarations.
Text100 = Annotated[str, MaxCharacters(100)]
Text200 = Annotated[str, MaxCharacters(200)]
Address = Annotated[str, MaxCharacters(254)]
Text500 = Annotated[str, MaxCharacters(500)]
Secret = Annotated[str, MaxCharacters(1_024)]
Text2000 = Annotated[str, MaxCharacters(2_000)]
Url = Annotated[str, MaxCharacters(2_048)]
Source = Annotated[str, MaxCharacters(200_000)]

MAX_NAME_CHARACTERS = 200
"""Maximum characters of a name."""

MAX_SINCE_CHARACTERS = 16_384
"""Maximum characters of the position from which a subscription resumes."""

CHANNELS = "Channels of delivery."
CHANNEL_TYPE = "Channel of delivery."
RESOURCE = "The resource that the values belong to."
SENSORS = "Sensors of the device."

Active = Annotated[bool, Described("Whether the record is in use.")]
After = Annotated[
    str,
    MaxCharacters(500),
    Described("Cursor: the page has only records after it. Default: from the beginning of the list."),
]
AllowsNegative = Annotated[bool, Described("Whether negative values are allowed.")]
AnyHardwareId = Annotated[
    str,
    MaxCharacters(200),
    Described(
        "Hardware ID, MAC address, EUI or serial number of the device, in any case and with or without separators."
    ),
]
BaseUnit = Annotated[str, Described("Unit of the first storage field, such as kWh.")]
Before = Annotated[
    str,
    MaxCharacters(500),
    Described("Cursor: the page has only records before it. Default: up to the end of the list."),
]
BucketFunction = Annotated[Function, Described("Function that combines the readings of a bucket into one value.")]
ChosenFunction = Annotated[
    Function,
    Described(
        "Function that combines the readings of a bucket into one value. Default: SUM, for power AVG, and for "
        "cumulative registers LAST. A function without a meaning for the field is BAD_INPUT."
    ),
]
BucketLength = Annotated[Period, Described("Length of a bucket.")]
BucketRange = Annotated[TimeRange, Described("Time range. All buckets that overlap it are returned.")]
BucketTimeZone = Annotated[
    tzinfo, Described("Time zone that divides the range into buckets: an IANA name or an offset from UTC.")
]
CallerCode = Annotated[
    str,
    MaxCharacters(1_024),
    Described("Code of the app, or a recovery code. Required beside `password` if the account has a second factor."),
]
CallerPassword = Annotated[
    str, MaxCharacters(1_024), Described("Password of the calling account. Required if the log-in of the token is old.")
]
AlertChannel = Annotated[Channel, Described(CHANNEL_TYPE)]
ChosenField = Annotated[
    str,
    MaxCharacters(100),
    Described("Name of the storage field, such as ENERGY. Default: the resource's first field."),
]
City = Annotated[str, MaxCharacters(200), Described("Town or city.")]
Classifier = Annotated[
    str, MaxCharacters(100), Described("Dotted category of the measured quantity, such as electricity.consumption.")
]
ClientId = Annotated[str, MaxCharacters(200), Described("ID of the OAuth client.")]
ComparedRange = Annotated[Baseline, Described("Earlier time range to compare with.")]
Country = Annotated[str, MaxCharacters(100), Described("ISO 3166 code of the country, such as GB.")]
CreatedAt = Annotated[datetime, Described("When the record was created.")]
CultureCode = Annotated[str, MaxCharacters(100), Described("Language and region, such as en-GB.")]
DataSourceType = Annotated[str, MaxCharacters(100), Described("Kind of the data source that supplies the readings.")]
Datatype = Annotated[
    str, MaxCharacters(100), Described("Type of the values: fixedpoint(n) with n decimal places, or integer.")
]
Description = Annotated[str, MaxCharacters(2_000), Described("Human-readable description.")]
DeviceCode = Annotated[str, MaxCharacters(1_024), Described("Device code that `startDisplayPairing` returned.")]
Email = Annotated[str, MaxCharacters(254), Described("E-mail address.")]
EndsAt = Annotated[datetime, Described("When the event ends.")]
Eui = Annotated[
    str,
    MaxCharacters(100),
    Described("EUI-64 of the device on the smart-meter network: 16 hexadecimal digits, with or without separators."),
]
Field = Annotated[str, Described("Name of the storage field, such as ENERGY.")]
FieldName = Annotated[str, MaxCharacters(100), Described("Name of the measured quantity, such as ENERGY.")]
FinishedAt = Annotated[datetime, Described("When the job succeeded or failed. Null until then.")]
First = Annotated[
    int,
    Described(
        "Number of records from the start of the list, or after `after`: 1 to 100. Default: 50 if `last` is absent."
    ),
]
FirstEntries = Annotated[int, Described("Maximum number of entries: 1 to 100.")]
FirstReceipts = Annotated[int, Described("Maximum number of receipts: 1 to 100.")]
FirstTenancies = Annotated[int, Described("Maximum number of tenancies: 1 to 100.")]
GeoCoordinates = Annotated[str, MaxCharacters(200), Described("Latitude and longitude.")]
HardwareId = Annotated[str, Described("Identifier of the device in the application, usually its MAC address.")]
HtmlTemplate = Annotated[
    str, MaxCharacters(200_000), Described("HTML source with markers in double braces, such as {{name}}.")
]
IsRequired = Annotated[
    bool, Described("Whether a virtual entity of the type must have a resource of this resource type.")
]
Label = Annotated[str, MaxCharacters(200), Described("Short name for lists.")]
Last = Annotated[
    int,
    Described(
        "Number of records from the end of the list, or before `before`: 1 to 100. Do not combine it with `first`."
    ),
]
Location = Annotated[str, MaxCharacters(500), Described("Free-form location, such as a street address.")]
MeasuredValue = Annotated[float, Described("Measured value.")]
Message = Annotated[str, MaxCharacters(10_000), Described("Human-readable text.")]
MinimumVersion = Annotated[
    str, MaxCharacters(100), Described("Oldest app version that the questions apply to: dotted numbers, such as 1.2.0.")
]
MovedInAt = Annotated[
    datetime,
    Described(
        "When the user moved in at the meter point. Another user who lives there moves out then. If the user "
        "lives there already, it corrects the start: readings from before a later start are deleted. Not in the "
        "future."
    ),
]
Mpxn = Annotated[
    str, MaxCharacters(100), Described("Number of the meter point: an MPAN (electricity) or an MPRN (gas).")
]
Mpxns = Annotated[
    list[Annotated[str, MaxCharacters(100)]],
    Described("Numbers of the meter points: MPANs (electricity) or MPRNs (gas)."),
]
Name = Annotated[str, MaxCharacters(MAX_NAME_CHARACTERS), Described("Display name.")]
NewPassword = Annotated[
    str, MaxCharacters(1_024), Described("New password of at least 8 characters, none of the most common ones.")
]
OldPassword = Annotated[str, MaxCharacters(1_024), Described("Current password.")]
OpenStreetMapsRef = Annotated[str, MaxCharacters(500), Described("Reference of the place on OpenStreetMap.")]
ParentHardwareIds = Annotated[
    list[Annotated[str, MaxCharacters(200)]],
    Described("Hardware identifiers of the devices that this device is connected to."),
]
NewLoginName = Annotated[
    str,
    MaxCharacters(254),
    Described("Login name, unique in the directory; compared trimmed and in lower case."),
]
FirstPassword = Annotated[
    str,
    MaxCharacters(1_024),
    Described(
        "Password of at least 8 characters, none of the most common ones. Without a password, the account cannot log "
        "in."
    ),
]
Password = Annotated[str, MaxCharacters(1_024), Described("Password of the account.")]
PostalCode = Annotated[str, MaxCharacters(100), Described("Postcode.")]
ProfileName = Annotated[str, MaxCharacters(200), Described("Name of the profile, unique in the account.")]
PushToken = Annotated[
    str, MaxCharacters(8_192), Described("Push token of an app, or the push subscription of a browser as JSON.")
]
QualityOfReading = Annotated[ReadingQuality, Described("Quality of the reading.")]
Question = Annotated[str, MaxCharacters(2_000), Described("Text of the question.")]
ReadingInstant = Annotated[datetime, Described("Instant of the reading.")]
RedirectUri = Annotated[
    str, MaxCharacters(2_048), Described("Redirect URI of the client, exactly as it is registered.")
]
Reference = Annotated[str, MaxCharacters(200), Described("Key of the subject, chosen by the app, such as app or dfs.")]
RemovedPushToken = Annotated[str, MaxCharacters(8_192), Described("Push token to remove.")]
Reply = Annotated[str, MaxCharacters(10_000), Described("Text of the answer.")]
RetentionDays = Annotated[int, Described("Age in days at which readings are deleted. Null if they are kept forever.")]
RevisedSince = Annotated[
    datetime,
    Described(
        "Return only buckets whose readings were received, replaced or withdrawn after this instant. A bucket "
        "whose readings were all withdrawn has the value null. Totals still cover all buckets. Default: all "
        "buckets."
    ),
]
Sampling = Annotated[
    str,
    MaxCharacters(100),
    Described(
        "`regular` (at a fixed interval), `irregular` (at any time), or `learned`: regular, at the interval of the "
        "first readings."
    ),
]
SecondFactorCode = Annotated[
    str,
    MaxCharacters(1_024),
    Described("Code of the app, or a recovery code. Required if the account has a second factor."),
]
SerialNumber = Annotated[str, MaxCharacters(100), Described("Serial number from the manufacturer. Null if not known.")]
Since = Annotated[
    str,
    MaxCharacters(MAX_SINCE_CHARACTERS),
    Described(
        "Position to resume from: `extensions.position` of the last payload that the client processed. To "
        "leave out the argument and to pass null differ. With null, the first payload is null and carries the"
        " current position; the newest records follow, and gaps are reported. Without the argument, the "
        "subscription delivers only new events, and ends with an error if events are lost."
    ),
]
StartsAt = Annotated[datetime, Described("When the event starts.")]
StateOfJob = Annotated[JobState, Described("Current state.")]
StorageStart = Annotated[
    str, MaxCharacters(100), Described("First instant that can be stored, in ISO 8601 with a UTC offset.")
]
Succeeded = Annotated[
    bool, Described("Whether the call succeeded. Always true, because a failed call returns an error.")
]
SystemAlertTypeId = Annotated[str, MaxCharacters(200), Described("Short code of the alert type, such as CM01.")]
Telephone = Annotated[str, MaxCharacters(100), Described("Telephone number.")]
Title = Annotated[str, MaxCharacters(500), Described("Heading of the text.")]
Token = Annotated[str, MaxCharacters(1_024), Described("Bearer token.")]
Unit = Annotated[str, MaxCharacters(100), Described("Unit of the values, such as kWh.")]
UpdatedAt = Annotated[datetime, Described("When the record last changed.")]
UserCode = Annotated[
    str, MaxCharacters(100), Described("Code that the display shows, in any case and with any separators.")
]
TemplatePreheader = Annotated[
    str,
    MaxCharacters(2_000),
    Described("Template source of the preview text that mail programs show after the subject."),
]
TemplateSubject = Annotated[
    str, MaxCharacters(2_000), Described("Template source of the mail subject or the push message title.")
]
TemplateText = Annotated[
    str,
    MaxCharacters(200_000),
    Described("Template source of the plain text. Null generates the text from the HTML."),
]
Username = Annotated[
    str, MaxCharacters(254), Described("Login name of the account; compared trimmed and in lower case.")
]
Version = Annotated[str, MaxCharacters(100), Described("Version: dotted numbers, such as 1.2.0, for an app.")]
WebAddress = Annotated[str, MaxCharacters(2_048), Described("Web address.")]
WeekStart = Annotated[Weekday, Described("First day of the week, for buckets of P1W.")]


CONTROLS = (*range(0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""Characters that a terminal obeys, line breaks, and those that change the direction of text."""

_SPACES = MappingProxyType(dict.fromkeys(CONTROLS, " "))


def to_one_line(text: str) -> str:
    """Return a text without spaces around it, and with a space in place of each control character."""
    return text.translate(_SPACES).strip()
