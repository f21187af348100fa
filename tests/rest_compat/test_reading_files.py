"""Files of readings as bodies of REST requests and in GraphQL: inspect, preview, import, and bad input."""

import asyncio
import base64
import gzip
import io
import threading
import zipfile
from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import orjson
import pytest

from tests.support.house import House
from tests.support.refusals import refusals
from wattgate.app.server.factory import Gateway, build_gateway
from wattgate.app.settings import Settings
from wattgate.errors import RateLimited, TimedOut, TooLarge
from wattgate.operations.core.operation import Operation
from wattgate.operations.readings import bulk_recorder
from wattgate.operations.readings.bulk_recorder import FREE_WORK, FreeWork, SenderGone
from wattgate.operations.readings.bulk_recording import record_reading_arrays
from wattgate.operations.readings.files import file_unpacking, uploaded_files
from wattgate.operations.readings.files.reading_files import CONTENT_SLOTS, home_of_file
from wattgate.operations.types.meters import reading_files as types
from wattgate.reading_files.inspection import inspect_sample
from wattgate.rest_compat import file_intake
from wattgate.rest_compat.error_responses import error_response

FIELDS = "stored recorded added replaced unchanged isKnown refused contradicting refusedLines { line reason }"
REPORT = f"{FIELDS} series {{ classifier unit readings total months {{ month readings total }} missing }}"
IMPORT = f"""mutation Import($homeId: ID!, $content: String!, $options: ReadingFileOptions) {{
  importReadingFile(homeId: $homeId, content: $content, options: $options) {{
    ... on ReadingFileReport {{ {REPORT} }} ...Refused
  }}
}}"""
INSPECT = """query Inspect($homeId: ID!, $content: String!, $options: ReadingFileOptions) {
  inspectReadingFile(homeId: $homeId, content: $content, options: $options) {
    encoding delimiter rows profile interval readings refused warnings settings { name value }
    questions { option text answers { settings { name value } example { line text start end value unit } } }
  }
}"""


def table(days: int = 20, *, month: int = 1) -> str:
    """Return a file as a German spreadsheet writes it: semicolons, and decimal commas."""
    start = datetime(2026, month, 1)
    times = (start + number * timedelta(minutes=30) for number in range(48 * days))
    return "Datum;Verbrauch (kWh)\r\n" + "".join(f"{time:%d.%m.%Y %H:%M};0,250\r\n" for time in times)


@pytest.fixture
async def home(served: House) -> str:
    """Return the ID of a new home with one resource."""
    return await served.one.add_home(await served.one.add_resource())


async def send(
    house: House,
    act: str,
    home_id: str,
    content: bytes | AsyncIterator[bytes],
    *,
    caller: str = "account",
    accept: str = "*/*",
    **query: str,
) -> Any:
    """Send a file to a path, and return the response."""
    headers = {**house.one.headers[caller], "Content-Type": "application/octet-stream", "Accept": accept}
    parameters = {"homeId": home_id, **query}
    return await house.call("POST", f"/reading-files/{act}", headers, content=content, params=parameters)


async def test_a_file_of_another_country_is_inspected_previewed_and_imported(served: House, home: str) -> None:
    content = table().encode("utf-16")
    inspected = (await send(served, "inspect", home, content)).json()
    assert (inspected["encoding"], inspected["profile"], inspected["delimiter"]) == (
        "utf-16",
        "german-spreadsheet",
        ";",
    )
    assert inspected["rows"][:2] == [["Datum", "Verbrauch (kWh)"], ["01.01.2026 00:00", "0,250"]]
    (question,) = inspected["questions"]
    examples = [(answer["settings"], answer["example"]["start"][11:16]) for answer in question["answers"]]
    assert examples == [
        ([{"name": "times", "value": "start"}], "00:00"),
        ([{"name": "times", "value": "end"}], "23:30"),
    ]
    refused = await send(served, "preview", home, content)
    assert refused.status_code == 400
    assert "Use times start or times end." in refused.text
    preview = (await send(served, "preview", home, content, times="start")).json()
    assert (preview["stored"], preview["recorded"], preview["added"]) == (False, 960, 960)
    stored = (await send(served, "import", home, content, times="start")).json()
    assert (stored["stored"], stored["added"], stored["isKnown"]) == (True, 960, False)
    (series,) = stored["series"]
    assert series["months"] == [{"month": "2026-01", "readings": 960, "total": 240.0}]
    assert series["first"] == "2026-01-01T00:00:00.000Z"
    again = (await send(served, "import", home, content, times="start")).json()
    assert (again["isKnown"], again["unchanged"], again["added"]) == (True, 960, 0)


