"""Logging as text or JSON lines, with the request context, without credentials or e-mail addresses, and bounded."""

import asyncio
import logging
import re
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson

from wattgate.app.settings import Settings
from wattgate.clock import format_iso
from wattgate.enums import TRACE_ID
from wattgate.requests.request_context import CURRENT_PRINCIPAL, format_actor

_REDACTIONS = (
    (re.compile(r"(?<=://)[^/\s@:]*:[^/\s@]*@"), "[credentials]@"),
    (re.compile(r"(?<![\w.!#$%&'*+/=?^`{|}~-])[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)+"), "[e-mail]"),
    (re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]+", re.IGNORECASE), r"\1 [credentials]"),
    (re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])"), "[token]"),
    (re.compile(r"""((?:password|secret|token)['"]?\s*[:=]\s*['"]?)[^\s'",&}]+""", re.IGNORECASE), r"\1[secret]"),
)
"""Patterns of secrets and their replacements. Messages of a database, a broker or a client may contain secrets.

The gateway's own tokens have 256 bits in base64, which are 43 characters."""

_ID = re.compile(r"[\w.:-]{1,100}")
"""Permitted values of ID fields. A caller without credentials may send any text as an ID, such as a forged log line."""


def redact(text: str) -> str:
    """Return a text with recognizable e-mail addresses, tokens and passwords replaced."""
    for pattern, replacement in _REDACTIONS:
        text = pattern.sub(replacement, text)
    return text


def request_fields(record: logging.LogRecord) -> dict[str, str]:
    """Return the fields of the request that a log record belongs to: trace ID, application, actor and user.

    Only a record with the attribute `client_address`, of a security event, has the address of the client.
    The attributes `trace_id` and `caller` of the record take precedence over the context variables of the task.
    """
    caller = getattr(record, "caller", None) or CURRENT_PRINCIPAL.get()
    fields = {"traceId": getattr(record, "trace_id", None) or TRACE_ID.get() or None}
    fields["clientAddress"] = getattr(record, "client_address", None)
    if caller is not None:
        fields |= {"applicationId": caller.application_id, "actor": format_actor(caller), "userId": caller.user_id}
    return {name: value for name, value in fields.items() if value is not None and _ID.fullmatch(value)}


class TextFormatter(logging.Formatter):
    """Formatter for a terminal: one line of text for each record."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record) + "".join(
            f" {name}={value}" for name, value in request_fields(record).items()
        )

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


class JsonFormatter(logging.Formatter):
    """Formatter for a log collector: one JSON object for each record."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": format_iso(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact(record.getMessage()),
            **{name: redact(value) for name, value in request_fields(record).items()},
            "process": record.process,
        }
        if record.exc_info:
            line["exception"] = redact(self.formatException(record.exc_info))
        return orjson.dumps(line).decode()


class CancelledTaskFilter(logging.Filter):
    """Drop the errors that libraries log when a drain or a time limit cancels a task."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


CANCELLED_TASK_FILTER = CancelledTaskFilter()


def configure_logging(settings: Settings) -> None:
    """Log to standard error with the level and format of the settings.

    Other libraries log at `info` or above, because some of them log each statement with its values at `debug`.
    """
    level = settings.log_level.upper()
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(CANCELLED_TASK_FILTER)
    handler.addFilter(RepeatedRecordFilter(handler.handle))
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else TextFormatter())
    logging.basicConfig(level=max(logging.getLevelNamesMapping()[level], logging.INFO), handlers=[handler], force=True)
    logging.getLogger("wattgate").setLevel(level)
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it logs the database at each schema check


# A bound for log records that clients can cause at will: it counts those of one kind and address after the first
# ones.
#
# A client without credentials can cause thousands of refusals in a second. Each would be a line, and the lines would
# fill the disk and hide everything else. In each period, the filter passes the first records of a kind from an
# address, and the first of a kind from all addresses. At the end of the period, one record for each kind and address
# has the number of the others.

PERIOD_SECONDS = 60.0
MAX_RECORDS_OF_ADDRESS = 10
"""Records of one kind that an address can cause in a period."""

MAX_RECORDS_OF_KIND = 200
"""Records of one kind that all addresses together can cause in a period."""

MAX_COUNTED_ADDRESSES = 100
"""Maximum addresses whose further records of a kind are counted apart. Other addresses are counted together."""

TIMER_SECONDS = 0.01
"""Time by which a timer of the event loop may be early."""

OTHER_ADDRESSES = "other addresses"

Emit = Callable[[logging.LogRecord], object]


class _Count:
    """The records of one kind in the current period: passed in all, passed by address, and counted by address."""

    __slots__ = ("counted", "level", "logger", "passed", "passed_by_address")

    def __init__(self, record: logging.LogRecord) -> None:
        self.logger, self.level = record.name, record.levelno
        self.passed = 0
        self.passed_by_address: dict[str, int] = {}
        self.counted: dict[str, int] = {}

    def passes(self, address: str) -> bool:
        by_address = self.passed_by_address.get(address, 0)
        if self.passed < MAX_RECORDS_OF_KIND and by_address < MAX_RECORDS_OF_ADDRESS:
            self.passed += 1
            self.passed_by_address[address] = by_address + 1
            return True
        if address not in self.counted and len(self.counted) >= MAX_COUNTED_ADDRESSES:
            address = OTHER_ADDRESSES
        self.counted[address] = self.counted.get(address, 0) + 1
        return False


class RepeatedRecordFilter(logging.Filter):
    """Pass records without the attribute `event_kind`, and the first ones of each kind and address in a period.

    `emit` writes the records with the numbers of the others. `clock` returns seconds.
    """

    def __init__(self, emit: Emit, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._emit = emit
        self._clock = clock
        self._lock = threading.RLock()
        self._counts: dict[str, _Count] = {}
        self._ends_at = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        kind = getattr(record, "event_kind", None)
        if kind is None:
            return True
        with self._lock:
            if self._counts and self._clock() >= self._ends_at:
                self.end_period()
            if not self._counts:
                self._ends_at = self._clock() + PERIOD_SECONDS
                self._end_later()
            count = self._counts.setdefault(kind, _Count(record))
            return count.passes(getattr(record, "client_address", ""))

    def end_period(self) -> None:
        """Write the numbers of the period, and begin the next one."""
        with self._lock:
            counts, self._counts = self._counts, {}
        for kind, count in counts.items():
            for address, number in count.counted.items():
                self._emit(_summary(kind, count, address, number))

    def _end_later(self) -> None:
        """End the period also if no further record arrives. A process without an event loop ends it at the next one."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        loop.call_later(PERIOD_SECONDS, self._end_if_due)

    def _end_if_due(self) -> None:
        if self._clock() >= self._ends_at - TIMER_SECONDS:
            self.end_period()


def _summary(kind: str, count: _Count, address: str, number: int) -> logging.LogRecord:
    message = "%d further records like %r were not written in %g s"
    values = (number, kind, PERIOD_SECONDS)
    record = logging.LogRecord(count.logger, count.level, __file__, 0, message, values, None)
    if address != OTHER_ADDRESSES:
        record.client_address = address
    return record
