"""Quotas while transactions of a process run at the same time, which do not see the records of each other.

SQLite runs one transaction that writes at a time.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from tests.support.house import Tenant
from tests.support.residents import resident
from tests.support.scopes import EVERYTHING
from tests.support.servers import ON_POSTGRESQL_ONLY
from wattgate.clock import utc_now
from wattgate.db import models
from wattgate.db.models import Tenanted
from wattgate.db.models.tenancy import Quota
from wattgate.db.rows.pages import Condition
from wattgate.db.rows.quotas import QuotaChecker
from wattgate.db.rows.rows import M, Rows
from wattgate.errors import QuotaExceeded

pytestmark = ON_POSTGRESQL_ONLY

AT_ONCE = 40


@asynccontextmanager
async def transaction(tenant: Tenant, checker: QuotaChecker | None) -> AsyncIterator[tuple[AsyncSession, Rows]]:
    async with tenant.gateway.database.session(EVERYTHING) as session:
        yield session, Rows(session, tenant.application_id, now=utc_now(), quotas=checker)


async def stored(tenant: Tenant, model: type[Tenanted], *where: Any) -> int:
    async with transaction(tenant, None) as (_, rows):
        return await rows.count(model, *where)


async def test_a_record_that_is_not_committed_yet_counts_for_each_kind_of_limit(settled: Tenant) -> None:
    who = await resident(settled)
    async with transaction(settled, None) as (session, rows):
        content = await rows.add(models.Content(reference="a", name="a"))
        await session.commit()
    prompt_types = await stored(settled, models.PromptType)
    parent = {"content_id": content.content_id}
    cases: dict[str, tuple[type[Tenanted], Quota, list[dict[str, str]]]] = {
        "user": (models.DfsUser, Quota("n", per_user=1), [{"user_id": who.user_id, "mpxn": str(n)} for n in range(3)]),
        "parent": (
            models.LanguageContent,
            Quota("n", per_parent=("content_id", 1)),
            [{**parent, "culture_code": code} for code in ("en", "de", "fr")],
        ),
        "application": (
            models.PromptType,
            Quota("n", per_application=prompt_types + 1),
            [{"name": str(n)} for n in range(3)],
        ),
    }
    for name, (model, quota, values) in cases.items():
        checker = QuotaChecker(0, quotas={model: quota})
        first, second, third = [model(**of_record) for of_record in values]
        async with transaction(settled, checker) as (earlier, of_earlier), transaction(settled, checker) as (_, others):
            await of_earlier.add(first)
            with pytest.raises(QuotaExceeded):
                await others.add(second)
            await earlier.rollback()  # gives its place back
            await others.add(third)
            assert len(checker.unfinished) == 1, name
        assert len(checker.unfinished) == 0, name


@pytest.mark.parametrize("free", [1, 5])
async def test_forty_at_once_leave_exactly_the_quota(settled: Tenant, free: int) -> None:
    """Some of them end without a commit, and give their place to later ones."""
    who, before = await resident(settled), 3
    checker = QuotaChecker(0, quotas={models.DfsUser: Quota("enrolments", per_user=before + free)})
    own = col(models.DfsUser.user_id) == who.user_id

    async def add(number: int, *, commits: bool = True) -> bool:
        async with transaction(settled, checker) as (session, rows):
            try:
                await rows.add(models.DfsUser(user_id=who.user_id, mpxn=str(number)))
            except QuotaExceeded:
                return False
            if commits:
                await session.commit()
            return commits

    for number in range(before):
        assert await add(number)
    added = await asyncio.gather(*(add(100 + n, commits=n % 4 != 0) for n in range(AT_ONCE)))
    assert await stored(settled, models.DfsUser, own) == before + sum(added) <= before + free
    for number in range(free - sum(added)):
        assert await add(200 + number)
    assert not await add(300)
    assert await stored(settled, models.DfsUser, own) == before + free
    assert len(checker.unfinished) == 0


class Interrupted(Rows):
    """Rows in whose first count another transaction commits, after the database has counted."""

    other: AsyncSession | None = None

    async def count_in_application(self, model: type[M], *where: Condition, limit: int | None = None) -> int:
        counted = await super().count_in_application(model, *where, limit=limit)
        if self.other is not None:
            other, self.other = self.other, None
            await other.commit()
        return counted


@pytest.mark.parametrize("maximum", [1, 2])
async def test_a_commit_during_a_count_is_counted_once(settled: Tenant, maximum: int) -> None:
    who = await resident(settled)
    quotas: Mapping[type[Tenanted], Quota] = {models.DfsUser: Quota("enrolments", per_user=maximum)}
    checker = QuotaChecker(0, quotas=quotas)
    async with transaction(settled, checker) as (earlier, of_earlier), transaction(settled, checker) as (session, _):
        await of_earlier.add(models.DfsUser(user_id=who.user_id, mpxn="1"))
        rows = Interrupted(session, settled.application_id, now=utc_now(), quotas=checker)
        rows.other = earlier
        enrolment = models.DfsUser(user_id=who.user_id, mpxn="2")
        if maximum == 1:
            with pytest.raises(QuotaExceeded):
                await rows.add(enrolment)
        else:
            await rows.add(enrolment)
            await session.commit()
    assert await stored(settled, models.DfsUser, col(models.DfsUser.user_id) == who.user_id) == maximum


async def test_an_application_that_was_not_counted_yet_gets_exactly_its_quota(settled: Tenant) -> None:
    """Many transactions at once count it for the first time, with records of their own that others do not see."""
    before = await stored(settled, models.PromptType)
    quota = Quota("prompt types", per_application=before + 50)
    checker = QuotaChecker(0, quotas={models.PromptType: quota})

    async def add_four(number: int) -> int:
        async with transaction(settled, checker) as (session, rows):
            for part in range(4):
                try:
                    await rows.add(models.PromptType(name=f"{number} {part}"))
                except QuotaExceeded:
                    await session.commit()
                    return part
            await session.commit()
            return 4

    added = sum(await asyncio.gather(*(add_four(number) for number in range(AT_ONCE))))
    assert await stored(settled, models.PromptType) == before + added <= before + 50
    for number in range(50 - added):
        assert await add_four(1_000 + number) in (0, 1, 2, 3, 4)
    assert await stored(settled, models.PromptType) == before + 50
