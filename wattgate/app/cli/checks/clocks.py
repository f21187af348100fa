"""Check the clock of this machine against the clock of a server that all gateways share."""

from wattgate.app.cli.checks.result import CheckResult, failed, passed, warning

WARNING_SECONDS, ERROR_SECONDS = 1.0, 30.0
"""Differences from which tokens and leases end at the wrong time, and from which workers send messages twice."""


def check_clock(server: str, offset: float) -> CheckResult:
    """Judge the seconds by which the clock of a server is ahead of this machine's."""
    subject = f"clock and {server}"
    if abs(offset) < WARNING_SECONDS:
        return passed(subject, "agree")
    text = f"differ by {abs(offset):.1f} seconds: synchronize the clocks of both machines by NTP, for example by chrony"
    return failed(subject, text) if abs(offset) >= ERROR_SECONDS else warning(subject, text)
