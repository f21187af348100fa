"""GraphQL types of files of readings: how a caller says to read a file, what it looks like, and what it contains."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated

import strawberry

from wattgate.operations.vocabulary import ids
from wattgate.values import terms
from wattgate.values.annotations import Described, MaxCharacters, MaxItems

MAX_PROFILE_CHARACTERS = 4_000
"""Maximum characters of a caller's own file profile. In a REST request, it is a part of the address."""

LINE_NUMBER = "Number of the line in the file, counted from 1."


@strawberry.input(
    description="How to read a file of readings, as far as the file does not say it. Values are the words of file "
    "profiles, such as comma, day-first and PT30M. An inspection names the open questions and their answers."
)
class ReadingFileOptions:
    profile: (
        Annotated[
            terms.Text100, Described("Name of a file profile, such as german-spreadsheet. Default: the one that fits.")
        ]
        | None
    ) = None
    own_profile: (
        Annotated[
            str,
            MaxCharacters(MAX_PROFILE_CHARACTERS),
            Described("File profile of your own as the text of a TOML file, instead of `profile`."),
        ]
        | None
    ) = None
    encoding: Annotated[terms.Text100, Described("Encoding of the text, such as utf-8 or cp1252.")] | None = None
    delimiter: Annotated[terms.Text100, Described("Delimiter: comma, semicolon, tab or pipe.")] | None = None
    decimal: Annotated[terms.Text100, Described("Decimal mark: point or comma.")] | None = None
    thousands: Annotated[terms.Text100, Described("Thousands mark: comma, point, space or apostrophe.")] | None = None
    date_order: (
        Annotated[terms.Text100, Described("Order of dates in digits: day-first, month-first or year-first.")] | None
    ) = None
    times: Annotated[terms.Text100, Described("Whether times are the start or the end of their interval.")] | None = (
        None
    )
    interval: Annotated[terms.Text100, Described("Interval of the readings in ISO 8601, such as PT30M.")] | None = None
    epoch: (
        Annotated[terms.Text100, Described("Whether the seconds of a Green Button file count utc or local time.")]
        | None
    ) = None
    time_zone: (
        Annotated[
            terms.Text100, Described("IANA time zone of local times. Default: that of the home, or UTC without one.")
        ]
        | None
    ) = None
    unit: Annotated[terms.Text100, Described("Unit of the values: kWh, Wh, MWh, kW, W or m3.")] | None = None
    source: (
        Annotated[terms.Text200, Described("The meter or series of the file to read, if the file has several.")] | None
    ) = None
    classifier: (
        Annotated[
            terms.Text100, Described("The part of the file to read, such as electricity.export. Default: all of it.")
        ]
        | None
    ) = None
    columns: (
        Annotated[
            list[terms.Text200],
            MaxItems(20),
            Described("Columns by their roles, each as ROLE=NAME, such as value=kWh."),
        ]
        | None
    ) = None
    combine: Annotated[bool, Described("Whether finer readings are added to the intervals of the field.")] = False
    round_values: Annotated[
        bool, Described("Whether values are rounded half to even to the decimal places of the field.")
    ] = False


@strawberry.type(description="Value of one of the options of a file of readings.")
class ReadingFileSetting:
    name: str = strawberry.field(description="Name of the option, such as dateOrder.")
    value: str = strawberry.field(description="Value of the option, such as day-first.")


@strawberry.type(description="Reading of a file as an answer to a question reads it.")
class ReadingFileExample:
    line: int = strawberry.field(description=LINE_NUMBER)
    text: str = strawberry.field(description="Text of the line, up to 200 characters.")
    start: str = strawberry.field(
        description="Start of the interval as the file has it: an ISO 8601 time, local if it has no offset."
    )
    end: str | None = strawberry.field(description="End of the interval. Null if its length is not known.")
    value: float = strawberry.field(description="Value of the reading.")
    unit: str | None = strawberry.field(description="Unit of the value. Null if the file does not say it.")


@strawberry.type(description="Answer to a question about a file of readings.")
class ReadingFileAnswer:
    settings: list[ReadingFileSetting] = strawberry.field(description="Options that stand for this answer.")
    example: ReadingFileExample | None = strawberry.field(
        description="Reading that shows what the answer means. Null if the answer reads nothing."
    )


@strawberry.type(description="Question about a file of readings that the file does not decide.")
class ReadingFileQuestion:
    option: str = strawberry.field(description="Subject of the question, such as times, dateOrder, unit or marks.")
    text: str = strawberry.field(description="Question in English.")
    answers: list[ReadingFileAnswer] = strawberry.field(description="Answers that the file allows.")


