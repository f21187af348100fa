"""Lines of CSV that are parsed together: the same readings as line by line, or none."""

import io
from datetime import UTC

import pytest

from wattgate.clock import to_ms
from wattgate.errors import BadInput
from wattgate.reading_files import line_reader
from wattgate.reading_files.cells import InvalidLine
from wattgate.reading_files.csv_columns import CsvBlock, CsvColumns
from wattgate.reading_files.line_reader import MAX_LINE_BYTES, decode_lines, read_blocks

HEADER = "resourceId,at,value,field,quality"
LINE = b"a,2026-02-01T00:00:00Z,1.5,,\n"


def columns(header: str = HEADER) -> CsvColumns:
    return CsvColumns.from_header(header, names_resource="resourceId" not in header)


def rows_of(block: CsvBlock) -> list[tuple[object, ...]]:
    return list(zip(block.series, block.at.tolist(), block.value.tolist(), block.quality, strict=True))


def parse_each(parser: CsvColumns, lines: list[bytes]) -> list[tuple[object, ...]] | None:
    """Return the readings of lines that are parsed one by one, or None if one of them is blank or invalid."""
    try:
        readings = [parser.parse_line(text) for _, text in decode_lines(2, lines)]
    except InvalidLine:
        return None
    rows: list[tuple[object, ...]] = [
        (one.series, to_ms(one.time.astimezone(UTC)), one.value, one.quality) for one in readings
    ]
    return rows if len(rows) == len(lines) else None


@pytest.mark.parametrize(
    ("header", "lines"),
    [
        (HEADER, [LINE, b"b,2026-02-01T00:00:00Z,-7,POWER,estimated\n", b" b ,2026-02-01T00:30:00Z,007,POWER, ACTUAL"]),
        (HEADER, [LINE.replace(b"\n", b"\r\n"), LINE]),
        (HEADER + ",note", [LINE.replace(b"\n", b",x\n"), LINE.replace(b"\n", b",\n")]),
        ("at,value", [b"2026-02-01T01:00:00.500+01:00,0.001\n"]),
        ("at;value", [b"2026-02-01T01:00:00.500-01:00;0.001\n"]),
    ],
)
def test_lines_of_the_usual_form_are_parsed_together(header: str, lines: list[bytes]) -> None:
    block = columns(header).parse_block(lines)
    assert block is not None
    assert rows_of(block) == parse_each(columns(header), lines)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"  \n",
        b"a,2026-02-01T00:00:00Z,1.5\n",
        b"a,2026-02-01T00:00:00Z,1.5,,,\n",
        b'"a",2026-02-01T00:00:00Z,1.5,,\n',
        b'"a\n',
        b"a,2026-02-01T00:00:00Z,1.5,,\r",
        b"a,2026-02-01T00:00:00Z,1.5\r,,\n",
        b"a,2026-02-01T00:00:00Z,1.5,,\0\n",
        b"\xc3\xa9,2026-02-01T00:00:00Z,1.5,,\n",
        b"\xff,2026-02-01T00:00:00Z,1.5,,\n",
        b"a,2026-02-01T00:00:00,1.5,,\n",
        b"a,2026-02-30T00:00:00Z,1.5,,\n",
        b"a,2026-02-01T00:00:00Z01:00,1.5,,\n",
        b"a,2026-02-01T00:00:00Z,1e3,,\n",
        b"a,2026-02-01T00:00:00Z,nan,,\n",
        b"a,2026-02-01T00:00:00Z,0.1234567890123456,,\n",
        b"a,2026-02-01T00:00:00Z,1.5,,GUESSED\n",
        b"a,2026-02-01T00:00:00Z,1.5," + b"x" * MAX_LINE_BYTES + b",\n",
    ],
)
def test_a_line_of_another_form_leaves_the_block_to_the_parser_of_lines(line: bytes) -> None:
    assert columns().parse_block([LINE, line, LINE]) is None


@pytest.mark.parametrize(
    ("header", "line", "found"),
    [
        (
            "at,value",
            b"2026-03-03T00:00:00Z,0,512\n",
            "cells is 3, and the header has 2. Write numbers with a decimal point",
        ),
        (
            "at,value",
            b"2026-03-03T00:00:00Z,1,234.5\n",
            "cells is 3, and the header has 2. Write numbers with a decimal point",
        ),
        (
            "at;value",
            b"2026-03-03T00:00:00Z;0;512\n",
            "cells is 3, and the header has 2. Write numbers with a decimal point",
        ),
        (
            "at,value",
            b"2026-03-03T00:00:00Z,0.512,\n",
            "cells is 3, and the header has 2. Write numbers with a decimal point",
        ),
        ("at,value", b"2026-03-03T00:00:00Z\n", "cells is 1, and the header has 2. Write a cell for each column"),
        ("value,at,note", b"0.512,2026-03-03T00:00:00Z\n", "cells is 2, and the header has 3"),
    ],
)
def test_a_line_has_a_cell_for_each_column_of_its_header(header: str, line: bytes, found: str) -> None:
    """A decimal comma makes one cell too many, in each line of the file. Nothing of such a line is stored."""
    parser = columns(header)
    assert parser.parse_block([line, line]) is None
    with pytest.raises(InvalidLine, match=found):
        parser.parse_line(line.decode().rstrip())


@pytest.mark.parametrize("header", ["at\rvalue", "at,value\r2026-02-01T00:00:00Z,1\r", "at,value" + "x" * 200_000])
def test_header_that_is_not_csv_is_rejected(header: str) -> None:
    with pytest.raises(BadInput, match="the header is not CSV"):
        columns(header)


def test_local_times_are_parsed_line_by_line() -> None:
    assert columns("localTime,value").parse_block([b"2026-02-01T00:00:00Z,1.5\n"]) is None


def test_blocks_number_their_lines_and_cut_long_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "MAX_LINE_BYTES", 4)
    content = b"ab\n\nabcdefghij\nabc\nabcdef\nabcdefghijkl"
    assert list(read_blocks(io.BytesIO(content), first=7, block_lines=3)) == [
        (7, [b"ab\n", b"\n", b"abcd"]),
        (10, [b"abc\n", b"abcd", b"abcd"]),
    ]
    monkeypatch.setattr(line_reader, "BLOCK_BYTES", 7)
    assert list(read_blocks(io.BytesIO(content), first=7, block_lines=3)) == [
        (7, [b"ab\n", b"\n", b"abcd"]),
        (10, [b"abc\n", b"abcd"]),
        (12, [b"abcd"]),
    ]
