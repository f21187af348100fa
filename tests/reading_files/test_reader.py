"""Lines that the reader of files refuses, with the reason, and its questions. Each case is a form that people have."""

import io
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest

from wattgate.enums import DateOrder, Epoch, Times
from wattgate.errors import BadInput
from wattgate.reading_files.cells import Ambiguous, InvalidLine, number_parser, parse_time
from wattgate.reading_files.derived_energy import FileReading, RefusedLine
from wattgate.reading_files.green_button import _FeedReader
from wattgate.reading_files.line_reader import ENCODINGS, WrongEncoding, _Transcoder, find_codec, open_utf8
from wattgate.reading_files.profiles import (
    FileProfile,
    ProfileOptions,
    packaged_profile,
    parse_profile,
    with_options,
)
from wattgate.reading_files.reader import ReadingFile

LONDON = ZoneInfo("Europe/London")
START = ProfileOptions(times=Times.START)


def profile(name: str = "english-spreadsheet", **options: object) -> FileProfile:
    return with_options(packaged_profile(name), ProfileOptions(**{"times": Times.START, **options}))  # type: ignore[arg-type]


def read(
    content: str | bytes, form: FileProfile, zone: tzinfo = LONDON, source: str = ""
) -> tuple[list[float], dict[int, str]]:
    """Return the values and the refused lines."""
    data = content if isinstance(content, bytes) else content.encode()
    events = list(ReadingFile(io.BytesIO(data), form, zone, source=source))
    refused = {one.line: one.reason for one in events if isinstance(one, RefusedLine)}
    return [one.value for one in events if isinstance(one, FileReading)], refused


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("02/03/2026 00:30", datetime(2026, 3, 2, 0, 30)),
        ("2.3.26 0:30", datetime(2026, 3, 2, 0, 30)),
        ("02-Mar-2026 00:30:15", datetime(2026, 3, 2, 0, 30, 15)),
        ("2 March 2026 10:00 PM", datetime(2026, 3, 2, 22)),
        ("2026-03-02 12:30:00 AM", datetime(2026, 3, 2, 0, 30)),
        ("2026-03-02 12:30 PM", datetime(2026, 3, 2, 12, 30)),
        ("2026-03-02T24:00:00", datetime(2026, 3, 3)),
        ("20260302", datetime(2026, 3, 2)),
        ("2026-03-02T00:30:00+0100", datetime(2026, 3, 1, 23, 30, tzinfo=UTC)),
        ("2026-03-02T00:30:00.250Z", datetime(2026, 3, 2, 0, 30, 0, 250_000, tzinfo=UTC)),
    ],
)
def test_times_that_people_write(text: str, time: datetime) -> None:
    assert parse_time(text, DateOrder.DAY_FIRST) == time


@pytest.mark.parametrize(
    "text", ["", "yesterday", "32/01/2026", "2026-02-30", "2026-03-02 24:30", "2026-03-02 13:00 PM"]
)
def test_texts_that_are_no_time(text: str) -> None:
    with pytest.raises(InvalidLine, match="is not a"):
        parse_time(text, DateOrder.DAY_FIRST)


@pytest.mark.parametrize(
    ("decimal", "thousands", "text", "value"),
    [
        (".", None, "0.512", 0.512),
        (",", None, "0,512", 0.512),
        (",", ".", "1.234,5", 1234.5),
        (".", ",", "1,234,567.5", 1234567.5),
        (",", " ", "1\u202f234,5", 1234.5),
        (".", "'", "1'234.5", 1234.5),
        (None, None, "12", 12.0),
    ],
)
def test_numbers_with_marks(decimal: str | None, thousands: str | None, text: str, value: float) -> None:
    assert number_parser(decimal, thousands)(text) == value


@pytest.mark.parametrize(
    ("decimal", "thousands", "text", "reason"),
    [
        (".", None, "0,512", "use --decimal comma"),
        (".", None, "1,234", "use --thousands or --decimal comma"),
        (",", None, "0.512", "has a point, and the decimal mark of the file is a comma"),
        (".", ",", "0,512", "use --decimal comma"),
        (".", ",", "1,23", "use --decimal comma"),
        (".", None, "", "has no value"),
        (".", None, "0.5 kWh", "is not a number"),
    ],
)
def test_numbers_are_never_cut(decimal: str, thousands: str | None, text: str, reason: str) -> None:
    with pytest.raises(InvalidLine, match=reason):
        number_parser(decimal, thousands)(text)


