"""The access log and the receipts of consents: who read the data of a household, on both interfaces."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.support.house import House
from tests.support.metering import metered, resource_at
from tests.support.people import active
from tests.support.refusals import refusal_of, refusals
from tests.support.residents import resident
from tests.support.socket import socket
from tests.support.timed import Timed
from wattgate.access_log import AccessLog, ReadData, Reader
from wattgate.app.workers.access_log import flush_access_log
from wattgate.app.workers.maintenance import Lifetimes, maintain_once
from wattgate.db.connections.engine import Database
from wattgate.errors import Unavailable
from wattgate.metrics import ACCESSES_DROPPED
from wattgate.operations.core.runner import Runner
from wattgate.operations.vocabulary.node import encode_global_id
from wattgate.realtime.bus.memory import MemoryBus

AT = datetime(2026, 1, 5, tzinfo=UTC)
SERIES = 'readings(range: {start: "2026-01-05T00:00:00Z", end: "2026-01-06T00:00:00Z"}, period: P1D) { total }'
LIVE = "subscription ($ids: [ID!]!) { readings(resourceIds: $ids, since: null) { value } }"
ENTRIES = "accessId userId resourceId operation purpose role reader own count"
PAGE = f"""accessLog(first: 100, after: $after) {{
  edges {{ node {{ {ENTRIES} }} }} pageInfo {{ hasNextPage endCursor }}
}}"""
LOG = f"query ($after: String) {{ viewer {{ {PAGE} }} }}"
WHOLE_LOG = f"query ($after: String) {{ application {{ {PAGE} }} }}"
QUERY = {"from": "2026-01-05T00:00:00", "to": "2026-01-05T23:59:59", "period": "P1D", "function": "sum"}


@pytest.fixture
async def resource_id(served: House) -> str:
    """A resource of the first tenant with a reading, at a meter point with a consent."""
    resource_id = await served.one.add_resource("logged", mpxn=str(uuid4().int)[:13])
    await served.one.record(resource_id, (AT, "1"))
    return resource_id


async def read(house: House, resource_id: str, headers: dict[str, str], selection: str = SERIES) -> Any:
    return await house.graphql(f'{{ resource(resourceId: "{resource_id}") {{ {selection} }} }}', headers)


async def entries(house: House, resource_id: str, who: str = "account") -> list[dict[str, Any]]:
    """Return the entries about a resource that a caller of the first tenant sees, after they are stored."""
    found: list[dict[str, Any]] = []
    page: dict[str, Any] = {"hasNextPage": True, "endCursor": None}
    await flush(house)
    document = WHOLE_LOG if who == "application" else LOG
    while page["hasNextPage"]:
        answer = await house.graphql(document, house.one.headers[who], after=page["endCursor"])
        (source,) = answer["data"].values()
        connection = source["accessLog"]
        page = connection["pageInfo"]
        found += [edge["node"] for edge in connection["edges"] if edge["node"]["resourceId"] == resource_id]
    return found


async def flush(house: House) -> None:
    """Store what the served gateway has counted."""
    assert house.served_gateway is not None
    await flush_access_log(house.served_gateway.runner, house.served_gateway.access_log)


@pytest.mark.parametrize("selection", ["current { value } noCurrentReason", "noCurrentReason", "current { value }"])
async def test_current_value_and_why_there_is_none_are_one_read(
    served: House, resource_id: str, selection: str
) -> None:
    headers = served.one.headers["application"]
    await read(served, resource_id, headers, selection)
    await served.call("GET", f"/resource/{resource_id}/current", headers)
    found = await entries(served, resource_id)
    assert [(one["operation"], one["count"]) for one in found] == [("currentReadings", 2)]


async def test_household_sees_who_read_its_data(served: House, resource_id: str) -> None:
    headers, path = served.one.headers, f"/resource/{resource_id}/readings"
    for who in ("account", "application", "application", "administrator"):
        assert (await read(served, resource_id, headers[who]))["data"]["resource"]["readings"]
    declared = {**headers["acting"], "X-Access-Purpose": f"billing {'x' * 200}"}
    assert (await served.call("GET", path, declared, params=QUERY)).status_code == 200
    found = await entries(served, resource_id)
    assert {(one["role"], one["purpose"]): (one["count"], one["own"]) for one in found} == {
        ("account", "own use"): (1, True),
        ("application", "service"): (2, False),
        ("application", f"billing {'x' * 92}"): (1, False),
        ("administrator", "administration"): (1, False),
    }
    assert {(one["userId"], one["operation"]) for one in found} == {(served.one.user_id, "readings")}
    assert {one["reader"] for one in found if one["own"]} == {f"account:{served.one.account_id}"}
    assert found == await entries(served, resource_id, "application")


async def test_request_counts_once_for_each_operation_and_resource(served: House, resource_id: str) -> None:
    headers = served.one.headers["account"]
    aliases = f"one: {SERIES} two: {SERIES} current {{ value }}"
    for _ in range(3):  # by graphql-core, and by the compiled plan
        await read(served, resource_id, headers, aliases)
    counted = {one["operation"]: one["count"] for one in await entries(served, resource_id)}
    assert counted == {"readings": 3, "currentReadings": 3}


async def test_subscription_counts_when_it_starts(served: House, resource_id: str) -> None:
    headers = served.one.headers["account"]
    async with socket(served.url) as client:
        await client.init(**headers)
        await client.subscribe(LIVE, ids=[resource_id])
        while (await client.payload())["extensions"]["position"] == "":
            continue
        (entry,) = await entries(served, resource_id)
    assert (entry["operation"], entry["count"], entry["own"]) == ("readings", 1, True)


async def test_withheld_data_and_records_without_data_leave_no_entry(served: House, resource_id: str) -> None:
    mpxn = (await served.one.run("resource", resource_id=resource_id)).mpxn
    path = f"/user/verification/status/mpxn/{mpxn}/revocation"
    assert (await served.call("POST", path, served.one.headers["account"])).status_code == 200
    answer = await read(served, resource_id, served.one.headers["application"], f"name withheld {{ reason }} {SERIES}")
    assert answer["data"]["resource"] == {"name": "logged", "withheld": {"reason": "REVOKED"}, "readings": None}
    assert await entries(served, resource_id) == []


async def test_household_sees_who_read_the_records_of_the_meter_network(served: House) -> None:
    """Each operation that reads them leaves an entry, unless it is refused. The home has two resources there."""
    point = await metered(served.one)
    second = await resource_at(served.one, point.mpxn)
    headers = served.one.headers["application"]
    eligibility = {
        "/eligibility/smets-ihd-cad": {"mpxn": point.mpxn},
        "/eligibility/checksmetsihd/postcode": {"postcode": "LS63QT", "eui": point.eui},
        "/eligibility/checksmetsihd": {"mpxn": point.mpxn, "eui": point.eui},
        "/eligibility/checksmetsmpxn": {"mpxn": point.mpxn},
    }
    paths = (f"/device/meter-point/{point.mpxn}/inventory", f"/device/smart-meter/{point.eui}/inventory")
    for path in (*paths, f"/discover/{point.eui}"):
        assert (await served.call("GET", path, headers)).status_code == 200, path
    for path, body in eligibility.items():
        assert (await served.call("POST", path, headers, json=body)).status_code == 200, path
    assert (await served.call("GET", paths[0], served.one.headers["administrator"])).status_code == 200
    stranger = await resident(served.one)
    for path in paths:
        assert (await served.call("GET", path, stranger.headers["account"])).status_code == 404, path
    assert (await served.call("GET", paths[0], served.other.headers["application"])).status_code == 200
    expected = {
        *("meterPointInventory", "smartMeterInventory", "discoverHardware", "hasConsumerDevice"),
        *("displayAtPostcode", "displayAtMeterPoint", "meterPointEligible"),
    }
    for resource_id in (point.resource_id, second):
        found = await entries(served, resource_id)
        assert {one["operation"] for one in found if one["role"] == "application"} == expected
        assert [one["operation"] for one in found if one["role"] != "application"] == ["meterPointInventory"]
        assert {(one["userId"], one["own"], one["count"]) for one in found} == {(served.one.user_id, False, 1)}


async def test_both_interfaces_list_the_same_entries_to_their_household_only(served: House, resource_id: str) -> None:
    own, path = served.one.headers["account"], "/user/accesslog"
    await read(served, resource_id, own)
    (entry,) = await entries(served, resource_id)
    listed: list[dict[str, Any]] = []
    while page := (await served.call("GET", path, own, params=position(listed))).json():
        listed += page
    assert [{name: one[name] for name in entry} for one in listed if one["resourceId"] == resource_id] == [entry]
    assert {one["userId"] for one in listed} == {served.one.user_id}
    stranger = await active(served.one)
    foreign = [
        (LOG, served.other.headers["account"]),
        (WHOLE_LOG, served.other.headers["application"]),
        (WHOLE_LOG, served.other.headers["administrator"]),
        (LOG, {**served.one.headers["application"], "userId": stranger["userId"]}),
    ]
    for document, headers in foreign:
        (source,) = (await served.graphql(document, headers))["data"].values()
        nodes = [edge["node"] for edge in source["accessLog"]["edges"]]
        assert served.one.user_id not in {node["userId"] for node in nodes}
        assert (await served.call("GET", path, headers, params={"after": entry["accessId"]})).status_code == 404
    assert (await served.call("GET", path, {})).status_code == 401


def position(listed: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the query of the next page of the access log."""
    return {"first": 100, **({"after": listed[-1]["accessId"]} if listed else {})}


