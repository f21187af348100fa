"""The bound of log records that clients cause: which are written, and which are counted."""

import logging

from wattgate.app.observability.logs import (
    MAX_COUNTED_ADDRESSES,
    MAX_RECORDS_OF_ADDRESS,
    MAX_RECORDS_OF_KIND,
    OTHER_ADDRESSES,
    PERIOD_SECONDS,
    RepeatedRecordFilter,
)
from wattgate.requests.request_context import client_fields


class Log:
    """A filter with a clock that the test moves, and the records that it has written itself."""

    def __init__(self) -> None:
        self.now = 0.0
        self.emitted: list[logging.LogRecord] = []
        self.filter = RepeatedRecordFilter(self.emitted.append, lambda: self.now)

    def passed(self, count: int, kind: str = "refused", address: str = "192.0.2.1") -> int:
        """Return how many of these records are written."""
        return sum(self.filter.filter(record(kind, address)) for _ in range(count))

    def summaries(self) -> dict[str, str]:
        """Return the records with numbers, by address."""
        return {getattr(line, "client_address", OTHER_ADDRESSES): line.getMessage() for line in self.emitted}


def record(kind: str, address: str) -> logging.LogRecord:
    fields = client_fields(kind, address)
    return logging.getLogger("wattgate.test").makeRecord("wattgate.test", 30, __file__, 1, kind, (), None, extra=fields)


def test_records_of_one_address_are_counted_after_the_first_ones() -> None:
    log = Log()
    assert log.passed(9_000) == MAX_RECORDS_OF_ADDRESS
    assert log.passed(3, address="192.0.2.2") == 3
    assert log.passed(3, kind="another kind") == 3
    assert log.emitted == []
    log.now = PERIOD_SECONDS
    assert log.passed(20) == MAX_RECORDS_OF_ADDRESS
    assert log.summaries() == {"192.0.2.1": "8990 further records like 'refused' were not written in 60 s"}
    assert {(line.name, line.levelno) for line in log.emitted} == {("wattgate.test", 30)}


def test_records_of_many_addresses_are_bounded_together() -> None:
    log = Log()
    addresses = [f"198.51.{n // 256}.{n % 256}" for n in range(1_000)]
    assert sum(log.passed(1, address=address) for address in addresses) == MAX_RECORDS_OF_KIND
    log.filter.end_period()
    assert len(log.emitted) == MAX_COUNTED_ADDRESSES + 1
    counted = 1_000 - MAX_RECORDS_OF_KIND - MAX_COUNTED_ADDRESSES
    assert log.summaries()[OTHER_ADDRESSES].startswith(f"{counted} further records")


def test_records_that_are_no_security_events_are_not_counted() -> None:
    log = Log()
    plain = logging.getLogger("wattgate.test").makeRecord("wattgate.test", 30, __file__, 1, "fault", (), None)
    assert all(log.filter.filter(plain) for _ in range(1_000))
    log.filter.end_period()
    assert log.emitted == []
