"""Relay-style connections: lists that grow, returned one page at a time."""

from typing import Generic, TypeVar

import strawberry

T = TypeVar("T")


@strawberry.type(description="The position of a page in its list.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether more items follow this page.")
    has_previous_page: bool = strawberry.field(description="Whether the request for this page contained `after`.")
    start_cursor: str | None = strawberry.field(description="The cursor of the first item. Null on an empty page.")
    end_cursor: str | None = strawberry.field(
        description="The cursor of the last item. Pass it as `after` for the next page. Null on an empty page."
    )


@strawberry.type(description="An item of a page.")
class Edge(Generic[T]):
    node: T = strawberry.field(description="The record.")
    cursor: str = strawberry.field(description="The position of the record in the list. Opaque.")


@strawberry.type(description="A page of a list, oldest item first. A page has at most 100 items.")
class Connection(Generic[T]):
    edges: list[Edge[T]] = strawberry.field(description="The items of the page.")
    page_info: PageInfo = strawberry.field(description="The position of the page in the list.")
