"""Account mails that wait: expired and withdrawn codes, retries, and bounds."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import func
from sqlmodel import col

from tests.support import people
from tests.support.house import PASSWORD, Tenant
from tests.support.outbox import Post, Recorder
from wattgate.app.workers.deliveries import DeliveryHandler
from wattgate.db.models import AccountMail, Delivery
from wattgate.delivery.account_mails import PASSWORD_CHANGED, RESET
from wattgate.delivery.channels.channel import TemporaryFailure
from wattgate.delivery.mail_addresses import mailbox_key
from wattgate.enums import DeliveryKind, DeliveryState
from wattgate.operations.accounts import accounts, provisioning, registration, users
from wattgate.operations.accounts.one_time_codes import CODE_LIFETIME
from wattgate.operations.messages import mail
from wattgate.operations.messages.account_mails import MAX_NOTICES
from wattgate.operations.messages.mail_bounds import MAIL_BOUNDS
from wattgate.operations.types.users.users import NewUser
from wattgate.principal import Permission, Principal, Role

Who = dict[str, str]
SYSTEM = Principal(Role.SYSTEM)


class Codes:
    """The outbox of a tenant with a channel that records account mails."""

    def __init__(self, post: Post) -> None:
        self.post = post

    async def add_user(self, email: str = "") -> Who:
        username = f"{uuid4().hex}@example.org"
        new = NewUser(username=username, email=email or username, password=PASSWORD)
        created = await self.post.run(users.add_user, input=new)
        account_id = created.applications[0].account_id
        return {"username": username, "userId": created.user_id, "accountId": account_id}

    async def request_reset(self, who: Who) -> None:
        anonymous = Principal(Role.ANONYMOUS, application_id=self.post.tenant.application_id)
        await self.post.runner.run(registration.request_password_reset, anonymous, {"username": who["username"]})

    async def change_password(self, who: Who) -> None:
        account = Principal(
            Role.ACCOUNT,
            application_id=self.post.tenant.application_id,
            user_id=who["userId"],
            account_id=who["accountId"],
        )
        passwords = {"old_password": PASSWORD, "new_password": PASSWORD}
        await self.post.runner.run(accounts.change_password, account, passwords)

    async def deliver(self, channel: Recorder) -> list[str]:
        """Send all due mails, and return the texts of all mails that the channel has got."""
        handler = DeliveryHandler(mail.prepare_account_mail, channel, mail.record_account_mail_outcome)
        await self.post.worker_with({DeliveryKind.ACCOUNT_MAIL: handler}).deliver_due()
        return [message.content.text for message in channel.given]

    async def states(self, who: Who, short_code: str) -> list[tuple[DeliveryState, str | None]]:
        """Return the state and reason of the deliveries of a user's mails of a kind, oldest first."""
        mails = {sent.account_mail_id for sent in await self.mails(who) if sent.name == short_code}
        of_user = col(Delivery.user_id) == who["userId"]
        deliveries = await self.post.rows(Delivery, of_user, order_by=[Delivery.number])
        return [(delivery.state, delivery.reason) for delivery in deliveries if delivery.target_id in mails]

    async def mails(self, who: Who) -> list[Any]:
        return await self.post.rows(AccountMail, col(AccountMail.user_id) == who["userId"])


@pytest.fixture
async def codes(settled: Tenant) -> Codes:
    post = Post(settled)
    await post.clear()
    return Codes(post)


async def test_expired_code_is_not_sent(codes: Codes) -> None:
    who = await codes.add_user()
    await codes.request_reset(who)
    codes.post.pass_time(CODE_LIFETIME)
    assert await codes.deliver(Recorder()) == []
    assert await codes.states(who, RESET) == [(DeliveryState.FAILED, "the code in the mail has expired")]
    assert [sent.secret for sent in await codes.mails(who)] == [None]


async def test_code_that_a_changed_password_ended_is_not_sent(codes: Codes) -> None:
    who = await codes.add_user()
    await codes.request_reset(who)
    await codes.change_password(who)
    (text,) = await codes.deliver(Recorder())
    assert "was changed" in text
    reason = "the code in the mail was used or replaced"
    assert await codes.states(who, RESET) == [(DeliveryState.FAILED, reason)]


async def test_each_attempt_sends_the_same_code_until_one_succeeds(codes: Codes) -> None:
    who = await codes.add_user()
    await codes.request_reset(who)
    channel = Recorder(TemporaryFailure("the server is busy"))
    await codes.deliver(channel)
    (waiting,) = await codes.mails(who)
    assert waiting.secret is not None
    code = await people.newest_code(codes.post.tenant, who["accountId"], RESET)
    codes.post.pass_time(timedelta(minutes=5))
    first, second = await codes.deliver(channel)
    assert first == second
    assert code in first
    (sent,) = await codes.mails(who)
    assert sent.secret is None