async def test_graphql_carries_a_small_file_with_the_same_report(served: House, home: str) -> None:
    content = base64.b64encode(gzip.compress(table(2).encode())).decode()
    account = served.one.headers["account"]
    inspected = (await served.graphql(INSPECT, account, homeId=home, content=content))["data"]["inspectReadingFile"]
    assert (inspected["profile"], inspected["interval"], inspected["readings"]) == ("german-spreadsheet", "PT30M", 96)
    (question,) = inspected["questions"]
    assert question["answers"][1]["example"] == {
        "line": 2, "text": "01.01.2026 00:00;0,250", "start": "2025-12-31T23:30:00", "end": "2026-01-01T00:00:00",
        "value": 0.25, "unit": "kWh",
    }  # fmt: skip
    open_question = await served.graphql(IMPORT, account, homeId=home, content=content)
    (error,) = refusals(open_question)
    assert error["problems"][0]["path"] == ["options", "times"]
    answered = await served.graphql(IMPORT, account, homeId=home, content=content, options={"times": "start"})
    report = answered["data"]["importReadingFile"]
    assert (report["added"], report["refused"], report["series"][0]["total"]) == (96, 0, "24.000")
    again = await served.graphql(IMPORT, account, homeId=home, content=content, options={"times": "start"})
    assert again["data"]["importReadingFile"]["isKnown"]


async def test_lines_that_cannot_be_recorded_are_refused_by_their_number(served: House, home: str) -> None:
    lines = table(2).splitlines(keepends=True)
    lines[3] = lines[3].replace("0,250", "0,250;1")  # a cell too many
    lines[4] = "\ufeff" + lines[0]  # files were joined
    lines[5] = lines[5].replace(";", ",")  # another delimiter
    lines.append(lines[1].replace("0,250", "0,300"))
    lines.append(lines[1])
    report = (await send(served, "import", home, "".join(lines).encode(), times="start")).json()
    assert (report["recorded"], report["refused"], report["repeated"], report["contradicting"]) == (93, 4, 1, 1)
    reasons = {line["line"]: line["reason"] for line in report["refusedLines"]}
    assert list(reasons) == [4, 5, 6, 98]
    assert "the number of cells is 3, and the header has 2" in reasons[4]
    assert "after a byte order mark: files were joined" in reasons[5]
    assert "the same instant is given twice" in reasons[98]


async def test_the_progress_of_an_import_comes_before_its_result(
    served: House, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_recorder, "BATCH_SIZE", 100)

    async def lines_of(act: str, **query: str) -> tuple[list[float], Any]:
        headers = {
            **served.one.headers["account"],
            "Content-Type": "text/csv",
            "Accept": "application/x-ndjson, application/json",
        }
        parameters = {"homeId": home, "times": "start", **query}
        answer = await served.call(
            "POST", f"/reading-files/{act}", headers, content=table().encode(), params=parameters
        )
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
        assert "no-store" in answer.headers["cache-control"]
        *steps, last = map(orjson.loads, answer.text.splitlines())
        return [step["progress"] for step in steps], last

    steps, last = await lines_of("import")
    assert len(steps) >= 10
    assert steps == sorted(set(steps))
    assert 0 < steps[0] < steps[-1] < 1
    assert (last["status"], last["result"]["added"]) == (200, 960)
    steps, last = await lines_of("inspect")  # its work is one part
    assert (steps, last["result"]["profile"]) == ([], "german-spreadsheet")
    early = await send(served, "import", home, table().encode(), accept="application/x-ndjson")
    assert (early.status_code, early.headers["content-type"]) == (400, "application/json")


async def test_an_error_after_the_first_progress_is_the_last_line(
    served: House, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploaded_files, "MAX_LINES", 9_000)
    answer = await send(served, "import", home, table(200).encode(), accept="application/x-ndjson", times="start")
    assert answer.status_code == 200
    *steps, last = map(orjson.loads, answer.text.splitlines())
    assert steps
    assert (list(last), last["status"], last["error"]["code"]) == (["status", "error"], 413, "TOO_LARGE")
    assert "more than 9,000 lines" in last["error"]["error"]


