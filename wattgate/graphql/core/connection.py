"""Relay-style connections: lists that grow, a page at a time."""

from typing import Generic, TypeVar

import strawberry

T = TypeVar("T")


@strawberry.type(description="Where a page stands in its list.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether there is more after this page.")
    has_previous_page: bool = strawberry.field(description="Whether this page was asked for with `after`.")
    start_cursor: str | None = strawberry.field(description="The first item's cursor; null on an empty page.")
    end_cursor: str | None = strawberry.field(description="The last item's cursor; give it as `after` for more.")


@strawberry.type(description="An item of a page.")
class Edge(Generic[T]):
    node: T = strawberry.field(description="The record.")
    cursor: str = strawberry.field(description="Where the record stands in the list; opaque.")


@strawberry.type(description="A page of a list that grows, oldest first, of at most 100 items.")
class Connection(Generic[T]):
    edges: list[Edge[T]] = strawberry.field(description="The items of the page.")
    page_info: PageInfo = strawberry.field(description="Where the page stands in the list.")
