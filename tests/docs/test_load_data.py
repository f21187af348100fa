"""The GraphQL documents, the NDJSON line and the CSV files of docs/how-to/load-data.md work unchanged."""

import io
import json
import re
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.support.house import House
from wattgate.app.cli.imports.tariffs import import_tariffs
from wattgate.operations.readings.files.file_import import import_csv
from wattgate.price_sources.answers import read_answer
from wattgate.price_sources.sources import packaged_source, parse_source, source_names
from wattgate.reading_files.derived_energy import FileReading
from wattgate.reading_files.profiles import parse_profile, profile_names
from wattgate.reading_files.reader import ReadingFile

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "load-data.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


async def test_types_resources_and_homes_are_created_and_a_line_is_recorded(served: House) -> None:
    ids: dict[str, str] = {}
    callers = ["administrator", "administrator", "account", "account", "application", "acting"]
    *documents, _ = blocks("graphql")
    for document, caller in zip(documents, callers, strict=True):
        values = ids | {"hardwareId": "70B3D5210E01"}
        variables = {name: values[name] for name in re.findall(r"\$(\w+): \w+!", document)}
        answer = await served.graphql(document, served.one.headers[caller], **variables)
        assert "errors" not in answer, answer
        ids |= next(iter(answer["data"].values()))
    assert set(ids) == {"resourceTypeId", "homeTypeId", "resourceId", "homeId", "deviceTypeId", "deviceId"}
    device = await served.call("GET", f"/device/{ids['deviceId']}", served.one.headers["account"])
    assert [sensor["resourceId"] for sensor in device.json()["protocol"]["sensors"]] == [ids["resourceId"]]
    shown, _ = blocks("json")
    line = {**json.loads(shown), "resourceId": ids["resourceId"]}
    headers = {**served.one.headers["account"], "Content-Type": "application/x-ndjson"}
    recorded = await served.call("POST", "/readings", headers, content=json.dumps(line))
    assert recorded.json() == {"status": "OK", "recorded": 1, "refused": 0}


async def test_prices_of_quarter_hours_are_imported_and_the_cheapest_are_found(served: House) -> None:
    resource_id = await served.one.add_resource()
    lines = blocks("json")[1].replace("RESOURCE", resource_id)
    refused = list[str]()
    report = await import_tariffs(
        io.BytesIO(lines.encode()),
        runner=served.gateway.runner,
        principal=served.one.system,
        resource_id=None,
        currency=None,
        refuse=lambda line, reason: refused.append(reason),
        progress=lambda done: None,
    )
    assert (report.recorded, refused) == (3, [])
    document = blocks("graphql")[-1].replace(
        "minutes: 120", 'minutes: 30, notBefore: "2026-01-01T00:00:00+01:00", before: "2026-01-01T07:00:00+01:00"'
    )
    answer = await served.graphql(document, served.one.headers["account"], resourceId=resource_id)
    found = answer["data"]["resource"]
    assert [span["rateWithVat"]["amount"] for span in found["priceCurve"]] == ["0.096672", "0.09275"]
    assert found["cheapestWindow"]["meanRateWithVat"] == {
        "amount": "0.094711",
        "currency": "EUR",
        "per": "KILOWATT_HOUR",
    }


def test_the_file_profile_of_the_page_is_valid() -> None:
    shown = blocks("toml")[0]
    profile = parse_profile(shown.encode(), "solar.toml")
    content = io.BytesIO("Kunde;A\nZeit;Ertrag\n01.03.2026 00:15;0,5\n".encode("cp1252"))
    (reading,) = ReadingFile(content, profile, ZoneInfo("Europe/London"))
    assert isinstance(reading, FileReading)
    assert (reading.value, reading.shift_ms, reading.series.classifier) == (0.5, 900_000, "electricity.export")


def test_the_page_lists_each_file_profile() -> None:
    for name in profile_names():
        assert f"`{name}`" in PAGE


def test_the_page_has_the_table_of_price_sources_and_an_own_one() -> None:
    for source in map(packaged_source, source_names()):
        assert f"| `{source.name}` | {source.title} | {source.vat} | {source.licence} |" in PAGE
    shown = parse_source(blocks("toml")[1].encode(), "village.toml")
    hours = ["2026-10-25T01:00", "2026-10-25T02:00", "2026-10-25T02:00"]
    days = [{"hours": [{"from": hour, "cents": 10 + number} for number, hour in enumerate(hours)]}]
    answer = read_answer(shown, json.dumps({"days": days}).encode(), {"village": "Au"})
    assert ([price.rate for price in answer.prices], answer.gaps) == (
        [Decimal(f"0.1{cents}") for cents in range(3)],
        [],
    )


@pytest.mark.parametrize(("file", "refused_lines"), [(0, []), (1, [3, 4, 5, 6])])
async def test_files_with_a_repeated_hour_are_imported_as_described(
    served: House, file: int, refused_lines: list[int]
) -> None:
    content, refused = blocks("csv")[file], list[int]()
    report = await import_csv(
        io.BytesIO(content.encode()),
        run=served.gateway.runner.run_as(served.one.system),
        resource_id=await served.one.add_resource(),
        zone=ZoneInfo("Europe/London"),
        refuse=lambda line, reason: refused.append(line),
        progress=lambda done: None,
    )
    assert (report.lines, refused) == (6, refused_lines)
    assert report.recorded == report.lines - len(refused)
