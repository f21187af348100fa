"""Changes of e-mail addresses are confirmed, and mails to an address and to a user are bounded."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlmodel import col
from strawberry import ID

from tests.support import people
from tests.support.endings import Caller, log_out, revoke_token
from tests.support.house import PASSWORD, House, Tenant
from tests.support.timed import Timed
from wattgate.app.settings import Settings
from wattgate.app.workers.deliveries import DeliveryWorker
from wattgate.app.workers.delivery_handlers import create_delivery_handlers
from wattgate.db.models import Account, AccountMail, Delivery
from wattgate.delivery.account_mails import CONFIRM_EMAIL
from wattgate.enums import Channel, DeliveryKind, DeliveryState
from wattgate.errors import BadInput, RateLimited
from wattgate.operations.accounts import accounts, user_changes
from wattgate.operations.credentials.email_changes import MAX_EMAIL_CHANGES
from wattgate.operations.messages.mail import prepare_account_mail
from wattgate.operations.messages.mail_bounds import MAIL_BOUNDS
from wattgate.operations.types.messages.alerts import NewAlert
from wattgate.operations.types.users.users import NewUser
from wattgate.principal import Permission, Principal, Role

EMAIL_BOUND = MAIL_BOUNDS[DeliveryKind.EMAIL]
STRANGER = "stranger@elsewhere.example"


class Person:
    """A user with an account, and the operations of these tests."""

    def __init__(self, tenant: Tenant, who: dict[str, str]) -> None:
        self.tenant = tenant
        self.who = who
        self.principal = Principal(
            Role.ACCOUNT,
            application_id=tenant.application_id,
            user_id=who["userId"],
            account_id=who["accountId"],
        )

    async def run(self, operation: Any, **arguments: Any) -> Any:
        return await self.tenant.gateway.runner.run(operation, self.principal, arguments)

    async def confirm(self, token: str) -> Any:
        return await people.anonymously(self.tenant, accounts.confirm_email_change, token=token)

    async def all(self, model: Any) -> list[Any]:
        """Return the person's records of a model, oldest first."""

        async def query(rows: Any) -> Any:
            of_user = col(model.user_id) == self.who["userId"]
            return await rows.all(model, of_user, order_by=[col(model.created_at)])

        system = Principal(Role.SYSTEM, application_id=self.tenant.application_id)
        return list(await self.tenant.gateway.runner.read(system, Permission.SYSTEM, query))

    async def mails(self, kind: DeliveryKind = DeliveryKind.ACCOUNT_MAIL) -> list[tuple[str | None, DeliveryState]]:
        """Return the address and state of the person's mails."""
        return [(mail.address, mail.state) for mail in await self.all(Delivery) if mail.kind is kind]

    async def email(self) -> str:
        (account,) = await self.all(Account)
        return str(account.email)

    async def alert(self) -> None:
        """Send an alert by mail."""
        new = NewAlert(
            user_id=ID(self.who["userId"]), alert_type_id=self.tenant.ids["alert_type"], channels=[Channel.EMAIL]
        )
        await self.tenant.run("send_alert", input=new)


@pytest.fixture
async def person(served: House) -> Person:
    return Person(served.one, await people.active(served.one))


async def test_address_is_used_only_after_it_is_confirmed(person: Person) -> None:
    old = person.who["username"]
    token = await people.email_change_token(person.tenant, person.who, STRANGER)
    assert await person.email() == old
    assert await person.mails() == [(STRANGER, DeliveryState.WAITING), (old, DeliveryState.WAITING)]
    await person.alert()
    assert await person.mails(DeliveryKind.EMAIL) == [(old, DeliveryState.WAITING)]
    await person.confirm(token)
    assert await person.email() == STRANGER
    assert (await person.mails())[2:] == [(old, DeliveryState.WAITING)]
    names = [mail.name for mail in await person.all(AccountMail)]
    assert names == ["account.confirm-email", "account.email-change-requested", "account.email-changed"]
    await person.alert()
    assert (await person.mails(DeliveryKind.EMAIL))[1:] == [(STRANGER, DeliveryState.WAITING)]


async def test_code_is_valid_once_and_only_the_newest(person: Person) -> None:
    first = await people.email_change_token(person.tenant, person.who, "first@elsewhere.example")
    second = await people.email_change_token(person.tenant, person.who, "second@elsewhere.example")
    for wrong in (first, "forged"):
        with pytest.raises(BadInput):
            await person.confirm(wrong)
    await person.confirm(second)
    with pytest.raises(BadInput):
        await person.confirm(second)
    assert await person.email() == "second@elsewhere.example"


async def test_code_of_another_application_is_wrong(served: House, person: Person) -> None:
    token = await people.email_change_token(person.tenant, person.who, STRANGER)
    with pytest.raises(BadInput):
        await people.anonymously(served.other, accounts.confirm_email_change, token=token)


async def test_change_of_the_password_cancels_a_requested_address(person: Person) -> None:
    token = await people.email_change_token(person.tenant, person.who, STRANGER)
    await person.run(accounts.change_password, old_password=PASSWORD, new_password="battery staple")
    with pytest.raises(BadInput):
        await person.confirm(token)