@strawberry.type(description="Line of a file of readings, or a part of it, that is not recorded, and the reason.")
class RefusedFileLine:
    line: int = strawberry.field(description=LINE_NUMBER)
    reason: str = strawberry.field(description="Reason of the refusal, up to 300 characters.")


@strawberry.type(description="Form of a file of readings, as far as its first 512 KiB show it.")
class ReadingFileInspection:
    encoding: str = strawberry.field(description="Encoding of the text.")
    encoding_certain: bool = strawberry.field(
        description="Whether the encoding is certain: by a byte order mark, or as valid UTF-8."
    )
    delimiter: str | None = strawberry.field(description="Delimiter of the cells. Null if the file is no table.")
    lines: list[str] = strawberry.field(description="First lines of the file.")
    rows: list[list[str]] = strawberry.field(
        description="Cells of the first lines, the header first. Empty if the file is no table."
    )
    profile: str | None = strawberry.field(
        description="Name of the file profile that reads the file; `own` for `ownProfile`. Null if none."
    )
    title: str | None = strawberry.field(description="Title of the file profile.")
    other_profiles: list[str] = strawberry.field(description="Names of further file profiles that read the file.")
    settings: list[ReadingFileSetting] = strawberry.field(description="Options with which the file is read.")
    questions: list[ReadingFileQuestion] = strawberry.field(
        description="Open questions. Answer each before the file is previewed or imported."
    )
    warnings: list[str] = strawberry.field(description="Facts about the file that may be wrong, in English.")
    interval: str | None = strawberry.field(description="Most frequent interval of the readings, such as PT30M.")
    readings: int = strawberry.field(description="Number of readings in the part that is inspected.")
    refused: int = strawberry.field(description="Number of refused lines in the part that is inspected.")
    refused_lines: list[RefusedFileLine] = strawberry.field(description="First refused lines, at most 100.")


@strawberry.type(description="Sum of the readings of a local month.")
class ReadingFileMonth:
    month: str = strawberry.field(description="Month, such as 2026-03.")
    readings: int = strawberry.field(description="Number of readings.")
    total: Decimal = strawberry.field(description="Sum of the readings, in the unit of the series.")


@strawberry.type(description="Time without readings in a file.")
class ReadingFileGap:
    start: datetime = strawberry.field(description="First missing instant.")
    end: datetime = strawberry.field(description="Instant of the next reading.")
    missing: int = strawberry.field(description="Number of missing readings.")


@strawberry.type(description="Readings of a file for one field of a resource.")
class ReadingFileSeries:
    resource_id: ids.ResourceId
    classifier: terms.Classifier
    field: str = strawberry.field(description="Name of the storage field, such as ENERGY.")
    unit: str = strawberry.field(description="Unit of the values and sums.")
    readings: int = strawberry.field(description="Number of readings.")
    first: datetime = strawberry.field(description="Instant of the first reading.")
    last: datetime = strawberry.field(description="Instant of the last reading.")
    total: Decimal = strawberry.field(description="Sum of the readings.")
    months: list[ReadingFileMonth] = strawberry.field(description="Sums by month in the time zone of the home.")
    gap_count: int = strawberry.field(description="Number of times without readings.")
    missing: int = strawberry.field(description="Number of missing readings in all of these times.")
    gaps: list[ReadingFileGap] = strawberry.field(description="First times without readings, at most 10.")


@strawberry.type(description="Contents of a file of readings, and what an import has stored or would store.")
class ReadingFileReport:
    digest: str = strawberry.field(description="SHA-256 digest of the uploaded file, in hexadecimal digits.")
    stored: bool = strawberry.field(description="Whether the readings are stored. False for a preview.")
    lines: int = strawberry.field(description="Number of lines with content, without the header.")
    recorded: int = strawberry.field(description="Number of readings that are recorded, or would be.")
    added: int = strawberry.field(description="Number of recorded readings that are new.")
    replaced: int = strawberry.field(description="Number of recorded readings that replace a stored one.")
    unchanged: int = strawberry.field(description="Number of recorded readings that were stored before.")
    is_known: bool = strawberry.field(
        description="Whether all readings of the file were stored before, so that the import changes nothing."
    )
    repeated: int = strawberry.field(description="Number of lines that repeat an earlier line exactly.")
    contradicting: int = strawberry.field(
        description="Number of refused lines with another value than an earlier line of the same instant."
    )
    refused: int = strawberry.field(description="Number of refused lines.")
    refused_lines: list[RefusedFileLine] = strawberry.field(description="First refused lines, at most 100.")
    series: list[ReadingFileSeries] = strawberry.field(description="Recorded readings by series, at most 20.")