@pytest.mark.parametrize(
    ("query", "status"), [({"after": "unknown"}, 404), ({"first": "0"}, 400), ({"first": "101"}, 400)]
)
async def test_bad_position_in_the_list_is_refused(served: House, query: dict[str, str], status: int) -> None:
    for path in ("/user/accesslog", "/user/consentreceipt"):
        assert (await served.call("GET", path, served.one.headers["account"], params=query)).status_code == status
    answer = await served.graphql(LOG, served.one.headers["account"], after="unknown")
    assert refusal_of(answer)["code"] == "BAD_INPUT"


async def test_each_change_of_a_consent_has_a_receipt_on_both_interfaces(served: House, resource_id: str) -> None:
    mpxn = (await served.one.run("resource", resource_id=resource_id)).mpxn
    own, application = served.one.headers["account"], served.one.headers["acting"]
    for change, headers in (("revocation", own), ("renewal", application)):
        path = f"/user/verification/status/mpxn/{mpxn}/{change}"
        assert (await served.call("POST", path, headers)).status_code == 200
    verify = (
        'mutation ($mpxn: MeterPointNumber!) { verifyMeterPoint(meterPointNumber: $mpxn, purpose: "advice") {'
        " ... on MeterPointConsent { meterPointNumber } ...Refused } }"
    )
    assert not refusals(await served.graphql(verify, application, mpxn=mpxn))
    listed: list[dict[str, Any]] = []
    query: dict[str, Any] = {"first": 100}
    while page := (await served.call("GET", "/user/consentreceipt", own, params=query)).json():
        listed += page
        query["after"] = page[-1]["receiptId"]
    receipts = [one for one in listed if one["mpxn"] == mpxn]
    told = [(one["kind"], one["basis"], one["purpose"], one["recordedBy"]) for one in receipts]
    assert told == [
        ("grant", "operator", "service", "system"),
        ("revocation", "user", "service", f"account:{served.one.account_id}"),
        ("renewal", "application", "service", "application"),
        ("grant", "application", "advice", "application"),
    ]
    fields = "receiptId meterPointNumber kind basis purpose recordedBy validUntil createdAt"
    for receipt in receipts:
        global_id = encode_global_id("ConsentReceipt", receipt["receiptId"])
        one = f'{{ node(id: "{global_id}") {{ ... on ConsentReceipt {{ {fields} }} }} }}'
        answer = (await served.graphql(one, own))["data"]["node"]
        path = f"/user/consentreceipt/{receipt['receiptId']}"
        assert (await served.call("GET", path, own)).json() == receipt
        assert (answer["kind"], answer["basis"]) == (receipt["kind"].upper(), receipt["basis"].upper())
        assert (await served.call("GET", path, served.other.headers["account"])).status_code == 404
        assert refusals(await served.graphql(one, served.other.headers["account"]))


