"""Pages of records, oldest first, by opaque cursors: the edges to long lists (`connection_edge`).

The arguments have the meaning of the Relay cursor connections: `first` takes the oldest records between the cursors,
`last` the newest ones. A cursor belongs to one list, and its record must still be in it: otherwise the gateway could
not say whether there are records before or after the page.
"""

import base64
import binascii
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Generic, NoReturn, TypeVar

import msgspec
import strawberry

from wattgate.db.models import Tenanted
from wattgate.db.rows.lookups import model_columns
from wattgate.db.rows.pages import Condition, PageSpan, Position
from wattgate.db.rows.rows import Rows
from wattgate.errors import BadInput, Problem
from wattgate.operations.core.fields import edge
from wattgate.operations.core.operation import Call
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.cost_weights import STATEMENT_WEIGHT, ArgumentMeasure, ListSize
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described
from wattgate.values.graphql_names import graphql_type_name
from wattgate.values.stored_json import is_storable_text

FILTER = "Return only the records with these values. A cursor is valid with the same filter only."

DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 100

MAX_TOTAL = 10_001
"""Number of records at which the count of a list stops."""

COUNT_WEIGHT = STATEMENT_WEIGHT + 50
"""Cost of the count of a list: a statement that reads up to MAX_TOTAL entries."""

M = TypeVar("M", bound=Tenanted)
T = TypeVar("T")

BuildNode = Callable[[Any, datetime], Any]
"""Makes the node of a row: (row, present time) -> node."""


def _keep_row(row: Any, now: datetime) -> Any:
    return row


@dataclass(frozen=True, slots=True)
class PageBoundaries:
    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


@dataclass(frozen=True, slots=True)
class PageEdge:
    node: Any
    cursor: str


