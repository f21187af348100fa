"""Examples of devices, eligibility and the rest of the resource system, and what the legacy interface makes of them."""

from collections.abc import Callable
from typing import Any

from tests.support.example import Example

EXAMPLES: dict[str, Example] = {}

REST_TAKES: dict[str, Callable[[dict[str, Any]], Any]] = {}
REST_GIVES: dict[str, Callable[[dict[str, Any]], Any]] = {}
