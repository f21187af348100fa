"""The import of files with a profile: stored readings, the dry run, finer intervals, interruptions, and questions."""

import asyncio
import gzip
import io
import json
import os
import threading
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo

import pytest

from tests.reading_files.test_packaged_profiles import CASES, EXAMPLES
from tests.support.command import wattgate, wattgate_in
from tests.support.house import House, Tenant, tenant_on
from wattgate.app.cli.actions.readings import FileCheckpoint
from wattgate.enums import Times
from wattgate.errors import BadInput
from wattgate.operations.readings import bulk_recorder
from wattgate.operations.readings.files.file_import import ImportReport, SharedGateway, import_csv
from wattgate.operations.readings.files.file_targets import UnitOptions
from wattgate.reading_files.profiles import FileProfile, ProfileOptions, packaged_profile, with_options
from wattgate.reading_files.reader import ReadingFile

LONDON = ZoneInfo("Europe/London")


def english(**options: Any) -> FileProfile:
    return with_options(packaged_profile("english-spreadsheet"), ProfileOptions(times=Times.START, **options))


async def import_file(
    house: House,
    file: BinaryIO,
    profile: FileProfile,
    resource_id: str,
    *,
    zone: tzinfo = LONDON,
    classifier: str = "",
    **options: Any,
) -> tuple[ImportReport, dict[int, str]]:
    refused = dict[int, str]()
    report = await import_csv(
        file,
        run=house.gateway.runner.run_as(house.one.system),
        resource_id=resource_id,
        zone=zone,
        refuse=refused.__setitem__,
        progress=options.pop("progress", lambda done: None),
        source=ReadingFile(file, profile, zone, classifier=classifier),
        **options,
    )
    return report, refused


async def stored(house: House, resource_id: str) -> dict[str, float]:
    readings = await house.one.run("raw_readings", resource_id=resource_id, field="ENERGY")
    return {at[5:16]: value for at, value in zip(readings.at, readings.value, strict=True)}


