"""Quotas of stored records: every model has one or a reason, and `Rows.add` enforces them all."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from tests.support.house import House, Tenant, house, tenant_on
from tests.support.refusals import refusal_of, refusals
from tests.support.scopes import EVERYTHING
from wattgate.clock import utc_now
from wattgate.db import models
from wattgate.db.models import Tenanted
from wattgate.db.models.tenancy import NoQuota, Quota
from wattgate.db.rows.quotas import QuotaChecker
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.tenancy_guard import tenanted_models
from wattgate.errors import QuotaExceeded
from wattgate.operations.homes.home_resources import MAX_ATTRIBUTES_BYTES

ACTION = """mutation ($type: ID!) { createUserAction(input: {userActionTypeId: $type, data: {}}) {
    ... on UserAction { userActionId }
    ...Refused } }"""
ACTION_TYPE = """mutation { createUserActionType(input: {name: "quota", description: "d"}) {
    ... on UserActionType { userActionTypeId }
    ...Refused } }"""


Quotas = Mapping[type[Tenanted], Quota]


def test_every_model_of_tenants_has_a_quota_or_a_reason() -> None:
    known = list(tenanted_models())
    assert len(known) > 50
    for model in known:
        assert isinstance(model.__dict__.get("quota"), Quota | NoQuota), model
        if isinstance(model.quota, NoQuota):
            assert model.quota.reason.endswith("."), model


def test_every_quota_limits_something() -> None:
    for model in tenanted_models():
        if not isinstance(quota := model.quota, Quota):
            continue
        limits = [quota.per_user, quota.per_application, quota.per_parent and quota.per_parent[1]]
        assert quota.grows_with_users or any(limits), model
        assert all(limit is None or limit > 0 for limit in limits), model
        assert quota.per_user is None or model.owner is not None, model
        assert quota.per_parent is None or quota.per_parent[0] in model.__table__.columns, model  # type: ignore[attr-defined]


class Shelf:
    """Rows of a tenant that check some quotas."""

    def __init__(self, session: AsyncSession, tenant: Tenant, checker: QuotaChecker | None) -> None:
        self.rows = Rows(session, tenant.application_id, now=utc_now(), quotas=checker)

    async def add_types(self, count: int) -> None:
        for number in range(count):
            await self.rows.add(models.PromptType(name=f"type {number}"))


def checker(quotas: Quotas, application_records: int = 0) -> QuotaChecker:
    return QuotaChecker(application_records, quotas=quotas)


@pytest.fixture
async def tenant(tmp_path: Path) -> Any:
    async with tenant_on(f"sqlite:///{tmp_path / 'quotas.sqlite3'}") as settled:
        yield settled


@pytest.mark.parametrize("used", [0, 1, 40])
async def test_application_gets_exactly_its_quota(tenant: Tenant, used: int) -> None:
    async with tenant.gateway.database.session(EVERYTHING) as session:
        await Shelf(session, tenant, None).add_types(used)
        stored = await Rows(session, tenant.application_id, now=utc_now()).count(models.PromptType)
        limited = Shelf(
            session, tenant, checker({models.PromptType: Quota("prompt types", per_application=stored + 50)})
        )
        await limited.add_types(50)
        with pytest.raises(QuotaExceeded, match=f"has {stored + 50} prompt types, which is its quota"):
            await limited.add_types(1)


async def test_setting_limits_records_that_grow_with_users(tenant: Tenant) -> None:
    quotas: Quotas = {models.PromptType: Quota("prompt types", grows_with_users=True)}
    async with tenant.gateway.database.session(EVERYTHING) as session:
        await Shelf(session, tenant, checker(quotas, 0)).add_types(20)
        with pytest.raises(QuotaExceeded, match="WATTGATE_APPLICATION_RECORDS"):
            await Shelf(session, tenant, checker(quotas, 15)).add_types(1)


async def test_quota_of_a_user_does_not_count_the_records_of_others(tenant: Tenant) -> None:
    quotas: Quotas = {models.DfsUser: Quota("enrolments", per_user=2)}
    async with tenant.gateway.database.session(EVERYTHING) as session:
        rows = Shelf(session, tenant, checker(quotas)).rows
        first, second = [(await rows.add(models.User())).user_id for _ in range(2)]
        for user_id in (first, second):
            for number in range(2):
                await rows.add(models.DfsUser(user_id=user_id, mpxn=f"{user_id}{number}"))
        with pytest.raises(QuotaExceeded, match="The user has 2 enrolments, which is the quota for each user"):
            await rows.add(models.DfsUser(user_id=first, mpxn="one more"))


async def test_quota_of_a_parent_record(tenant: Tenant) -> None:
    quotas: Quotas = {models.LanguageContent: Quota("languages", per_parent=("content_id", 2))}
    async with tenant.gateway.database.session(EVERYTHING) as session:
        rows = Shelf(session, tenant, checker(quotas)).rows
        contents = [await rows.add(models.Content(reference="a", name=name)) for name in ("first", "second")]
        for content in contents:
            for language in ("en", "de"):
                await rows.add(models.LanguageContent(content_id=content.content_id, culture_code=language))
        with pytest.raises(QuotaExceeded, match="The content has 2 languages, which is the quota for each content"):
            await rows.add(models.LanguageContent(content_id=contents[0].content_id, culture_code="fr"))


@pytest.fixture
async def served(tmp_path: Path) -> Any:
    async with house(f"sqlite:///{tmp_path / 'served.sqlite3'}") as gateway:
        yield gateway


async def test_user_actions_are_limited_and_those_above_stay_readable(served: House) -> None:
    headers = served.one.headers["account"]
    added = await served.graphql(ACTION_TYPE, served.one.headers["application"])
    type_id = added["data"]["createUserActionType"]["userActionTypeId"]
    quota = models.UserAction.quota
    assert isinstance(quota, Quota)
    assert quota.per_user is not None
    limit = quota.per_user
    async with served.gateway.database.session(EVERYTHING) as session:
        rows = Rows(session, served.one.application_id, now=utc_now())
        for _ in range(limit + 5):
            await rows.add(models.UserAction(user_id=served.one.user_id, user_action_type_id=type_id, data={}))
        await session.commit()
    refused = await served.graphql(ACTION, headers, type=type_id)
    assert refusal_of(refused)["code"] == "QUOTA_EXCEEDED"
    assert "user actions" in refusal_of(refused)["message"]
    assert len((await served.call("GET", "/useraction", headers)).json()) >= limit + 5


async def test_attributes_of_a_home_do_not_grow_without_end(served: House) -> None:
    headers, home = served.one.headers["account"], served.one.ids["virtual_entity"]
    text = (
        "mutation ($id: ID!, $value: JSON!) { setHomeAttributes(homeId: $id, attributes: $value) {"
        " ... on Home { homeId } ...Refused } }"
    )
    half = "x" * (MAX_ATTRIBUTES_BYTES // 2)
    assert not refusals(await served.graphql(text, headers, id=home, value={"first": half}))
    refused = await served.graphql(text, headers, id=home, value={"second": half})
    assert refusal_of(refused)["code"] == "TOO_LARGE"
    assert not refusals(await served.graphql(text, headers, id=home, value={"first": "short"}))
    assert not refusals(await served.graphql(text, headers, id=home, value={"second": half}))


async def test_attributes_that_are_too_large_already_may_shrink(served: House) -> None:
    headers, home = served.one.headers["account"], served.one.ids["virtual_entity"]
    async with served.gateway.database.session(EVERYTHING) as session:
        record = await Rows(session, served.one.application_id, now=utc_now()).edit(models.VirtualEntity, home)
        record.attributes = {"first": "x" * MAX_ATTRIBUTES_BYTES, "second": "x" * MAX_ATTRIBUTES_BYTES}
        await session.commit()
    text = (
        "mutation ($id: ID!, $value: JSON!) { setHomeAttributes(homeId: $id, attributes: $value) {"
        " ... on Home { homeId } ...Refused } }"
    )
    assert not refusals(await served.graphql(text, headers, id=home, value={"second": "short"}))
    refused = await served.graphql(text, headers, id=home, value={"third": "more"})
    assert refusal_of(refused)["code"] == "TOO_LARGE"