def test_a_mark_that_is_not_known_is_a_question() -> None:
    with pytest.raises(Ambiguous, match="Use --decimal"):
        number_parser(None, None)("1,234")


HEADER = "Date and time,kWh\n"


def test_day_or_month_first_is_a_question() -> None:
    form = with_options(packaged_profile("spreadsheet"), ProfileOptions(times=Times.START, unit="kWh", decimal="point"))
    with pytest.raises(
        Ambiguous, match=r"Line 2: '02/03/2026' may be 2 March 2026 or 3 February 2026. Use --date-order"
    ):
        read("time,value\n02/03/2026 00:30,1\n", form)


@pytest.mark.parametrize(
    ("name", "header", "options", "asked"),
    [
        ("english-spreadsheet", "Date and time,kWh", {}, "--times"),
        ("english-spreadsheet", "Start,Consumption", {}, "--unit"),
        ("english-spreadsheet", "End,kWh", {}, "--interval"),
        ("english-spreadsheet", "Start,kW", {}, "--interval"),
        ("english-spreadsheet", "Start,kWh,Wh", {}, "--column value=NAME"),
    ],
)
def test_facts_that_a_header_leaves_open_are_questions(
    name: str, header: str, options: dict[str, object], asked: str
) -> None:
    with pytest.raises(Ambiguous, match=asked):
        read(f"{header}\n", with_options(packaged_profile(name), ProfileOptions(**options)))  # type: ignore[arg-type]


def test_two_delimiters_are_refused_by_line() -> None:
    values, refused = read(HEADER + "01/03/2026 00:00,0.5\n01/03/2026 00:30;0.5\n01/03/2026 01:00,0,5\n", profile())
    assert values == [0.5]
    assert refused == {
        3: "the number of cells is 1, and the header has 2. The line is delimited by semicolon, and the header is not",
        4: "the number of cells is 3, and the header has 2. A decimal comma or a thousands mark makes a cell too many, "
        "unless the cell is quoted",
    }


def test_a_header_twice_and_a_byte_order_mark_in_the_middle_are_refused() -> None:
    lines = [
        "01/03/2026 00:00,1",
        HEADER.strip(),
        "\ufeff" + HEADER.strip(),
        "\ufeff01/03/2026 00:30,1",
        "01/03/2026 01:00,2",
    ]
    values, refused = read("\ufeff" + HEADER + "\n".join(lines), profile())
    assert values == [1.0, 2.0]
    assert refused == {
        3: "repeats the header",
        4: "repeats the header after a byte order mark: files were joined",
        5: "begins with a byte order mark: files were joined",
    }


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (b"\x1f\x8b\x08\x00", "gunzip"),
        (b"PK\x03\x04\x14\x00", "ZIP archive or an Excel workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "Excel workbook of the old form"),
        (b"%PDF-1.7", "PDF"),
    ],
)
@pytest.mark.parametrize("name", ["english-spreadsheet", "nem12", "green-button"])
def test_files_that_are_no_text_are_refused(content: bytes, advice: str, name: str) -> None:
    with pytest.raises(BadInput, match=advice):
        read(content, packaged_profile(name))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_a_byte_order_mark_says_the_encoding(encoding: str) -> None:
    values, refused = read((HEADER + "01/03/2026 00:00,0.5\r\n").encode(encoding), profile())
    assert (values, refused) == ([0.5], {})


def test_bytes_of_another_encoding_are_refused() -> None:
    content = "Début;Consommation (kWh)\n01/03/2026 00:00;0,5\n"
    form = packaged_profile("french-spreadsheet")
    assert read(content.encode("cp1252"), with_options(form, ProfileOptions(encoding="cp1252")))[0] == [0.5]
    noted = (HEADER.replace("\n", ",note\n") + "01/03/2026 00:00,0.5,é\n").encode("latin-1")
    assert read(noted, profile())[1] == {2: "has bytes that are not utf-8. Use --encoding"}


