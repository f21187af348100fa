"""The charge of password hashes of Basic credentials: the account pays for a right one, the address for a wrong one."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from math import ceil
from threading import Event
from typing import Any

import pytest
from sqlmodel import col

from tests.support.house import PASSWORD, Tenant
from tests.support.timed import NOW, Clock
from wattgate.app.server.gate.identity import create_identity
from wattgate.app.settings import Settings
from wattgate.db.identity import passwords
from wattgate.db.identity.credentials import CredentialLookup
from wattgate.db.identity.login_backoff import FREE_ATTEMPTS
from wattgate.db.models import Account, LoginSource
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import RowScope
from wattgate.errors import CostTooHigh, RateLimited, SecondFactorRequired, Unavailable
from wattgate.operations.vocabulary.cost_weights import PASSWORD_HASH_WEIGHT
from wattgate.principal import Principal
from wattgate.rate_limit.address_limits import AddressLimits
from wattgate.rate_limit.budgets import CURRENT_BALANCE, Budgets, LocalBucketStore, rate_limit_headers
from wattgate.rate_limit.scopes import Allowance, BudgetLimits
from wattgate.requests.client import CURRENT_CLIENT, UNLIMITED_ADDRESSES, AddressPolicy, Client


def identity_of(tenant: Tenant, capacity: int) -> tuple[CredentialLookup, Budgets]:
    """Return a look-up that remembers nothing, and its budgets, which time does not refill."""
    budgets = Budgets(BudgetLimits(Allowance(capacity, 0.01), None), LocalBucketStore(Clock(NOW)))
    settings = Settings(_env_file=None, database_url="sqlite:///unused.sqlite3")
    return create_identity(settings, tenant.gateway.database, UNLIMITED_ADDRESSES, budgets), budgets


async def by_password(identity: CredentialLookup, tenant: Tenant, username: str, password: str) -> Principal | None:
    return await identity.principal_by_password(tenant.application_id, username, password, NOW)


async def change_account(tenant: Tenant, account_id: str, **columns: Any) -> None:
    async with tenant.gateway.database.session(RowScope(tenant.application_id)) as session:
        rows = Rows(session, tenant.application_id, now=NOW)
        await rows.update(Account, col(Account.account_id) == account_id, **columns)
        await session.commit()


async def demand_code(tenant: Tenant, account_id: str) -> None:
    await change_account(tenant, account_id, second_factor=True)


async def set_password(tenant: Tenant, account_id: str, password: str) -> None:
    await change_account(tenant, account_id, password_hash=await passwords.hash_password(password, ""))


async def test_right_password_is_charged_to_its_account_until_the_budget_ends(settled: Tenant) -> None:
    identity, budgets = identity_of(settled, 2 * PASSWORD_HASH_WEIGHT + 10)
    principal = await by_password(identity, settled, settled.username, PASSWORD)
    assert principal is not None
    balance = await budgets.charge(principal, 0)
    assert balance is not None
    assert balance.limit - balance.remaining == PASSWORD_HASH_WEIGHT
    await by_password(identity, settled, settled.username, PASSWORD)
    with pytest.raises(RateLimited, match="login"):
        await by_password(identity, settled, settled.username, PASSWORD)


async def test_wrong_password_is_not_charged_to_the_account_that_it_names(settled: Tenant) -> None:
    identity, budgets = identity_of(settled, 2 * PASSWORD_HASH_WEIGHT)
    assert await by_password(identity, settled, settled.username, "wrong") is None
    principal = await by_password(identity, settled, settled.username, PASSWORD)
    assert principal is not None
    balance = await budgets.charge(principal, 0)
    assert balance is not None
    assert balance.remaining == PASSWORD_HASH_WEIGHT


async def test_budget_below_one_hash_still_permits_a_log_in(settled: Tenant) -> None:
    identity, _ = identity_of(settled, 10)
    assert await by_password(identity, settled, settled.username, PASSWORD) is not None


async def test_password_without_its_second_factor_is_charged(settled: Tenant) -> None:
    username = "second@example.org"
    account_id = await settled.add_account(username)
    identity, _ = identity_of(settled, 2 * PASSWORD_HASH_WEIGHT)
    await demand_code(settled, account_id)
    for _ in range(2):
        with pytest.raises(SecondFactorRequired):
            await by_password(identity, settled, username, PASSWORD)
    with pytest.raises(RateLimited):
        await by_password(identity, settled, username, PASSWORD)


@pytest.mark.parametrize("second_factor", [False, True])
async def test_right_password_is_not_hashed_while_the_budget_is_exhausted(
    settled: Tenant, second_factor: bool, subtests: pytest.Subtests
) -> None:
    username = "with-code@example.org" if second_factor else "without-code@example.org"
    account_id = await settled.add_account(username)
    identity, _ = identity_of(settled, PASSWORD_HASH_WEIGHT + 10)
    if second_factor:
        await demand_code(settled, account_id)
    with pytest.raises(SecondFactorRequired) if second_factor else nullcontext():
        await by_password(identity, settled, username, PASSWORD)
    hashes = passwords.HASH_POOL.run_count
    for _ in range(5):
        with pytest.raises(RateLimited, match="login"):
            await by_password(identity, settled, username, PASSWORD)
    assert passwords.HASH_POOL.run_count == hashes
    with subtests.test("a stranger who knows the name alone gets the answer of a wrong password, and pays the hash"):
        assert await by_password(identity, settled, username, "wrong") is None
        assert passwords.HASH_POOL.run_count == hashes + 1
    with subtests.test("a password that has changed is hashed, and is not charged to the account"):
        await set_password(settled, account_id, "another horse battery")
        identity.forget()  # as each change of credentials does
        hashes = passwords.HASH_POOL.run_count
        assert await by_password(identity, settled, username, PASSWORD) is None
        assert passwords.HASH_POOL.run_count == hashes + 1


@contextmanager
def client_at(address: str, network: str | None = None) -> Iterator[None]:
    token = CURRENT_CLIENT.set(Client(host=address, address=address, network=network))
    try:
        yield
    finally:
        CURRENT_CLIENT.reset(token)


async def test_a_guess_from_elsewhere_does_not_meet_the_memory_of_the_holder(settled: Tenant) -> None:
    """An address in debt gets the same answer for a right and for a wrong guess, as often as it guesses."""
    username = "remembered-elsewhere@example.org"
    await settled.add_account(username)
    identity, _ = identity_of(settled, 100 * PASSWORD_HASH_WEIGHT)
    identity.remembered.hears_changes = lambda: True
    identity._address_limits = AddressLimits({AddressPolicy.LOGIN: Allowance(2, 0.001)}, LocalBucketStore(Clock(NOW)))
    with client_at("203.0.113.1"):
        assert await by_password(identity, settled, username, PASSWORD) is not None
    hashes = passwords.HASH_POOL.run_count
    with client_at("203.0.113.2"):
        for number in range(2):
            assert await by_password(identity, settled, f"nobody-{number}@example.org", "wrong") is None
        texts = []
        for guess in ("wrong", PASSWORD, "wrong", PASSWORD):
            with pytest.raises(RateLimited) as refused:
                await by_password(identity, settled, username, guess)
            texts.append(str(refused.value))
    assert len({*texts}) == 1
    assert passwords.HASH_POOL.run_count == hashes + 2
    with client_at("203.0.113.1"):
        assert await by_password(identity, settled, username, PASSWORD) is not None


async def test_a_right_password_that_has_to_wait_is_neither_answered_nor_charged(settled: Tenant) -> None:
    """After wrong guesses, its own address waits: a guesser there learns nothing, and empties no budget."""
    username = "waits-at-home@example.org"
    await settled.add_account(username)
    identity, budgets = identity_of(settled, 100 * PASSWORD_HASH_WEIGHT)
    identity.remembered.hears_changes = lambda: True
    with client_at("203.0.113.3"):
        principal = await by_password(identity, settled, username, PASSWORD)
        assert principal is not None
        before = await budgets.charge(principal, 0)
        for _ in range(FREE_ATTEMPTS):
            assert await by_password(identity, settled, username, "wrong") is None
        texts = []
        for guess in ("wrong", PASSWORD, "wrong", PASSWORD):
            with pytest.raises(RateLimited) as refused:
                await by_password(identity, settled, username, guess)
            texts.append(str(refused.value))
        assert len({*texts}) == 1
        after = await budgets.charge(principal, 0)
    assert before is not None
    assert after is not None
    assert after.remaining == before.remaining


LOG_INS = 2
"""The log-ins of an address in these tests. Time refills none."""


def limited_identity(tenant: Tenant, capacity: int) -> CredentialLookup:
    """Return a look-up that remembers nothing, with low limits of addresses."""
    identity, _ = identity_of(tenant, capacity)
    identity._address_limits = AddressLimits(
        {AddressPolicy.LOGIN: Allowance(LOG_INS, 0.001)}, LocalBucketStore(Clock(NOW))
    )
    return identity


async def forget_sources(tenant: Tenant) -> None:
    """Let all addresses and devices be unknown, as after many log-ins from elsewhere."""
    async with tenant.gateway.database.session(RowScope(tenant.application_id)) as session:
        rows = Rows(session, tenant.application_id, now=NOW)
        await rows.delete(LoginSource, col(LoginSource.source_id) != "")
        await session.commit()


@pytest.mark.parametrize("network", [None, "2001:db8:7::"])
async def test_right_password_that_the_budget_refuses_is_not_charged_to_its_address(
    settled: Tenant, network: str | None
) -> None:
    username = f"refused-by-budget-{'ipv6' if network else 'ipv4'}@example.org"
    await settled.add_account(username)
    identity = limited_identity(settled, PASSWORD_HASH_WEIGHT + 10)
    with client_at("203.0.113.20" if network is None else "2001:db8:7:1::", network):
        assert await by_password(identity, settled, username, PASSWORD) is not None
        await forget_sources(settled)
        for _ in range(2 * LOG_INS):
            with pytest.raises(RateLimited, match="login"):
                await by_password(identity, settled, username, PASSWORD)
        for _ in range(LOG_INS):
            assert await by_password(identity, settled, username, "wrong") is None
        with pytest.raises(RateLimited, match="address-login"):
            await by_password(identity, settled, username, "wrong")


@pytest.mark.parametrize("password", [PASSWORD, "wrong"])
async def test_password_that_is_not_hashed_is_not_charged_to_its_address(
    settled: Tenant, password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While too many hashes wait, neither a right nor a wrong password is answered."""
    username = f"not-hashed-{password[0]}@example.org"
    await settled.add_account(username)
    identity, may_end = limited_identity(settled, 100 * PASSWORD_HASH_WEIGHT), Event()
    busy = passwords.HashPool(threads=1, max_waiting=0)
    running = asyncio.create_task(busy.run(may_end.wait))
    await asyncio.sleep(0)
    with client_at("203.0.113.21"):
        with monkeypatch.context() as patch:
            patch.setattr(passwords, "HASH_POOL", busy)
            for _ in range(2 * LOG_INS):
                with pytest.raises(Unavailable):
                    await by_password(identity, settled, username, password)
        may_end.set()
        await running
        for _ in range(LOG_INS):
            assert await by_password(identity, settled, username, "wrong") is None