async def test_each_example_is_stored_with_its_sum(served: House, subtests: pytest.Subtests) -> None:
    """Mean power and mWh are rounded to Wh, so their sums differ by less than half of one for each reading."""
    for name, (file, zone, options, expected) in CASES.items():
        with subtests.test(name):
            is_hourly = name == "green-button"
            resource_id = await (served.one.add_learning_resource() if is_hourly else served.one.add_resource())
            profile = with_options(packaged_profile(name), options)
            classifier = "electricity.consumption" if len(expected) > 1 else ""
            months, count, first, _ = expected[classifier]
            content = io.BytesIO((EXAMPLES / file).read_bytes())
            report, refused = await import_file(
                served,
                content,
                profile,
                resource_id,
                zone=zone,
                classifier=classifier,
                combine=name == "dutch-p1",
                units=UnitOptions(rounds=name == "green-button"),
            )
            assert refused == {}
            assert report.recorded == (count // 2 if name == "dutch-p1" else count)
            (series,) = report.series
            values = await stored(served, resource_id)
            assert len(values) == report.recorded
            assert (min(values), series.summary.count) == (first[5:], report.recorded)
            total = sum(map(Decimal, months.values()))
            slack = Decimal("0.0005") * count if name in ("enedis-load-curve", "green-button") else 0
            assert abs(series.summary.total - total) <= slack
            assert len(series.summary.months) == len(months)


FINE = "Start,kWh\n" + "".join(f"01/03/2026 {n // 4:02}:{n % 4 * 15:02},0.25\n" for n in range(96))


async def test_finer_readings_are_refused_whole_and_added_on_request(served: House) -> None:
    resource_id = await served.one.add_resource()
    with pytest.raises(BadInput, match=r"Nothing is recorded: 48 of 96 readings of electricity\.consumption do not"):
        await import_file(served, io.BytesIO(FINE.encode()), english(), resource_id)
    assert await stored(served, resource_id) == {}
    report, refused = await import_file(served, io.BytesIO(FINE.encode()), english(), resource_id, combine=True)
    assert (report.recorded, refused) == (48, {})
    assert {*(await stored(served, resource_id)).values()} == {0.5}


async def test_an_interval_of_which_a_part_is_missing_is_refused(
    served: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_recorder, "BATCH_SIZE", 7)  # intervals continue in the next batch
    lines = FINE.splitlines(keepends=True)
    del lines[10]
    resource_id = await served.one.add_resource()
    content = io.BytesIO("".join(lines).encode())
    report, refused = await import_file(served, content, english(), resource_id, combine=True)
    assert (report.recorded, list(refused)) == (47, [10])
    assert refused[10] == "the interval from 2026-03-01T02:00:00.000Z has 1 of its 2 parts in the file"
    assert sum((await stored(served, resource_id)).values()) == 23.5


async def test_values_with_more_decimal_places_are_rounded_on_request_only(served: House) -> None:
    content = b"Start,kWh\n01/03/2026 00:00,0.12345\n"
    resource_id = await served.one.add_resource()
    _, refused = await import_file(served, io.BytesIO(content), english(), resource_id)
    assert "decimal places" in refused[2]
    rounds = UnitOptions(rounds=True)
    assert (await import_file(served, io.BytesIO(content), english(), resource_id, units=rounds))[1] == {}
    assert await stored(served, resource_id) == {"03-01T00:00": 0.123}


async def test_ends_of_intervals_are_shifted_over_clock_changes(served: House) -> None:
    times = ["29/03/2026 01:00", "29/03/2026 02:30", "29/03/2026 03:00"]
    lines = "".join(f"{time},{position}\n" for position, time in enumerate(times, start=1))
    profile = with_options(packaged_profile("english-spreadsheet"), ProfileOptions(interval="PT30M"))
    resource_id = await served.one.add_resource()
    report, refused = await import_file(served, io.BytesIO(f"End,kWh\n{lines}".encode()), profile, resource_id)
    assert list(refused) == [2]  # 01:00 does not exist on that day
    assert (report.recorded, await stored(served, resource_id)) == (2, {"03-29T01:00": 2.0, "03-29T01:30": 3.0})


class WatchedZone(tzinfo):
    """The time zone of London, which notes in which threads it is used."""

    def __init__(self) -> None:
        self.threads = set[threading.Thread]()

    def utcoffset(self, time: datetime | None) -> timedelta | None:
        self.threads.add(threading.current_thread())
        return LONDON.utcoffset(time)

    def dst(self, time: datetime | None) -> timedelta | None:
        return LONDON.dst(time)

    def tzname(self, time: datetime | None) -> str | None:
        return LONDON.tzname(time)


async def test_the_summary_of_a_batch_leaves_the_event_loop(served: House) -> None:
    """Readings of 75 years have the starts of 900 months in each of 20 series, which others would wait for."""
    zone, resource_id = WatchedZone(), await served.one.add_resource()
    times = [datetime(2026, 1, 31, 22) + number * timedelta(minutes=30) for number in range(8)]
    file = io.BytesIO(b"Date and time,kWh\n" + b"".join(f"{time:%d/%m/%Y %H:%M},1\n".encode() for time in times))
    report = await import_csv(
        file,
        run=served.gateway.runner.run_as(served.one.system),
        resource_id=resource_id,
        zone=zone,
        refuse=lambda line, reason: None,
        progress=lambda done: None,
        source=ReadingFile(file, english(), LONDON),
        shared=SharedGateway(asyncio.to_thread),
    )
    assert [count for count, _ in report.series[0].summary.months.values()] == [4, 4]
    assert zone.threads
    assert threading.main_thread() not in zone.threads


async def test_a_file_that_grows_while_it_is_read_is_refused(served: House, tmp_path: Path) -> None:
    file = tmp_path / "growing.csv"
    file.write_text("Start,kWh\n" + "01/03/2026 00:00,0.5\n" * 1_000)

    def write(done: int) -> None:
        with file.open("a") as more:
            more.write("01/03/2026 00:30,0.5\n")

    resource_id = await served.one.add_resource()
    with file.open("rb") as source, pytest.raises(BadInput, match="The file changed while it was read"):
        await import_file(served, source, english(), resource_id, progress=write)
    assert await stored(served, resource_id) == {}


async def test_an_interrupted_import_continues(served: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_recorder, "BATCH_SIZE", 10)
    file = tmp_path / "day.csv"
    file.write_text("Start,kWh\n" + "".join(f"01/03/2026 {n // 2:02}:{n % 2 * 30:02},0.5\n" for n in range(48)))
    note = tmp_path / "day.csv.wattgate-import"
    resource_id = await served.one.add_resource()

    def interrupt(done: int) -> None:
        if note.exists() and json.loads(note.read_text())["recorded"] >= 20:
            raise KeyboardInterrupt

    with file.open("rb") as source, pytest.raises(KeyboardInterrupt):
        await import_file(
            served, source, english(), resource_id, checkpoint=FileCheckpoint(file, "a"), progress=interrupt
        )
    before = len(await stored(served, resource_id))
    assert 20 <= before < 48
    assert os.stat(note).st_mode & 0o077 == 0
    with file.open("rb") as source:
        report, _ = await import_file(
            served, source, english(), resource_id, checkpoint=FileCheckpoint(file, "another home"), dry_run=True
        )
    assert report.resumed == 0
    with file.open("rb") as source:
        report, refused = await import_file(
            served, source, english(), resource_id, checkpoint=FileCheckpoint(file, "a")
        )
    assert (report.resumed, report.recorded, refused) == (20, 28, {})
    assert len(await stored(served, resource_id)) == 48
    assert not note.exists()
    assert FileCheckpoint(file, "a").recorded() == 0


# The command, in a process of its own.


@pytest.fixture
async def tenant(database_url: str) -> Any:
    async with tenant_on(database_url) as tenant:
        yield tenant


async def test_the_command_imports_with_a_profile(tenant: Tenant, database_url: str, tmp_path: Path) -> None:
    """A dry run, the import, and the same file twice: months, gaps, contradictions and repeats are stated."""
    file = tmp_path / "months.csv"
    lines = [f'{day:02}/02/2026 {hour:02}:00,"1,000.5"' for day in (27, 28) for hour in range(24)]
    lines += [f"01/03/2026 {hour:02}:00,2" for hour in range(24) if hour not in (5, 6)]
    file.write_text("\n".join(["Start,kWh", *lines, lines[-1]]))
    own = tmp_path / "own.toml"
    own.write_text('title = "Own"\n[columns]\nstart = ["start"]\n[[values]]\nunit = "kWh"\n')
    target = ("--application", tenant.application_id, "--resource", await tenant.add_learning_resource())

    async def run(*options: str) -> Any:
        return await wattgate(database_url, "readings", "import", str(file), *target, *options)

    asked = await run()
    assert asked.returncode == 1
    assert "The file fits the profile english-spreadsheet" in asked.stderr
    assert "--profile english-spreadsheet --decimal point --thousands comma" in asked.stderr
    wrong = await run("--profile", str(own))
    assert "values[0].columns is missing" in wrong.stderr
    options = ("--profile", "english-spreadsheet", "--thousands", "comma")
    dry = await run(*options, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    for part in (
        "Dry run: nothing is stored.",
        "70 readings would be recorded from 71 lines, 0 refused, 1 repeated exactly",
        "  2026-02: 48,024.000 kWh in 48 readings",
        "  2026-03: 44.000 kWh in 22 readings",
        "  2 readings are missing in 1 gaps, the first ones:",
        "    2026-03-01T05:00:00.000Z to 2026-03-01T07:00:00.000Z: 2 readings",
    ):
        assert part in dry.stdout
    assert "70 new, 0 with another value" in (await run(*options)).stdout
    assert "0 new, 0 with another value than the stored one, 70 stored already" in (await run(*options)).stdout
    file.write_text("Start,kWh\n01/03/2026 00:00,3\n")
    contradiction = await run("--profile", "english-spreadsheet", "--dry-run")
    assert "0 new, 1 with another value than the stored one" in contradiction.stdout


@pytest.mark.parametrize("profile", [[], ["--profile", "octopus"]])
async def test_compressed_files_are_refused_with_the_remedy(
    tenant: Tenant, database_url: str, tmp_path: Path, profile: list[str]
) -> None:
    file = tmp_path / "readings.csv.gz"
    file.write_bytes(gzip.compress(b"at,value\n"))
    target = ("--application", tenant.application_id, "--resource", tenant.ids["resource"])
    result = await wattgate(database_url, "readings", "import", str(file), *target, *profile)
    assert result.returncode == 1
    assert "The file is compressed with gzip. Run `gunzip` on it" in result.stderr


UNITS = "Start,Value,Unit\n01/03/2026 00:00,0.1,kWh\n01/03/2026 00:30,100,Wh\n"
TOTALS = "Date,Time,kWh\n01/03/2026,00:30,0.1\n01/03/2026,01:00,0.2\n01/03/2026,,0.3\n"


async def test_lines_that_would_change_a_sum_are_not_recorded(served: House) -> None:
    """One conversion would serve both units, and the total of a day would be a reading of it."""
    resource_id = await served.one.add_resource()
    profile = with_options(english(), ProfileOptions(columns={"unit": "Unit"}))
    with pytest.raises(BadInput, match=r"in kWh and in Wh\. Nothing is recorded"):
        await import_file(served, io.BytesIO(UNITS.encode()), profile, resource_id)
    assert await stored(served, resource_id) == {}
    profile = with_options(english(), ProfileOptions(times=Times.END, interval="PT30M"))
    report, refused = await import_file(served, io.BytesIO(TOTALS.encode()), profile, resource_id)
    assert (report.recorded, refused) == (2, {4: "the time of day is empty"})


async def test_the_command_inspects_a_file(tmp_path: Path, database_url: str) -> None:
    result = await wattgate(database_url, "readings", "inspect", str(EXAMPLES / "german-spreadsheet.txt"))
    assert result.returncode == 0, result.stderr
    for part in (
        "Encoding: utf-16",
        "Delimiter: tab",
        "Columns: Datum, Uhrzeit, Verbrauch (kWh)",
        "Ambiguous: The file does not say whether a time is the start or the end",
        "--home HOME --profile german-spreadsheet --times start|end",
    ):
        assert part in result.stdout
    unknown = tmp_path / "unknown.csv"
    unknown.write_text("when|spent kWh|note\n" + "".join(f"2026-03-01 {hour:02}:00|0,5|x\n" for hour in range(24)))
    result = await wattgate(database_url, "readings", "inspect", str(unknown))
    expected = "--profile spreadsheet --delimiter pipe --decimal comma --unit kWh --times start|end --column time=when"
    assert f"{expected} --column 'value=spent kWh'" in result.stdout
    unknown.write_text("nothing\n")
    assert (await wattgate(database_url, "readings", "inspect", str(unknown))).returncode == 1
    listed = await wattgate(database_url, "readings", "profiles")
    assert "n3rgy, consumption" in listed.stdout
    assert 'title = "n3rgy' in (await wattgate(database_url, "readings", "profiles", "n3rgy")).stdout


def test_a_missing_database_is_named_and_not_created(tmp_path: Path) -> None:
    file = tmp_path / "readings.csv"
    file.write_text("at,value\n2026-03-01T00:00:00Z,1\n")
    result = wattgate_in(
        tmp_path, "readings", "import", str(file), "--home", "x", DATABASE_URL=f"sqlite:///{tmp_path}/none.sqlite3"
    )
    assert result.returncode == 1
    assert f"The database {tmp_path}/none.sqlite3 does not exist. Run the command in the folder" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["readings.csv"]
