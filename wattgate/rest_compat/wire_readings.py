"""Types of resources and their readings in legacy formats."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from wattgate.enums import Function, NoValueReason, Period
from wattgate.operations.types.meters.readings import RecordedColumns
from wattgate.rest_compat.wire_shapes import (
    EXAMPLE_EPOCH,
    EXAMPLE_TIME,
    EXAMPLE_UUID,
    Alternatives,
    EpochSeconds,
    GraphQLName,
    Instant,
    Ok,
    RecordShape,
    Uuid,
    Valid,
)
from wattgate.values.annotations import Described

LocalTime = Annotated[
    str,
    Meta(
        pattern=r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?(Z|[+-]\d\d:\d\d)?$",
        max_length=100,
        examples=["2026-11-01T00:00:00"],
    ),
]
From = Annotated[
    LocalTime,
    Meta(description="Start of the range, inclusive: a wall-clock time at `offset`, without a time zone."),
]
To = Annotated[
    LocalTime,
    Meta(
        description="End of the range, inclusive: a wall-clock time at `offset`. The response includes the bucket that "
        "starts there.",
        examples=["2026-11-01T23:59:59"],
    ),
]
Offset = Annotated[
    float,
    Meta(
        gt=-1440,
        lt=1440,
        examples=[0],
        description="Minutes to add to the wall-clock time to get UTC, such as -60 for British Summer Time. "
        "Default: 0.",
    ),
]
Point = Annotated[
    list[float | None],
    Meta(min_length=2, max_length=2, description="Seconds since 1970-01-01T00:00:00Z, and the value."),
]

ReadingsQuery = TypedDict(
    "ReadingsQuery",
    {
        "from": From,
        "to": To,
        "period": Annotated[Period, Meta(description="Length of a bucket.", examples=["PT30M"])],
        "function": Annotated[
            Function, Meta(description="Function that combines the readings of a bucket.", examples=["sum"])
        ],
        "offset": NotRequired[Offset],
        "nulls": NotRequired[
            Annotated[
                Literal["0", "1"],
                Meta(description="1 returns null for missing values. Default: missing values are 0.", examples=["1"]),
            ]
        ],
        "revisedSince": NotRequired[
            Annotated[
                LocalTime,
                Meta(
                    description="Return only the buckets whose readings were received, replaced or deleted after this "
                    "instant: `asOf` of the last response, or at first 1970-01-01T00:00:00Z. A bucket whose readings "
                    "were deleted is null, whatever `nulls` is. Without a zone, the time is a wall-clock time at "
                    "`offset`.",
                    examples=["1970-01-01T00:00:00Z"],
                ),
            ]
        ],
    },
)
RawReadingsQuery = TypedDict(
    "RawReadingsQuery",
    {
        "from": NotRequired[From],
        "to": NotRequired[To],
        "offset": NotRequired[Offset],
        "field": NotRequired[
            Annotated[
                str,
                Meta(
                    max_length=100,
                    description="Name of the storage field, such as ENERGY. Default: the resource's first field.",
                    examples=["ENERGY"],
                ),
            ]
        ],
    },
)


class NoQuery(TypedDict):
    """Query without parameters."""


class NoValue(TypedDict):
    """Why a value is missing."""

    reason: Annotated[NoValueReason, Meta(description="The reason, for programs.")]
    message: Annotated[str, Meta(description="The reason in words.")]
    rows: NotRequired[Annotated[int, Meta(description="Number of rows without a value for this reason.")]]


class Envelope(TypedDict):
    """Members around the data of a resource."""

    status: Ok
    name: Annotated[str, Meta(description="Name of the resource.")]
    resourceTypeId: Annotated[Uuid, Described("ID of the resource type.")]
    resourceId: Annotated[Uuid, Described("ID of the resource.")]
    query: Annotated[dict[str, str], Meta(description="Query parameters of the request.")]
    units: Annotated[str | None, Meta(description="Unit of the values.")]
    classifier: Annotated[str, Meta(description="Kind of the resource, such as electricity.consumption.")]


def example_envelope(data: Any, *, units: str = "kWh", **query: str) -> dict[str, Any]:
    """Return an example of the envelope around the data of a resource."""
    return {
        "status": "OK",
        "name": "electricity consumption",
        "resourceTypeId": EXAMPLE_UUID,
        "resourceId": EXAMPLE_UUID,
        "query": query,
        "data": data,
        "units": units,
        "classifier": "electricity.consumption",
    }


class ReadingsEnvelope(Envelope):
    """Readings of a resource. Costs also say what they include, and why values are missing."""

    data: Annotated[list[Point], Meta(description="Buckets: start and value.")]
    asOf: NotRequired[
        Annotated[
            Instant,
            Meta(description="With `revisedSince`: its value for the next request, one minute before the response."),
        ]
    ]
    includesStandingCharge: NotRequired[
        Annotated[bool | None, Meta(description="Whether costs include the standing charge.")]
    ]
    includesVat: NotRequired[Annotated[bool | None, Meta(description="Whether costs include VAT.")]]
    noValue: NotRequired[Annotated[list[NoValue], Meta(description="Why values are missing.")]]


_QUERY_EXAMPLE = {"from": "2026-11-01T00:00:00", "to": "2026-11-01T23:59:59", "period": "PT30M", "function": "sum"}
READINGS_EXAMPLE = example_envelope([[EXAMPLE_EPOCH, 0.25]], **_QUERY_EXAMPLE)
CURRENT_EXAMPLE = example_envelope([[EXAMPLE_EPOCH, 640]], units="W")


class FirstTime(TypedDict):
    """Time of the first reading."""

    firstTs: EpochSeconds | None


class LastTime(TypedDict):
    """Time of the last reading."""

    lastTs: EpochSeconds | None


class FirstTimeEnvelope(Envelope):
    """Resource with the time of its first reading."""

    data: Annotated[FirstTime, Described("Free-form JSON data of the application.")]


FIRST_TIME_EXAMPLE = example_envelope({"firstTs": EXAMPLE_EPOCH})


class LastTimeEnvelope(Envelope):
    """Resource with the time of its last reading."""

    data: Annotated[LastTime, Described("Free-form JSON data of the application.")]


LAST_TIME_EXAMPLE = example_envelope({"lastTs": EXAMPLE_EPOCH})


class MeterReadEnvelope(Envelope):
    """Resource with its cumulative meter read."""

    data: Annotated[list[Point], Meta(description="Time and value of the meter read.")]


METER_READ_EXAMPLE = example_envelope([[EXAMPLE_EPOCH, 12345.6]])


class CatchUpData(TypedDict):
    """Catch-up of a resource."""

    valid: Valid
    status: Annotated[str, Meta(description="Whether the request started it.")]
    catchUpId: Annotated[Uuid, Described("ID of the catch-up.")]
    state: Annotated[Annotated[Any, GraphQLName("CatchUpState")], Described("Current state.")]


_CATCH_UP: CatchUpData = {"valid": True, "status": "started", "catchUpId": EXAMPLE_UUID, "state": "QUEUED"}


class CatchUpEnvelope(Envelope):
    """Resource with its catch-up."""

    data: Annotated[CatchUpData, Described("Free-form JSON data of the application.")]


CATCH_UP_EXAMPLE = example_envelope(_CATCH_UP)


class AddedResource(TypedDict):
    """Acknowledgement that a resource is added."""

    status: Ok
    valid: Valid
    resourceId: Annotated[Uuid, Described("ID of the resource.")]
    resourceApplicationAccess: Annotated[list[str], Meta(description="IDs of the applications that may read it.")]


ADDED_RESOURCE_EXAMPLE: AddedResource = {
    "status": "OK",
    "valid": True,
    "resourceId": EXAMPLE_UUID,
    "resourceApplicationAccess": [EXAMPLE_UUID],
}


class PostedReadings(TypedDict):
    """Readings to record: `readings`, or `data` as the response of the readings has it."""

    readings: NotRequired[
        Annotated[
            list[Annotated[Any, GraphQLName("NewReading")]],
            Meta(max_length=10_000, description="Readings, in any order. At most 10,000 items."),
        ]
    ]
    data: NotRequired[Annotated[list[Point], Meta(max_length=10_000, description="Readings as pairs.")]]
    field: NotRequired[
        Annotated[
            str | None,
            Meta(max_length=100, description="Name of the storage field. Default: the resource's first field."),
        ]
    ]


POSTED_READINGS_EXAMPLE: PostedReadings = {"readings": [{"at": EXAMPLE_TIME, "value": 0.25}], "field": "ENERGY"}


class PostedReadingsResult(TypedDict):
    """Acknowledgement of recorded readings."""

    status: Ok
    recorded: Annotated[int, Meta(description="Number of readings that were stored or replaced.")]
    withoutConsent: Annotated[
        int,
        Meta(
            description="Number of readings that were not stored, because they are of a time without the household's "
            "consent. Do not send them again."
        ),
    ]


POSTED_READINGS_RESULT_EXAMPLE: PostedReadingsResult = {"status": "OK", "recorded": 1, "withoutConsent": 0}


class BulkProblem(TypedDict):
    """Line or row that was refused."""

    line: Annotated[int, Meta(description="Number of the line or row, from 1.")]
    message: Annotated[str, Meta(description="Why it was refused.")]


class BulkResult(TypedDict):
    """Result of a bulk upload as NDJSON or Arrow."""

    status: Ok
    recorded: Annotated[int, Meta(description="Number of readings that were stored or replaced.")]
    refused: Annotated[int, Meta(description="Number of readings that were refused.")]
    problems: NotRequired[Annotated[list[BulkProblem], Meta(description="The first refusals.")]]
    moreProblems: NotRequired[Annotated[int, Meta(description="Number of refusals that are not listed.")]]


RECORDED = Alternatives(
    "RecordedReadings",
    "Result of readings in columns (JSON), or of a stream (NDJSON or Arrow).",
    (RecordShape("RecordedColumns", RecordedColumns), BulkResult),
)
