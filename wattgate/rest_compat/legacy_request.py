"""One REST request and what is to be answered, as plain values."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from wattgate.errors import BadInput


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a client sent: path parameters, query parameters (the last of each name), the JSON body, and when."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    now: datetime

    @property
    def members(self) -> Mapping[str, Any]:
        """The body, which must be a JSON object. BadInput where it is not."""
        if not isinstance(self.body, dict):
            raise BadInput("the body is not a JSON object")
        return self.body


@dataclass(frozen=True)
class Answer:
    """What an operation gave: its result, and what the included edges lead to, by name.

    Where the result is a list, `edges` and `told` hold one entry for each of its rows.
    """

    exchange: Exchange
    result: Any
    edges: Mapping[str, list[Any]]
    render: Callable[[Any], Any]

    @cached_property
    def told(self) -> Any:
        """The result as JSON values."""
        return self.render(self.result)


Again = Callable[..., Awaitable[Any]]
"""Runs the operation once more for the same caller, with some arguments (Python names) replaced: its new result."""
