"""The result of a check of `wattgate doctor`."""

from dataclasses import dataclass
from enum import Enum


class CheckState(Enum):
    """How a check ended. Only ERROR makes `wattgate doctor` fail."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The finding of a check. The text of a warning or an error says what to do."""

    subject: str
    state: CheckState
    text: str


def passed(subject: str, text: str) -> CheckResult:
    """Return the result of a check that found nothing wrong."""
    return CheckResult(subject, CheckState.OK, text)


def warning(subject: str, text: str) -> CheckResult:
    """Return the result of a check that found something to correct soon."""
    return CheckResult(subject, CheckState.WARNING, text)


def failed(subject: str, text: str) -> CheckResult:
    """Return the result of a check that found why a gateway cannot work."""
    return CheckResult(subject, CheckState.ERROR, text)