HASH_AND_OPERATION = PASSWORD_HASH_WEIGHT + 500


@pytest.mark.parametrize(("refill", "is_remembered"), [(1.0, False), (1.0, True), (1_000.0, True)])
async def test_refusal_covers_the_hash_that_the_next_attempt_pays_again(
    settled: Tenant, refill: float, is_remembered: bool
) -> None:
    """A password is remembered for 5 seconds only. With the high refill, the next attempt comes before that."""
    clock = Clock(NOW)
    budgets = Budgets(BudgetLimits(Allowance(2 * HASH_AND_OPERATION, refill), None), LocalBucketStore(clock))
    settings = Settings(_env_file=None, database_url="sqlite:///unused.sqlite3")
    identity = create_identity(settings, settled.gateway.database, UNLIMITED_ADDRESSES, budgets)
    identity.remembered.hears_changes = lambda: is_remembered
    principal = await by_password(identity, settled, settled.username, PASSWORD)
    assert principal is not None
    await budgets.charge_done(principal, 2 * HASH_AND_OPERATION - PASSWORD_HASH_WEIGHT)
    refused = await budgets.charge(principal, 400, paid=100)
    assert refused is not None
    expected = 500 if refill > 1 else HASH_AND_OPERATION
    assert (refused.granted, refused.cost, refused.retry_after) == (False, expected, ceil(expected / refill))
    _, error = await budgets.charge_refused(principal, 500, loaded_units=0)
    assert error.retry_after == refused.retry_after
    unrelated = await budgets.charge(principal, 500)
    assert unrelated is not None
    assert unrelated.cost == 500
    identity.forget()
    clock.now += timedelta(seconds=ceil(HASH_AND_OPERATION / refill))
    assert await by_password(identity, settled, settled.username, PASSWORD) is not None
    granted = await budgets.charge(principal, 400, paid=100)
    assert granted is not None
    assert granted.granted


