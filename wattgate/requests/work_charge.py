"""The charge of a caller for work whose cost is known only while it is done, such as the rendering of a template."""

from typing import Protocol


class WorkCharge(Protocol):
    """The charge of a running call for work above its estimate."""

    async def add_units(self, units: int) -> None:
        """Charge units before their work begins. Raise RateLimited or CostTooHigh if they are not granted."""

    async def add_done(self, units: int) -> None:
        """Charge units of work that is done, also above the remaining budget. Raise CostTooHigh above the maximum."""

    async def check_work(self) -> None:
        """Raise RateLimited or CostTooHigh if earlier work has used what the caller may use."""

    async def add_work(self, seconds: float) -> None:
        """Charge the processor time of work that is done, also above the remaining budget of the caller."""
