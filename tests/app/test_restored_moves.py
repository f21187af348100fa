"""Moves that a restored backup has taken back: until the list is applied nothing starts, then nobody gets them back."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from sqlalchemy.engine import make_url
from sqlmodel import col
from strawberry import ID

from tests.support.cli import Command, command_in
from tests.support.house import Tenant, tenant_on
from tests.support.metering import HALF_HOUR, START, Metered, metered, resource_at
from tests.support.residents import resident
from tests.support.sample_records import silence_rule
from tests.support.servers import database_on
from wattgate.app.erasure_list import open_erasure_list
from wattgate.app.secret_keys import load_key_ring
from wattgate.app.server.background_workers import job_policy
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.app.workers.user_jobs import process_jobs
from wattgate.db import models
from wattgate.db.backup import back_up_sqlite
from wattgate.db.personal_data.erasure_check import UNLISTED, read_tenancies
from wattgate.db.personal_data.erasure_list import ErasureList, ListedTenancy, encode_list
from wattgate.errors import Conflict, Forbidden
from wattgate.operations.accounts import users
from wattgate.operations.devices import catch_ups
from wattgate.operations.homes import resources
from wattgate.operations.moves import resource_changes
from wattgate.operations.types.homes.meter_points import ResourceChange
from wattgate.operations.types.homes.resources import NewResource, Resource
from wattgate.principal import Permission, Principal

pytestmark = pytest.mark.both_databases("a backup of either database is restored")

MOVED_IN_AT = START + HALF_HOUR
"""The former household keeps the first half hour of the three that the meter network has."""

DAY = timedelta(days=1)


@dataclass
class Place:
    """A meter point with the household of the backup, the one that moves in after it, and that one's resource."""

    former: Tenant
    point: Metered
    following: Tenant | None = None

    def in_gateway(self, gateway: Any) -> "Place":
        following = self.following and replace(self.following, gateway=gateway)
        return Place(replace(self.former, gateway=gateway), self.point, following)


