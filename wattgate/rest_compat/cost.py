"""What a REST request costs."""

from collections.abc import Mapping
from typing import Any

from wattgate.graphql.operation import Operation


def cost_of(operation: Operation, arguments: Mapping[str, Any]) -> int:
    """What the budgets of a caller are charged for an operation with these arguments."""
    return 1
