"""The result of a check of `wattgate doctor`, and the comparison of clocks."""

from dataclasses import dataclass
from enum import Enum

from wattgate.clock import ERROR_SECONDS, describe_clock_offset


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


def check_clock(server: str, offset: float) -> CheckResult:
    """Judge the seconds by which the clock of a server is ahead of this machine's."""
    subject = f"clock and {server}"
    problem = describe_clock_offset(offset)
    if problem is None:
        return passed(subject, "agree")
    return failed(subject, problem) if abs(offset) >= ERROR_SECONDS else warning(subject, problem)