async def test_a_line_of_progress_is_repeated_while_the_work_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would close a response without bytes."""
    monkeypatch.setattr(file_intake, "REPEAT_SECONDS", 0.01)
    goes_on = asyncio.Event()

    async def work(report: file_intake.Progress) -> dict[str, int]:
        report(0.25)
        await goes_on.wait()
        return {"added": 1}

    seen = list[bytes]()
    async for line in await file_intake.report_progress(work, error_response):
        seen.append(line)
        if len(seen) == 3:
            goes_on.set()
    assert seen[:3] == [b'{"progress":0.25}\n'] * 3
    assert seen[-1] == b'{"status":200,"result":{"added":1}}\n'


async def test_an_upload_names_what_it_ignores_and_excludes_lines_by_their_weight(served: House, home: str) -> None:
    accept = "application/json, application/x-ndjson;q=0"
    answer = await send(served, "inspect", home, table(1).encode(), accept=accept, ownProfil="x", times="start")
    assert (answer.headers["x-ignored-members"], answer.headers["content-type"]) == ("ownProfil", "application/json")


OWN_PROFILE = """
title = "Solar inverter"
name = "spreadsheet"

[text]
delimiters = ["pipe"]
decimal = "comma"

[time]
date_order = "day-first"
times = "start"
interval = "PT30M"

[columns]
time = ["zeit"]

