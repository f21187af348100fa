"""Three households live in a home one after the other. None sees, receives or changes data of another one."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from tests.graphql import test_costs_of_moves as costs_of_moves
from tests.graphql import test_former_households as former_households
from tests.graphql import test_tenancies as tenancies
from tests.graphql import test_tenancy_corrections as tenancy_corrections
from tests.support.asking_functions import (
    ANSWERS,
    AskingFunction,
    find_asking_functions,
    switched_off,
    watched,
)
from tests.support.calls import code_of, report_state
from tests.support.chance import fuzzing
from tests.support.house import House, house
from tests.support.household_figures import check_figures, check_recording
from tests.support.household_jobs import (
    PREPARE,
    add_power_rule,
    messages_after_jobs,
    prepared_messages,
    queue_alerts,
    retrieved_instants,
)
from tests.support.interface_cases import InterfaceCase, cases_on
from tests.support.interfaces import InterfaceResult, is_in_graphql, rest_endpoints
from tests.support.neighbour import all_rows, private_values, rows_with
from tests.support.residents import resident
from tests.support.servers import ON_SQLITE_ONLY, Databases
from tests.support.short_form import is_short, sample
from tests.support.successive_households import (
    CLOSE_AND_ADD,
    ERASE_AND_ADD,
    MOVE,
    POWER,
    WAYS,
    HomeOfThree,
    Household,
    Plan,
    claim_status,
    home_of_three,
    report,
)
from tests.support.timed import Timed
from tests.support.user_jobs import exported_files
from wattgate.clock import from_ms, utc_now
from wattgate.errors import BadInput, Conflict, ConsentRevoked
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import OperationKind
from wattgate.operations.messages.notifications import CONSENT_ENDED
from wattgate.principal import GRANTS, AuthScheme, Permission, Role

pytestmark = pytest.mark.both_databases("separation of households")

EDGE_DEPTH = 2
"""Depth to which the documents of these tests select edges."""

PLANS = [
    Plan(way, two_types=two_types, device_first=device_first)
    for way, two_types, device_first in zip(
        (*WAYS, *WAYS), (True, True, True, False, False, False), (True, False, True, False, True, False), strict=True
    )
]
"""Every pair of a way, a number of types and an order occurs in one of the plans."""

PLANS_ON_SQLITE = (PLANS[0], PLANS[1], PLANS[5])
"""Each plan runs on one database. On each database, every way, number of types and order occurs."""

READS = [
    case
    for case in (
        *(
            InterfaceCase(operation)
            for operation in OPERATIONS
            if is_in_graphql(operation) and operation.kind is OperationKind.QUERY
        ),
        *(InterfaceCase(operation, rest) for operation, rest in rest_endpoints() if rest.method == "GET"),
    )
    if case.operation.needs is not Permission.ANYONE and not case.writes
]


@pytest.fixture(scope="module")
async def served(databases: Databases) -> AsyncIterator[House]:
    async with databases() as url, house(url) as opened:
        yield opened


@pytest.fixture
async def place(served: House) -> HomeOfThree:
    """A home that has changed hands by moves on SQLite, and by closed and added resources on PostgreSQL."""
    return await home_of_three(served, Plan(MOVE if served.gateway.database.is_sqlite else CLOSE_AND_ADD))


def name_of(case: InterfaceCase) -> str:
    return case.name


@pytest.mark.timeout(600)
async def test_each_household_reads_nothing_of_the_others(place: HomeOfThree, subtests: pytest.Subtests) -> None:
    """Each household reads by the IDs of its own records, and by those of another household."""
    cases, own_reads = sample(cases_on(place.served, READS), name_of), 0
    for case in cases:
        own = {of.name: place.about_the_home(of, await case.example(of.who)) for of in place.households}
        edge_depth, of_present = await read_deepest(place, case, own[place.present.name])
        for household in place.households:
            for of in (household, place.households[household.number - 1]):
                if of is not household and own[of.name] == own[household.name]:
                    continue
                with subtests.test(f"{case.name} by {household.name} of {of.name}"):
                    is_known = household is of is place.present
                    result = of_present if is_known else await read(place, case, household, own[of.name], edge_depth)
                    assert result.code != "INTERNAL", result.body
                    answer = result.value if case.rest is not None else result.body["data"]  # errors repeat arguments
                    assert place.traces(household, answer) == [], result.body
                    own_reads += of is household and place.has_own(household, answer)
    assert own_reads > len(cases)


async def read_deepest(
    place: HomeOfThree, case: InterfaceCase, variables: dict[str, Any]
) -> tuple[int, InterfaceResult]:
    """Return the number of edges on a path that the gateway accepts in a document, and what the present one reads."""
    depths = reversed(range(EDGE_DEPTH + 1)) if case.rest is None else range(1)
    for depth in depths:
        result = await read(place, case, place.present, variables, depth)
        if "data" in result.body:
            break
    return depth, result


async def read(
    place: HomeOfThree, case: InterfaceCase, household: Household, variables: dict[str, Any], edge_depth: int
) -> InterfaceResult:
    is_basic = case.rest is not None and case.rest.scheme is AuthScheme.BASIC
    caller = household.who.headers["account basic" if is_basic else "account"]
    return await case.send(place.served, variables, caller, edge_depth=edge_depth)


WRITES = [
    case
    for case in (
        *(InterfaceCase(operation) for operation in OPERATIONS if operation.kind is OperationKind.MUTATION),
        *(
            InterfaceCase(operation, rest)
            for operation, rest in rest_endpoints()
            if rest.scheme is not AuthScheme.BASIC
        ),
    )
    if case.writes and case.operation.needs in GRANTS[Role.ACCOUNT]
]
PREPARED, SENT = 20, 5
"""How many operations get their examples before the first of them is sent, and how many are sent between two looks.

