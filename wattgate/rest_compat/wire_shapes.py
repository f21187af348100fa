"""Building blocks of legacy types: leaf types, records that extend a type of GraphQL, and values for examples.

The types of requests and responses in legacy formats are the source of the OpenAPI document. Each module of `formats`
has its own, each type with its example. The tests check every response and every example against them.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

SCHEMA_REFERENCE = "#/components/schemas/{name}"
"""Reference to a named schema of the OpenAPI document."""

Ok = Annotated[Literal["OK"], Meta(description="Always OK. Failures have a status of 400 or more.")]
Valid = Annotated[bool, Meta(description="Always true. Failures have a status of 400 or more.")]
Uuid = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
Instant = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
EpochSeconds = Annotated[int, Meta(description="Seconds since 1970-01-01T00:00:00Z.")]
WallClockTime = Annotated[
    str,
    Meta(
        pattern=r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$",
        description="Time in UTC, with a space and without a time zone.",
        examples=["2025-10-01 00:00:00"],
    ),
]

EXAMPLE_UUID = "3f2b8c1e-6d54-4a7b-9c0d-1e2f3a4b5c6d"
EXAMPLE_TIME = "2026-11-20T10:00:00.000Z"
EXAMPLE_MPXN = "1234567890123"
EXAMPLE_EPOCH = 1_795_000_000


class Acknowledgement(TypedDict):
    """Acknowledgement of a change."""

    status: Ok


@dataclass(frozen=True, slots=True)
class GraphQLName:
    """Annotation of a value that has the schema of a GraphQL input object or enum."""

    name: str


@dataclass(frozen=True, slots=True)
class RecordShape:
    """An object with the members of a GraphQL type, without some of them and with others.

    `base` is a Strawberry type as REST renders it, or None. `added` is a TypedDict. An open shape permits members with
    any name.
    """

    name: str
    base: Any = None
    added: Any = None
    omitted: frozenset[str] = frozenset()
    is_open: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose items have a shape."""

    items: Any


@dataclass(frozen=True, slots=True)
class Alternatives:
    """A value that has one of several shapes."""

    name: str
    description: str
    shapes: tuple[Any, ...]
