"""Check the clock of this machine against the clock of a server that all gateways share."""

from wattgate.app.cli.checks.result import CheckResult, failed, passed, warning
from wattgate.clock_offset import ERROR_SECONDS, describe_clock_offset


def check_clock(server: str, offset: float) -> CheckResult:
    """Judge the seconds by which the clock of a server is ahead of this machine's."""
    subject = f"clock and {server}"
    problem = describe_clock_offset(offset)
    if problem is None:
        return passed(subject, "agree")
    return failed(subject, problem) if abs(offset) >= ERROR_SECONDS else warning(subject, problem)
