"""Logging as text or JSON lines, with the request context and without credentials or e-mail addresses."""

import asyncio
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any

import orjson

from wattgate.app.observability.repeated_records import RepeatedRecordFilter
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
