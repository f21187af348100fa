"""GraphQL types of Relay-style connections, which return long lists page by page."""

from typing import Generic, TypeVar

import strawberry

T = TypeVar("T")


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
