"""The export of all data of a user: its content, who may download it, and for how long."""

import asyncio
import io
import json
import zipfile
from base64 import b64decode
from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.support.house import house
from tests.support.planted import EMAIL, HALF_HOURS, HARDWARE_ID, MARKS, MPAN, NAME, PUSH_TOKEN, TEXT, Planted, plant
from tests.support.refusals import refusal_of
from tests.support.servers import Databases
from tests.support.timed import Clock
from wattgate.app.workers import user_jobs
from wattgate.db.models import DataExportPart
from wattgate.principal import Permission, Principal, Role

EXPORT = "{ dataExport { exportId state progress parts size downloadPath expiresAt } }"
PART = "query ($n: Int!) { dataExportPart(number: $n) { number parts content } }"
START = "mutation { exportMyData { ... on DataExport { exportId state } ...Refused } }"


@pytest.fixture(scope="module")
async def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
async def planted(databases: Databases, clock: Clock) -> AsyncIterator[Planted]:
    async with databases() as url, house(url, clock=clock, deliver=False) as served:
        yield await plant(served, served.one)


async def finished(planted: Planted, headers: dict[str, str] | None = None) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            state = await planted.ask(EXPORT, headers or planted.headers)
            if state["state"] == "DONE":
                return dict(state)
            await asyncio.sleep(0.05)


async def test_archive_has_all_records_of_the_user(
    planted: Planted, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.now += timedelta(hours=2)  # an export of another test is replaced
    monkeypatch.setattr(user_jobs, "PART_BYTES", 2_000)
    started = await planted.house.call("POST", f"/user/{planted.user_id}/export", planted.headers)
    assert (started.status_code, started.json()["state"] in ("QUEUED", "RUNNING")) == (201, True), started.text
    state = await finished(planted)
    assert state["parts"] > 1
    answer = await planted.house.call("GET", state["downloadPath"], planted.headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
    assert len(answer.content) == state["size"]
    parts = [await planted.ask(PART, planted.headers, n=number) for number in range(state["parts"])]
    assert b"".join(b64decode(part["content"]) for part in parts) == answer.content
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    _check_content(planted, files)


def _check_content(planted: Planted, files: dict[str, str]) -> None:
    everything = "".join(files.values()).casefold()
    for mark in MARKS:
        assert (mark.casefold() in everything) is (mark not in PUSH_TOKEN), mark
    (account,) = json.loads(files["records/account.json"])
    assert (account["name"], account["email"], "passwordHash" in account) == (NAME, EMAIL, False)
    (device,) = json.loads(files["records/device.json"])
    assert (device["hardwareId"], device["description"]) == (HARDWARE_ID, TEXT)
    tariffs = json.loads(files["records/tariff.json"])
    assert [(Decimal(each["rate"]), each["currency"]) for each in tariffs] == [(Decimal("0.245"), "GBP")] * 2
    assert {Decimal(each["components"][0]["steps"][0]["rate"]) for each in tariffs} == {Decimal("15.5")}
    assert [item["mpxn"] for item in json.loads(files["records/meter_point_consent.json"])] == [MPAN]
    readings = files[f"readings/{planted.ids['billed']}/0-ENERGY.csv"].splitlines()
    assert readings[0] == "timestamp,value_kWh,quality"
    assert readings[2] == "2026-01-05T00:30:00.000Z,0.125,ACTUAL"
    assert len(readings) == len(HALF_HOURS) + 1
    manifest = {entry["name"]: entry for entry in json.loads(files["manifest.json"])["files"]}
    assert set(manifest) == set(files) - {"manifest.json", "README.txt"}
    assert manifest["records/account.json"]["records"] == 1
    assert all(entry["description"] for entry in manifest.values())


async def test_only_the_owner_downloads_an_archive(planted: Planted) -> None:
    await planted.ask(START, planted.headers)
    path = (await finished(planted))["downloadPath"]
    tenants = planted.house.one, planted.house.other
    others = [tenant.headers[caller] for tenant in tenants for caller in ("account", "administrator")]
    for headers in (*others, planted.house.other.headers["acting"]):
        answer = await planted.house.call("GET", path, headers)
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    application = await planted.house.call("GET", path, planted.tenant.headers["application"])
    assert (application.status_code, application.json()["code"]) == (403, "FORBIDDEN")
    oauth = await planted.house.call("GET", f"/user/{planted.tenant.user_id}/export", planted.tenant.headers["oauth"])
    assert (oauth.status_code, oauth.json()["code"]) == (403, "FORBIDDEN")
    acting = await planted.house.call("GET", path, planted.acting)
    assert acting.status_code == 200
    missing = await planted.house.graphql(PART, planted.headers, n=10_000)
    assert refusal_of(missing)["code"] == "NOT_FOUND"


async def built(planted: Planted, clock: Clock) -> str:
    """Start an export, wait for its archive, and return the path of the archive."""
    clock.now += timedelta(hours=2)  # an export of another test is replaced
    await planted.ask(START, planted.headers)
    return str((await finished(planted))["downloadPath"])


async def test_only_the_household_downloads_the_archive_while_a_consent_is_revoked(
    planted: Planted, clock: Clock, subtests: pytest.Subtests
) -> None:
    """The archive is built before the revocation, or while the consent is revoked."""
    for is_built_before in (True, False):
        path = await built(planted, clock) if is_built_before else ""
        for change, expected in (("revocation", 403), ("renewal", 200)):
            consent = f"/user/verification/status/mpxn/{MPAN}/{change}"
            assert (await planted.house.call("POST", consent, planted.headers)).status_code == 200
            path = path or await built(planted, clock)
            with subtests.test(f"{change}, built before it: {is_built_before}"):
                acting = await planted.house.call("GET", path, planted.acting)
                assert acting.status_code == expected
                if expected == 403:
                    assert acting.json()["code"] == "CONSENT_REVOKED"
                own = await planted.house.call("GET", path, planted.headers)
                assert own.status_code == 200


@pytest.mark.long("several exports; the first one stays in the short form")
async def test_second_request_returns_the_same_export_and_a_later_one_replaces_it(
    planted: Planted, clock: Clock
) -> None:
    first = await planted.ask(START, planted.headers)
    await finished(planted)
    assert (await planted.ask(START, planted.headers))["exportId"] == first["exportId"]
    clock.now += timedelta(hours=2)
    later = await planted.ask(START, planted.acting)
    assert later["exportId"] != first["exportId"]


@pytest.mark.long("waits for the end of an archive; its content stays in the short form")
async def test_archive_is_deleted_after_its_lifetime(planted: Planted, clock: Clock) -> None:
    await planted.ask(START, planted.acting)
    await finished(planted, planted.acting)
    clock.now += timedelta(hours=73)
    expired = await planted.house.graphql(EXPORT, planted.acting)
    assert refusal_of(expired)["code"] == "NOT_FOUND"
    system = Principal(Role.SYSTEM, application_id=planted.tenant.application_id)

    async def count(rows: Any) -> int:
        return int(await rows.count(DataExportPart))

    async with asyncio.timeout(60):
        while True:
            if not await planted.tenant.gateway.runner.read(system, Permission.SYSTEM, count):
                break
            await asyncio.sleep(0.05)
