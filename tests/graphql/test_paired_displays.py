"""Pairing of displays by a code on both interfaces, two tenants and both databases."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import event, func, insert, select
from sqlmodel import col

from tests.support import people
from tests.support.house import House, Tenant, house
from tests.support.pairing import Interface, Refusal
from tests.support.residents import resident
from tests.support.scopes import EVERYTHING
from tests.support.servers import Databases
from tests.support.timed import Timed
from wattgate.app.workers.maintenance import maintain_once
from wattgate.db import models
from wattgate.db.identity.credential_states import MAX_KEYS_PER_STATEMENT
from wattgate.db.identity.credentials import CredentialLookup
from wattgate.db.identity.display_uses import DISPLAY_LIFETIME, USE_RESOLUTION
from wattgate.db.identity.login_backoff import BACKOFF_LIFETIME, FREE_ATTEMPTS
from wattgate.db.models.identity.credentials import MAX_PAIRED_DISPLAYS
from wattgate.db.rows.lookups import model_columns, model_table
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.operations.accounts import provisioning
from wattgate.operations.core.operation import Call, OperationKind, Unaudited
from wattgate.operations.core.operation import operation as declare
from wattgate.operations.homes.display_pairing import DEVICE_GRANT, MAX_OPEN_PAIRINGS, USER_CODE_ALPHABET
from wattgate.operations.homes.paired_displays import start_display_pairing
from wattgate.principal import AuthScheme, Permission, Principal, Role
from wattgate.requests.client import CURRENT_CLIENT, Client


async def add_owner(tenant: Tenant) -> Tenant:
    """Return a new user of the tenant's application, with a home of its own."""
    owner = await resident(tenant)
    owner.ids["virtual_entity"] = await owner.add_home(await owner.add_resource())
    return owner


@pytest.fixture(params=["graphql", "rest"])
def is_rest(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "rest")


@pytest.fixture
def interface(is_rest: bool, served: House) -> Interface:
    return Interface(served, is_rest)


@pytest.fixture
async def owner(served: House) -> Tenant:
    return await add_owner(served.one)


async def refusal(request: Awaitable[Any]) -> Refusal:
    """Return the error of a request, which must fail."""
    with pytest.raises(Refusal) as refused:
        await request
    return refused.value


async def code_of(request: Awaitable[Any]) -> str:
    return (await refusal(request)).code


async def test_qr_code_of_a_pairing_is_drawn_while_no_session_is_open(served: House) -> None:
    """It takes about 5 ms. The first round asks for it, the second one stores the pairing with the same code."""
    runs = list[str]()

    @declare(OperationKind.MUTATION, returns=int, needs=Permission.ANYONE, audit=Unaudited("It is a test."))
    async def start(call: Call, *, application_id: str) -> int:
        runs.append(application_id)
        pairing = await start_display_pairing.resolver(call, application_id=application_id)
        assert pairing.verification_uri_complete.endswith(f"#{pairing.user_code}")
        return len(pairing.qr_code)

    application_id = served.one.application_id
    token = CURRENT_CLIENT.set(Client(origin="https://energy.example"))
    try:
        size = await served.gateway.runner.run(start, Principal(Role.ANONYMOUS), {"application_id": application_id})
    finally:
        CURRENT_CLIENT.reset(token)
    assert size >= 21  # the smallest QR code
    assert runs == [application_id] * 2


async def test_display_is_paired_listed_renamed_and_revoked(interface: Interface, owner: Tenant) -> None:
    mine, ve_id = owner.headers["account"], owner.ids["virtual_entity"]
    started = await interface.start(owner, "  Wall\n panel ")
    assert (started["expiresIn"], started["interval"]) == (600, 5)
    assert (await interface.claim(owner, started["deviceCode"]))["state"] == "PENDING"
    assert (await interface.check(mine, started["userCode"].lower().replace("-", " ")))["name"] == "Wall panel"
    await interface.approve(mine, started["userCode"], ve_id, name="Kitchen")
    assert await interface.listed(mine) == []
    claimed = await interface.claim(owner, started["deviceCode"])
    display = claimed["display"]
    assert (claimed["state"], display["name"], display["veId"]) == ("APPROVED", "Kitchen", ve_id)
    headers = {"token": claimed["token"]}
    assert (await interface.own(headers))["displayId"] == display["displayId"]
    assert await interface.listed(mine) == [display]
    await interface.rename(mine, display["displayId"], "Hall")
    assert (await interface.own(headers))["name"] == "Hall"
    await interface.revoke(mine, display["displayId"])
    assert await interface.listed(mine) == []
    assert await code_of(interface.own(headers)) == "UNAUTHENTICATED"


