"""Paginated list operations: pages of records, oldest first, addressed by an opaque cursor."""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from wattgate.db.models import Tenanted
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.connection import Connection
from wattgate.graphql.core.cost_weights import ListSize, linear_in_argument
from wattgate.graphql.core.operation import Argument, Call, Operation, OperationKind, with_caller_note
from wattgate.principal import Permission

DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 100

M = TypeVar("M", bound=Tenanted)

_CursorKey = tuple[datetime, str]
"""The creation time and the id of a record: the sort order of every paginated list."""


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


def paginate(
    name: str,
    model: type[Tenanted],
    graphql_type: Any,
    *,
    needs: Permission,
    noun: str,
    build: Callable[[Any], Any] = lambda row: row,
) -> Operation:
    """Return the operation `{name}_connection`. It exists only in GraphQL; REST has the plain list.

    `build` makes the node of a row.
    """

    async def resolve(call: Call, *, first: int, after: str | None) -> Page:
        check_page_size(first)
        rows: list[Any] = await call.rows.page(model, first + 1, after=None if after is None else _decode_cursor(after))
        edges = [
            PageEdge(build(row), _encode_cursor((row.created_at, getattr(row, model.key)))) for row in rows[:first]
        ]
        return _build_page(edges, has_next_page=len(rows) > first, has_previous_page=after is not None)

    type_name = graphql_type.__strawberry_definition__.name
    return Operation(
        name=f"{name}_connection",
        kind=OperationKind.QUERY,
        resolver=resolve,
        returns=Connection[graphql_type],
        needs=needs,
        description=with_caller_note(f"Return a page of the {noun} that the caller may see, oldest first.", needs),
        arguments={"first": Argument(int, DEFAULT_PAGE_SIZE), "after": Argument(str | None, None)},
        sizes=(
            ListSize(linear_in_argument("first", DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE), (f"{type_name}Connection.edges",)),
        ),
    )


def check_page_size(first: int) -> None:
    """Raise BadInput unless a page may have this number of records."""
    if not 1 <= first <= MAX_PAGE_SIZE:
        problem = Problem(("first",), f"is not between 1 and {MAX_PAGE_SIZE}")
        raise BadInput(f"a page has between 1 and {MAX_PAGE_SIZE} items", problems=[problem])


async def list_after(call: Call, model: type[M], first: int, after: str | None) -> list[M]:
    """Return a page of the rows that the caller may see, oldest first, as REST lists them.

    `after` is the identifier of the last row that the caller has. Raise NotFound if the caller may not see it.
    """
    check_page_size(first)
    last: Any = None if after is None else await call.rows.get(model, after)
    return await call.rows.page(model, first, after=None if last is None else (last.created_at, after or ""))


def _build_page(edges: list[PageEdge], *, has_next_page: bool, has_previous_page: bool) -> Page:
    start, end = (edges[0].cursor, edges[-1].cursor) if edges else (None, None)
    return Page(edges, PageBoundaries(has_next_page, has_previous_page, start, end))


def _encode_cursor(key: _CursorKey) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode()


def _decode_cursor(cursor: str) -> _CursorKey:
    try:
        created_at, key = msgspec.json.decode(base64.urlsafe_b64decode(cursor), type=_CursorKey)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        problem = Problem(("after",), "is not a cursor of this list")
        raise BadInput("pass a cursor that this list returned", problems=[problem]) from None
    return created_at, key