@pytest.mark.parametrize(
    "encoding",
    [
        "nosuch",
        "bz2",
        "zlib",
        "idna",
        "rot13",
        "hex",
        "undefined",
        "mbcs",
        "\0",
        "",
        "utf-7",
        "punycode",
        "unicode_escape",
        "raw_unicode_escape",
        "iso2022_jp",
        "hz",
        "x" * 100_000,
        "../utf_8",
        "\u0130so8859_1",
    ],
)
def test_encodings_that_are_no_text_of_files_are_refused(encoding: str) -> None:
    """Some decode in a time that grows with the square of the bytes, and others fail with an error of their own."""
    with pytest.raises(BadInput, match=r"is no encoding that is read\. Use one of: utf-8, ") as refused:
        with_options(profile(), ProfileOptions(encoding=encoding))
    assert len(str(refused.value)) < 1_000
    with pytest.raises(WrongEncoding):
        open_utf8(io.BytesIO(b"a"), encoding)


@pytest.mark.parametrize(
    ("encoding", "codec"),
    [
        *(("UTF8", "utf-8"), ("Windows-1252", "cp1252"), ("latin1", "iso8859-1"), ("ISO 8859-15", "iso8859-15")),
        *(("macintosh", "mac-roman"), ("KOI8-R", "koi8-r"), ("SJIS", "shift_jis"), ("utf-16le", "utf-16-le")),
    ],
)
def test_encodings_have_the_names_that_people_write(encoding: str, codec: str) -> None:
    assert find_codec(encoding) == codec


def test_each_encoding_of_files_is_read() -> None:
    for encoding in ENCODINGS:
        content = "é" if encoding.startswith("utf") else "a"
        assert open_utf8(io.BytesIO(content.encode(encoding)), encoding).read().decode("utf-8-sig") == content


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_file_that_cannot_be_in_an_encoding_is_refused(encoding: str) -> None:
    with pytest.raises(WrongEncoding, match=f"The file is not in {encoding}"):
        read(HEADER + "01/03/2026 00:00,0.5\r\n", with_options(profile(), ProfileOptions(encoding=encoding)))