async def test_codes_can_be_read_typed_and_scanned(interface: Interface, owner: Tenant) -> None:
    started = await interface.start(owner)
    left, _, right = started["userCode"].partition("-")
    assert (len(left), len(right)) == (4, 4)
    assert set(left + right) <= set(USER_CODE_ALPHABET)
    assert not set(USER_CODE_ALPHABET) & set("01AEIOULY")
    address = started["verificationUri"]
    complete = f"{address}?application={owner.application_id}#{started['userCode']}"
    assert (started["verificationUriComplete"], address) == (complete, "http://gateway.example/pair")
    modules = started["qrCode"]
    assert {len(row) for row in modules} == {len(modules)}
    assert set("".join(modules)) == {"0", "1"}
    assert [row[:7] for row in modules[:3]] == ["1111111", "1000001", "1011101"]  # the finder pattern in the corner


async def test_user_reads_displays_from_the_viewer(served: House, owner: Tenant) -> None:
    paired = await Interface(served, is_rest=False).pair(owner, owner.ids["virtual_entity"])
    query = "{ viewer { pairedDisplays { name home { name } } user { pairedDisplays { displayId } } } }"
    viewer = (await served.graphql(query, owner.headers["account"]))["data"]["viewer"]
    assert viewer["pairedDisplays"] == [{"name": "Kitchen", "home": {"name": "Home"}}]
    assert viewer["user"]["pairedDisplays"] == [{"displayId": paired.display["displayId"]}]


async def test_display_keeps_the_name_that_it_suggests_and_needs_none(interface: Interface, owner: Tenant) -> None:
    mine, ve_id = owner.headers["account"], owner.ids["virtual_entity"]
    for suggested in ("Wall panel", ""):
        started = await interface.start(owner, suggested)
        assert (await interface.approve(mine, started["userCode"], ve_id))["name"] == suggested
        assert (await interface.claim(owner, started["deviceCode"]))["display"]["name"] == suggested


async def test_names_are_bounded(interface: Interface, owner: Tenant) -> None:
    mine, ve_id = owner.headers["account"], owner.ids["virtual_entity"]
    assert await code_of(interface.start(owner, "x" * 101)) == "BAD_INPUT"
    started = await interface.start(owner, "x" * 100)
    for name in ("", " \n", "x" * 101):
        assert await code_of(interface.approve(mine, started["userCode"], ve_id, name=name)) == "BAD_INPUT"
    paired = await interface.pair(owner, ve_id)
    for name in ("", " \n", "x" * 101):
        assert await code_of(interface.rename(mine, paired.display["displayId"], name)) == "BAD_INPUT"


async def test_answered_unknown_and_foreign_codes_get_the_same_error(
    interface: Interface, served: House, owner: Tenant
) -> None:
    """A code is used once: a second answer fails, also that of another account."""
    mine, ve_id = owner.headers["account"], owner.ids["virtual_entity"]
    approved, denied, foreign = [(await interface.start(tenant))["userCode"] for tenant in (owner, owner, served.other)]
    await interface.approve(mine, approved, ve_id)
    await interface.deny(mine, denied)
    found = set()
    for code in (approved, denied, foreign, "ZZZZ-ZZZZ", "", "ü" * 100):
        stranger = await add_owner(served.one)  # each one has only some wrong codes free
        theirs = stranger.headers["account"]
        for request in (
            interface.check(theirs, code),
            interface.approve(theirs, code, stranger.ids["virtual_entity"]),
            interface.deny(theirs, code),
        ):
            refused = await refusal(request)
            found.add((refused.code, refused.message))
    assert len(found) == 1
    assert found.pop()[0] == "NOT_FOUND"


