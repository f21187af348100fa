"""Files of readings in CSV: blocks of lines give what each line alone gives, and what the module csv reads.

The first line that is not blank is the header.
"""

import csv
import io
from contextlib import suppress
from datetime import UTC, datetime

from tests.fuzz.harness import Harness
from wattgate.clock import to_ms
from wattgate.errors import BadInput
from wattgate.reading_files.cells import InvalidLine
from wattgate.reading_files.csv_columns import CsvColumns, CsvReading
from wattgate.reading_files.line_reader import decode_lines, read_blocks, read_header

BLOCK_LINES = 3
"""Lines of a block, so few that inputs have several blocks."""


def check(data: bytes) -> bool:
    lines = [line for _, block in read_blocks(io.BytesIO(data), block_lines=BLOCK_LINES) for line in block]
    assert b"".join(lines) == data  # no line of an input is too long
    count = 0
    for names_home in (False, True):
        file = io.BytesIO(data)
        number, header = read_header(file)
        with suppress(BadInput):
            columns = CsvColumns.from_header(header, names_resource=not names_home, names_home=names_home)
            for first, block in read_blocks(file, first=number + 1, block_lines=BLOCK_LINES):
                count += check_block(columns, first, block)
    return count > 0


def check_block(columns: CsvColumns, first: int, lines: list[bytes]) -> int:
    """Check the lines of a block, and return how many have a reading."""
    alone = [(text, read_line(columns, text)) for _, text in decode_lines(first, lines)]
    for text, reading in alone:
        if reading is not None:
            check_line(columns, text, reading)
    count = sum(reading is not None for _, reading in alone)
    if (block := columns.parse_block(lines)) is None:
        return count
    together = list(zip(block.series, block.at.tolist(), block.value.tolist(), block.quality, strict=True))
    expected = [
        None if one is None else (one.series, to_ms(one.time.astimezone(UTC)), one.value, one.quality)
        for _, one in alone
    ]
    assert together == expected, (together, expected)
    return count


def read_line(columns: CsvColumns, text: str) -> CsvReading | None:
    try:
        return columns.parse_line(text)
    except InvalidLine:
        return None


def check_line(columns: CsvColumns, text: str, reading: CsvReading) -> None:
    """Raise AssertionError unless the cells that the module csv reads have the time, the value and the series."""
    (cells,) = csv.reader([text], delimiter=columns.delimiter)
    time = datetime.fromisoformat(cells[columns.positions["localTime" if columns.has_local_times else "at"]].strip())
    assert reading.time.replace(tzinfo=None) == time.replace(tzinfo=None)
    assert reading.value == float(cells[columns.positions["value"]])
    for name in ("resourceId", "field", "classifier"):
        if name in columns.positions and (name != "classifier" or columns.names_home):
            text_of_cell = cells[columns.positions[name]].strip()
            assert getattr(reading.series, {"resourceId": "resource_id"}.get(name, name)) == text_of_cell


HEADER = b"resourceId,at,value,field,quality\n"
LINE = b"a,2026-02-01T00:00:00Z,1.5,,\n"

HARNESS = Harness(
    "csv",
    check,
    (
        b"at,value\n2026-02-01T00:00:00Z,1.5\n2026-02-01T00:30:00Z,-7\n2026-02-01T01:00:00.500+01:00,0.001",
        b"at;value;quality\r\n2026-02-01T01:00:00.500-01:00;0.001;ESTIMATED\r\n2026-02-01T00:00:00Z;1;\r\n",
        b"\xef\xbb\xbflocalTime,value\n2026-10-25T01:30,1\n2026-10-25 01:30:00,2\n",
        HEADER + LINE + b"b,2026-02-01T00:00:00Z,-7,POWER,estimated\n b ,2026-02-01T00:30:00Z,007,POWER, ACTUAL",
        HEADER + b'"a",2026-02-01T00:00:00Z,1.5,,\n' + LINE + b"a,2026-02-30T00:00:00Z,1.5,,\n\n" + LINE,
        b"mpxn,at,value,classifier,note\n1234567891000,2026-02-01T00:00:00Z,1e3,gas.consumption,x\n",
        b"mpan,mprn,AT,Value\n,77,2026-02-01T00:00:00Z,nan\n1,,2026-02-01,0.1234567890123456\n\xff,\0,\r,1\n",
    ),
    (
        *(b",", b";", b"\n", b"\r", b"\r\n", b'"', b'""', b"\0", b"\xff", b" ", b"\xe2\x80\xa8", b"\xc2\x85"),
        *(b"at", b"value", b"localTime", b"field", LINE, b"Z", b"+23:59", b"0001-01-01T00:00:00+01:00", b"9999-12-31"),
        *(b"1e3", b"inf", b"-0", b"1_0", b"\xd9\xa1", b"ACTUAL", b"24:00", b"2026-W05-1"),
    ),
    {
        "lines": lambda count: HEADER + LINE * count,
        "wrong lines": lambda count: HEADER + b'"a,b\n' * count,
        "cells": lambda count: b"at,value" + b",x" * count + b"\n2026-02-01T00:00:00Z,1" + b"," * count,
        "columns": lambda count: b"at,value" + b",value" * count,
    },
)
