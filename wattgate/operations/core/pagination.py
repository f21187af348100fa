"""Pages of records, oldest first, by opaque cursors: for root fields (`paginate`) and for edges (`connection_edge`).

The arguments have the meaning of the Relay cursor connections: `first` takes the oldest records between the cursors,
`last` the newest ones. A cursor belongs to one list, and its record must still be in it: otherwise the gateway could
not say whether there are records before or after the page.
"""

import base64
import binascii
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn, TypeVar

import msgspec
from strawberry.types import get_object_definition

from wattgate.db.models import Tenanted
from wattgate.db.rows.lookups import model_columns
from wattgate.db.rows.pages import Condition, PageSpan, Position
from wattgate.db.rows.rows import Rows
from wattgate.errors import BadInput, Problem
from wattgate.operations.core.fields import edge
from wattgate.operations.core.operation import Argument, Call, Operation, OperationKind, with_caller_note
from wattgate.operations.vocabulary.cost_weights import ArgumentMeasure, ListSize
from wattgate.operations.vocabulary.node import Connection
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.stored_json import is_storable_text

DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 100

M = TypeVar("M", bound=Tenanted)

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
class Page:
    edges: list[PageEdge]
    page_info: PageBoundaries


@dataclass(frozen=True, slots=True)
class RecordList:
    """A list of records that has pages: those of a model that meet the conditions.

    `name` is part of its cursors. `build` makes the node of a row, at the present time.
    """

    name: str
    model: type[Tenanted]
    build: BuildNode = _keep_row
    where: tuple[Condition, ...] = ()


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


def paginate(
    name: str,
    model: type[Tenanted],
    graphql_type: Any,
    *,
    needs: Permission,
    noun: str,
) -> Operation:
    """Return the operation `name`, which returns pages. It exists only in GraphQL; REST has a plain list."""
    type_name = get_object_definition(graphql_type, strict=True).name
    records = RecordList(type_name, model)

    async def resolve(call: Call, **arguments: Any) -> Page:
        return await load_page(call.rows, records, PageArguments(**arguments))

    return Operation(
        name=name,
        kind=OperationKind.QUERY,
        resolver=resolve,
        returns=Connection[graphql_type],
        needs=needs,
        description=with_caller_note(f"Return a page of the {noun} that the caller may see, oldest first.", needs),
        arguments={
            "first": Argument(terms.First | None, None),
            "after": Argument(terms.After | None, None),
            "last": Argument(terms.Last | None, None),
            "before": Argument(terms.Before | None, None),
        },
        sizes=(_page_size(type_name),),
    )


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
) -> Any:
    """Return an edge to pages of records of a model: those whose `column` has the value of the parent's `parent`.

    By default, `parent` has the name of the column. `first_argument` is the annotation of `first`. `type_name` is the
    name of the GraphQL type, if it is not that of the model.
    """
    type_name = type_name or model.__name__
    records = RecordList(type_name, model, build, tuple(where))

    async def load(
        rows: Rows,
        parents: Sequence[Any],
        *,
        first: first_argument | None = None,
        after: terms.After | None = None,
        last: terms.Last | None = None,
        before: terms.Before | None = None,
    ) -> list[Page]:
        values = [getattr(record, parent or column) for record in parents]
        arguments = PageArguments(first, after, last, before)
        pages = await load_pages(rows, records, column, set(values), arguments)
        return [pages[value] for value in values]

    load.__name__ = f"pages_of_{model.__name__}"
    return edge(load, needs=needs, description=description, sizes=[_page_size(type_name)])


async def load_page(rows: Rows, records: RecordList, arguments: PageArguments) -> Page:
    """Return a page of a list of records that the caller may see. Raise BadInput if an argument is invalid."""
    span = await _span(rows, records, arguments, records.where)
    return _build_page(await rows.page(records.model, span, *records.where), records, span, rows.now)


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
    return {value: _build_page(page, records, span, rows.now) for value, page in pages.items()}


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


def _build_page(rows: Sequence[Any], records: RecordList, span: PageSpan, now: datetime) -> Page:
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
    return Page(edges, PageBoundaries(has_next, has_previous, start, end))


def _encode_cursor(records: RecordList, position: Position) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((records.name, *position))).decode()


def _decode_cursor(records: RecordList, cursor: str, argument: str) -> Position:
    try:
        parts = msgspec.json.decode(base64.urlsafe_b64decode(cursor), type=tuple[str, datetime, str])
        name, created_at, key = parts[0], parts[1].astimezone(UTC), parts[2]
    except (binascii.Error, ValueError, OverflowError, msgspec.DecodeError):
        _reject_cursor(argument, "is not a cursor of this list")
    if name != records.name or not is_storable_text(key):
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
        ArgumentMeasure(("first", "last"), compute, default=DEFAULT_PAGE_SIZE), (f"{type_name}Connection.edges",)
    )