async def test_only_an_open_home_of_the_user_can_be_approved(
    interface: Interface, served: House, owner: Tenant
) -> None:
    mine, code = owner.headers["account"], (await interface.start(owner))["userCode"]
    neighbour = await add_owner(served.one)
    for ve_id in (neighbour.ids["virtual_entity"], served.other.ids["virtual_entity"], str(uuid4())):
        assert await code_of(interface.approve(mine, code, ve_id)) == "NOT_FOUND"
    closed = await owner.add_home()
    await owner.run("deactivate_virtual_entity", ve_id=closed)
    assert await code_of(interface.approve(mine, code, closed)) == "CONFLICT"
    administrator = owner.headers["administrator"]  # sees the homes of all users, and owns none of them
    assert await code_of(interface.approve(administrator, code, owner.ids["virtual_entity"])) == "NOT_FOUND"
    await interface.approve(mine, code, owner.ids["virtual_entity"])


async def test_only_accounts_answer_and_no_oauth_client_does(
    interface: Interface, served: House, owner: Tenant
) -> None:
    started, ve_id = await interface.start(owner), owner.ids["virtual_entity"]
    for caller in ("application", "acting", "oauth"):
        headers = served.one.headers["oauth"] if caller == "oauth" else owner.headers[caller]
        for request in (
            interface.check(headers, started["userCode"]),
            interface.approve(headers, started["userCode"], ve_id),
            interface.deny(headers, started["userCode"]),
        ):
            assert await code_of(request) == "FORBIDDEN"
    for request in (interface.listed({}), interface.check({}, started["userCode"])):
        assert await code_of(request) == "UNAUTHENTICATED"


async def test_displays_of_others_are_neither_listed_nor_changed(
    interface: Interface, served: House, owner: Tenant
) -> None:
    paired = await interface.pair(owner, owner.ids["virtual_entity"])
    display_id = paired.display["displayId"]
    for other in (await add_owner(served.one), served.other):
        for headers in (other.headers["account"], other.headers["acting"]):
            assert display_id not in str(await interface.listed(headers))
            assert await code_of(interface.rename(headers, display_id, "Mine")) == "NOT_FOUND"
            assert await code_of(interface.revoke(headers, display_id)) == "NOT_FOUND"
    assert (await interface.own(paired.headers))["name"] == "Kitchen"
    assert len(await interface.listed(owner.headers["acting"])) == 1
    await interface.revoke(owner.headers["acting"], display_id)
    assert await code_of(interface.own(paired.headers)) == "UNAUTHENTICATED"


async def test_display_can_end_itself(interface: Interface, owner: Tenant) -> None:
    first, second = [await interface.pair(owner, owner.ids["virtual_entity"], name) for name in ("Hall", "Kitchen")]
    await interface.end(first.headers)
    assert await code_of(interface.own(first.headers)) == "UNAUTHENTICATED"
    assert [display["name"] for display in await interface.listed(owner.headers["account"])] == ["Kitchen"]
    assert (await interface.own(second.headers))["name"] == "Kitchen"
    assert await code_of(interface.own(owner.headers["account"])) == "FORBIDDEN"
    assert await code_of(interface.end(owner.headers["account"])) == "FORBIDDEN"


async def test_denied_display_learns_the_answer(interface: Interface, owner: Tenant) -> None:
    started = await interface.start(owner)
    await interface.deny(owner.headers["account"], started["userCode"])
    for _ in range(2):
        claimed = await interface.claim(owner, started["deviceCode"])
        assert (claimed["state"], claimed["token"], claimed["display"]) == ("DENIED", None, None)


async def test_second_use_of_a_device_code_ends_the_credential(interface: Interface, owner: Tenant) -> None:
    first, second = [await interface.pair(owner, owner.ids["virtual_entity"], name) for name in ("Hall", "Kitchen")]
    refused = await refusal(interface.claim(owner, first.started["deviceCode"]))
    assert (refused.code, refused.extensions["reason"]) == ("BAD_INPUT", "invalid_grant")
    assert await code_of(interface.own(first.headers)) == "UNAUTHENTICATED"
    assert [display["name"] for display in await interface.listed(owner.headers["account"])] == ["Kitchen"]
    assert (await interface.own(second.headers))["name"] == "Kitchen"


async def test_device_codes_are_those_of_one_application(interface: Interface, served: House, owner: Tenant) -> None:
    started = await interface.start(owner)
    for tenant, code in ((served.other, started["deviceCode"]), (owner, "guessed"), (owner, started["userCode"])):
        refused = await refusal(interface.claim(tenant, code))
        assert (refused.code, refused.extensions["reason"]) == ("BAD_INPUT", "invalid_grant")
    assert (await interface.claim(owner, started["deviceCode"]))["state"] == "PENDING"


