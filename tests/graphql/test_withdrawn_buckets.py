"""Polls of `revisedSince` by clients that have copied readings which are deleted later."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text
from strawberry import ID

from tests.support.house import STORAGE, Tenant
from tests.support.metering import HALF_HOUR, metered
from tests.support.residents import resident
from tests.support.timed import NOW, Timed
from tests.support.user_jobs import erased
from wattgate.clock import format_iso, to_ms
from wattgate.enums import Channel, Function, TariffKind
from wattgate.operations.alerts.alerts import create_alert
from wattgate.operations.core.operation import Call, OperationKind
from wattgate.operations.core.operation import operation as declare
from wattgate.operations.types.homes.resources import NewResourceType
from wattgate.operations.types.messages.alerts import NewAlert
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Permission

pytestmark = pytest.mark.either_database("some tests of the module run on both")

START = NOW.replace(hour=0, minute=0)
MIDDLE = START + 5 * HALF_HOUR
"""The instant of a change, in the middle of an hour and of a day."""

PERIODS = ("PT30M", "PT1H", "P1D")
VALUES = ("1", "2", "3", "4", "5", "6", "7", "8")
SERIES = """
query ($id: ID!, $range: TimeRange!, $period: Period!, $since: DateTime, $field: String) {
  resource(resourceId: $id) { readings(range: $range, period: $period, revisedSince: $since, field: $field) {
    asOf revision total count
    columns { start end value count quality completeness estimated revision noValueReason }
    buckets { start end value count quality completeness estimated revision noValueReason }
  } }
}
"""


@dataclass
class Copy:
    """The copy of a series that a client keeps, and updates with changed buckets only."""

    timed: Timed
    caller: dict[str, str]
    resource_id: str
    period: str = "PT30M"
    of_field: str = "ENERGY"
    since: str | None = None
    revision: int = 0
    known: dict[str, Any] = field(default_factory=dict)

    async def ask(self, since: str | None) -> Any:
        range_ = {"start": format_iso(START), "end": format_iso(START + timedelta(days=2))}
        variables = {"id": self.resource_id, "range": range_, "period": self.period, "field": self.of_field}
        answer = await self.timed.house.graphql(SERIES, self.caller, **variables, since=since)
        assert "errors" not in answer, answer
        series = answer["data"]["resource"]["readings"]
        for name, column in series["columns"].items():
            assert column == [bucket[name] for bucket in series["buckets"]]
        return series

    async def poll(self) -> list[Any]:
        """Update the copy and return the changed buckets. The copy then equals a complete read."""
        self.timed.pass_time(timedelta(minutes=2))  # so that the next answer does not repeat this one
        update = await self.ask(self.since)
        for bucket in update["buckets"]:
            assert bucket["revision"] >= self.known.get(bucket["start"], bucket)["revision"]
        self.known |= {bucket["start"]: bucket for bucket in update["buckets"]}
        self.since = update["asOf"]
        whole = await self.ask(None)
        assert list(self.known.values()) == whole["buckets"]
        assert self.revision <= whole["revision"] <= sum(bucket["revision"] for bucket in whole["buckets"])
        self.revision = whole["revision"]
        return list(update["buckets"])


@dataclass
class Home:
    """A household with half hours and power of a day, which a client has copied."""

    timed: Timed
    user: Tenant
    mpxn: str
    resource_id: str
    costs: str
    copies: list[Copy]

    async def poll(self) -> list[list[Any]]:
        return [await copy.poll() for copy in self.copies]


async def settled(timed: Timed) -> Home:
    user = await resident(timed.house.one)
    live = NewResourceType(name="live power", classifier="electricity.consumption", storage=STORAGE)
    user.ids["resource_type"] = (await timed.house.one.run("add_resource_type", input=live)).resource_type_id
    point = await metered(user, [])
    await user.set_tariff(point.resource_id, "flat", START - timedelta(days=9), kind=TariffKind.FLAT, rate=Decimal(10))
    of_resource = {"id": point.resource_id}
    async with timed.house.gateway.database.engine.begin() as connection:  # a later change of tariffs changes all costs
        known_since = text("UPDATE tariff SET created_at = valid_from WHERE resource_id = :id")
        await connection.execute(known_since, of_resource)
    costs = await user.add_resource("costs", cost_of=ID(point.resource_id))
    await user.record(point.resource_id, *((START + n * HALF_HOUR, value) for n, value in enumerate(VALUES)))
    for value in ("8.5", "9", "8"):  # the last half hour is corrected before it is withdrawn
        await user.record(point.resource_id, (START + 7 * HALF_HOUR, value))
    seconds = ((START + n * timedelta(minutes=3), str(n)) for n in range(80))
    await user.record(point.resource_id, *seconds, field="POWER")
    of_application = user.headers["application"]
    copies = [Copy(timed, of_application, point.resource_id, period) for period in PERIODS]
    copies += [Copy(timed, of_application, point.resource_id, "PT1H", "POWER"), Copy(timed, of_application, costs)]
    home = Home(timed, user, point.mpxn, point.resource_id, costs, copies)
    timed.pass_time(timedelta(hours=1))
    await home.poll()
    assert await home.poll() == [[]] * len(home.copies)
    return home


async def report_late(home: Home) -> None:
    """Let another household move in at an instant before stored readings."""
    bob = await resident(home.timed.house.one)
    await home.user.run("move_resource", resource_id=home.resource_id, user_id=bob.user_id, moved_in_at=MIDDLE)


async def begin_later(home: Home) -> None:
    """Correct the start of the household to an instant after stored readings."""
    await home.user.run("verify_meter_point", mpxn=home.mpxn, moved_in_at=MIDDLE)


def starts(buckets: list[Any]) -> list[str]:
    return [bucket["start"][11:16] for bucket in buckets]


SINCE_MIDDLE = (["02:30", "03:00", "03:30"], ["02:00", "03:00"], ["00:00"], ["02:00", "03:00"])
BEFORE_MIDDLE = (["00:00", "00:30", "01:00", "01:30", "02:00"], ["00:00", "01:00", "02:00"], ["00:00"])


@pytest.mark.every_case("each way withdraws by another service")
@pytest.mark.parametrize(
    ("withdraw", "changed"),
    [
        (report_late, SINCE_MIDDLE),
        (begin_later, (*BEFORE_MIDDLE, ["00:00", "01:00", "02:00"])),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_a_client_learns_of_each_bucket_that_a_withdrawal_changes(
    timed: Timed, withdraw: Callable[[Home], Awaitable[None]], changed: tuple[list[str], ...]
) -> None:
    home = await settled(timed)
    await withdraw(home)
    before = [dict(copy.known) for copy in home.copies]
    found = await home.poll()
    assert [starts(buckets) for buckets in found] == [*changed, changed[0]]  # the costs change as the energy does
    for known, buckets in zip(before, found, strict=True):
        assert all(bucket["revision"] > known[bucket["start"]]["revision"] for bucket in buckets)
    for bucket in found[0]:
        assert (bucket["value"], bucket["count"], bucket["quality"]) == (None, 0, "MISSING")
        assert bucket["noValueReason"] == "NO_READINGS"
    assert await home.poll() == [[]] * len(home.copies)


@declare(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def send_alerts(call: Call, *, home: Home, firings: list[tuple[datetime, int]]) -> None:
    """Send the user an alert for each firing of a rule: when it fired, and the minutes that it reports."""
    for at, minutes in firings:
        alert = NewAlert(
            user_id=ID(home.user.user_id),
            alert_type_id=ID(home.user.ids["alert_type"]),
            channels=[Channel.INBOX],
            data=Json({"at": format_iso(at), "windowMinutes": minutes}),
        )
        await create_alert(call, alert, resource_id=home.resource_id)


@pytest.mark.every_case("each way withdraws by another service")
@pytest.mark.parametrize(
    ("withdraw", "kept"),
    [(report_late, ["01:30", "02:00"]), (begin_later, ["03:30"])],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_alerts_that_report_withdrawn_readings_are_deleted(
    timed: Timed, withdraw: Callable[[Home], Awaitable[None]], kept: list[str]
) -> None:
    home = await settled(timed)
    firings = [(START + count * HALF_HOUR, 60) for count in (3, 4, 5, 6, 7)]
    await timed.house.gateway.runner.run(send_alerts, home.user.system, {"home": home, "firings": firings})
    await withdraw(home)
    alerts = await home.user.run("user_alerts")
    assert sorted(alert.data["at"][11:16] for alert in alerts) == kept


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_a_revocation_announces_the_readings_that_it_deletes(timed: Timed) -> None:
    """They are dated some minutes ahead. Nobody can read the series before the renewal."""
    home = await settled(timed)
    power = home.copies[3]
    for deleted in ("999", "998"):
        ahead = timed.clock.now + timedelta(minutes=4)
        await home.user.record(home.resource_id, (ahead, deleted), field="POWER")
        await power.poll()
        await home.user.run("revoke_consents", mpxns=[home.mpxn])
        await home.user.run("renew_consents", mpxns=[home.mpxn])
        (bucket,) = await power.poll()
        assert (bucket["value"], starts([bucket])) == (None, [f"{ahead:%H}:00"])
    assert await power.poll() == []


async def test_readings_that_are_recorded_again_keep_the_revision_of_their_withdrawal(timed: Timed) -> None:
    home = await settled(timed)
    half_hours = home.copies[0]
    for _ in range(2):
        await home.user.run("verify_meter_point", mpxn=home.mpxn, moved_in_at=MIDDLE)
        assert len(await half_hours.poll()) == 5
        await home.user.run("verify_meter_point", mpxn=home.mpxn, moved_in_at=START)
        assert await half_hours.poll() == []
        await home.user.record(home.resource_id, *((START + n * HALF_HOUR, "1") for n in range(8)))
        restored = await half_hours.poll()
        assert [bucket["value"] for bucket in restored[:5]] == [1] * 5


async def test_revisions_of_many_corrections_are_numbers_that_clients_read(timed: Timed) -> None:
    """An `Int` of GraphQL has 32 bits. So the revision of a series counts a withdrawal once, not for each bucket."""
    home = await settled(timed)
    statement = text(
        "UPDATE reading_day SET revision = 1000000000 WHERE field = 0 AND resource_number = "
        "(SELECT number FROM resource WHERE resource_id = :id)"
    )
    async with timed.house.gateway.database.engine.begin() as connection:
        await connection.execute(statement, {"id": home.resource_id})
    await home.user.run("verify_meter_point", mpxn=home.mpxn, moved_in_at=START + timedelta(hours=12))
    assert (await home.copies[0].ask(None))["revision"] == 1_000_000_001


async def test_an_erasure_empties_the_buckets_of_a_client(timed: Timed) -> None:
    """The application still sees resources without a meter point, which need no consent."""
    user = await resident(timed.house.one)
    plain = await user.add_resource()
    await user.record(plain, *((START + n * HALF_HOUR, value) for n, value in enumerate(VALUES)))
    copy = Copy(timed, user.headers["application"], plain)
    await copy.poll()
    assert await copy.poll() == []
    await erased(user, user.user_id)
    assert [bucket["value"] for bucket in await copy.poll()] == [None] * 96
    assert await copy.poll() == []


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_ways_to_ask_agree(timed: Timed) -> None:
    """A list of resources, each function and REST return the same buckets. A whole read by REST shows no value."""
    home = await settled(timed)
    half_hours = home.copies[0]
    since = half_hours.since
    await begin_later(home)
    expected = [bucket["start"] for bucket in await half_hours.poll()]
    range_ = {"start": format_iso(START), "end": format_iso(START + timedelta(days=1))}
    query = """query ($range: TimeRange!, $since: DateTime!, $function: Function!) {
      viewer { resources { edges { node {
        resourceId readings(range: $range, period: PT30M, function: $function, revisedSince: $since) {
          buckets { start value } } } } } } }"""
    acting = home.user.headers["acting"]
    for function in set(Function) - {Function.DIFFERENCE}:  # it is for registers alone
        variables = {"range": range_, "since": since, "function": function.name}
        answer = await timed.house.graphql(query, acting, **variables)
        assert "errors" not in answer, answer
        nodes = [edge["node"] for edge in answer["data"]["viewer"]["resources"]["edges"]]
        by_id = {node["resourceId"]: node["readings"]["buckets"] for node in nodes}
        assert by_id[home.resource_id] == [{"start": start, "value": None} for start in expected], function
    span = {"from": "2026-06-01T00:00:00", "to": "2026-06-01T23:59:59", "period": "PT30M", "function": "sum"}
    path = f"/resource/{home.resource_id}/readings"
    response = await timed.house.call("GET", path, acting, params={**span, "nulls": "1"})
    seconds = [to_ms(datetime.fromisoformat(start)) // 1000 for start in expected]
    assert response.json()["data"][: len(seconds)] == [[second, None] for second in seconds]


REST_SPAN = {"from": "2026-06-01T00:00:00", "to": "2026-06-02T23:59:59", "function": "sum"}
BEFORE_ALL = "1970-01-01T00:00:00Z"
"""The first `revisedSince` of a client without a copy."""


async def test_legacy_client_learns_of_withdrawn_buckets(timed: Timed) -> None:
    """A client of REST updates a copy by `revisedSince`. It equals a whole read: no deleted value is left."""
    home = await settled(timed)
    acting, path = home.user.headers["acting"], f"/resource/{home.resource_id}/readings"

    async def ask(**query: str) -> Any:
        response = await timed.house.call("GET", path, acting, params={**REST_SPAN, **query})
        assert response.status_code == 200, response.text
        return response.json()

    for period, offset in (("PT30M", "0"), ("PT1H", "-60"), ("P1D", "0")):
        since, copy = BEFORE_ALL, dict[int, Any]()
        for change in (no_change, correct, begin_later) if period == "PT30M" else (no_change,):
            await change(home)
            timed.pass_time(timedelta(minutes=2))
            update = await ask(period=period, offset=offset, revisedSince=since)
            copy |= dict(update["data"])
            since = update["asOf"]
            assert update["query"]["revisedSince"]
            whole = dict((await ask(period=period, offset=offset, nulls="1"))["data"])
            assert {start: copy.get(start) for start in whole} == whole, (period, change.__name__)
        timed.pass_time(timedelta(minutes=2))
        assert (await ask(period=period, offset=offset, revisedSince=since))["data"] == []


async def no_change(home: Home) -> None:
    return


async def correct(home: Home) -> None:
    await home.user.record(home.resource_id, (START + 6 * HALF_HOUR, "7.25"))


async def test_revised_since_of_legacy_clients_is_checked(timed: Timed) -> None:
    """The time may have a zone, or is local at `offset`. Whole reads have no `asOf`, as before."""
    home = await settled(timed)
    acting, path = home.user.headers["acting"], f"/resource/{home.resource_id}/readings"
    span = {**REST_SPAN, "period": "PT30M"}
    whole = await timed.house.call("GET", path, acting, params=span)
    assert (whole.status_code, "asOf" in whole.json()) == (200, False)
    for wrong in ("yesterday", "", "2026-13-01T00:00:00Z", "99999-01-01T00:00:00Z"):
        refused = await timed.house.call("GET", path, acting, params={**span, "revisedSince": wrong})
        assert refused.status_code == 400, wrong
        assert [problem["path"] for problem in refused.json()["problems"]] == [["revisedSince"]], refused.text
    local = {**span, "offset": "-60", "revisedSince": "2026-06-01T13:00:00"}
    utc = {**span, "offset": "-60", "revisedSince": "2026-06-01T12:00:00Z"}
    answers = [(await timed.house.call("GET", path, acting, params=query)).json()["data"] for query in (local, utc)]
    assert answers[0] == answers[1]
    costs = await timed.house.call(
        "GET", f"/resource/{home.copies[-1].resource_id}/readings", acting, params={**span, "revisedSince": BEFORE_ALL}
    )
    rows = costs.json()
    assert (costs.status_code, len(rows["data"]), rows.get("noValue")) == (200, len(VALUES), None)
