"""Readings: the buckets of a series, and what is given to be recorded."""

from datetime import datetime
from decimal import Decimal

import strawberry

from wattgate.enums import BucketQuality, ReadingQuality


@strawberry.type(description="One span of a series.")
class Bucket:
    start: datetime = strawberry.field(description="The first instant of the span.")
    end: datetime = strawberry.field(description="The first instant after the span.")
    value: float | None = strawberry.field(description="null where nothing is stored for the span: not zero.")
    count: int = strawberry.field(description="How many readings the value is made of.")
    quality: BucketQuality
    completeness: float | None = strawberry.field(
        description="The share of the span's samples that are there, those to come included; null where sampling is "
        "irregular, or where no sample falls into the span."
    )
    estimated: int = strawberry.field(description="How many of the readings are not ACTUAL.")
    revision: int = strawberry.field(description="How often readings of the span were replaced by other values.")


@strawberry.type(description="The buckets of a series as columns: equal places belong together.")
class BucketColumns:
    start: list[datetime] = strawberry.field(description="The first instant of each span.")
    end: list[datetime] = strawberry.field(description="The first instant after each span.")
    value: list[float | None] = strawberry.field(description="null where nothing is stored for the span: not zero.")
    count: list[int] = strawberry.field(description="How many readings each value is made of.")
    quality: list[BucketQuality]
    completeness: list[float | None] = strawberry.field(
        description="The share of each span's samples that are there; null where that is not known."
    )
    estimated: list[int] = strawberry.field(description="How many of the readings are not ACTUAL.")
    revision: list[int] = strawberry.field(description="How often readings were replaced by other values.")


@strawberry.type(description="What a series amounts to over one span, by its function.")
class SeriesPart:
    start: datetime = strawberry.field(description="The first instant of the span.")
    end: datetime = strawberry.field(description="The first instant after the span.")
    value: float | None = strawberry.field(description="null where nothing is stored for the span: not zero.")
    count: int = strawberry.field(description="How many readings the value is made of.")
    quality: BucketQuality
    completeness: float | None = strawberry.field(
        description="The share of the span's samples that are there; null where sampling is irregular."
    )


@strawberry.input(description="One value of a series.")
class NewReading:
    at: datetime
    value: Decimal
    quality: ReadingQuality = ReadingQuality.ACTUAL


@strawberry.input(description="Readings of one field of a resource.")
class NewReadings:
    resource_id: strawberry.ID
    readings: list[NewReading]
    field: str | None = strawberry.field(default=None, description="The resource's first field where it is left out.")


@strawberry.input(description="Readings of one field of a resource, in columns: equal places belong together.")
class NewReadingColumns:
    resource_id: strawberry.ID
    at: list[datetime]
    value: list[Decimal] = strawberry.field(description="The values.")
    quality: list[ReadingQuality] | None = strawberry.field(
        default=None, description="What is known of each; all are ACTUAL where it is left out."
    )
    field: str | None = strawberry.field(default=None, description="The resource's first field where it is left out.")


@strawberry.type(description="What became of readings that were sent.")
class Recorded:
    recorded: int = strawberry.field(description="How many readings are stored now; sent again they replace.")


@strawberry.type(description="A reading that was not stored.")
class RefusedReading:
    series: int = strawberry.field(description="The place of its series in the call, from 0.")
    index: int = strawberry.field(description="Its place in the series' columns, from 0.")
    reason: str = strawberry.field(description="Why it cannot be stored.")


@strawberry.type(description="What became of readings that were sent in columns.")
class RecordedColumns:
    recorded: int = strawberry.field(description="How many readings are stored now; sent again they replace.")
    refused: list[RefusedReading] = strawberry.field(description="The others, each with the reason.")


@strawberry.type(description="A reading, as it was recorded.")
class LiveReading:
    resource_id: strawberry.ID
    field: str
    unit: str
    at: datetime
    value: float
    quality: ReadingQuality
