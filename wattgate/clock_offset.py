"""Judge the difference between the clock of this machine and the clock of a server that all gateways share."""

WARNING_SECONDS, ERROR_SECONDS = 1.0, 30.0
"""Differences from which tokens and leases end at the wrong time, and from which workers send messages twice."""

REMEDY = "synchronize the clocks of both machines by NTP, for example by chrony"


def describe_clock_offset(seconds: float) -> str | None:
    """Return what is wrong and what to do, or None if the clocks agree.

    `seconds` says how far the clock of the server is ahead of the clock of this machine.
    """
    return f"differ by {abs(seconds):.1f} seconds: {REMEDY}" if abs(seconds) >= WARNING_SECONDS else None
