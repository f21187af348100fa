"""The charge of password hashes of Basic credentials: the account pays for a right one, the address for a wrong one."""

from contextlib import nullcontext
from typing import Any

import pytest
from sqlmodel import col

from tests.support.house import PASSWORD, Tenant
from tests.support.timed import NOW, Clock
from wattgate.app.server.gate.identity import create_identity
from wattgate.app.settings import Settings
from wattgate.db.identity import passwords
from wattgate.db.identity.credentials import CredentialLookup
from wattgate.db.models import Account
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import RowScope
from wattgate.errors import RateLimited, SecondFactorRequired
from wattgate.operations.vocabulary.cost_weights import PASSWORD_HASH_WEIGHT
from wattgate.principal import Principal
from wattgate.rate_limit.budgets import Budgets, LocalBucketStore
from wattgate.rate_limit.scopes import Allowance, BudgetLimits
from wattgate.requests.client import UNLIMITED_ADDRESSES


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