async def test_hash_and_operation_above_a_full_budget_cost_too_much(settled: Tenant) -> None:
    identity, budgets = identity_of(settled, HASH_AND_OPERATION)
    principal = await by_password(identity, settled, settled.username, PASSWORD)
    assert principal is not None
    with pytest.raises(CostTooHigh, match=f"{HASH_AND_OPERATION + 1:,}"):
        await budgets.charge(principal, 501, paid=0)
    assert stated_budget() == {"r": "500"}
    balance, error = await budgets.charge_refused(principal, 501, loaded_units=0)
    assert isinstance(error, CostTooHigh)
    assert "t" not in rate_limit_headers(balance)["RateLimit"].split(";")[-1]


def stated_budget() -> dict[str, str]:
    """Return the parameters of the header RateLimit after the last charge."""
    _, *parameters = rate_limit_headers(CURRENT_BALANCE.get())["RateLimit"].split(";")
    return dict(parameter.split("=") for parameter in parameters)


@pytest.mark.parametrize("cost", [HASH_AND_OPERATION - 499, HASH_AND_OPERATION + 1])
async def test_cost_above_a_full_budget_states_no_wait(settled: Tenant, cost: int) -> None:
    """No time lets it pass: it is too high together with a hash, or by itself."""
    identity, budgets = identity_of(settled, HASH_AND_OPERATION)
    principal = await by_password(identity, settled, settled.username, PASSWORD)
    assert principal is not None
    await budgets.charge_done(principal, 400)
    with pytest.raises(CostTooHigh) as refused:
        await budgets.charge(principal, cost, paid=0)
    assert refused.value.retry_after is None
    assert stated_budget() == {"r": "100"}