@pytest.mark.parametrize(("encoding", "unit"), [("utf-7", b"A"), ("iso2022_jp", b"\x1b$B\x1b(B")])
def test_a_decoder_keeps_few_bytes(encoding: str, unit: bytes) -> None:
    """No encoding that is read keeps many. A later one that does shall not read the whole file into memory."""
    file = io.BytesIO(b"+" * (encoding == "utf-7") + unit * (2_000_000 // len(unit)))
    with pytest.raises(WrongEncoding, match="65,536 bytes have no character"):
        _Transcoder(file, encoding).read(100)
    assert file.tell() <= 3 * 65_536


@pytest.mark.parametrize("encoding", ["nosuch", "hex", "shift_jis", "punycode", "undefined", "utf-16"])
def test_xml_that_declares_a_wrong_encoding_is_refused(encoding: str) -> None:
    content = f'<?xml version="1.0" encoding="{encoding}"?><feed/>'.encode()
    with pytest.raises(BadInput, match="encoding"):
        read(content, packaged_profile("green-button"))


class CountedText(str):
    """A text that counts how often it is measured."""

    measured = 0

    def __len__(self) -> int:
        CountedText.measured += 1
        return super().__len__()


def test_the_parts_of_a_text_of_xml_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comment ends a part, so that each character may be one."""
    monkeypatch.setattr(CountedText, "measured", 0)
    reader = _FeedReader()
    for _ in range(1_000):
        reader.data(CountedText("a"))
    assert CountedText.measured <= 2_000
    for parts in (9_990, 10_001):
        content = b"<feed><t>" + b"a<!---->" * parts + b"</t></feed>"
        with pytest.raises(BadInput, match="no block of intervals" if parts < 10_000 else "more than 10,000 char"):
            read(content, packaged_profile("green-button"))


def test_a_preamble_and_a_declared_delimiter_are_skipped() -> None:
    content = "sep=;\nAccount;A-1\n\nStart;kWh\n01/03/2026 00:00;0.5\n"
    assert read(content, profile()) == ([0.5], {})


def test_a_file_without_the_header_names_the_needed_columns() -> None:
    with pytest.raises(BadInput, match=r"No line of the file is a header of the profile octopus. It needs one of"):
        read("a,b\n1,2\n", packaged_profile("octopus"))


def test_meter_point_numbers_of_spreadsheets() -> None:
    content = "Start,kWh,MPAN\n01/03/2026 00:00,1,'2300000000116\n01/03/2026 00:30,1,2.3E+12\n"
    events = list(ReadingFile(io.BytesIO(content.encode()), profile(), LONDON))
    assert isinstance(events[0], FileReading)
    assert events[0].series.meter_point == "2300000000116"
    assert isinstance(events[1], RefusedLine)
    assert "has rounded the meter point number to 2.3E+12" in events[1].reason
    assert read(content, profile(columns={"meter_point": ""})) == ([1.0, 1.0], {})


def test_mean_power_is_energy_of_its_interval() -> None:
    content = "Start,End,kW\n01/03/2026 00:00,01/03/2026 00:30,3\n01/03/2026 00:30,01/03/2026 00:45,3\n"
    assert read(content, profile()) == ([1.5, 0.75], {})
    times = ("10", "20", "30", "40", "50")
    wrong = "Horodate;Valeur\n" + "".join(f"2026-03-01T00:{minute}:00+01:00;600\n" for minute in times)
    with pytest.raises(BadInput, match=r"are 10 minutes apart, and the stated interval is 30\. Use --interval"):
        read(wrong, packaged_profile("enedis-load-curve"))
    ten = with_options(packaged_profile("enedis-load-curve"), ProfileOptions(interval="PT10M"))
    assert read(wrong, ten) == ([100.0] * 5, {})


def test_ends_before_starts_are_refused() -> None:
    content = "Start,End,kWh\n01/03/2026 00:30,01/03/2026 00:00,3\n"
    assert read(content, profile())[1] == {2: "the end 2026-03-01 00:00:00 is not after the start 2026-03-01 00:30:00"}


# Wide files.


def wide(day: str, count: int, columns: int = 50) -> str:
    cells = [str(position) for position in range(1, count + 1)] + [""] * (columns - count)
    return f"Date,{','.join(str(number) for number in range(1, columns + 1))}\n{day},{','.join(cells)}\n"


@pytest.mark.parametrize(
    ("day", "count", "problem"),
    [
        ("2026-03-29", 46, None),
        ("2026-10-25", 50, None),
        ("2026-10-24", 48, None),
        ("2026-10-24", 47, None),
        ("2026-03-29", 48, "the day has 48 values, and in Europe/London it has 46 intervals"),
        ("2026-10-25", 48, "the day has 48 values, and in Europe/London it has 50 intervals"),
        ("2026-10-24", 50, "the day has 50 values, and in Europe/London it has 48 intervals"),
    ],
)
def test_wide_days_with_a_clock_change(day: str, count: int, problem: str | None) -> None:
    values, refused = read(wide(day, count), profile("wide", times=None, unit="kWh"))
    assert refused == ({} if problem is None else {2: problem})
    assert len(values) == (0 if problem else count)


@pytest.mark.parametrize(("day", "count"), [("2026-03-29", 92), ("2026-10-25", 100)])
def test_wide_days_of_quarter_hours(day: str, count: int) -> None:
    assert len(read(wide(day, count, 100), profile("wide", times=None, unit="kWh"))[0]) == count


def test_wide_columns_with_times_of_day() -> None:
    labels = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in (0, 30)]
    starts = f"Day,{','.join(labels)},Total\n01/03/2026,{','.join(['0.5'] * 48)},24\n"
    form = profile("wide", times=None, unit="kWh", date_order=DateOrder.DAY_FIRST, decimal="point")
    assert read(starts, form) == ([0.5] * 48, {})
    ends = f"Day,{','.join([*labels[1:], '24:00'])}\n01/03/2026,{','.join(['0.5'] * 48)}\n"
    events = list(ReadingFile(io.BytesIO(ends.encode()), form, LONDON))
    assert {one.shift_ms for one in events if isinstance(one, FileReading)} == {1_800_000}
    with pytest.raises(BadInput, match="is not the end of its interval"):
        read(starts, with_options(form, ProfileOptions(times=Times.END)))


# Registers.


def registers(*values: object) -> tuple[list[float], dict[int, str]]:
    lines = [f"2026-03-01 {number // 4:02}:{number % 4 * 15:02},{value},0" for number, value in enumerate(values)]
    header = "time,Import T1 kWh,Import T2 kWh\n"
    form = with_options(packaged_profile("dutch-p1"), ProfileOptions())
    return read(header + "\n".join(lines) + "\n", form)


def test_a_register_that_goes_down_by_one_digit_is_refused_alone() -> None:
    values, refused = registers(100, 101, 91, 102, 103)
    assert values == [1.0, 1.0]
    assert refused[4] == "the register is 91.0, and was 101.0 at line 3 before"
    assert "30 minutes before, and the interval is 15: when the energy was used is unknown" in refused[5]


def test_a_register_that_goes_up_by_one_digit_is_refused_alone() -> None:
    values, refused = registers(100, 101, 192, 102, 103)
    assert values == [1.0, 1.0]
    assert refused[4] == "the register is 192.0, and only 102.0 at line 5 after it"


def test_a_register_that_begins_anew_loses_one_interval() -> None:
    values, refused = registers(100, 101, 2, 3, 4)
    assert values == [1.0, 1.0, 1.0]
    assert list(refused) == [4]
    assert "it was reset or replaced" in refused[4]


def test_registers_need_the_order_of_time() -> None:
    with pytest.raises(BadInput, match="Line 3 is earlier than line 2"):
        read(
            "time,Import T1 kWh,Import T2 kWh\n2026-03-01 01:00,5,0\n2026-03-01 00:45,4,0\n2026-03-01 00:30,3,0\n",
            packaged_profile("dutch-p1"),
        )


# NEM12.

NEM12 = "100,NEM12,202604100000,A,B\n200,6000000001,E1,E1,E1,N1,M1,KWH,30,\n"


def test_nem12_refuses_what_is_wrong_by_record() -> None:
    day = ",".join(["1"] * 48)
    content = (
        NEM12
        + f"300,20260404,{day},A,,,,\n300,20260405,{','.join(['1'] * 40)},A\n300,20260406,{day},V,,,,\n400,1,47,A,,\n"
        + f"200,6000000001,E1,E1,Q1,N1,M1,KVARH,30,\n300,20260404,{day},A,,,,\n"
        + f"200,6000000001,E1,E1,E2,N1,M1,KWH,30,\n300,20260404,{day},A,,,,\n900\nmore\n"
    )
    values, refused = read(content, packaged_profile("nem12"))
    assert len(values) == 48 + 47
    assert refused == {
        4: "the record 300 has 41 cells after the date, and needs 49",
        5: "value 48: its quality is variable, and no record 400 says it",
        7: "the stream Q1 is KVARH, and no active energy. Its records are left out",
        9: "the file has 6000000001 E1 and 6000000001 E2, which are both electricity.consumption. The records of "
        "6000000001 E2 are left out. Choose one with --source",
        12: "follows the end of the file: files were joined",
    }
    assert len(read(content, packaged_profile("nem12"), source="E2")[0]) == 48


@pytest.mark.parametrize(("content", "reason"), [(NEM12, "no record 900"), ("200,1\n", "not its header")])
def test_nem12_that_is_not_complete_is_refused(content: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        read(content, packaged_profile("nem12"))


# Green Button.

GREEN = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xmlns:e="http://naesb.org/espi">
<entry><link rel="self" href="/LocalTimeParameters/1"/><content><e:LocalTimeParameters>
<e:tzOffset>-18000</e:tzOffset></e:LocalTimeParameters></content></entry>
<entry><link rel="self" href="/ReadingType/1"/><content><e:ReadingType>{kind}</e:ReadingType></content></entry>
<entry><link rel="self" href="/MeterReading/1"/><link rel="related" href="/ReadingType/1"/><content><e:MeterReading/>
</content></entry>
<entry><link rel="up" href="/MeterReading/1/IntervalBlock"/><content><e:IntervalBlock>
<e:interval><e:duration>86400</e:duration><e:start>{start}</e:start></e:interval>
{readings}
</e:IntervalBlock></content></entry></feed>
"""
WH = "<e:uom>72</e:uom><e:powerOfTenMultiplier>{}</e:powerOfTenMultiplier>"
UTC_DAY, NEW_YORK_DAY = 1_772_323_200, 1_772_341_200


def green(kind: str = WH.format(0), start: int = NEW_YORK_DAY, value: object = 5) -> bytes:
    reading = (
        f"<e:IntervalReading><e:timePeriod><e:duration>3600</e:duration><e:start>{start}</e:start></e:timePeriod>"
        f"<e:value>{value}</e:value></e:IntervalReading>"
    )
    return GREEN.format(kind=kind, start=start, readings=reading).encode()


@pytest.mark.parametrize(("power", "value"), [(-3, 0.005), (0, 5), (3, 5000)])
def test_green_button_has_a_power_of_ten(power: int, value: float) -> None:
    assert read(green(WH.format(power)), packaged_profile("green-button")) == ([value], {})


def test_green_button_asks_about_times_that_may_be_local() -> None:
    content = green(start=UTC_DAY)
    with pytest.raises(Ambiguous, match=r"the meter is at UTC-5: the times may be local ones. Use --epoch"):
        read(content, packaged_profile("green-button"))
    for epoch, zone in ((Epoch.UTC, UTC), (Epoch.LOCAL, None)):
        form = with_options(packaged_profile("green-button"), ProfileOptions(epoch=epoch))
        (event,) = ReadingFile(io.BytesIO(content), form, LONDON)
        assert isinstance(event, FileReading)
        assert event.time == datetime(2026, 3, 1, tzinfo=zone)


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        (green(value="much"), "value is 'much', which is no whole number"),
        (green("<e:uom>169</e:uom>"), "the unit '169' of the readings is none of Wh, W, m3"),
        (green("<e:uom>72</e:uom><e:accumulationBehaviour>3</e:accumulationBehaviour>"), "a cumulative register"),
    ],
)
def test_green_button_refuses_readings_by_line(content: bytes, refused: str) -> None:
    ((_, reason),) = read(content, packaged_profile("green-button"))[1].items()
    assert refused in reason


