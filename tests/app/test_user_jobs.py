"""The worker of erasures and exports: messages that wait, workers that die, and records that arrive late."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col
from strawberry import ID

from tests.support import people
from tests.support.encryption import key, ring
from tests.support.house import Tenant, settle, tenant_on
from tests.support.outbox import Post, Recorder
from tests.support.servers import Databases
from wattgate.app.workers.deliveries import DeliveryHandler
from wattgate.app.workers.delivery_handlers import OutboxChannel
from wattgate.app.workers.user_jobs import JobPolicy, process_jobs
from wattgate.db import models
from wattgate.db.personal_data.erasure_list import ErasureList, ErasureListError, ListedErasure
from wattgate.delivery.channels.channel import OutboundMessage, Outcome, Sent, TemporaryFailure
from wattgate.delivery.channels.mail import SenderProfile
from wattgate.delivery.mail_addresses import parse_mailbox
from wattgate.enums import Channel, DeliveryKind, JobState
from wattgate.errors import Unavailable
from wattgate.operations.accounts import users
from wattgate.operations.alerts import alerts
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.messages import mail
from wattgate.operations.personal_data import data_exports, erasures
from wattgate.operations.types.messages import alerts as alert_types
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Permission, Principal, Role

POLICY = JobPolicy(billing_retention_days=30, export_lifetime_hours=1)
MANY = 1_200
"""More records than a batch erases."""


@pytest.fixture(scope="module")
async def tenant(databases: Databases) -> AsyncIterator[Tenant]:
    async with databases() as url, tenant_on(url) as settled:
        yield settled


@pytest.fixture
async def post(tenant: Tenant) -> Post:
    """An outbox without waiting messages, and no waiting jobs."""
    post_office = Post(tenant)
    await post_office.clear()
    await finish(post_office)
    return post_office


def system(tenant: Tenant, user_id: str | None = None) -> Principal:
    return Principal(Role.SYSTEM, application_id=tenant.application_id, user_id=user_id)


async def count(post: Post, model: Any, user_id: str) -> int:
    async def query(rows: Any) -> int:
        return int(await rows.count(model, col(model.user_id) == user_id))

    return int(await post.runner.read(system(post.tenant), Permission.SYSTEM, query))


async def send_alert(post: Post, user_id: str) -> None:
    alert = alert_types.NewAlert(
        user_id=ID(user_id), alert_type_id="CM01", channels=[Channel.EMAIL], data=Json({"name": "Xyzzyq"})
    )
    await post.runner.run(alerts.send_alert, system(post.tenant), {"input": alert})


async def erase(post: Post, user_id: str) -> None:
    await post.runner.run(users.delete_user, system(post.tenant), {"user_id": user_id})


class _ErasingChannel:
    """A channel during whose attempt the user is erased, before it ends with an outcome."""

    def __init__(self, post: Post, user_id: str, inner: Any) -> None:
        self.post, self.user_id, self.inner = post, user_id, inner

    async def send(self, outgoing: OutboundMessage) -> Outcome:
        await erase(self.post, self.user_id)
        return await self.inner.send(outgoing)  # type: ignore[no-any-return]


async def test_waiting_messages_are_withdrawn(post: Post) -> None:
    user_id = (await people.active(post.tenant))["userId"]
    await send_alert(post, user_id)
    assert await count(post, models.Delivery, user_id) == 1
    await erase(post, user_id)
    recorder = Recorder()
    assert await post.worker(recorder, DeliveryKind.EMAIL).deliver_due() == 0
    assert recorder.given == []


@pytest.mark.long("an attempt at each step; other attempts stay in the short form")
@pytest.mark.parametrize("outcome", [Sent(), TemporaryFailure("the server is busy")])
async def test_message_in_the_middle_of_an_attempt_leaves_no_record(post: Post, outcome: Outcome) -> None:
    user_id = (await people.active(post.tenant))["userId"]
    await send_alert(post, user_id)
    channel = _ErasingChannel(post, user_id, Recorder(outcome))
    assert await post.worker(channel, DeliveryKind.EMAIL).deliver_due() == 1
    await finish(post)
    for model in (models.Delivery, models.Notification, models.NotificationLog, models.Alert, models.WebhookEvent):
        assert await count(post, model, user_id) == 0, model


async def test_mail_is_not_kept_for_an_erased_user(post: Post) -> None:
    user_id = (await people.active(post.tenant))["userId"]
    await send_alert(post, user_id)
    outbox = OutboxChannel(post.runner, SenderProfile(parse_mailbox("Energy <energy@example.org>")))
    assert await deliver_mail(post, outbox) == 1
    assert await count(post, models.KeptMail, user_id) == 1
    await send_alert(post, user_id)
    assert await deliver_mail(post, _ErasingChannel(post, user_id, outbox)) == 1
    await finish(post)
    assert await count(post, models.KeptMail, user_id) == 0


async def deliver_mail(post: Post, channel: Any) -> int:
    handler = DeliveryHandler(mail.prepare_mail, channel, mail.record_mail_outcome)
    return await post.worker_with({DeliveryKind.EMAIL: handler}).deliver_due()


async def finish(post: Post) -> None:
    """Run all jobs that wait."""
    async with asyncio.timeout(120):
        while await process_jobs(post.runner, POLICY, post.clock):
            pass


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def add_actions(call: Call, *, user_id: str, number: int) -> int:
    """Add many actions of a user, as a request of an app that is late."""
    action_type = await call.rows.first(models.UserActionType)
    assert action_type is not None
    for _ in range(number):
        await call.rows.add(
            models.UserAction(user_id=user_id, user_action_type_id=action_type.user_action_type_id, data={"said": "x"})
        )
    return number


async def test_erasure_of_a_worker_that_died_continues(post: Post) -> None:
    """Each batch is stored with its position. Another worker continues when the lease has ended, not before."""
    user_id = (await people.active(post.tenant))["userId"]
    await post.runner.run(add_actions, system(post.tenant), {"user_id": user_id, "number": MANY})
    await erase(post, user_id)
    work = await post.runner.run(erasures.claim_erasure, system(post.tenant), {"retention_days": 30})
    assert await post.runner.run(erasures.erase_batch, system(post.tenant), {"erasure_id": work.erasure_id})
    remaining = await count(post, models.UserAction, user_id)
    assert 0 < remaining < MANY
    running = await post.runner.run(erasures.erasure, system(post.tenant), {"user_id": user_id})
    assert (running.state, 0 < running.progress < 1, running.tables) == (JobState.RUNNING, True, [])
    assert not await process_jobs(post.runner, POLICY, post.clock)
    post.pass_time(erasures.LEASE)
    await finish(post)
    done = await post.runner.run(erasures.erasure, system(post.tenant), {"user_id": user_id})
    assert (done.state, done.progress) == (JobState.DONE, 1.0)
    assert {entry.table: entry.records for entry in done.tables}["user_action"] == MANY
    assert await count(post, models.UserAction, user_id) == 0


async def test_erasure_waits_until_the_list_outside_the_database_has_it(post: Post, tmp_path: Path) -> None:
    """A folder that is missing stands for each reason why nothing can be written. Other jobs go on meanwhile."""
    user_id = (await people.active(post.tenant))["userId"]
    listed = ErasureList(tmp_path / "folder" / "erasures", ring(key("a")))
    policy = replace(POLICY, erasure_list=listed)
    work = partial(process_jobs, post.runner, policy, post.clock)

    async def states() -> list[JobState]:
        done = await post.runner.run(erasures.erasure, system(post.tenant), {"user_id": user_id})
        exports = await post.rows(models.DataExport, col(models.DataExport.user_id) == post.tenant.user_id)
        return [done.state, *(one.state for one in exports)]

    await erase(post, user_id)
    await post.runner.run(data_exports.export_my_data, post.tenant.account, {})
    for _ in range(2):
        with pytest.raises(ErasureListError, match="Nothing can be added to the erasure list"):
            await work()
        assert await states() == [JobState.QUEUED, JobState.DONE]
    listed.file.parent.mkdir()
    (erased,) = await post.rows(models.Erasure, col(models.Erasure.user_id) == user_id)
    entry = ListedErasure(post.tenant.application_id, user_id, erased.created_at)
    listed.append([entry])  # by a process that died before it could store that
    assert await work()
    assert (await states())[0] is JobState.QUEUED
    await asyncio.gather(
        work(),
        process_jobs(post.runner, replace(policy, erasure_list=ErasureList(listed.file, ring(key("a")))), post.clock),
    )
    while await work():
        pass
    assert (await states())[0] is JobState.DONE
    assert listed.read().erasures[user_id] == entry
    assert listed.file.read_text().count(user_id) == 1
    assert await post.rows(models.Erasure, col(models.Erasure.listed_at).is_(None)) == []


async def test_records_that_arrive_late_are_erased_by_the_check(post: Post) -> None:
    user_id = (await people.active(post.tenant))["userId"]
    await erase(post, user_id)
    await finish(post)
    await post.runner.run(add_actions, system(post.tenant), {"user_id": user_id, "number": 1})
    post.pass_time(erasures.CHECK_AFTER)
    await finish(post)
    assert await count(post, models.UserAction, user_id) == 0


async def test_a_second_erasure_changes_nothing(post: Post) -> None:
    user_id = (await people.active(post.tenant))["userId"]
    await erase(post, user_id)
    await finish(post)
    first = await post.runner.run(erasures.erasure, system(post.tenant), {"user_id": user_id})
    await erase(post, user_id)
    await finish(post)
    assert await post.runner.run(erasures.erasure, system(post.tenant), {"user_id": user_id}) == first


async def test_export_of_a_worker_that_died_is_built_again(post: Post) -> None:
    """The parts of the first worker are dropped, and it can add no more."""
    tenant = post.tenant
    account = replace(tenant.account, user_id=(await people.active(tenant))["userId"])
    await post.runner.run(data_exports.export_my_data, account, {})
    claimed = await post.runner.run(data_exports.claim_export, system(tenant), {})
    stale = {"export_id": claimed.export_id, "attempt": claimed.attempt, "files": 3, "files_done": 1}
    assert await post.runner.run(data_exports.add_export_parts, system(tenant), {**stale, "contents": [b"old"]})
    post.pass_time(data_exports.LEASE)
    await finish(post)
    assert not await post.runner.run(data_exports.add_export_parts, system(tenant), {**stale, "contents": [b"old"]})
    part = await post.runner.run(data_exports.data_export_part, account, {})
    assert part.data.startswith(b"PK")


async def test_export_that_fails_does_not_delay_those_of_other_applications(post: Post) -> None:
    """The error of the failed one is raised at the end. It is built again when its lease ends."""
    tenants, failures = [post.tenant, await settle(post.tenant.gateway, "other-jobs")], [Unavailable("busy")]
    accounts = [replace(one.account, user_id=(await people.active(one))["userId"]) for one in tenants]
    for account in accounts:
        await post.runner.run(data_exports.export_my_data, account, {})

    def clock() -> datetime:
        if failures:
            raise failures.pop()
        return post.clock()

    async def states() -> list[JobState]:
        return [(await post.runner.run(data_exports.data_export, account, {})).state for account in accounts]

    with pytest.raises(Unavailable, match="busy"):
        await process_jobs(post.runner, POLICY, clock)
    assert set(await states()) == {JobState.RUNNING, JobState.DONE}
    post.pass_time(data_exports.LEASE)
    await finish(post)
    assert await states() == [JobState.DONE, JobState.DONE]


async def test_erasure_deletes_the_archive_and_stops_its_worker(post: Post) -> None:
    user_id = (await people.active(post.tenant))["userId"]
    account = replace(post.tenant.account, user_id=user_id)
    await post.runner.run(data_exports.export_my_data, account, {})
    claimed = await post.runner.run(data_exports.claim_export, system(post.tenant), {})
    parts = {"export_id": claimed.export_id, "attempt": claimed.attempt, "files": 3, "files_done": 1}
    assert await post.runner.run(data_exports.add_export_parts, system(post.tenant), {**parts, "contents": [b"old"]})
    await erase(post, user_id)
    assert not await post.runner.run(data_exports.add_export_parts, system(post.tenant), {**parts, "contents": [b"x"]})
    await finish(post)
    assert await count(post, models.DataExportPart, user_id) == 0
    assert await count(post, models.DataExport, user_id) == 0


async def test_export_that_stops_each_worker_fails(post: Post) -> None:
    user_id = (await people.active(post.tenant))["userId"]
    account = replace(post.tenant.account, user_id=user_id)
    await post.runner.run(data_exports.export_my_data, account, {})
    for _ in range(data_exports.MAX_ATTEMPTS + 1):
        await post.runner.run(data_exports.claim_export, system(post.tenant), {})
        post.pass_time(data_exports.LEASE + timedelta(seconds=1))
    state = await post.runner.run(data_exports.data_export, account, {})
    assert (state.state, state.reason) == (JobState.FAILED, "it was interrupted 5 times")