A look at all rows costs more than these operations.
"""


@pytest.mark.timeout(600)
async def test_a_former_household_changes_nothing_of_the_present_one(
    place: HomeOfThree, subtests: pytest.Subtests
) -> None:
    """A change of rows is reported with the few operations that may have made it."""
    former, present = place.households[1], place.present
    new_home = replace(former.who, ids={**former.who.ids, "resource": await former.who.add_resource()})
    secret = private_values(former.who, present.who)
    cases = sample(cases_on(place.served, WRITES), name_of)
    for start in range(0, len(cases), PREPARED):
        prepared = [(case, await case.example(new_home)) for case in cases[start : start + PREPARED]]
        rows = await all_rows(present.who)
        for first in range(0, len(prepared), SENT):
            sent = prepared[first : first + SENT]
            for case, example in sent:
                with subtests.test(case.name):
                    variables = place.about_the_home(former, example)
                    result = await case.send(place.served, variables, {"token": await former.who.add_token()})
                    assert place.traces(former, result.value) == [], result.body
            before, rows = rows, await all_rows(present.who)
            with subtests.test(f"rows after {', '.join(case.name for case, _ in sent)}"):
                changed = rows_with(secret, before ^ rows)
                assert [row for row in changed if former.who.user_id not in row[1]] == []


async def stored_instants(household: Household) -> list[set[datetime]]:
    """Return the instants of the stored readings of each resource and field of a household."""
    found = []
    for resource_id in household.resources:
        for field in ("ENERGY", "POWER"):
            raw = await household.who.run("raw_readings", resource_id=resource_id, field=field)
            found.append({from_ms(reading.at) for reading in raw.stored})
    return found


ELIGIBILITY_CHECKS = {
    "smets-ihd-cad": ("mpxn",),
    "checksmetsmpxn": ("mpxn",),
    "checksmetsihd": ("mpxn", "eui"),
    "checksmetsihd/postcode": ("postcode", "eui"),
}
"""The paths of the checks against the meter network, and the names of their arguments."""


async def network_statuses(place: HomeOfThree, household: Household) -> set[int]:
    """Return the HTTP statuses with which a household reads what the meter network knows about the home."""
    call, account = place.served.call, household.who.headers["account"]
    paths = (f"/discover/{place.eui}", f"/device/meter-point/{place.mpxn}/resources")
    statuses = {(await call("GET", path, account)).status_code for path in paths}
    for path, names in ELIGIBILITY_CHECKS.items():
        body = {name: place.numbers[name] for name in names}
        statuses.add((await call("POST", f"/eligibility/{path}", account, json=body)).status_code)
    return statuses


async def check_network(place: HomeOfThree) -> None:
    """Assert that the present household alone reads what the network knows of the home, and no older register."""
    for household in place.households:
        if not household.is_erased:
            assert await network_statuses(place, household) == {200 if household is place.present else 404}
    path, account = f"/resource/{place.present.resources[0]}/meterread", place.present.who.headers["account"]
    register = await place.served.call("GET", path, account)
    assert code_of(register) == (404, "NOT_SUPPORTED")  # the registers of the network are of former households


async def check_former(place: HomeOfThree, former: Household) -> None:
    """Assert that a former household has no consent, claims and finds no device, and gets nothing of those it left."""
    account, served = former.who.headers["account"], place.served
    assert [await report(place, left, utc_now(), 77) for left in former.left_hardware_ids] == [0, 0]
    if former.is_erased:
        return
    for left in former.left_hardware_ids:
        assert len(await report_state(served, former.who, left, utc_now())) == 1
    named = {
        "deviceTypeId": former.who.ids["device_type"],
        "hardwareId": uuid4().hex,
        "hardwareIds": {"MPAN": place.mpxn},
    }
    assert (await served.call("POST", "/device", former.who.headers["acting"], json=named)).status_code == 200
    consents = [one for one in await former.who.run("consents") if one.user_id == former.who.user_id]
    assert [one.state.value for one in consents] == ["ended"]
    renewal = f"/user/verification/status/mpxn/{place.mpxn}/renewal"
    assert (await served.call("POST", renewal, account, json={"isValidUntil": "now"})).status_code == 409
    assert await claim_status(place, former) == 403
    path = f"/device/{former.who.ids['left_device']}"
    pointed = {"sensors": [{"protocolId": "S1", "resourceId": former.who.ids["flat"]}]}
    answer = await served.call("PUT", path, account, json={"protocol": pointed})
    assert code_of(answer) == (409, "CONFLICT")
    assert [await report(place, left, utc_now(), 77) for left in former.left_hardware_ids] == [0, 0]
    path = f"/resource/{former.resources[0]}/catchup"
    assert (await served.call("GET", path, account)).status_code == 409
    assert [(await served.call("GET", path, account)).json() for path in ("/dfs/user", "/dfs/event/user")] == [[], []]
    assert (await served.call("POST", "/dfs/user", account, json={"mpxn": place.mpxn})).status_code == 400
    again = {"resourceTypeId": former.who.ids["resource_type"], "name": "electricity", "mpxn": place.mpxn}
    assert (await served.call("POST", "/resource", account, json=again)).status_code == 403
    assert (await served.call("POST", "/resource", former.who.headers["acting"], json=again)).status_code == 409


async def walk(served: House, plan: Plan) -> None:
    """Let three households live in a home by a plan, and assert that each has its own time only."""
    rules: dict[str, str] = {}

    async def arrive(place: HomeOfThree, household: Household) -> None:
        for path in ("/resource", "/device"):
            listed = await served.call("GET", path, household.who.headers["account"])
            assert place.traces(household, listed.json()) == []
        assert all(at >= household.since for at in await retrieved_instants(household))

    async def watch(place: HomeOfThree, household: Household) -> None:
        rules[household.name] = await add_power_rule(household)
        if household is not place.present:
            await queue_alerts(place, household, rules[household.name])

    place = await home_of_three(served, plan, watch, arrive)
    for former in place.households[:-1]:
        await check_former(place, former)
    await check_network(place)
    present, series = place.present, 2 * len(place.present.resources)
    for household in place.households:
        if not household.is_erased:
            assert await stored_instants(household) == [{household.at}] * series
            await check_figures(place, household)
            assert place.traces(household, await exported_files(household.who)) == []
            rule = await household.who.run("alert_rule", rule_id=rules[household.name])
            assert rule.enabled == (household is present)
        if household is not present:
            waiting = await prepared_messages(household)
            kinds = [] if household.is_erased else [*PREPARE]  # the alert of now was withdrawn, and not the own one
            assert Counter(kind for kind, _ in waiting) == Counter(kinds)
            assert [sent for _, sent in waiting if getattr(sent, "code", None) != CONSENT_ENDED] == []
        if household is not present or plan.way != ERASE_AND_ADD:  # an erased owner of the device is unknown
            assert await report(place, place.hardware_id, household.at + timedelta(minutes=1), 77) == 0
        await check_recording(place, household)
        try:
            assert await retrieved_instants(household) == []
        except (Conflict, ConsentRevoked):
            assert household is not present
    messages = await messages_after_jobs(place, rules)
    assert any(str(POWER[present.number]) in message for message in messages[present.name])
    for household in place.households:
        assert place.traces(household, messages[household.name]) == [], household.name
    assert await claim_status(place, present) < 300


@pytest.mark.timeout(600)
async def test_each_way_stores_only_readings_of_the_own_time(served: House, subtests: pytest.Subtests) -> None:
    """The plans of a database reach each function that asks, except those with walks of their own."""
    is_sqlite = served.gateway.database.is_sqlite
    plans = sample([plan for plan in PLANS if (plan in PLANS_ON_SQLITE) == is_sqlite])
    with watched(asking for asking in find_asking_functions() if has_common_walk(asking)) as asked:
        for plan in plans:
            with subtests.test(str(plan)):
                await walk(served, plan)
    missed = {asking for asking in find_asking_functions() if has_common_walk(asking)} - asked
    assert missed == set() or is_short()


OWN_WALKS = {
    "db.queries.alert_rules:load_rules": costs_of_moves.test_a_pace_counts_from_the_move,
    "db.queries.series.costs:_load_priced_energy": costs_of_moves.test_each_household_pays_for_its_own_days,
    "db.queries.displays:_load_energy": costs_of_moves.test_each_household_pays_for_its_own_days,
    "db.queries.series.readings:readings": costs_of_moves.test_each_household_pays_for_its_own_days,
}
"""Walks with a clock of their own, of functions whose figures depend on the day of the month."""

PAIR_WALKS: dict[str, Callable[..., Awaitable[None]]] = {
    "operations.devices.device_records:require_not_left": partial(
        tenancy_corrections.test_a_code_from_before_the_move_does_not_bring_a_display_back, is_removed_before=True
    ),
    "operations.flexibility:_points_with_consent": (
        former_households.test_a_household_that_closed_its_resources_is_not_in_flexibility
    ),
    "operations.homes.resources:_find_cost_source": (
        former_households.test_a_cost_resource_at_the_meter_point_keeps_no_right
    ),
    "operations.moves.resource_changes:_correct_move": (
        tenancies.test_a_repeated_move_corrects_since_when_the_next_household_lives_there
    ),
    "operations.moves.resource_changes:_check_own_stay": partial(
        former_households.test_an_account_opens_no_resource_of_an_earlier_stay, way="createResource"
    ),
}
"""Walks of two households, of functions that ask only when a move is repeated or a household has come back."""

ERASED_OWNER = ("operations.readings.meter_messages:_load_displays", "storage_bounds")
"""A function with its question, which bounds a device alone only after an erasure.