@dataclass(frozen=True, slots=True)
class RecordList:
    """A list of records that has pages: those of a model that meet the conditions.

    `name` is part of its cursors, with `filtered_by` if the list is filtered. `build` makes the node of a row, at the
    present time.
    """

    name: str
    model: type[Tenanted]
    build: BuildNode = _keep_row
    where: tuple[Condition, ...] = ()
    filtered_by: str = ""

    @property
    def cursor_name(self) -> str:
        """The name of the list in its cursors."""
        return self.name + self.filtered_by

    def filtered(self, values: "ListFilter | None") -> "RecordList":
        """Return the list of those records that a filter lets through."""
        if values is None or not (members := values.members()):
            return self
        where = (*self.where, *values.conditions(self.model))
        return replace(self, where=where, filtered_by=f"|{zlib.crc32(repr(members).encode()):x}")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list. `counted` has the list and its own condition, for the count of all its records."""

    edges: list[PageEdge]
    page_info: PageBoundaries
    counted: tuple[RecordList, Condition] | None = field(default=None, compare=False)


class ListFilter:
    """The filter of a list: an input whose fields are values that the records must have. An absent field is no filter.

    A field with the name of a column compares it. `special` has the condition for the value of each other field.
    """

    special: ClassVar[Mapping[str, Callable[[Any], Condition]]] = MappingProxyType({})

    def members(self) -> tuple[tuple[str, Any], ...]:
        """Return the names and values that the client sent, in the order of the declaration."""
        return tuple((name, value) for name, value in vars(self).items() if value is not None and value is not UNSET)

    def conditions(self, model: type[Tenanted]) -> list[Condition]:
        """Return the conditions for the rows of a model."""
        columns = model_columns(model)
        return [
            self.special[name](value) if name in self.special else columns[name] == getattr(value, "value", value)
            for name, value in self.members()
        ]


F = TypeVar("F", bound=ListFilter)


def _hash_of_members(values: ListFilter) -> int:
    return hash(values.members())


def filter_input(description: str) -> Callable[[type[F]], type[F]]:
    """Return a decorator that makes a class the input type of a filter. Equal filters are one key of a data loader."""

    def declare(filter_class: type[F]) -> type[F]:
        declared = strawberry.input(filter_class, description=description)
        declared.__hash__ = _hash_of_members  # type: ignore[method-assign, assignment]
        return declared

    return declare


async def count_records(rows: Rows, pages: Sequence[Page]) -> list[int]:
    """Return the number of records of the list of each page, at most MAX_TOTAL.

    The caller may see the page, so it may see the list. Its rows are those of the permission USER_READ, which reaches
    as far as that of the list for all records that belong to a user.
    """
    counts: dict[int, int] = {}
    for page in pages:
        assert page.counted is not None
        records, own = page.counted
        if id(page.counted) not in counts:
            counts[id(page.counted)] = await rows.count(records.model, own, *records.where, limit=MAX_TOTAL)
    return [counts[id(page.counted)] for page in pages]


# GraphQL types of Relay-style connections, which return long lists page by page.


@strawberry.type(description="Position of a page in its list.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether the list has records after this page.")
    has_previous_page: bool = strawberry.field(description="Whether the list has records before this page.")
    start_cursor: str | None = strawberry.field(
        description="Cursor of the first record; pass it as `before` to get the page before. Null on an empty page."
    )
    end_cursor: str | None = strawberry.field(
        description="Cursor of the last record; pass it as `after` to get the next page. Null on an empty page."
    )


@strawberry.type(description="Record of a page, with its cursor.")
class Edge(Generic[T]):
    node: T = strawberry.field(description="The record.")
    cursor: str = strawberry.field(description="Opaque position of the record in the list.")


@strawberry.type(description="Page of a list, oldest first, with at most 100 records.")
class Connection(Generic[T]):
    edges: list[Edge[T]] = strawberry.field(description="Records of the page, with their cursors.")
    page_info: PageInfo = strawberry.field(description="Position of the page in the list.")
    total_count: int = edge(
        count_records,
        needs=Permission.USER_READ,
        weight=COUNT_WEIGHT,
        description="Number of records of the list, of all pages. 10,001 stands for more than 10,000.",
    )


@dataclass(frozen=True, slots=True)
class PageArguments:
    """The arguments of a connection, as the client sent them."""

    first: int | None = None
    after: str | None = None
    last: int | None = None
    before: str | None = None

    @property
    def size(self) -> int:
        """The maximum number of records on the page. Raise BadInput if a size is invalid, or both are set."""
        if self.first is not None and self.last is not None:
            raise BadInput(
                "`first` and `last` exclude each other: a page has either the oldest or the newest records.",
                problems=[Problem(("last",), "cannot be combined with `first`")],
            )
        name, size = ("last", self.last) if self.first is None and self.last is not None else ("first", self.first)
        size = DEFAULT_PAGE_SIZE if size is None else size
        check_page_size(size, name)
        return size


def connection_edge(
    model: type[Tenanted],
    *,
    needs: Permission,
    description: str,
    column: str,
    parent: str | None = None,
    build: BuildNode = _keep_row,
    where: Sequence[Condition] = (),
    first_argument: Any = terms.First,
    type_name: str | None = None,
    filter_type: Any = None,
) -> Any:
    """Return an edge to pages of records of a model: those whose `column` has the value of the parent's `parent`.

    By default, `parent` has the name of the column. `first_argument` is the annotation of `first`. `type_name` is the
    name of the GraphQL type, if it is not that of the model. `filter_type` is the input of the argument `filter`.
    """
    type_name = type_name or model.__name__
    records = RecordList(type_name, model, build, tuple(where))
    load = _page_loader(records, column, parent or column, first_argument, filter_type)
    load.__name__ = f"pages_of_{model.__name__}"
    return edge(load, needs=needs, description=description, sizes=[_page_size(type_name)])


def _page_loader(records: RecordList, column: str, parent: str, first_argument: Any, filter_type: Any) -> Any:
    """Return the loader of pages below several parents. Its keyword arguments are those of the field."""

    async def load(
        rows: Rows,
        parents: Sequence[Any],
        *,
        first: first_argument | None = None,
        after: terms.After | None = None,
        last: terms.Last | None = None,
        before: terms.Before | None = None,
    ) -> list[Page]:
        values = [getattr(record, parent) for record in parents]
        pages = await load_pages(rows, records, column, set(values), PageArguments(first, after, last, before))
        return [pages[value] for value in values]

    async def load_filtered(
        rows: Rows,
        parents: Sequence[Any],
        *,
        filter: Annotated[filter_type, Described(FILTER)] | None = None,
        first: first_argument | None = None,
        after: terms.After | None = None,
        last: terms.Last | None = None,
        before: terms.Before | None = None,
    ) -> list[Page]:
        values, listed = [getattr(record, parent) for record in parents], records.filtered(filter)
        pages = await load_pages(rows, listed, column, set(values), PageArguments(first, after, last, before))
        return [pages[value] for value in values]

    return load if filter_type is None else load_filtered


async def load_pages(
    rows: Rows, records: RecordList, column: str, values: Collection[str], arguments: PageArguments
) -> dict[str, Page]:
    """Return a page of the records of each value of a column, by value, as `load_page` does.

    Raise BadInput if there are several values and a cursor, because its record belongs to the list of one value.
    """
    if len(set(values)) > 1:
        _reject_cursors(arguments)
    own = [model_columns(records.model)[column] == value for value in values]
    span = await _span(rows, records, arguments, (*records.where, *own))
    pages = await rows.pages(records.model, column, values, span, *records.where)
    of_value = model_columns(records.model)[column]
    return {
        value: _build_page(page, records, span, rows.now, (records, of_value == value)) for value, page in pages.items()
    }


def check_page_size(size: int, name: str = "first") -> None:
    """Raise BadInput unless a page may have this number of records."""
    if not 1 <= size <= MAX_PAGE_SIZE:
        problem = Problem((name,), f"is not between 1 and {MAX_PAGE_SIZE}")
        raise BadInput(f"a page has between 1 and {MAX_PAGE_SIZE} items", problems=[problem])


async def list_after(call: Call, model: type[M], first: int, after: str | None) -> list[M]:
    """Return a page of the rows that the caller may see, oldest first, as REST lists them.

    `after` is the identifier of the last row that the caller has. Raise NotFound if the caller may not see it.
    """
    check_page_size(first)
    last: Any = None if after is None else await call.rows.get(model, after)
    position = None if last is None else (last.created_at, after or "")
    return await call.rows.page(model, PageSpan(first, position))


async def _span(rows: Rows, records: RecordList, arguments: PageArguments, where: Sequence[Condition]) -> PageSpan:
    """Return the part of the list to read: one more row than the page has. Check that the cursors are in the list."""
    size, positions = arguments.size, dict[str, Position | None]()
    for name, cursor in (("after", arguments.after), ("before", arguments.before)):
        positions[name] = None if cursor is None else _decode_cursor(records, cursor, name)
        if (position := positions[name]) is not None:
            columns = model_columns(records.model)
            at_position = [columns["created_at"] == position[0], columns[records.model.key] == position[1]]
            if not await rows.count(records.model, *at_position, *where, limit=1):
                _reject_cursor(name, "is the cursor of a record that the list does not have any more")
    return PageSpan(size + 1, positions["after"], positions["before"], arguments.last is not None)


def _build_page(
    rows: Sequence[Any], records: RecordList, span: PageSpan, now: datetime, counted: tuple[RecordList, Condition]
) -> Page:
    """Return the page of up to one row more than it has. The cursors in the span are those of existing records."""
    size = span.limit - 1
    has_more = len(rows) > size
    shown = (rows[-size:] if span.from_end else rows[:size]) if has_more else rows
    key = records.model.key
    edges = [
        PageEdge(records.build(row, now), _encode_cursor(records, (row.created_at, getattr(row, key)))) for row in shown
    ]
    has_next = span.before is not None or (has_more and not span.from_end)
    has_previous = span.after is not None or (has_more and span.from_end)
    start, end = (edges[0].cursor, edges[-1].cursor) if edges else (None, None)
    return Page(edges, PageBoundaries(has_next, has_previous, start, end), counted)


def _encode_cursor(records: RecordList, position: Position) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((records.cursor_name, *position))).decode()


def _decode_cursor(records: RecordList, cursor: str, argument: str) -> Position:
    try:
        parts = msgspec.json.decode(base64.urlsafe_b64decode(cursor), type=tuple[str, datetime, str])
        name, created_at, key = parts[0], parts[1].astimezone(UTC), parts[2]
    except (binascii.Error, ValueError, OverflowError, msgspec.DecodeError):
        _reject_cursor(argument, "is not a cursor of this list")
    if name != records.cursor_name and name.partition("|")[0] == records.name:
        _reject_cursor(argument, "is a cursor of the list with another filter")
    if name != records.cursor_name or not is_storable_text(key):
        _reject_cursor(argument, "is not a cursor of this list")
    return created_at, key


def _reject_cursors(arguments: PageArguments) -> None:
    """Raise BadInput if the arguments of a field below several records have a cursor."""
    for name, cursor in (("after", arguments.after), ("before", arguments.before)):
        if cursor is not None:
            message = "is a cursor of one list, and this field returns several lists"
            _reject_cursor(name, message, "Ask for the next page below one record.")


def _reject_cursor(
    argument: str, message: str, advice: str = "Pass a cursor that this list returned, or none to start again."
) -> NoReturn:
    raise BadInput(f"`{argument}` {message}. {advice}", problems=[Problem((argument,), message)])


def _page_size(type_name: str) -> ListSize:
    """Return the length of a page for the cost of a document: the requested size."""

    def compute(now: datetime, first: Any, last: Any) -> int:
        sizes = [size for size in (first, last) if isinstance(size, int)]
        return max(1, min(max(sizes, default=DEFAULT_PAGE_SIZE), MAX_PAGE_SIZE))

    return ListSize(
        ArgumentMeasure(("first", "last"), compute, default=DEFAULT_PAGE_SIZE),
        (f"{graphql_type_name(type_name)}Connection.edges",),
    )
