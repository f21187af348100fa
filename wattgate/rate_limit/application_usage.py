"""Counts of the cost and the refusals of each application, for the metrics of the operator."""

from wattgate.metrics import APPLICATION_COST, APPLICATION_REFUSALS
from wattgate.principal import Principal

MAX_APPLICATIONS = 200
"""Maximum number of applications that a process counts apart. Anybody can add applications where that is permitted."""

NO_APPLICATION = "none"
FURTHER_APPLICATIONS = "other"


class ApplicationUsage:
    """Counts the cost and the refusals of applications. The first ones of a process have counts of their own."""

    def __init__(self, max_applications: int = MAX_APPLICATIONS) -> None:
        self._max_applications = max_applications
        self._returned = dict[str, int]()
        """Units that were returned, by label. A counter cannot fall, so the next cost is less by them."""

    def add(self, principal: Principal, units: int) -> None:
        """Add the cost of work. Negative units are returned."""
        label = self._label(principal)
        units += self._returned[label]
        self._returned[label] = min(units, 0)
        if units > 0:
            APPLICATION_COST.labels(label).inc(units)

    def refuse(self, principal: Principal) -> None:
        """Count a request that a budget refused."""
        APPLICATION_REFUSALS.labels(self._label(principal)).inc()

    def _label(self, principal: Principal) -> str:
        label = principal.application_id or NO_APPLICATION
        if label not in self._returned and len(self._returned) >= self._max_applications:
            label = FURTHER_APPLICATIONS
        self._returned.setdefault(label, 0)
        return label
