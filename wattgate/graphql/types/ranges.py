"""A span of time that is asked for."""

from datetime import datetime

import strawberry


@strawberry.input(description="A span of time: from start to before end.")
class TimeRange:
    start: datetime
    end: datetime | None = strawberry.field(default=None, description="The present instant where it is left out.")

    def __hash__(self) -> int:  # the arguments of edges are keys of their loaders
        return hash((self.start, self.end))