BOMB = b"""<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<feed xmlns="http://www.w3.org/2005/Atom"><title>&b;</title></feed>"""


METER = b"<content><MeterReading/></content>"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (BOMB, "document type declaration"),
        (b'<!DOCTYPE feed SYSTEM "file:///etc/passwd"><feed/>', "document type declaration"),
        (b"<feed>" + b"<a>" * 100, "nested deeper"),
        (b"<feed><a>" + b"x" * 20_000, "more than 10,000 characters"),
        (b"<feed><a></b>", "is not XML"),
        (b"<feed/>", "no block of intervals"),
        (b"<feed>" + b"<entry/>" * 100_001, "more than 100,000 entries"),
        (b"<feed><entry>" + b'<link rel="a" href="b"/>' * 101, "more than 100 links and values"),
        (b"<feed><entry><content><ReadingType>" + b"<a>1</a>" * 101, "more than 100 links and values"),
        (b'<feed><entry><link rel="' + b"a" * 10_001 + b'"/>', "link of the file has more than 10,000 characters"),
        (
            b"<feed>" + b"".join(b'<entry><link rel="self" href="%d"/>%s</entry>' % (n, METER) for n in range(1_002)),
            "more than 1,000 meter readings",
        ),
    ],
)
def test_xml_that_would_harm_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        read(content, packaged_profile("green-button"))