CLOSINGS: dict[str, Callable[[House, Tenant], Awaitable[Any]]] = {
    "close_home": lambda served, owner: served.call(
        "DELETE", f"/virtualentity/{owner.ids['virtual_entity']}", owner.headers["account"]
    ),
    "change_home": lambda served, owner: served.call(
        "PUT", f"/virtualentity/{owner.ids['virtual_entity']}", owner.headers["account"], json={"active": False}
    ),
    "close_account": lambda served, owner: served.call(
        "DELETE", f"/account/{owner.account_id}", owner.headers["application"]
    ),
    "delete_user": lambda served, owner: served.call("DELETE", f"/user/{owner.user_id}", owner.headers["application"]),
}


@pytest.mark.parametrize("closing", CLOSINGS)
async def test_codes_end_with_the_home_and_the_account_that_approved_them(
    interface: Interface, served: House, owner: Tenant, closing: str
) -> None:
    """An approved code gives no credential after the home or the account is closed, and paired displays end."""
    paired = await interface.pair(owner, owner.ids["virtual_entity"])
    started = await interface.start(owner)
    await interface.approve(owner.headers["account"], started["userCode"], owner.ids["virtual_entity"])
    answer = await CLOSINGS[closing](served, owner)
    assert answer.status_code in (200, 201), answer.text
    assert (await refusal(interface.claim(owner, started["deviceCode"]))).extensions["reason"] == "invalid_grant"
    assert await code_of(interface.own(paired.headers)) == "UNAUTHENTICATED"
    async with served.gateway.database.session(EVERYTHING) as session:
        for model in (models.PairedDisplay, models.DisplayPairing, models.Token):
            columns = model_columns(model)
            of_displays = columns["user_id"] == owner.user_id, columns["ve_id"].is_not(None)
            statement = select(model_table(model)).where(*of_displays)
            assert (await session.execute(statement, execution_options=SCOPED_OPTION)).all() == []


async def form(served: House, path: str, **members: str) -> httpx.Response:
    return await served.call("POST", path, {}, data=members)


async def test_standard_client_of_rfc_8628_is_paired(served: House, owner: Tenant) -> None:
    started = (await form(served, "/auth/oauth/device", client_id=owner.application_id, scope="read")).json()
    assert (started["expires_in"], started["interval"]) == (600, 5)
    assert started["verification_uri_complete"].endswith(f"#{started['user_code']}")
    request = {"grant_type": DEVICE_GRANT, "client_id": owner.application_id, "device_code": started["device_code"]}
    for error in ("authorization_pending", "slow_down"):
        waiting = await form(served, "/auth/oauth/access", **request)
        assert (waiting.status_code, waiting.json()["error"]) == (400, error)
    accounts = Interface(served, is_rest=True)
    await accounts.approve(owner.headers["account"], started["user_code"], owner.ids["virtual_entity"], name="Hall")
    granted = (await form(served, "/auth/oauth/access", **request)).json()
    assert {**granted, "access_token": ""} == {
        "token_type": "bearer",
        "access_token": "",
        "expires_in": int(DISPLAY_LIFETIME.total_seconds()),
        "scope": "read",
    }
    bearer = {"Authorization": f"Bearer {granted['access_token']}"}
    assert (await accounts.own(bearer))["name"] == "Hall"
    again = await form(served, "/auth/oauth/access", **request)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert await code_of(accounts.own(bearer)) == "UNAUTHENTICATED"


async def test_errors_of_rfc_8628(served: House, owner: Tenant) -> None:
    started = (await form(served, "/auth/oauth/device", client_id=owner.application_id)).json()
    request = {"grant_type": DEVICE_GRANT, "client_id": owner.application_id, "device_code": started["device_code"]}
    await Interface(served, is_rest=True).deny(owner.headers["account"], started["user_code"])
    denied = await form(served, "/auth/oauth/access", **request)
    assert (denied.status_code, denied.json()["error"]) == (400, "access_denied")
    for wrong in ({"device_code": "guessed"}, {"client_id": served.other.application_id}):
        refused = await form(served, "/auth/oauth/access", **{**request, **wrong})
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
    missing = await form(served, "/auth/oauth/access", grant_type=DEVICE_GRANT, client_id=owner.application_id)
    assert (missing.status_code, missing.json()["error"]) == (400, "invalid_request")
    for client in ({"client_id": "unknown"}, {}):
        unknown = await form(served, "/auth/oauth/device", **client)
        assert (unknown.status_code, unknown.json()["error"]) == (400, "invalid_request")


