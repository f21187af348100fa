"""The floor of bulk NDJSON: lines to rows by msgspec and one plain bulk load, with no checks, revisions or rollups."""

from datetime import datetime

import msgspec

from bench.database_driver import Driver

FIRST_UNKNOWN_RESOURCE = 20_000_000


class Line(msgspec.Struct, rename="camel"):
    """A reading of the benchmark."""

    resource_id: str
    at: datetime
    value: float


_LINES = msgspec.json.Decoder(Line)


async def load_lines(driver: Driver, lines: bytes) -> int:
    """Load a row for each line. Return the number of rows."""
    numbers: dict[str, int] = {}
    rows = []
    for line in _LINES.decode_lines(lines):
        number = numbers.setdefault(line.resource_id, FIRST_UNKNOWN_RESOURCE + len(numbers))
        at = round(line.at.timestamp() * 1000)
        rows.append((number, 0, at, round(line.value * 1000), 0, 0, at))
    await driver.insert(rows)
    return len(rows)
