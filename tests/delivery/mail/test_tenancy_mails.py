"""The mail to a household whose tenancy ended because another user moved in."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from sqlmodel import col
from strawberry import ID

from tests.support import people
from tests.support.house import PASSWORD, Tenant
from tests.support.metering import metered
from tests.support.outbox import Post, Recorder
from tests.support.residents import resident
from wattgate.app.workers.deliveries import DeliveryHandler
from wattgate.db.models import AccountMail, Delivery
from wattgate.delivery.account_mails import TENANCY_ENDED
from wattgate.delivery.channels.channel import OutboundMessage
from wattgate.enums import DeliveryKind, DeliveryState
from wattgate.operations.accounts import accounts, users
from wattgate.operations.messages import mail
from wattgate.operations.moves import meter_point_moves, resource_changes
from wattgate.operations.types.homes.meter_points import ResourceChange
from wattgate.operations.types.homes.resources import NewResource
from wattgate.operations.types.homes.virtual_entities import VirtualEntityChange
from wattgate.operations.types.identity import accounts as account_types
from wattgate.operations.types.users import users as user_types
from wattgate.principal import Principal

TITLE = "Your time at a meter point has ended"
MOVED_IN = datetime(2026, 7, 1, 22, 30, tzinfo=UTC)


class Notices:
    """The outbox of a tenant, and the mails about ended tenancies in it."""

    def __init__(self, post: Post) -> None:
        self.post = post

    async def move(self, mpxn: str, to: Tenant) -> None:
        arguments = {"mpxn": mpxn, "user_id": to.user_id, "moved_in_at": MOVED_IN}
        await self.post.runner.run(meter_point_moves.move_meter_point, to_application(to), arguments)

    async def deliver(self) -> list[OutboundMessage]:
        """Send all due mails of accounts, and return them."""
        channel = Recorder()
        handler = DeliveryHandler(mail.prepare_account_mail, channel, mail.record_account_mail_outcome)
        await self.post.worker_with({DeliveryKind.ACCOUNT_MAIL: handler}).deliver_due()
        return channel.given

    async def states(self, who: Tenant) -> list[DeliveryState]:
        """Return the states of the notices to a user."""
        notices = col(AccountMail.user_id) == who.user_id, col(AccountMail.name) == TENANCY_ENDED
        mails = {sent.account_mail_id for sent in await self.post.rows(AccountMail, *notices)}
        return [delivery.state for delivery in await self.post.rows(Delivery, col(Delivery.target_id).in_(mails))]


def to_application(who: Tenant) -> Principal:
    return replace(who.system, user_id=None)


@pytest.fixture
async def notices(settled: Tenant) -> Notices:
    post = Post(settled)
    await post.clear()
    return Notices(post)


@pytest.fixture
async def ada(settled: Tenant) -> Tenant:
    return await resident(settled)


@pytest.fixture
async def bob(settled: Tenant) -> Tenant:
    return await resident(settled)


async def test_each_address_of_the_former_household_gets_a_mail_without_the_next_one(
    notices: Notices, ada: Tenant, bob: Tenant
) -> None:
    """Ada's household has a second account, and one with the same address. It lives in Paris and reads French."""
    point = await metered(ada)
    home_id = await ada.add_home(point.resource_id)
    await ada.run("update_virtual_entity", ve_id=ID(home_id), input=VirtualEntityChange(time_zone="Europe/Paris"))
    await ada.run("update_user", user_id=ID(ada.user_id), input=user_types.UserChange(culture_code="fr-FR"))
    second = f"{uuid4().hex}@second.example"
    await ada.add_account(second)
    same = account_types.NewAccount(
        username=uuid4().hex, user_id=ID(ada.user_id), password=PASSWORD, email=ada.username
    )
    await ada.run("add_account", input=same)
    await notices.move(point.mpxn, bob)
    mails = await notices.deliver()
    assert sorted(sent.addresses for sent in mails) == sorted([(ada.username,), (second,)])
    for sent in mails:
        assert sent.content.subject == "Votre période à un point de comptage est terminée"
        for text in (sent.content.text, sent.content.html or ""):
            assert point.mpxn in text
            assert "2 juillet 2026" in text  # half past midnight in Paris
            assert "00:30" in text
            for secret in (bob.username, bob.user_id, bob.account_id):
                assert secret not in text


@pytest.mark.parametrize("way", ["closed", "erased", "first"])
async def test_a_household_that_knows_gets_no_mail(notices: Notices, ada: Tenant, bob: Tenant, way: str) -> None:
    point = await metered(ada)
    if way == "closed":
        change = {"resource_id": ID(point.resource_id), "input": ResourceChange(active=False)}
        await notices.post.runner.run(resource_changes.update_resource, ada.system, change)
    elif way == "erased":
        await notices.post.runner.run(users.delete_user, to_application(ada), {"user_id": ID(ada.user_id)})
    if way != "first":
        resource = NewResource(resource_type_id=ID(bob.ids["resource_type"]), name="electricity", mpxn=point.mpxn)
        await bob.run("add_resource", input=resource)
    assert await notices.deliver() == []
    assert await notices.states(ada) == []


async def test_the_mail_is_sent_only_to_an_address_that_is_still_the_users(
    notices: Notices, ada: Tenant, bob: Tenant
) -> None:
    """One account is closed meanwhile, one gets another address, and one has unsubscribed."""
    point = await metered(ada)
    names = [f"{uuid4().hex}@{kind}.example" for kind in ("closed", "changed", "left")]
    ids = [await ada.add_account(name) for name in names]
    await notices.move(point.mpxn, bob)
    await ada.run("delete_account", account_id=ID(ids[0]))
    who = {"username": names[1], "userId": ada.user_id, "accountId": ids[1]}
    token = await people.email_change_token(ada, who, f"{uuid4().hex}@new.example")
    await people.anonymously(ada, accounts.confirm_email_change, token=token)
    (left,) = await notices.post.rows(Delivery, col(Delivery.address) == names[2])
    await notices.post.runner.run(mail.unsubscribe, to_application(ada), {"delivery_id": left.delivery_id})
    assert [sent.addresses for sent in await notices.deliver() if TITLE in str(sent)] == [(ada.username,)]
    assert (await notices.states(ada)).count(DeliveryState.FAILED) == 3