[[values]]
columns = ["ertrag"]
unit = "kWh"
"""


async def test_a_profile_of_the_callers_own_reads_a_file(served: House, home: str, subtests: pytest.Subtests) -> None:
    content = table(2).replace("Datum;Verbrauch (kWh)", "Zeit|Ertrag").replace(";", "|")
    inspected = (await send(served, "inspect", home, content.encode(), ownProfile=OWN_PROFILE)).json()
    assert (inspected["profile"], inspected["title"], inspected["questions"]) == ("own", "Solar inverter", [])
    report = (await send(served, "import", home, content.encode(), ownProfile=OWN_PROFILE)).json()
    assert (report["added"], report["refused"], report["series"][0]["total"]) == (96, 0, 24)
    other = (await send(served, "import", home, table(1).encode(), ownProfile=OWN_PROFILE)).json()
    assert "No file profile reads the file" in other["error"] or "ertrag" in other["error"], other
    encoded = base64.b64encode(content.encode()).decode()
    answer = await served.graphql(
        IMPORT, served.one.headers["account"], homeId=home, content=encoded, options={"ownProfile": OWN_PROFILE}
    )
    assert answer["data"]["importReadingFile"]["unchanged"] == 96
    marked = (await send(served, "inspect", home, content.encode(), ownProfile=f"\ufeff{OWN_PROFILE}")).json()
    assert marked["profile"] == "own"
    wrong = {
        "no TOML": ({"ownProfile": "title = "}, "is not TOML"),
        "an unknown member": ({"ownProfile": 'title = "A"\ncolour = 1'}, "unknown field"),
        "nested too deeply": ({"ownProfile": f"title = {'[' * 1_900}"}, "nested too deeply"),
        "too long": ({"ownProfile": "#" * 4_001}, "4,000"),
        "two profiles": ({"ownProfile": OWN_PROFILE, "profile": "octopus"}, "Use one of them"),
    }
    for name, (options, message) in wrong.items():
        with subtests.test(name):
            answer = await send(served, "inspect", home, content.encode(), **options)
            assert (answer.status_code, message in answer.text) == (400, True), answer.text
            assert {problem["path"][-1] for problem in answer.json()["problems"]} <= {"ownProfile", "profile"}


def zipped(**files: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.csv", text)
    return content.getvalue()


async def test_the_cause_is_named_if_no_profile_reads_a_file_that_is_no_table(
    served: House, home: str, subtests: pytest.Subtests
) -> None:
    files = {
        "NEM12 without its end": ("100,NEM12,202601010000,A,B\n200,1,E1,,E1,,M1,KWH,30,\n", "900"),
        "XML that is cut": ('<?xml version="1.0"?>\n<feed><entry>', "not XML"),
    }
    for name, (content, cause) in files.items():
        with subtests.test(name):
            inspected = (await send(served, "inspect", home, content.encode())).json()
            assert (inspected["profile"], cause in " ".join(inspected["warnings"])) == (None, True), inspected
            refused = await send(served, "import", home, content.encode())
            assert (refused.status_code, cause in refused.json()["error"]) == (400, True), refused.text


async def test_archives_with_one_file_are_unpacked(served: House, home: str) -> None:
    file = table(1).encode()
    for content in (gzip.compress(file), zipped(a=file)):
        preview = (await send(served, "preview", home, content, times="start")).json()
        assert preview["recorded"] == 48


BOMB = b"""<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<feed xmlns="http://www.w3.org/2005/Atom"><title>&c;</title></feed>"""


async def test_files_that_are_not_understood_are_refused_whole(
    served: House, home: str, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = table(1).encode()
    many = zipped(**{f"file{number}": b"" for number in range(2_000)})
    monkeypatch.setattr(file_unpacking, "MAX_UNPACKED_BYTES", 100_000)
    monkeypatch.setattr(
        uploaded_files, "unpack", lambda content, **more: file_unpacking.unpack(content, 100_000, **more)
    )
    cases: dict[str, tuple[bytes, int, str]] = {
        "two files": (zipped(a=file, b=file), 400, "has 2 files: a.csv, b.csv"),
        "many files": (many, 400, "has too many files"),
        "cut archive": (zipped(a=file)[:-30], 400, "not complete"),
        "cut gzip": (gzip.compress(file)[:-20], 400, "cannot be unpacked"),
        "gzip bomb": (gzip.compress(bytes(2_000_000)), 413, "more than 100,000 bytes when it is unpacked"),
        "zip bomb": (zipped(a=bytes(2_000_000)), 413, "more than 100,000 bytes when it is unpacked"),
        "nested archive": (gzip.compress(gzip.compress(file)), 400, "is compressed with gzip"),
        "XML bomb": (BOMB, 400, ""),
        "no readings": (b"hello", 400, "No file profile reads the file"),
        "nothing": (b"", 400, "No file profile reads the file"),
        "two delimiters": (b"Date,Time;kWh\n01/03/2026,00:00;1\n", 400, "No file profile reads the file"),
    }
    for name, (content, status, message) in cases.items():
        with subtests.test(name):
            answer = await send(served, "import", home, content, times="start")
            assert (answer.status_code, message in answer.json()["error"]) == (status, True), answer.text
    assert (await served.one.run("raw_readings", resource_id=await resource_of(served, home))).value == []


async def test_each_bound_of_an_upload_refuses_the_file_and_stores_nothing(
    served: House, home: str, subtests: pytest.Subtests
) -> None:
    """The limits of bytes, unpacked bytes and members of an archive have tests of their own."""
    by_meter_point = b"at,mpan,value\n" + b"".join(
        b"2026-03-01T00:00:00Z,23000000%05d,1\n" % number for number in range(11)
    )
    cases: dict[str, tuple[str, Any, bytes, str]] = {
        "lines": ("MAX_LINES", 40, table(1).encode(), "more than 40 lines"),
        "series": ("MAX_SERIES", 10, by_meter_point, "more than 10 series"),
        "processor time": ("MAX_SECONDS", 0.0, table(1).encode(), "of processor time"),
    }
    for name, (bound, maximum, content, message) in cases.items():
        options = {"profile": "wattgate"} if name == "series" else {"times": "start"}
        for act in ("preview", "import"):
            with subtests.test(f"{name}, {act}"), pytest.MonkeyPatch.context() as patch:
                patch.setattr(uploaded_files, bound, maximum)
                answer = await send(served, act, home, content, **options)
                assert (answer.status_code, message in answer.json()["error"]) == (413, True), answer.text
    assert (await served.one.run("raw_readings", resource_id=await resource_of(served, home))).value == []


async def test_half_sent_files_of_a_user_leave_places_to_others_and_hold_none_of_those_that_are_read(
    served: House, home: str
) -> None:
    """One user has two places for files, whatever part of them has arrived."""
    ended = asyncio.Event()
    file = table(1).encode()

    async def slow_body() -> AsyncIterator[bytes]:
        yield file
        await ended.wait()

    uploads = [asyncio.create_task(send(served, "preview", home, slow_body(), times="start")) for _ in range(6)]
    try:
        async with asyncio.timeout(60):
            while uploaded_files.USER_FILES.waiting_count < 4:  # noqa: ASYNC110 (callers wait without an event)
                await asyncio.sleep(0.01)
        assert file_intake.FILE_SLOTS.owner_count == 0
        for tenant, caller in ((served.other, "account"), (served.one, "application")):
            headers = {**tenant.headers[caller], "Content-Type": "text/csv"}
            where = {"homeId": tenant.ids["virtual_entity"]}
            answer = await served.call("POST", "/reading-files/inspect", headers, content=file, params=where)
            assert (answer.status_code, answer.json()["profile"]) == (200, "german-spreadsheet")
        assert uploaded_files.USER_FILES.waiting_count == 4
    finally:
        ended.set()
        answers = await asyncio.gather(*uploads)
    assert {answer.status_code for answer in answers} == {200}


async def test_arriving_files_are_bounded_and_an_application_has_half(
    served: House, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may have 64 MiB in the folder for temporary files."""
    owner, file = served.one.account.application_id or "", table(1).encode()
    monkeypatch.setattr(file_intake.ARRIVING_FILES, "max_wait_seconds", 0.01)
    await file_intake.ARRIVING_FILES.take(owner, 16)
    try:
        refused = await send(served, "inspect", home, file)
        headers = {**served.other.headers["account"], "Content-Type": "text/csv"}
        where = {"homeId": served.other.ids["virtual_entity"]}
        read = await served.call("POST", "/reading-files/inspect", headers, content=file, params=where)
    finally:
        file_intake.ARRIVING_FILES.give_back(owner, 16)
    assert (refused.status_code, read.status_code) == (503, 200)


