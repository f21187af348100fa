"""Files with a profile: each line of a table has a reading or a reason, and no file has another error than BadInput."""

import io
import math
from contextlib import suppress
from zoneinfo import ZoneInfo

from tests.fuzz.harness import Harness
from wattgate.enums import Times
from wattgate.errors import BadInput
from wattgate.reading_files.derived_energy import FileReading
from wattgate.reading_files.inspection import inspect_sample, option_words
from wattgate.reading_files.profiles import FileProfile, Format, ProfileOptions, packaged_profile, with_options
from wattgate.reading_files.reader import ReadingFile

ZONE = ZoneInfo("Europe/London")
MAX_INSPECTED_BYTES = 200
"""Inspection tries all profiles, so only short inputs are inspected here."""

PROFILES = (
    with_options(packaged_profile("english-spreadsheet"), ProfileOptions(times=Times.START, thousands="comma")),
    packaged_profile("dutch-p1"),
    with_options(packaged_profile("wide"), ProfileOptions(unit="kWh", decimal="point")),
    packaged_profile("nem12"),
    packaged_profile("green-button"),
)


def check(data: bytes) -> bool:
    accepted = [read(data, profile) for profile in PROFILES]
    if len(data) <= MAX_INSPECTED_BYTES:
        with suppress(BadInput):
            for fit in inspect_sample(data, is_whole=True, zone=ZONE).fits:
                assert option_words(fit)
    return any(accepted)


def read(data: bytes, profile: FileProfile) -> bool:
    """Check the readings of a file, and return whether there is one."""
    source = ReadingFile(io.BytesIO(data), profile, ZONE)
    try:
        events = list(source)
    except BadInput:
        return False
    readings = [event for event in events if isinstance(event, FileReading)]
    assert all(math.isfinite(reading.value) for reading in readings)
    if profile.format is Format.TABLE and profile.layout == "long" and not profile.values[0].register:
        assert len({event.line for event in events}) == len(events) == source.lines
    return bool(readings)


ENGLISH = b"Start,End,kWh\n"
LINE = b"01/03/2026 00:00,01/03/2026 00:30,0.5\n"
P1 = b"time,Import T1 kWh,Import T2 kWh\n2026-03-01 00:00,1,2\n2026-03-01 00:15,1.5,2\n2026-03-01 00:30,0.5,2\n"
WIDE = b"Date," + b",".join(b"%d" % number for number in range(1, 25)) + b"\n2026-03-01" + b",0.5" * 24 + b"\n"
NEM12 = b"100,NEM12,2,A,B\n200,1,E1,E1,E1,N,M,KWH,30,\n300,20260301" + b",1" * 48 + b",V,,,,\n400,1,48,A,,\n900\n"
GREEN = (
    b'<feed xmlns="http://www.w3.org/2005/Atom"><entry><link rel="self" href="/R/1"/><content><ReadingType>'
    b'<uom>72</uom></ReadingType></content></entry><entry><link rel="up" href="/M/1/IntervalBlock"/><content>'
    b"<IntervalBlock><IntervalReading><timePeriod><duration>1800</duration><start>1772323200</start></timePeriod><value>5</value>"
    b"</IntervalReading></IntervalBlock></content></entry></feed>"
)

HARNESS = Harness(
    "profiles",
    check,
    (ENGLISH + 3 * LINE, b"\xff\xfe" + (ENGLISH + LINE).decode().encode("utf-16-le"), P1, WIDE, NEM12, GREEN),
    (
        *(b",", b";", b"\t", b"\n", b'"', b"\0", b"\xff", b"\xef\xbb\xbf", b"sep=;", b"24:00", b"12:30 AM", b"+01:00"),
        *(LINE, ENGLISH, b"29/03/2026 01:30", b"25/10/2026 01:30", b"1,234.5", b"-0", b"1e9", b"nan", b"2.3E+12"),
        *(
            b"0001-01-01",
            b"9999-12-31 24:00",
            b"300,20260301",
            b"400,1,48,N",
            b"900\n",
            b"<!DOCTYPE a>",
            b"&lt;",
            b"</a>",
        ),
    ),
    {
        "lines": lambda count: ENGLISH + LINE * count,
        "registers": lambda count: P1 + b"2026-03-01 00:45,2,2\n" * count,
        "cells": lambda count: ENGLISH + b"," * count + b"\n",
        "preamble": lambda count: b"note\n" * count + ENGLISH,
        "records": lambda count: NEM12[:-4] + b"400,1,48,A,,\n" * count,
        "elements": lambda count: GREEN[:-7] + b"<entry/>" * count + b"</feed>",
    },
)