@pytest.fixture
def timed_interface(is_rest: bool, timed: Timed) -> Interface:
    return Interface(timed.house, is_rest)


async def test_codes_expire(timed_interface: Interface, timed: Timed) -> None:
    interface, owner = timed_interface, await add_owner(timed.house.one)
    mine, ve_id = owner.headers["account"], owner.ids["virtual_entity"]
    waiting, approved = await interface.start(owner), await interface.start(owner)
    timed.pass_time(timedelta(minutes=9, seconds=59))
    await interface.check(mine, waiting["userCode"])
    await interface.approve(mine, approved["userCode"], ve_id)
    timed.pass_time(timedelta(seconds=1))
    for request in (
        interface.check(mine, waiting["userCode"]),
        interface.approve(mine, waiting["userCode"], ve_id),
        interface.deny(mine, waiting["userCode"]),
    ):
        assert await code_of(request) == "NOT_FOUND"
    for started in (waiting, approved):
        refused = await refusal(interface.claim(owner, started["deviceCode"]))
        assert (refused.code, refused.extensions["reason"]) == ("BAD_INPUT", "expired_token")
    timed.pass_time(timedelta(hours=1))
    await maintain_once(timed.house.gateway.runner)
    assert (await refusal(interface.claim(owner, waiting["deviceCode"]))).extensions["reason"] == "invalid_grant"


async def test_display_that_asks_too_often_has_to_wait_longer(timed_interface: Interface, timed: Timed) -> None:
    interface, owner = timed_interface, timed.house.one
    started = await interface.start(owner)
    intervals = []
    for seconds in (0, 5, 4, 1, 1, 15, 14):  # 4 s after 5 s are in time: networks delay requests
        timed.pass_time(timedelta(seconds=seconds))
        intervals.append((await interface.claim(owner, started["deviceCode"]))["interval"])
    assert intervals == [5, 5, 5, 10, 15, 15, 15]


async def test_guesses_are_slowed_down_for_an_account(timed_interface: Interface, timed: Timed) -> None:
    """Wrong codes are counted in all operations together. A right code does not reset the count."""
    interface, owner = timed_interface, await add_owner(timed.house.one)
    mine, ve_id = owner.headers["account"], owner.ids["virtual_entity"]
    right = (await interface.start(owner))["userCode"]
    for request in (
        interface.check(mine, "ZZZZ-ZZZZ"),
        interface.deny(mine, "ZZZZ-ZZZZ"),
        interface.approve(mine, "ZZZZ-ZZZZ", ve_id),
        interface.check(mine, "ZZZZ-ZZZZ"),
    ):
        assert await code_of(request) == "NOT_FOUND"
    await interface.check(mine, right)
    assert await code_of(interface.check(mine, "ZZZZ-ZZZZ")) == "NOT_FOUND"
    refused = await refusal(interface.check(mine, right))
    assert (refused.code, refused.extensions["retryAfter"]) == ("RATE_LIMITED", 3)
    other = (await add_owner(timed.house.one)).headers["account"]
    await interface.check(other, right)
    timed.pass_time(timedelta(seconds=3))
    await interface.check(mine, right)
    await interface.approve(mine, right, ve_id)
    assert await code_of(interface.check(mine, "ZZZZ-ZZZZ")) == "NOT_FOUND"
    assert (await refusal(interface.check(mine, "ZZZZ-ZZZZ"))).extensions["retryAfter"] == 5


async def test_failures_of_the_day_before_do_not_slow_down_right_codes(
    timed_interface: Interface, timed: Timed
) -> None:
    """They are forgotten after a day, whether or not the maintenance has deleted their count by then."""
    interface, owner = timed_interface, await add_owner(timed.house.one)
    mine = owner.headers["account"]
    for _ in range(FREE_ATTEMPTS + 2):
        assert await code_of(interface.check(mine, "ZZZZ-ZZZZ")) == "NOT_FOUND"
        timed.pass_time(timedelta(minutes=1))
    timed.pass_time(BACKOFF_LIFETIME)
    right = (await interface.start(owner))["userCode"]
    for _ in range(2):
        await interface.check(mine, right)
    for _ in range(FREE_ATTEMPTS):
        assert await code_of(interface.check(mine, "ZZZZ-ZZZZ")) == "NOT_FOUND"
    assert await code_of(interface.check(mine, right)) == "RATE_LIMITED"