@pytest.fixture
def command(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run commands with a list in a folder of its own."""
    monkeypatch.setenv("WATTGATE_DATABASE_URL", database_url)
    monkeypatch.setenv("WATTGATE_ERASURE_LIST", str(tmp_path / "erasures"))
    return command_in(tmp_path, monkeypatch, capsys)


@asynccontextmanager
async def gateway_on(url: str) -> AsyncIterator[Any]:
    gateway = build_gateway(Settings(_env_file=None, database_url=url))
    try:
        yield gateway
    finally:
        await gateway.database.close()


@asynccontextmanager
async def backup_of(url: str, folder: Path) -> AsyncIterator[str]:
    """Yield the URL of a copy of a database that no gateway uses."""
    if not url.startswith("sqlite"):
        parsed = make_url(url)
        server = parsed.set(database="postgres").render_as_string(hide_password=False)
        async with database_on(server, str(parsed.database)) as copy:
            yield copy
        return
    file = folder / "restored.sqlite3"
    await asyncio.to_thread(back_up_sqlite, Path(str(make_url(url).database)), file)
    yield f"sqlite:///{file}"


async def rows_of(who: Tenant, model: Any, *where: Any) -> list[Any]:
    async def query(rows: Any) -> Any:
        return await rows.all(model, *where)

    return list(await who.gateway.runner.read(replace(who.system, user_id=None), Permission.SYSTEM, query))


async def from_network(who: Tenant, resource_id: str) -> int:
    """Return how many half hours a catch-up would retrieve."""
    page = await who.gateway.runner.run(catch_ups.network_readings, who.system, {"resource_id": resource_id})
    return 0 if page is None else len(page.readings)


async def stored(who: Tenant, resource_id: str) -> tuple[Any, Any]:
    """Return the first and last times of the stored readings of a resource."""
    found = await who.run("resource", resource_id=resource_id)
    (first,) = await who.edge(Resource, "first_time", [found])
    (last,) = await who.edge(Resource, "last_time", [found])
    return first, last


async def change(who: Tenant, caller: Principal, resource_id: str, *, active: bool) -> None:
    arguments = {"resource_id": resource_id, "input": ResourceChange(active=active)}
    await who.gateway.runner.run(resource_changes.update_resource, caller, arguments)


WAYS = (
    *("moved", "next erased", "closed and added", "corrected", "withdrawn", "next is new", "next is new and erased"),
    *("moved back", "came back", "came back after an erasure"),
)
"""What happens at each meter point after the backup. "moved back" has moved before it."""

RETURNS = ("withdrawn", "came back", "came back after an erasure")
"""The ways in which the former household lives there again at the end."""

CHANGED = 2 * len(WAYS) + len(RETURNS)
"""Tenancies that differ from the backup: two at each meter point, and three where the former household returns."""


async def settle_places(tenant: Tenant) -> dict[str, Place]:
    """Let a household live at each meter point, and store a reading of the time after the move for some."""
    places = {}
    for way in WAYS:
        former = await resident(tenant)
        following = None if "is new" in way else await resident(tenant)
        places[way] = Place(former, await metered(former), following)
    for way in ("moved", "next erased"):
        known = places[way]
        await known.former.record(known.point.resource_id, (START, "0.1"), (MOVED_IN_AT, "0.2"))
    back = places["moved back"]
    assert back.following is not None
    arguments = {"mpxn": back.point.mpxn, "user_id": back.following.user_id, "moved_in_at": MOVED_IN_AT}
    moved = await back.former.run("move_meter_point", **arguments)
    back.point = replace(back.point, resource_id=str(moved.resources[0].successor_id))
    places["moved back"] = Place(back.following, back.point, back.former)
    for known in places.values():
        rule = silence_rule(known.former, resource_id=known.point.resource_id, enabled=True)
        await known.former.run("add_alert_rule", input=rule)
    return places


async def move_all(tenant: Tenant, places: dict[str, Place]) -> None:
    """Carry out what the names of the meter points say."""
    for way, place in places.items():
        place.following = following = place.following or await resident(tenant)
        if way == "closed and added":
            await change(place.former, place.former.account, place.point.resource_id, active=False)
            await resource_at(following, place.point.mpxn)
            continue
        run, mpxn = place.former.run, place.point.mpxn
        await run("move_meter_point", mpxn=mpxn, user_id=following.user_id, moved_in_at=MOVED_IN_AT)
        if way == "corrected":
            await following.run("verify_meter_point", mpxn=mpxn, moved_in_at=MOVED_IN_AT + HALF_HOUR)
        elif way == "withdrawn":
            await run("move_meter_point", mpxn=mpxn, user_id=place.former.user_id, moved_in_at=MOVED_IN_AT)
        elif way == "came back":
            returned_at = MOVED_IN_AT + HALF_HOUR
            await run("move_meter_point", mpxn=mpxn, user_id=place.former.user_id, moved_in_at=returned_at)
        elif "eras" in way:
            system = replace(tenant.system, user_id=None)
            await tenant.gateway.runner.run(users.delete_user, system, {"user_id": following.user_id})
            if way in RETURNS:
                await resource_at(place.former, mpxn)


async def move_after_backup(url: str, places: dict[str, Place]) -> list[ListedTenancy]:
    """Carry out the moves, each of which is found for the list, and let a worker add them. Return the tenancies."""
    async with gateway_on(url) as gateway:
        here = {way: place.in_gateway(gateway) for way, place in places.items()}
        tenant = here["moved"].former
        before = {one.tenancy_id: one for one in await read_tenancies(gateway.database)}
        while await process_jobs(gateway.runner, job_policy(Settings())):
            pass
        await move_all(tenant, here)
        after = await read_tenancies(gateway.database)
        changed = {one.tenancy_id for one in after if before.get(one.tenancy_id) != one}
        unlisted = {one.tenancy_id for one in await rows_of(tenant, models.MeterPointTenancy, UNLISTED)}
        assert changed == unlisted, "an operation changed a tenancy that no worker adds to the list"
        assert len(changed) == CHANGED
        while await process_jobs(gateway.runner, job_policy(Settings())):
            pass
        assert await rows_of(tenant, models.MeterPointTenancy, UNLISTED) == []
        for way, place in here.items():
            places[way].following = place.following
        return await read_tenancies(gateway.database)


async def check_former(way: str, place: Place) -> None:
    """Ask as the former household, by every way, for the readings of the next one."""
    former, resource_id = place.former, place.point.resource_id
    (resource,) = await rows_of(former, models.Resource, col(models.Resource.resource_id) == resource_id)
    if way == "withdrawn":  # the move did not happen, so that nothing has ended
        assert resource.active
        assert await from_network(former, resource_id) == 3
        return
    assert not resource.active
    of_former = col(models.AlertRule.resource_id) == resource_id
    assert [rule.enabled for rule in await rows_of(former, models.AlertRule, of_former)] == [False]
    await check_consent(way, place)
    run = former.gateway.runner.run
    for caller, asked in ((former.account, catch_ups.catch_up), (former.system, catch_ups.network_readings)):
        with pytest.raises(Conflict, match="is closed"):
            await run(asked, caller, {"resource_id": resource_id})
    first, last = await stored(former, resource_id)
    assert first == last == (START if way in ("moved", "next erased") else None)
    with pytest.raises(Conflict, match="Another user"):
        await change(former, former.account, resource_id, active=True)
    added = NewResource(resource_type_id=ID(former.ids["resource_type"]), name="again", mpxn=place.point.mpxn)
    with pytest.raises(Forbidden, match="new meter point"):
        await run(resources.add_resource, former.account, {"input": added})
    if way in RETURNS:
        again = await resource_at(former, place.point.mpxn)
        assert await from_network(former, again) == (1 if way == "came back" else 0)
    if way in ("next erased", "next is new", "next is new and erased"):  # the application lets the household come back
        await change(former, former.system, resource_id, active=True)
        assert await from_network(former, resource_id) == 0


async def check_consent(way: str, place: Place) -> None:
    """A household that lives there again has its consent, which proves no device. That of another has ended."""
    of_former = col(models.MeterPointConsent.user_id) == place.former.user_id
    (consent,) = await rows_of(place.former, models.MeterPointConsent, of_former)
    assert not consent.verified
    if way in RETURNS:
        assert consent.ended_at is None
    else:
        of_former = col(models.MeterPointTenancy.user_id) == place.former.user_id
        (stay,) = await rows_of(place.former, models.MeterPointTenancy, of_former)
        assert consent.ended_at == stay.ended_at


async def check_following(way: str, place: Place) -> None:
    """Let the next household add its resource again, which then has its time and no other."""
    following = place.following
    assert following is not None
    if "eras" in way or "new" in way:
        (user,) = await rows_of(following, models.User, col(models.User.user_id) == following.user_id)
        assert (user.active, user.erased_at is None) == (False, False)
        return
    if way in RETURNS:
        return
    added = await resource_at(following, place.point.mpxn)
    assert (
        await from_network(following, added)
        == {"moved": 2, "moved back": 2, "corrected": 1, "closed and added": 0}[way]
    )


STARTS = ("serve", "worker", "doctor")
"""The commands that refuse to start by one function."""


def refused_to_start(command: Command, url: str, text: str, *words: str) -> None:
    for word in words or STARTS:
        outcome = command(word, DATABASE_URL=url)
        assert outcome.status == 1, outcome
        assert text in outcome.error + " ".join(outcome.out.split()), outcome


async def test_moves_after_a_backup_are_repeated(command: Command, database_url: str, tmp_path: Path) -> None:
    """Without the list, the former household retrieves the half hours of the next one. With it, nobody does."""
    async with tenant_on(database_url) as tenant:
        await tenant.deactivate_directory()
        places = await settle_places(tenant)
    async with backup_of(database_url, tmp_path) as restored:
        original = await move_after_backup(database_url, places)
        async with gateway_on(restored) as gateway:
            leaking = places["corrected"].in_gateway(gateway)
            assert await from_network(leaking.former, leaking.point.resource_id) == 3
        await asyncio.to_thread(refused_to_start, command, restored, f"lacks changes of {CHANGED} tenancies")
        applied = await asyncio.to_thread(command, "db", "apply-erasures", DATABASE_URL=restored)
        assert applied.status == 0, applied
        assert f"{CHANGED} tenancies are repeated" in applied.out
        again = await asyncio.to_thread(command, "db", "apply-erasures", DATABASE_URL=restored)
        assert "0 users are erased again" in again.out
        assert "0 tenancies are repeated" in again.out
        assert (await asyncio.to_thread(command, "doctor", DATABASE_URL=restored)).status == 0
        async with gateway_on(restored) as gateway:
            assert await read_tenancies(gateway.database) == original
            for way, place in places.items():
                await check_former(way, place.in_gateway(gateway))
                await check_following(way, place.in_gateway(gateway))
        await asyncio.to_thread(check_other_lists, command, restored, original[-1])


def check_other_lists(command: Command, url: str, last: ListedTenancy) -> None:
    """Refuse lists that were changed or cut, or that are of another application, and name what is wrong.

    All commands have refused a list before. One of them refuses each of these.
    """
    listed = open_erasure_list(Settings())
    assert listed is not None
    whole = listed.file.read_bytes()
    lines = whole.splitlines(keepends=True)
    cut = max(number for number, line in enumerate(lines) if b"erasedAt" not in line)  # erasures are after it
    for word, content, text in (
        ("serve", b"".join(lines[:cut]), "changes of 1 tenancy that the database knows to be in it"),
        (
            "doctor",
            b"".join([*lines[:cut], lines[cut][:-2]]),
            "changes of 1 tenancy that the database knows to be in it",
        ),
        ("worker", whole.replace(last.mpxn.encode(), b"1234567890123"), "has a wrong signature"),
        ("doctor", None, "does not exist, although"),
    ):
        listed.file.unlink()
        if content is not None:
            listed.file.write_bytes(content)
        refused_to_start(command, url, text, word)
    listed.file.write_bytes(whole)
    unknown = structs.replace(last, application_id="another", tenancy_id="another")
    ErasureList(listed.file, load_key_ring(Settings())).append([unknown])
    assert "0 tenancies are repeated" in command("db", "apply-erasures", DATABASE_URL=url).out
    assert command("doctor", DATABASE_URL=url).status == 0

    assert command("app", "create", "Other", "--username", "other", DATABASE_URL=url).status == 0
    applications = json.loads(command("app", "list", "--json", DATABASE_URL=url).out)
    (other,) = [one["applicationId"] for one in applications if one["name"] == "Other"]
    foreign = structs.replace(last, application_id=other, changed_at=last.changed_at + DAY)
    copy = listed.file.with_name("copy")
    copy.write_bytes(b"".join(encode_list([foreign], load_key_ring(Settings()))))
    refused = command("db", "apply-erasures", str(copy), DATABASE_URL=url)
    assert refused.status == 1
    assert f"in the erasure list for application {other}, and the database has it" in refused.error
    assert command("doctor", DATABASE_URL=url).status == 0, "the line was added to the own list"
    exported = command("db", "export-erasures", DATABASE_URL=url)
    listed.file.write_text(exported.out)
    assert command("doctor", DATABASE_URL=url).status == 0