async def test_log_outs_cancel_a_requested_address(served: House) -> None:
    """A stranger requests the change with a token that the holder then revokes."""
    for act in (log_out, revoke_token):
        caller = await Caller.add(served.one)
        principal = await caller.by_token()
        await caller.run(principal, accounts.change_email, email=f"new-{caller.username}")
        code = await people.newest_code(served.one, caller.account_id, CONFIRM_EMAIL)
        await act(caller, principal)
        with pytest.raises(BadInput):
            await people.anonymously(served.one, accounts.confirm_email_change, token=code)


async def test_code_expires_after_a_day(timed: Timed) -> None:
    tenant = timed.house.one
    person = Person(tenant, await people.active(tenant))
    token = await people.email_change_token(tenant, person.who, STRANGER)
    timed.pass_time(timedelta(hours=24))
    with pytest.raises(BadInput):
        await person.confirm(token)


async def test_requests_of_an_account_are_bounded(timed: Timed) -> None:
    tenant = timed.house.one
    person = Person(tenant, await people.active(tenant))
    for number in range(MAX_EMAIL_CHANGES):
        await person.run(accounts.change_email, email=f"n{number}@elsewhere.example")
    with pytest.raises(RateLimited) as refused:
        await person.run(accounts.change_email, email=STRANGER)
    assert refused.value.retry_after == 24 * 3600 + 1
    timed.pass_time(timedelta(hours=24))
    await person.run(accounts.change_email, email=STRANGER)


async def test_mails_to_a_new_address_are_bounded_over_all_accounts(timed: Timed) -> None:
    tenant, bound = timed.house.one, MAIL_BOUNDS[DeliveryKind.ACCOUNT_MAIL].for_address
    states = []
    for _ in range(bound + 1):
        person = Person(tenant, await people.active(tenant))
        await person.run(accounts.change_email, email="Flooded@elsewhere.example")
        states += [state for address, state in await person.mails() if address == "flooded@elsewhere.example"]
    assert states == [DeliveryState.WAITING] * bound + [DeliveryState.SUPPRESSED]


async def test_mail_to_an_unconfirmed_address_has_no_words_of_callers(person: Person) -> None:
    await person.run(accounts.change_name, name="Cheap watches")
    token = await people.email_change_token(person.tenant, person.who, STRANGER)
    system = Principal(Role.SYSTEM, application_id=person.tenant.application_id)
    to_stranger = [one for one in await person.all(Delivery) if one.address == STRANGER]
    assert to_stranger
    for delivery in to_stranger:
        sent = await person.tenant.gateway.runner.run(
            prepare_account_mail, system, {"delivery_id": delivery.delivery_id}
        )
        content = sent.content.subject + sent.content.text + (sent.content.html or "")
        assert token in content
        assert "Cheap watches" not in content
        assert person.who["username"] not in content
        assert STRANGER not in content
        assert token not in sent.content.subject


async def test_own_rename_sends_no_mail_to_the_new_name(served: House) -> None:
    name = uuid4().hex
    created = await served.one.run("add_user", input=NewUser(username=name, password=PASSWORD))
    who = {"userId": created.user_id, "accountId": created.applications[0].account_id, "username": name}
    person = Person(served.one, who)
    await person.run(user_changes.rename_user, user_id=created.user_id, username=f"{uuid4().hex}@elsewhere.example")
    await person.alert()
    assert await person.mails(DeliveryKind.EMAIL) == []


async def test_own_rename_keeps_the_address_in_use(person: Person) -> None:
    await person.run(
        user_changes.rename_user, user_id=person.who["userId"], username=f"{uuid4().hex}@elsewhere.example"
    )
    await person.alert()
    assert await person.mails(DeliveryKind.EMAIL) == [(person.who["username"], DeliveryState.WAITING)]


async def test_alerts_above_the_bound_are_kept_and_not_mailed(timed: Timed) -> None:
    tenant = timed.house.one
    person = Person(tenant, await people.active(tenant))
    for _ in range(EMAIL_BOUND.for_address + 1):
        await person.alert()
    states = [state for _, state in await person.mails(DeliveryKind.EMAIL)]
    assert states == [DeliveryState.WAITING] * EMAIL_BOUND.for_address + [DeliveryState.SUPPRESSED]
    headers = {**tenant.headers["application"], "userId": person.who["userId"]}
    query = "{ viewer { alerts(last: 1) { edges { node { notifications { state status log { stage detail } } } } } } }"
    answer = await timed.house.graphql(query, headers)
    newest = answer["data"]["viewer"]["alerts"]["edges"][0]["node"]["notifications"][0]
    assert (newest["state"], newest["status"]) == ("RATE_LIMITED", "ERROR")
    assert newest["log"][-1] == {"stage": "Rate Limited", "detail": "more than 20 mails to this address in 60 minutes"}
    timed.pass_time(timedelta(hours=1))
    await person.alert()
    assert (await person.mails(DeliveryKind.EMAIL))[-1][1] is DeliveryState.WAITING


async def test_sent_mail_does_not_keep_its_code(person: Person) -> None:
    await people.email_change_token(person.tenant, person.who, STRANGER)
    gateway = person.tenant.gateway
    settings = Settings(_env_file=None, environment="development")
    worker = DeliveryWorker(gateway.runner, gateway.hub, create_delivery_handlers(settings, gateway.runner))
    await worker.deliver_due()
    assert {state for _, state in await person.mails()} == {DeliveryState.SENT}
    assert {mail.secret for mail in await person.all(AccountMail)} == {None}