async def test_display_in_use_stays_and_one_in_a_drawer_ends(timed_interface: Interface, timed: Timed) -> None:
    interface, owner = timed_interface, await add_owner(timed.house.one)
    used, unused = [await interface.pair(owner, owner.ids["virtual_entity"], name) for name in ("Used", "Unused")]
    first = used.display
    timed.pass_time(timedelta(minutes=59))
    assert (await _stored(timed, used.display))["last_seen_at"] == timed.clock.now - timedelta(minutes=59)
    await interface.own(used.headers)
    timed.pass_time(timedelta(minutes=2))
    await interface.own(used.headers)
    stored = await _stored(timed, first)
    assert stored["last_seen_at"] == timed.clock.now
    assert stored["expires_at"] == timed.clock.now + DISPLAY_LIFETIME
    for _ in range(2):
        timed.pass_time(timedelta(days=399))
        await interface.own(used.headers)
    assert await code_of(interface.own(unused.headers)) == "UNAUTHENTICATED"
    await maintain_once(timed.house.gateway.runner)
    listed = await interface.listed(owner.headers["acting"])
    assert [display["name"] for display in listed] == ["Used"]


async def test_uses_of_many_displays_are_stored_in_batches(served: House, owner: Tenant) -> None:
    database, now = served.gateway.database, served.gateway.runner.now()
    of_home: dict[str, Any] = {
        "application_id": owner.application_id,
        "user_id": owner.user_id,
        "account_id": owner.account_id,
        "ve_id": owner.ids["virtual_entity"],
    }
    used_at = now - 2 * USE_RESOLUTION
    ends = {"created_at": used_at, "expires_at": used_at + DISPLAY_LIFETIME}
    tokens: list[dict[str, Any]] = [
        {"token_id": str(uuid4()), "digest": uuid4().bytes, **of_home, **ends}
        for _ in range(MAX_KEYS_PER_STATEMENT + 1)
    ]
    async with database.session(EVERYTHING) as session:
        await session.execute(insert(models.Token), tokens, execution_options=SCOPED_OPTION)
        await session.commit()
    sizes: list[int] = []

    def count_parameters(*execution: Any) -> None:
        if execution[2].startswith("UPDATE token"):
            sizes.append(len(execution[3]))

    callers = {Principal(Role.DISPLAY, AuthScheme.TOKEN, token_id=token["token_id"], **of_home) for token in tokens}
    event.listen(database.engine.sync_engine, "before_cursor_execute", count_parameters)
    try:
        assert await CredentialLookup(database).find_revoked(callers, now) == set()
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", count_parameters)
    assert len(sizes) == 2
    assert max(sizes) < MAX_KEYS_PER_STATEMENT + 10
    async with database.reader(EVERYTHING) as reader:
        moved = col(models.Token.user_id) == owner.user_id, col(models.Token.expires_at) == now + DISPLAY_LIFETIME
        statement = select(func.count()).select_from(models.Token).where(*moved)
        stored = (await reader.execute(statement, execution_options=SCOPED_OPTION)).scalar_one()
    assert stored == len(tokens)


async def _stored(timed: Timed, display: dict[str, Any]) -> dict[str, Any]:
    async with timed.house.gateway.database.reader(EVERYTHING) as session:
        statement = select(model_table(models.PairedDisplay)).where(
            col(models.PairedDisplay.display_id) == display["displayId"]
        )
        return dict((await session.execute(statement, execution_options=SCOPED_OPTION)).mappings().one())


