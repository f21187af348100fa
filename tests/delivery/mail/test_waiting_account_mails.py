"""Account mails that wait when their account, their address or their reason ends: each pair of a mail and an end."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
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
from wattgate.db.models import AccountMail, Delivery, OneTimeCode
from wattgate.delivery import account_mails as mails
from wattgate.enums import DeliveryKind
from wattgate.operations.accounts import accounts, registration, user_changes, users
from wattgate.operations.core.operation import Operation
from wattgate.operations.homes import home_members
from wattgate.operations.messages import mail
from wattgate.operations.moves import meter_point_moves
from wattgate.operations.types.users.users import NewUser
from wattgate.principal import Principal, Role

NEW_PASSWORD = "battery staple"


@dataclass
class Holder:
    """A user with one account, whose mails wait in an outbox."""

    post: Post
    who: Tenant
    mpxn: str = ""

    @property
    def application(self) -> Principal:
        return replace(self.post.tenant.system, user_id=None)

    async def run(self, operation: Operation, **arguments: Any) -> Any:
        return await self.post.runner.run(operation, self.who.account, arguments)

    async def by_application(self, operation: Operation, **arguments: Any) -> Any:
        return await self.post.runner.run(operation, self.application, arguments)

    async def anonymously(self, operation: Operation, **arguments: Any) -> Any:
        anonymous = Principal(Role.ANONYMOUS, application_id=self.who.application_id)
        return await self.post.runner.run(operation, anonymous, arguments)

    async def sent(self, *names: str) -> list[tuple[str, str]]:
        """Send all due mails. Return the kind and the address of each of some kinds."""
        of_user = await self.post.rows(AccountMail, col(AccountMail.user_id) == self.who.user_id)
        kinds = {one.account_mail_id: one.name for one in of_user}
        waiting = await self.post.rows(Delivery, col(Delivery.target_id).in_(kinds))
        by_delivery = {one.delivery_id: kinds[one.target_id] for one in waiting}
        channel = Recorder()
        handler = DeliveryHandler(mail.prepare_account_mail, channel, mail.record_account_mail_outcome)
        await self.post.worker_with({DeliveryKind.ACCOUNT_MAIL: handler}).deliver_due()
        found = [(by_delivery.get(one.delivery_id, ""), one.addresses[0]) for one in channel.given]
        return [one for one in found if one[0] in names]


async def add_holder(post: Post) -> Holder:
    """Add a user with an account without an e-mail address. Its mails go to the username."""
    username = f"{uuid4().hex}@example.org"
    created = await post.run(users.add_user, input=NewUser(username=username, password=PASSWORD))
    account_id = str(created.applications[0].account_id)
    return Holder(post, replace(post.tenant, user_id=str(created.user_id), account_id=account_id, username=username))


async def register(holder: Holder) -> None:
    """Replace the user by a new registration, which is not verified."""
    name = f"{uuid4().hex}@example.org"
    arguments = {"name": "Ada", "username": name, "email": name, "password": PASSWORD}
    created = await holder.anonymously(registration.register, **arguments)
    account_id = str(created.applications[0].account_id)
    holder.who = replace(holder.who, user_id=str(created.user_id), account_id=account_id, username=name)


async def request_reset(holder: Holder) -> None:
    await holder.anonymously(registration.request_password_reset, username=holder.who.username)


async def request_address(holder: Holder) -> None:
    await holder.run(accounts.change_email, email=f"requested-{holder.who.username}")


async def confirm_address(holder: Holder) -> None:
    of_account = col(AccountMail.account_id) == holder.who.account_id
    if not await holder.post.rows(AccountMail, of_account, col(AccountMail.name) == mails.CONFIRM_EMAIL):
        await request_address(holder)
    code = await people.newest_code(holder.who, holder.who.account_id, mails.CONFIRM_EMAIL)
    await holder.anonymously(accounts.confirm_email_change, token=code)


async def change_password(holder: Holder) -> None:
    await holder.run(accounts.change_password, old_password=PASSWORD, new_password=NEW_PASSWORD)


async def move(holder: Holder, to: Tenant) -> None:
    holder.post.pass_time(timedelta(minutes=1))
    arguments = {"mpxn": holder.mpxn, "user_id": ID(to.user_id), "moved_in_at": holder.post.clock.now}
    await holder.by_application(meter_point_moves.move_meter_point, **arguments)


async def move_out(holder: Holder) -> None:
    holder.mpxn = (await metered(holder.who)).mpxn
    await move(holder, await resident(holder.post.tenant))


async def invite(holder: Holder) -> None:
    home = await holder.who.add_home()
    arguments = {"ve_id": ID(home), "name": "Grace", "email": f"invited-{holder.who.username}"}
    await holder.run(home_members.invite_home_member, **arguments)


async def erase(holder: Holder) -> None:
    await holder.by_application(users.delete_user, user_id=ID(holder.who.user_id))


async def close(holder: Holder) -> None:
    await holder.by_application(accounts.delete_account, account_id=ID(holder.who.account_id))


async def rename(holder: Holder) -> None:
    """Change the address as the application does, which is the username of an account without another one."""
    name = f"renamed-{holder.who.username}"
    await holder.by_application(user_changes.rename_user, user_id=ID(holder.who.user_id), username=name)


async def move_back(holder: Holder) -> None:
    await move(holder, holder.who)


Step = Callable[[Holder], Awaitable[None]]

QUEUED: Mapping[str, Step] = {
    mails.VERIFY: register,
    mails.RESET: request_reset,
    mails.CONFIRM_EMAIL: request_address,
    mails.EMAIL_CHANGE_REQUESTED: request_address,
    mails.EMAIL_CHANGED: confirm_address,
    mails.PASSWORD_CHANGED: change_password,
    mails.HOME_INVITATION: invite,
    mails.TENANCY_ENDED: move_out,
}
"""Each mail of the gateway itself, and the act after which it waits."""

SECURITY_NOTICES = {mails.EMAIL_CHANGE_REQUESTED, mails.EMAIL_CHANGED, mails.PASSWORD_CHANGED}
"""Notices of an act to the holder of the address of that time, also if somebody else then closed the account."""

NEEDS_ADDRESS = {mails.RESET, mails.TENANCY_ENDED}

ENTERED = {mails.CONFIRM_EMAIL: "requested-", mails.HOME_INVITATION: "invited-"}
"""The mails to an address that the user has entered, and the start of this address."""

ENDS: Mapping[Step, set[str]] = {
    erase: {*QUEUED},
    close: {*QUEUED} - SECURITY_NOTICES,
    confirm_address: {mails.CONFIRM_EMAIL, *NEEDS_ADDRESS},
    rename: NEEDS_ADDRESS,
    change_password: {mails.RESET, mails.CONFIRM_EMAIL, mails.HOME_INVITATION},
    move_back: {mails.TENANCY_ENDED},
}
"""The acts that end something, and the mails that are not sent after each of them."""

PAIRS = [
    (name, end)
    for end in ENDS
    for name in QUEUED
    if (name != mails.VERIFY or end in (erase, close))  # the others need an account that is verified
    and (name == mails.TENANCY_ENDED or end is not move_back)
    and end is not QUEUED[name]
]


@pytest.fixture
async def post(settled: Tenant) -> Post:
    post = Post(settled)
    await post.clear()
    return post


def test_each_mail_of_the_gateway_is_here() -> None:
    assert QUEUED.keys() == mails.ACCOUNT_MAIL_TYPES.keys()
    notices = {name for name, kind in mails.ACCOUNT_MAIL_TYPES.items() if kind.for_security and not kind.has_code}
    assert notices == SECURITY_NOTICES


async def test_a_mail_that_waits_is_sent_only_while_its_reason_and_its_recipient_last(
    post: Post, subtests: pytest.Subtests
) -> None:
    for name, end in PAIRS:
        with subtests.test(f"{name} and {end.__name__}"):
            holder = await add_holder(post)
            await QUEUED[name](holder)
            address = f"{ENTERED.get(name, '')}{holder.who.username}"
            post.pass_time(timedelta(seconds=1))
            await end(holder)
            assert await holder.sent(name) == ([] if name in ENDS[end] else [(name, address)])


async def test_a_code_of_the_old_address_is_invalid_after_the_application_renames_the_user(post: Post) -> None:
    holder = await add_holder(post)
    await request_reset(holder)
    await rename(holder)
    assert await post.rows(OneTimeCode, col(OneTimeCode.account_id) == holder.who.account_id) == []
