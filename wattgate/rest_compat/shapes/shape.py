"""The legacy form of one place of the REST interface."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from wattgate.errors import Path
from wattgate.rest_compat.exchange import Answer, Exchange, Given


@dataclass(frozen=True, slots=True)
class Shape:
    """The legacy form of one place of the REST interface.

    `given` makes the arguments; `places` says where in the request something stands, by where it stands in the
    arguments; `body` makes the answer; `refused` is told beside the error when credentials are refused.
    """

    given: Callable[[Exchange], Given] | None = None
    places: Mapping[Path, Path] = field(default_factory=lambda: MappingProxyType({}))
    body: Callable[[Answer], Any] | None = None
    refused: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