# Bounds and profiles.


METERED = b"Date and time,Meter,kWh\n"
XML_START = b"<feed><entry><content><IntervalBlock><IntervalReading/></IntervalBlock></content></entry>"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("english-spreadsheet", METERED + b"\n" * 400_000),
        ("english-spreadsheet", b" \n" * 400_000 + METERED),
        ("english-spreadsheet", METERED + b"01/03/2026 00:00,other,1\n" * 20_000),
        ("nem12", b"100,NEM12,202603010000,a,b\n" + b"500,O\n" * 100_000),
        ("green-button", XML_START + b"<a/>" * 100_000 + b"</feed>"),
    ],
    ids=[
        "blank lines",
        "blank lines before the header",
        "lines of other meters",
        "records without readings",
        "elements",
    ],
)
def test_each_part_of_a_file_without_readings_ends(name: str, content: bytes) -> None:
    """A part is work that nothing interrupts: no other file gets the thread, and nobody pays, until it ends."""
    options = ProfileOptions(times=Times.START, columns={"source": "Meter"} if METERED in content else {})
    file = io.BytesIO(content)
    source = ReadingFile(
        file, with_options(packaged_profile(name), options), LONDON, source="mine" if options.columns else ""
    )
    begun = longest = 0
    with suppress(BadInput):  # such as for a header that comes late
        for _ in source.parts():
            begun, longest = file.tell(), max(longest, file.tell() - begun)
    longest = max(longest, file.tell() - begun)
    assert longest < 150_000