async def test_a_file_that_arrives_too_slowly_is_refused(
    served: House, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time for a body grows with the bytes that have arrived, so a slow network sends a file of any size."""

    async def endless() -> AsyncIterator[bytes]:
        yield bytes(100_000)
        await asyncio.Event().wait()

    monkeypatch.setattr(file_intake, "GRACE_SECONDS", 0.05)
    monkeypatch.setattr(file_intake, "MIN_BYTES_PER_SECOND", 1_000_000)
    with pytest.raises(TimedOut, match="100,000 bytes arrived"):
        await file_intake.receive(io.BytesIO(), endless(), FREE_WORK)
    host, port = served.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, port)
    headers = {**served.one.headers["account"], "Content-Type": "text/csv", "Content-Length": "200000"}
    lines = [f"POST /api/v0-1/reading-files/import?homeId={home} HTTP/1.1", "Host: gateway"]
    head = "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""])
    writer.write(head.encode() + bytes(100_000))
    assert b" 503 " in await asyncio.wait_for(reader.readline(), 30)
    writer.close()


async def test_the_wait_for_a_budget_does_not_count_as_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    class Budget(FreeWork):
        async def add_work(self, size: int, lines: int, refused: int) -> None:
            nonlocal now
            now += 1_000

    async def body() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield bytes(10)

    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    target = io.BytesIO()
    await file_intake.receive(target, body(), Budget())
    assert len(target.getvalue()) == 30


@pytest.mark.parametrize("encoding", ["nosuch", "bz2", "zlib", "idna", "rot13", "hex", "undefined", "utf-7", "utf_16"])
async def test_an_encoding_that_is_not_read_is_bad_input(served: House, home: str, encoding: str) -> None:
    """Also one in which the file is not written: UTF-16 without a byte order mark."""
    file = table(1).encode()
    for act, more in (("inspect", {}), ("preview", {}), ("preview", {"profile": "octopus"})):
        answer = await send(served, act, home, file, encoding=encoding, **more)
        assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT"), answer.text
        assert answer.json()["problems"][0]["path"] == ["options", "encoding"]
    options = {"encoding": encoding}
    content = base64.b64encode(file).decode()
    result = await served.graphql(INSPECT, served.one.headers["account"], homeId=home, content=content, options=options)
    (error,) = result["errors"]
    assert (error["extensions"]["code"], encoding in error["message"].replace("-", "_")) == (
        "BAD_INPUT",
        encoding != "utf-7",
    )


async def resource_of(house: House, home: str) -> str:
    home_record = (await house.call("GET", f"/virtualentity/{home}", house.one.headers["account"])).json()
    return str(home_record["resources"][0]["resourceId"])


async def test_a_file_for_another_home_is_refused(served: House, home: str) -> None:
    content = b"at,mpan,value\n2026-03-01T00:00:00Z,2300000000116,1\n"
    answer = await send(served, "import", home, content, profile="wattgate")
    assert answer.status_code == 400
    assert "meter point 2300000000116 does not belong to home 'Home'" in answer.json()["error"]
    strange = await send(served, "import", served.other.ids["virtual_entity"], content, profile="wattgate")
    assert strange.status_code == 404


async def test_a_display_may_not_add_readings(served: House, home: str) -> None:
    answer = await send(served, "inspect", home, b"", caller="display")
    assert answer.status_code == 403


async def test_a_large_file_is_refused_before_and_while_it_arrives(
    served: House, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    headers = {**served.one.headers["account"], "Content-Type": "text/csv"}
    target = f"POST /api/v0-1/reading-files/import?homeId={home} HTTP/1.1"

    async def answer(more: str, body: bytes) -> str:
        reader, writer = await asyncio.open_connection(host, port)
        lines = [target, "Host: gateway", more, *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        head = await asyncio.wait_for(reader.readline(), 30)
        writer.close()
        return head.decode()

    assert " 413 " in await answer(f"Content-Length: {10 * 2**30}", b"")
    monkeypatch.setattr("wattgate.rest_compat.file_intake.MAX_FILE_BYTES", 300_000)
    part = b"%x\r\n" % 100_000 + bytes(100_000) + b"\r\n"
    assert " 413 " in await answer("Transfer-Encoding: chunked", 4 * part)  # the body has no end


async def test_an_interrupted_import_continues_on_another_gateway(
    served: House, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first gateway refuses the third batch, as at the end of a budget. The other one writes the rest alone."""
    monkeypatch.setattr(bulk_recorder, "BATCH_SIZE", 100)
    other = build_gateway(Settings(_env_file=None, database_url=str(served.gateway.database.url)))
    principal, file, recorded = served.one.account, table(10).encode(), list[int]()

    async def import_on(gateway: Gateway, batches: int) -> types.ReadingFileReport:
        async def run(operation: Operation, arguments: Mapping[str, Any]) -> Any:
            if operation is record_reading_arrays:
                if len(recorded) == batches:
                    raise RateLimited("The budget is used up.", retry_after=1)
                recorded.append(len(arguments["batch"].at))
            return await gateway.runner.run(operation, principal, arguments)

        filled = await run(home_of_file, {"home_id": home, "resource_ids": None})
        options = uploaded_files.FileOptions.from_input(types.ReadingFileOptions(times="start"))
        upload = uploaded_files.UploadedFile(io.BytesIO(file), filled, options, uploaded_files.FileWork(no_charge))
        return await uploaded_files.import_file(upload, run, dry_run=False)

    with pytest.raises(RateLimited):
        await import_on(served.gateway, 2)
    assert recorded == [100, 100]
    try:
        report = await import_on(other, 100)
    finally:
        await other.database.close()
    assert recorded == [100, 100, 100, 100, 80]
    assert (report.unchanged, report.added, report.recorded) == (200, 280, 480)


async def no_charge(units: int) -> None:
    return


async def test_a_file_whose_upload_ends_early_stores_nothing(served: House, home: str) -> None:
    """The file has grown while it was sent, or the connection has ended."""
    file = table(2).encode()
    host, port = served.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, port)
    headers = {**served.one.headers["account"], "Content-Type": "text/csv", "Content-Length": f"{len(file) + 100}"}
    lines = [f"POST /api/v0-1/reading-files/import?homeId={home}&times=start HTTP/1.1", "Host: gateway"]
    head = "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""])
    writer.write(head.encode() + file)
    writer.write_eof()
    await asyncio.wait_for(reader.read(), 30)
    writer.close()
    preview = (await send(served, "preview", home, file, times="start")).json()
    assert (preview["added"], preview["unchanged"]) == (96, 0)