async def test_flood_of_codes_is_bounded_and_does_not_suppress_notices(codes: Codes) -> None:
    bound = MAIL_BOUNDS[DeliveryKind.ACCOUNT_MAIL].for_address
    flooded = f"{uuid4().hex}@example.org"
    holders = [await codes.add_user(email=flooded) for _ in range(bound + 1)]
    for who in holders:
        await codes.request_reset(who)
    *_, last = holders
    ((state, reason),) = await codes.states(last, RESET)
    assert (state, reason) == (DeliveryState.SUPPRESSED, f"more than {bound} mails to this address in 60 minutes")
    assert [mail.secret for mail in await codes.mails(last)] == [None]
    await codes.change_password(last)
    assert await codes.states(last, PASSWORD_CHANGED) == [(DeliveryState.WAITING, None)]


async def test_registrations_with_an_address_do_not_stop_its_mail_for_a_new_password(codes: Codes) -> None:
    bound, address = MAIL_BOUNDS[DeliveryKind.ACCOUNT_MAIL], f"{uuid4().hex}@example.org"
    victim, runner = await codes.add_user(email=address), codes.post.tenant.gateway.runner
    anonymous = Principal(Role.ANONYMOUS, application_id=codes.post.tenant.application_id)
    for number in range(bound.for_address + 1):
        email = address if number % 2 else address.replace("@", f"+{number}@")
        user = {"name": "M", "username": uuid4().hex, "email": email, "password": PASSWORD}
        await runner.run(registration.register, anonymous, user)
    await codes.request_reset(victim)
    assert await codes.states(victim, RESET) == [(DeliveryState.WAITING, None)]


@pytest.mark.parametrize(
    ("spellings", "is_one"),
    [
        (("ada@example.org", "ADA@Example.ORG", "ada+a@example.org", "Ada+b+c@example.org", " ada@EXAMPLE.org "), True),
        (("ada@gmail.com", "A.d.a@googlemail.com", "a.da+x@GMAIL.com"), True),
        (("ada@b\u00fccher.example", "ada@xn--bcher-kva.example", "ADA@B\u00dcCHER.example"), True),
        (("\uff21da@example.org", "ada@example.org"), True),
        (("ada@example\u3002org", "ada@\uff45xample\uff0eorg", "ada\uff0bx@example\uff61org"), True),
        (("a.da@example.org", "ada@example.org"), False),
        (("+a@example.org", "+b@example.org"), False),
        (("ada@example.org", "ada@example.com"), False),
        (("no address", "No Address "), True),
    ],
)
def test_spellings_of_an_address_are_one_mailbox(spellings: tuple[str, ...], is_one: bool) -> None:
    assert (len({mailbox_key(spelling) for spelling in spellings}) == 1) is is_one


async def test_mailbox_is_bounded_in_each_spelling_and_over_all_applications(codes: Codes) -> None:
    """Registrations with spellings of one address send as many codes as one spelling, and two applications twice."""
    bound, runner, victim = MAIL_BOUNDS[DeliveryKind.ACCOUNT_MAIL], codes.post.tenant.gateway.runner, uuid4().hex
    names = [codes.post.tenant.application_id]
    for name in ("second", "third"):
        new = {"name": name, "username": uuid4().hex}
        names.append((await runner.run(provisioning.create_application, SYSTEM, new)).application_id)
    spellings = [victim, victim.upper(), f"{victim}+1", f"{victim}+2.x", victim.title(), f"{victim}+", f"{victim}+3"]
    is_theirs = func.lower(col(Delivery.address)).startswith(victim)
    waiting = []
    for application_id in names:
        anonymous = Principal(Role.ANONYMOUS, application_id=application_id)
        system = Principal(Role.SYSTEM, application_id=application_id)
        for local in spellings:
            user = {"name": "A", "username": uuid4().hex, "email": f"{local}@example.org", "password": PASSWORD}
            await runner.run(registration.register, anonymous, user)
        found = await runner.read(system, Permission.SYSTEM, lambda rows: rows.all(Delivery, is_theirs))
        assert len(found) == len(spellings)
        waiting.append([delivery.state for delivery in found].count(DeliveryState.WAITING))
    assert waiting == [bound.for_address, bound.for_mailbox - bound.for_address, 0]


async def test_notices_to_an_account_are_bounded(codes: Codes) -> None:
    """They stop no code of the account, and no notice of another person with the same address."""
    address = f"{uuid4().hex}@example.org"
    who, other = [await codes.add_user(email=address) for _ in range(2)]
    for _ in range(MAX_NOTICES + 1):
        await codes.change_password(who)
    states = [state for state, _ in await codes.states(who, PASSWORD_CHANGED)]
    assert states == [DeliveryState.WAITING] * MAX_NOTICES + [DeliveryState.SUPPRESSED]
    await codes.request_reset(who)
    await codes.change_password(other)
    assert await codes.states(who, RESET) == [(DeliveryState.WAITING, None)]
    assert await codes.states(other, PASSWORD_CHANGED) == [(DeliveryState.WAITING, None)]


async def test_account_without_an_address_gets_nothing(codes: Codes) -> None:
    created = await codes.post.run(users.add_user, input=NewUser(username=uuid4().hex, password=PASSWORD))
    who = {"userId": created.user_id, "accountId": created.applications[0].account_id, "username": ""}
    await codes.change_password(who)
    assert await codes.mails(who) == []