After other moves, the device also has a new start.
"""


NETWORK_READERS = {
    "operations.devices.devices:meter_point_resources",
    "operations.devices.eligibility:display_at_postcode",
    "operations.devices.meter_points:_resources_to_check",
    "operations.devices.meter_points:find_inventory_error",
    "db.queries.series.raw_readings:meter_reads",
}
"""Functions that only read, so that their walks end in the same home."""


def has_common_walk(asking: AskingFunction) -> bool:
    """Return whether a function asks in the walks of three households through a whole plan."""
    return asking.place not in {*OWN_WALKS, *PAIR_WALKS, *NETWORK_READERS}


def planted(functions: Iterable[AskingFunction]) -> list[AskingFunction]:
    """Return the functions whose question is switched off: in `make fuzz` all, else those with a short walk of theirs.

    Of the ones whose walk is long, it is a spread quarter.
    """
    every = sorted(functions)
    long = [asking for asking in every if has_common_walk(asking) or asking.place in OWN_WALKS]
    left_out = set() if fuzzing() else set(long) - set(long[::4])
    return [asking for asking in every if asking not in left_out]


@pytest.mark.long("a walk for each question about whose a meter point is; the walks themselves are in the short form")
@ON_SQLITE_ONLY
@pytest.mark.timeout(900)
async def test_a_walk_fails_when_any_function_does_not_ask(
    served: House, timed: Timed, subtests: pytest.Subtests
) -> None:
    """The walks reach the other functions too: see `test_each_way_stores_only_readings_of_the_own_time`."""
    functions = find_asking_functions()
    assert {question for *_, question in functions} == set(ANSWERS)
    assert {*OWN_WALKS, *PAIR_WALKS, *NETWORK_READERS} <= {asking.place for asking in functions}
    place = await home_of_three(served, PLANS[1])
    await check_network(place)
    for asking in planted(functions):
        with subtests.test(str(asking)), switched_off(asking) as asked:
            with pytest.raises((AssertionError, BadInput, ValueError)):
                await walk_of(asking, place, timed)
            assert asked


async def walk_of(asking: AskingFunction, place: HomeOfThree, timed: Timed) -> None:
    """Walk through moves in which a function asks, or read in a home after its moves."""
    served = place.served
    if asking.place in NETWORK_READERS:
        await check_network(place)
    elif asking.place in OWN_WALKS:
        await OWN_WALKS[asking.place](timed)
    elif asking.place in PAIR_WALKS:
        ada, bob = await resident(served.one), await resident(served.one)
        await PAIR_WALKS[asking.place](served, ada, bob)
    else:
        await walk(served, PLANS[2] if (asking.place, asking.question) == ERASED_OWNER else PLANS[1])