async def test_work_whose_caller_has_gone_is_charged_when_it_ends() -> None:
    """The work may be in a call that checks nothing. Else a client that cancels each inspection would pay for none."""
    begun, may_end, charges = threading.Event(), threading.Event(), asyncio.Queue[int]()

    def inspect() -> None:
        begun.set()
        may_end.wait(30)

    call = asyncio.create_task(uploaded_files.FileWork(charges.put)(inspect))
    await asyncio.to_thread(begun.wait, 30)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert charges.empty()
    may_end.set()
    assert await asyncio.wait_for(charges.get(), 30) > 0


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_work_ends_soon_after_its_client_has_gone(is_cancelled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if nothing cancels the request: the server does not, and says only that the client has gone."""
    monkeypatch.setattr(uploaded_files, "GONE_CHECK_SECONDS", 0.01)
    begun, charges = threading.Event(), asyncio.Queue[int]()
    work = uploaded_files.FileWork(charges.put, begun.is_set if not is_cancelled else lambda: False)

    def inspect() -> None:
        begun.set()
        while True:
            work.check()

    call = asyncio.create_task(work(inspect))
    await asyncio.to_thread(begun.wait, 30)
    if is_cancelled:
        call.cancel()
    with pytest.raises(asyncio.CancelledError if is_cancelled else SenderGone):
        await asyncio.wait_for(call, 30)
    assert await asyncio.wait_for(charges.get(), 30) > 0
    with pytest.raises(SenderGone):
        await work(lambda: None)


@pytest.mark.parametrize("interface", ["rest", "graphql"])
async def test_the_inspection_of_a_client_that_closes_its_connection_ends(
    served: House, home: str, interface: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploaded_files, "GONE_CHECK_SECONDS", 0.01)
    begun, ended, errors = threading.Event(), threading.Event(), list[Exception]()

    def inspect(*arguments: Any, **options: Any) -> Any:
        begun.set()
        try:
            return inspect_sample(*arguments, **options)
        except Exception as error:
            errors.append(error)
            raise
        finally:
            ended.set()

    monkeypatch.setattr(uploaded_files, "inspect_sample", inspect)
    rows = (f"0{day % 9 + 1}/0{day % 8 + 1}/24;00:30;1,234;1,222;1,111;1,223;2,223\n" for day in range(4_000))
    file = ("date;time;kw;kwh;w;wh;mwh\n" + "".join(rows)).encode()  # its marks and dates have hundreds of answers
    account, content = served.one.headers["account"], base64.b64encode(file).decode()
    is_rest = interface == "rest"
    call = asyncio.create_task(
        send(served, "inspect", home, file)
        if is_rest
        else served.graphql(INSPECT, account, homeId=home, content=content)
    )
    assert await asyncio.to_thread(begun.wait, 30)
    call.cancel()
    assert await asyncio.to_thread(ended.wait, 60)
    assert [type(error) for error in errors] == [SenderGone]


async def test_the_work_of_an_inspection_and_of_a_file_have_bounds_of_time() -> None:
    """The clock of the thread goes on by a tenth of a second for each reading, row and profile."""
    clock, charges = count(step=0.1), asyncio.Queue[int]()
    work = uploaded_files.FileWork(charges.put, clock=lambda: next(clock))
    home = uploaded_files.FileHome("home", None, [])
    upload = uploaded_files.UploadedFile(io.BytesIO(table().encode()), home, uploaded_files.FileOptions(), work)
    with pytest.raises(TooLarge, match="The inspection takes more than 10 s of processor time"):
        await uploaded_files.inspect_file(upload)
    assert work.seconds < 13
    work.seconds = 299.5
    with pytest.raises(TooLarge, match="The file takes more than 300 s of processor time"):
        await uploaded_files.inspect_file(upload)
    assert work.seconds < 302
    assert charges.qsize() >= 2


async def test_files_in_calls_are_bounded_and_an_application_has_half(
    served: House, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call of two megabytes may have 128 when it is unpacked."""
    content = base64.b64encode(table(1).encode()).decode()
    owner = served.one.account.application_id or ""
    monkeypatch.setattr(CONTENT_SLOTS, "max_wait_seconds", 0.01)
    for _ in range(4):
        await CONTENT_SLOTS.take(owner)
    try:
        refused = await served.graphql(INSPECT, served.one.headers["account"], homeId=home, content=content)
        other = served.other
        other_home = await other.add_home(await other.add_resource())
        read = await served.graphql(INSPECT, other.headers["account"], homeId=other_home, content=content)
    finally:
        CONTENT_SLOTS.give_back(owner, 4)
    assert refused["errors"][0]["extensions"]["code"] == "UNAVAILABLE"
    assert read["data"]["inspectReadingFile"]["readings"] == 48


async def test_an_error_repeats_little_of_a_long_cell(served: House, home: str) -> None:
    lines = ["mpxn,at,value", *(f"{'x' * 60_000},2026-01-01T0{hour}:00:00Z,1" for hour in range(3))]
    refused = await send(served, "import", home, "\n".join(lines).encode(), profile="wattgate")
    assert refused.status_code == 400
    assert "No line of the file" in refused.text
    assert len(refused.text) < 3_000