def test_a_message_lists_few_of_many_meter_readings() -> None:
    entry = b'<entry><link rel="up" href="/meter/%d"/><content><IntervalBlock/></content></entry>'
    content = b"<feed>" + b"".join(entry % number for number in range(5_000)) + b"</feed>"
    with pytest.raises(BadInput, match="/meter/9, and 4,990 more") as error:
        read(content, packaged_profile("green-button"), source="other")
    assert len(error.value.message) < 300


PEAKS_OF_MEMORY = """
import io, tracemalloc
from datetime import UTC
from wattgate.enums import Times
from wattgate.reading_files.profiles import ProfileOptions, packaged_profile, with_options
from wattgate.reading_files.reader import ReadingFile

profile = with_options(packaged_profile("english-spreadsheet"), ProfileOptions(times=Times.START))
for lines in (100, 4_000, 20_000):
    content = io.BytesIO(b"Date and time,kWh\\n" + b"01/03/2026 00:00,0.5\\n" * lines)
    tracemalloc.start()
    assert sum(1 for _ in ReadingFile(content, profile, UTC)) == lines
    print(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
"""


def test_memory_does_not_grow_with_the_file() -> None:
    # In a process of its own: the threads and timers of a worker allocate memory too.
    run = subprocess.run([sys.executable, "-c", PEAKS_OF_MEMORY], capture_output=True, text=True, check=True)
    _warm_up, small, large = map(int, run.stdout.split())
    assert large < small * 1.1


def test_a_line_without_an_end_is_cut() -> None:
    values, refused = read(HEADER + "x" * 300_000 + "\n01/03/2026 00:00,0.5\n", profile())
    assert values == [0.5]
    assert "The line has more than 65,536 bytes" in refused[2]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("title = 1", r"Expected `str`, got `int` - at `\$.title`"),
        ("title = 'x'\nlayot = 'wide'", "unknown field `layot`"),
        ("title = 'x'\n[time]\nzone = 'Europe/Leeds'", "time.zone: 'Europe/Leeds' is not an IANA time zone"),
        ("title = 'x'\n[time]\ninterval = 'PT7M'", "time.interval: 'PT7M' is not an interval that divides a day"),
        ("title = 'x'\n[text]\ndecimal = 'dot'", "text.decimal has 'dot', which is none of point, comma"),
        (
            "title = 'x'\n[text]\nencoding = 'klingon'",
            "text.encoding: 'klingon' is no encoding that is read",
        ),
        ("title = 'x'\n[columns]\nstart = ['a']", "values is missing"),
        ("title = ", "is not TOML"),
        ("title = 'x'\ndescription = '" + "x" * 70_000 + "'", "more than 65,536 bytes"),
    ],
)
def test_a_profile_says_what_is_wrong_by_its_name(content: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        parse_profile(content.encode(), "own.toml")


def test_options_name_columns_of_a_table_without_a_profile() -> None:
    content = "when|amount|other\n2026-03-01 00:00|0,5|7\n"
    form = with_options(
        packaged_profile("spreadsheet"),
        ProfileOptions(times=Times.START, unit="kWh", decimal="comma", columns={"time": "When", "value": "amount"}),
    )
    assert read(content, form) == ([0.5], {})
    with pytest.raises(BadInput, match="'wen' is no column of a file of readings"):
        with_options(form, ProfileOptions(columns={"wen": "x"}))
