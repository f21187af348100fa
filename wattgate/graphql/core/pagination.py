"""Operations for lists that grow: a page of records, oldest first, found again by a cursor."""

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from wattgate.db.models import Tenanted
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.connection import Connection
from wattgate.graphql.core.cost_weights import Size, number
from wattgate.graphql.core.operation import Argument, Call, Kind, Operation
from wattgate.principal import Permission

DEFAULT_PAGE = 50
MAX_PAGE = 100

_Place = tuple[datetime, str]
"""When a record was made, and its identifier: the order of every list that grows."""


@dataclass(frozen=True, slots=True)
class PageInfo:
    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


@dataclass(frozen=True, slots=True)
class Edge:
    node: Any
    cursor: str


@dataclass(frozen=True, slots=True)
class Page:
    edges: list[Edge]
    page_info: PageInfo


def paged(name: str, row: type[Tenanted], shape: Any, *, needs: Permission, called: str) -> Operation:
    """The operation `{name}_connection`, on GraphQL alone: the plain list beside it is what REST has."""

    async def resolve(call: Call, *, first: int, after: str | None) -> Page:
        if not 1 <= first <= MAX_PAGE:
            problem = Problem(("first",), f"is not between 1 and {MAX_PAGE}")
            raise BadInput(f"a page has between 1 and {MAX_PAGE} items", problems=[problem])
        found = await call.rows.page(row, first + 1, after=None if after is None else _place(after))
        return _page(found[:first], more=len(found) > first, later=after is not None, key=row.key)

    told = shape.__strawberry_definition__.name
    return Operation(
        name=f"{name}_connection",
        kind=Kind.QUERY,
        resolver=resolve,
        returns=Connection[shape],
        needs=needs,
        description=f"A page of {called}, oldest first: at most {MAX_PAGE} at once.",
        takes={"first": Argument(int, DEFAULT_PAGE), "after": Argument(str | None, None)},
        sizes=(Size(number("first", DEFAULT_PAGE, MAX_PAGE), (f"{told}Connection.edges",)),),
    )


def _page(rows: list[Any], *, more: bool, later: bool, key: str) -> Page:
    edges = [Edge(row, _cursor((row.created_at, getattr(row, key)))) for row in rows]
    first, last = (edges[0].cursor, edges[-1].cursor) if edges else (None, None)
    return Page(edges, PageInfo(more, later, first, last))


def _cursor(place: _Place) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode()


def _place(cursor: str) -> _Place:
    try:
        made, key = msgspec.json.decode(base64.urlsafe_b64decode(cursor), type=_Place)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        problem = Problem(("after",), "is not a cursor of this list")
        raise BadInput("give a cursor as it was answered", problems=[problem]) from None
    return made, key
