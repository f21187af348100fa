"""The log: a line for each thing that happened, as text or as JSON, without what would let others in."""

import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any

import orjson

from wattgate.app.settings import Settings
from wattgate.clock import iso
from wattgate.enums import TRACE_ID
from wattgate.request_context import CALLER, actor

_SECRETS = (
    (re.compile(r"(?<=://)[^/\s@:]*:[^/\s@]*@"), "[credentials]@"),
    (re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)+"), "[e-mail]"),
    (re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]+", re.IGNORECASE), r"\1 [credentials]"),
    (re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])"), "[token]"),
    (re.compile(r"""((?:password|secret|token)['"]?\s*[:=]\s*['"]?)[^\s'",&}]+""", re.IGNORECASE), r"\1[secret]"),
)
"""What may come in with the words of others (a database, a broker, a client), and what stands in its place. The
gateway's own tokens are 256 bits in base64, which are 43 characters."""

_ID = re.compile(r"[\w.:-]{1,100}")
"""An id, which a caller without credentials may have thought up: nothing else comes into a line by it."""


def clean(text: str) -> str:
    """A text without e-mail addresses, tokens and passwords, so far as they can be known by their form."""
    for secret, instead in _SECRETS:
        text = secret.sub(instead, text)
    return text


def known(record: logging.LogRecord) -> dict[str, str]:
    """What is known of the request that a record is about: its trace, the application, and who acts.

    A record may say itself which trace it belongs to and who acts, as `trace_id` and `caller`; else the task says it.
    """
    caller = getattr(record, "caller", None) or CALLER.get()
    found = {"traceId": getattr(record, "trace_id", None) or TRACE_ID.get() or None}
    if caller is not None:
        found |= {"applicationId": caller.application_id, "actor": actor(caller), "userId": caller.user_id}
    return {name: value for name, value in found.items() if value is not None and _ID.fullmatch(value)}


class Text(logging.Formatter):
    """Lines for a person at a terminal."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record) + "".join(f" {name}={value}" for name, value in known(record).items())

    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record))


class Json(logging.Formatter):
    """A JSON object a line, for a log collector."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": iso(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": clean(record.getMessage()),
            **{name: clean(value) for name, value in known(record).items()},
            "process": record.process,
        }
        if record.exc_info:
            line["exception"] = clean(self.formatException(record.exc_info))
        return orjson.dumps(line).decode()


def set_up(settings: Settings) -> None:
    """Log to standard error as the settings say.

    Other libraries tell at most what is worth knowing: some of them log every statement with its values at `debug`.
    """
    level = settings.log_level.upper()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Json() if settings.log_format == "json" else Text())
    logging.basicConfig(level=max(logging.getLevelNamesMapping()[level], logging.INFO), handlers=[handler], force=True)
    logging.getLogger("wattgate").setLevel(level)
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it tells at every look which database it looks at
