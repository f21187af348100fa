"""A REST request and the result of its operation, as plain values for the legacy formats."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from wattgate.errors import BadInput


@dataclass(frozen=True, slots=True)
class LegacyRequest:
    """A parsed REST request.

    `path` and `query` hold the parameters (of a repeated query parameter, the last value), `body` the JSON value, and
    `now` the time of receipt.
    """

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    now: datetime

    @property
    def body_members(self) -> Mapping[str, Any]:
        """The members of the body. Raise BadInput if the body is not a JSON object."""
        if not isinstance(self.body, dict):
            raise BadInput("the body is not a JSON object")
        return self.body


@dataclass(frozen=True)
class RestResult:
    """The result of an operation, with the values of the included edges by edge name.

    Each list in `edges` has one entry for each row of the result; a single record counts as one row.
    """

    request: LegacyRequest
    result: Any
    edges: Mapping[str, list[Any]]
    render: Callable[[Any], Any]

    @cached_property
    def rendered(self) -> Any:
        """The result as JSON values. For a list, one entry for each row."""
        return self.render(self.result)


RerunOperation = Callable[..., Awaitable[Any]]
"""Run the operation again for the same caller and return the new result. Keyword arguments replace earlier ones."""