async def test_old_entries_are_deleted(timed: Timed) -> None:
    tenant, runner = timed.house.one, timed.house.gateway.runner
    resource_id = await tenant.add_resource("logged", mpxn=str(uuid4().int)[:13])
    await read(timed.house, resource_id, timed.headers)
    (entry,) = await entries(timed.house, resource_id, "acting")
    timed.pass_time(timedelta(days=30))
    await maintain_once(runner, Lifetimes(access_log=timedelta(days=31)))
    assert await entries(timed.house, resource_id, "acting") == [entry]
    await maintain_once(runner, Lifetimes(access_log=timedelta(days=29)))
    assert await entries(timed.house, resource_id, "acting") == []


def counted(log: AccessLog) -> int:
    return sum(counter.count for counter in log._counters.values())


def reader(operation: str = "readings") -> Reader:
    return Reader("application", operation, "service", "application", "application", None, AT)


def test_log_in_memory_has_a_bound() -> None:
    log, before = AccessLog(max_counters=2), ACCESSES_DROPPED._value.get()
    log.add(reader(), [ReadData("user", f"r{number}") for number in (1, 2, 3, 1)], AT)
    assert (len(log), counted(log)) == (2, 3)
    taken = log.take()
    log.add(reader(), [ReadData("user", "r1"), ReadData("user", "r4")], AT)
    log.restore(taken)
    assert (len(log), counted(log)) == (2, 4)
    assert ACCESSES_DROPPED._value.get() - before == 2


async def test_reads_wait_in_memory_while_the_database_is_down(tmp_path: Any) -> None:
    log = AccessLog()
    log.add(reader(), [ReadData("user", "resource")], AT)
    database = Database(f"sqlite:///{tmp_path / 'missing' / 'folder.sqlite3'}")
    with pytest.raises(Unavailable):
        await flush_access_log(Runner(database, MemoryBus()), log)
    assert counted(log) == 1
    await database.close()