async def test_open_pairings_and_displays_are_bounded(served: House) -> None:
    run = served.gateway.runner.run
    created = await run(
        provisioning.create_application, Principal(Role.SYSTEM), {"name": "Full", "username": uuid4().hex}
    )
    full = Tenant(served.gateway, created.application_id)
    started = await people.started_pairing(full)
    expires_at = served.gateway.runner.now() + timedelta(minutes=10)
    async with served.gateway.database.session(EVERYTHING) as session:
        pairings = [
            {
                "application_id": full.application_id,
                "pairing_id": str(uuid4()),
                "device_digest": uuid4().bytes,
                "user_digest": uuid4().bytes,
                "state": "PENDING",
                "name": "",
                "interval": 5,
                "created_at": expires_at,
                "expires_at": expires_at,
            }
            for _ in range(MAX_OPEN_PAIRINGS - 1)
        ]
        await session.execute(insert(models.DisplayPairing), pairings, execution_options=SCOPED_OPTION)
        await session.commit()
    for is_rest in (False, True):
        refused = await refusal(Interface(served, is_rest).start(full))
        assert (refused.code, refused.extensions["retryAfter"]) == ("RATE_LIMITED", 60)
    assert (await Interface(served, is_rest=True).claim(full, started.device_code))["state"] == "PENDING"
    assert (await Interface(served, is_rest=True).start(served.one))["userCode"]


async def add_displays(served: House, owner: Tenant, count: int) -> None:
    """Add displays of the owner's home to the database."""
    expires_at = served.gateway.runner.now() + timedelta(days=1)
    async with served.gateway.database.session(EVERYTHING) as session:
        for number in range(count):
            session.add(
                models.PairedDisplay(
                    application_id=owner.application_id,
                    user_id=owner.user_id,
                    account_id=owner.account_id,
                    ve_id=owner.ids["virtual_entity"],
                    token_id=str(uuid4()),
                    name=str(number),
                    expires_at=expires_at,
                )
            )
        await session.commit()


async def test_approved_codes_count_towards_the_quota_of_displays(
    interface: Interface, served: House, owner: Tenant
) -> None:
    """The user learns at the approval that there is no room, and not the display afterwards."""
    ve_id, mine = owner.ids["virtual_entity"], owner.headers["account"]
    await add_displays(served, owner, MAX_PAIRED_DISPLAYS - 2)
    first, second, surplus = [await interface.start(owner) for _ in range(3)]
    for started in (first, second):
        await interface.approve(mine, started["userCode"], ve_id)
    assert await code_of(interface.approve(mine, surplus["userCode"], ve_id)) == "QUOTA_EXCEEDED"
    for started in (first, second):
        assert (await interface.claim(owner, started["deviceCode"]))["state"] == "APPROVED"
    assert await code_of(interface.approve(mine, surplus["userCode"], ve_id)) == "QUOTA_EXCEEDED"


async def test_user_has_a_quota_of_displays(interface: Interface, served: House, owner: Tenant) -> None:
    ve_id, mine = owner.ids["virtual_entity"], owner.headers["account"]
    approved = await interface.start(owner)
    await interface.approve(mine, approved["userCode"], ve_id)
    await add_displays(served, owner, MAX_PAIRED_DISPLAYS)
    started = await interface.start(owner)
    assert await code_of(interface.approve(mine, started["userCode"], ve_id)) == "QUOTA_EXCEEDED"
    assert await code_of(interface.claim(owner, approved["deviceCode"])) == "QUOTA_EXCEEDED"
    listed = await interface.listed(mine)
    assert len(listed) == MAX_PAIRED_DISPLAYS
    await interface.revoke(mine, listed[0]["displayId"])
    assert (await interface.claim(owner, approved["deviceCode"]))["state"] == "APPROVED"


async def test_pairings_and_wrong_codes_are_limited_for_an_address(databases: Databases, is_rest: bool) -> None:
    async with databases() as url, house(url, address_pairings=3, address_codes=2) as limited:
        interface, one = Interface(limited, is_rest), limited.one
        mine = one.headers["account"]
        started = [await interface.start(one) for _ in range(3)]
        refused = await refusal(interface.start(limited.other))
        assert (refused.code, "address-pairing" in refused.message) == ("RATE_LIMITED", True)
        for _ in range(4):  # right codes cost nothing
            await interface.claim(one, started[0]["deviceCode"])
            await interface.check(mine, started[0]["userCode"])
        assert await code_of(interface.claim(one, "guessed")) == "BAD_INPUT"
        assert await code_of(interface.check(mine, "ZZZZ-ZZZZ")) == "NOT_FOUND"
        for request in (interface.claim(one, "guessed"), interface.check(mine, "ZZZZ-ZZZZ")):
            assert await code_of(request) == "RATE_LIMITED"
