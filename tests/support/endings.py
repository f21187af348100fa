"""Acts that end a credential, and callers whose credential they end, without a server."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pyotp
from sqlalchemy import update
from sqlmodel import col
from strawberry import ID

from tests.support import people
from tests.support.house import PASSWORD, Tenant, basic
from tests.support.scopes import EVERYTHING
from wattgate.db.models import Account
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.operations.accounts import accounts, oauth, provisioning, registration, user_suspensions, users
from wattgate.operations.credentials import second_factor
from wattgate.operations.credentials import tokens as token_operations
from wattgate.operations.homes import home_members, paired_displays, virtual_entities
from wattgate.operations.types.homes.virtual_entities import NewVirtualEntity
from wattgate.principal import Principal, Role

NEW_PASSWORD = "battery staple"


@dataclass
class Caller:
    """A new user with an account. The application of its tenant may act for it.

    `sent` has the headers of the last credential that was authenticated. `owner` shares a home with a member.
    """

    tenant: Tenant
    username: str
    user_id: str
    account_id: str
    password: str = PASSWORD
    sent: dict[str, str] = field(default_factory=dict)
    owner: "Caller | None" = None

    @classmethod
    async def add(cls, tenant: Tenant) -> "Caller":
        added = await people.active(tenant)
        return cls(tenant, added["username"], added["userId"], added["accountId"])

    @property
    def next_password(self) -> str:
        """The password that the next change sets."""
        return NEW_PASSWORD if self.password == PASSWORD else PASSWORD

    async def run(self, principal: Principal, operation: Any, **arguments: Any) -> Any:
        return await self.tenant.gateway.runner.run(operation, principal, arguments)

    async def authenticate(self, headers: dict[str, str]) -> Principal:
        self.sent = {name.lower(): value for name, value in headers.items()}
        return await self.tenant.gateway.authenticator.authenticate(self.sent)

    async def by_token(self) -> Principal:
        who = {"username": self.username, "password": self.password}
        issued = await people.anonymously(self.tenant, token_operations.authenticate, **who)
        return await self.authenticate({"token": issued.token})

    async def by_password(self) -> Principal:
        headers = {**basic(self.username, self.password), "applicationId": self.tenant.application_id}
        return await self.authenticate(headers)

    async def by_application(self) -> Principal:
        return await self.authenticate(self.tenant.headers["application"])

    async def by_acting_application(self) -> Principal:
        return await self.authenticate({**self.tenant.headers["application"], "userId": self.user_id})

    async def by_administrator(self) -> Principal:
        await self.set_columns(administrator=True)
        return await self.by_token()

    async def by_oauth_client(self) -> Principal:
        return await self.authenticate({"token": (await self.granted())["access_token"]})

    async def by_display(self) -> Principal:
        """Pair a display with a new home."""
        home, started = await self.add_home(), await people.started_pairing(self.tenant)
        arguments = {"user_code": started.user_code, "ve_id": ID(home)}
        await self.run(await self.by_token(), paired_displays.approve_display_pairing, **arguments)
        claim = paired_displays.claim_display_pairing
        claimed = await people.anonymously(self.tenant, claim, device_code=started.device_code)
        return await self.authenticate({"token": claimed.token})

    async def by_member(self) -> Principal:
        """Accept the invitation of a new user to a home of that user, and log in for that home."""
        self.owner = await Caller.add(self.tenant)
        home, owner = await self.owner.add_home(), await self.owner.by_token()
        invite, accept = home_members.invite_home_member, home_members.accept_home_invitation
        invitation = await self.run(owner, invite, ve_id=ID(home), name="Grace")
        await self.run(await self.by_token(), accept, code=invitation.code)
        return await self.authenticate({**self.sent, "sharedHomeId": home})

    async def granted(self, scope: str = "read write") -> dict[str, Any]:
        """Return the tokens of a new OAuth client, and its id and secret."""
        request = await self.authorised(scope)
        issued = await people.anonymously(self.tenant, oauth.grant_oauth_tokens, **request)
        return {**vars(issued), "clientId": request["client_id"], "clientSecret": request["client_secret"]}

    async def authorised(self, scope: str = "read write") -> dict[str, Any]:
        """Return the arguments of a new OAuth client that exchanges the authorization code of the user."""
        client = await people.oauth_client(self.tenant)
        authorised = await people.anonymously(
            self.tenant,
            oauth.authorise,
            username=self.username,
            password=self.password,
            client_id=client["clientId"],
            redirect_uri=people.REDIRECT,
            code_challenge=people.CHALLENGE,
            scope=scope,
        )
        return {
            "client_id": client["clientId"],
            "client_secret": client["clientSecret"],
            "grant_type": "authorization_code",
            "code": authorised.code,
            "code_verifier": people.VERIFIER,
            "redirect_uri": people.REDIRECT,
        }

    async def add_home(self) -> str:
        """Add a home of the user."""
        home_type = ID(self.tenant.ids["virtual_entity_type"])
        home = NewVirtualEntity(ve_type_id=home_type, name="Home", postal_code="A1 1AA")
        return str((await self.run(await self.by_token(), virtual_entities.add_virtual_entity, input=home)).ve_id)

    async def set_columns(self, **values: Any) -> None:
        await set_account_columns(self.tenant, self.account_id, **values)


async def set_account_columns(tenant: Tenant, account_id: str, **values: Any) -> None:
    """Change columns of an account, as an operator does in the database."""
    async with tenant.gateway.database.session(EVERYTHING) as session:
        statement = update(Account).where(col(Account.account_id) == account_id).values(**values)
        await session.execute(statement, execution_options=SCOPED_OPTION)
        await session.commit()


async def log_out(caller: Caller, principal: Principal) -> None:
    await caller.run(principal, token_operations.delete_token)


async def revoke_token(caller: Caller, principal: Principal) -> None:
    await caller.run(await caller.by_token(), token_operations.revoke_token, token_id=principal.token_id)


async def change_password(caller: Caller, principal: Principal) -> None:
    other = await caller.by_token()
    new_password = caller.next_password
    arguments = {"old_password": caller.password, "new_password": new_password}
    await caller.run(other, accounts.change_password, **arguments)
    caller.password = new_password


async def reset_password(caller: Caller, principal: Principal) -> None:
    code = await people.reset_token(caller.tenant, {"username": caller.username, "accountId": caller.account_id})
    new_password = caller.next_password
    arguments = {"username": caller.username, "token": code, "new_password": new_password}
    await people.anonymously(caller.tenant, registration.reset_password, **arguments)
    caller.password = new_password


async def close_account(caller: Caller, principal: Principal) -> None:
    await caller.run(await caller.by_application(), accounts.delete_account, account_id=ID(caller.account_id))


async def erase_user(caller: Caller, principal: Principal) -> None:
    await caller.run(await caller.by_application(), users.delete_user, user_id=ID(caller.user_id))


async def suspend_user(caller: Caller, principal: Principal) -> None:
    await caller.run(await caller.by_application(), user_suspensions.suspend_user, user_id=ID(caller.user_id))


async def confirm_second_factor(caller: Caller, principal: Principal) -> None:
    token = await caller.by_token()
    enrolled = await caller.run(token, second_factor.enrol_second_factor, password=caller.password)
    code = pyotp.TOTP(enrolled.secret).at(caller.tenant.gateway.subscription_service.now())  # its clock may be stopped
    await caller.run(token, second_factor.confirm_second_factor, code=code)


async def lose_role(caller: Caller, principal: Principal) -> None:
    await caller.set_columns(administrator=False)


async def rotate_secret(caller: Caller, principal: Principal) -> None:
    arguments = {"username": principal.credential_name}
    rotated = await caller.run(Principal(Role.SYSTEM), provisioning.rotate_application_secret, **arguments)
    application = basic(rotated.username, rotated.secret)
    caller.tenant.headers["application"] = application


async def revoke_display(caller: Caller, principal: Principal) -> None:
    token = await caller.by_token()
    (display,) = await caller.run(token, paired_displays.paired_displays)
    await caller.run(token, paired_displays.revoke_paired_display, display_id=display.display_id)


async def close_home(caller: Caller, principal: Principal) -> None:
    arguments = {"ve_id": principal.ve_id}
    await caller.run(await caller.by_token(), virtual_entities.deactivate_virtual_entity, **arguments)


async def remove_member(caller: Caller, principal: Principal) -> None:
    assert caller.owner is not None
    home_and_member = {"ve_id": principal.ve_id, "member_id": principal.membership_id}
    await caller.run(await caller.owner.by_token(), home_members.remove_member_from_home, **home_and_member)


async def leave_home(caller: Caller, principal: Principal) -> None:
    await caller.run(await caller.by_token(), home_members.leave_shared_home, ve_id=principal.ve_id)


async def close_shared_home(caller: Caller, principal: Principal) -> None:
    assert caller.owner is not None
    await close_home(caller.owner, principal)


async def suspend_owner(caller: Caller, principal: Principal) -> None:
    assert caller.owner is not None
    await suspend_user(caller.owner, principal)


async def erase_owner(caller: Caller, principal: Principal) -> None:
    assert caller.owner is not None
    await erase_user(caller.owner, principal)


Authenticate = Callable[[Caller], Awaitable[Principal]]
Act = Callable[[Caller, Principal], Coroutine[Any, Any, None]]

BY_ACCOUNT: tuple[Act, ...] = (change_password, reset_password, close_account, erase_user, suspend_user)

MEMBER_ACTS: tuple[Act, ...] = (remove_member, leave_home, close_shared_home, suspend_owner, erase_owner)

ENDINGS: tuple[tuple[Authenticate, Act], ...] = (
    *((Caller.by_token, act) for act in (log_out, revoke_token, *BY_ACCOUNT)),
    *((Caller.by_password, act) for act in (*BY_ACCOUNT, confirm_second_factor)),
    *((Caller.by_oauth_client, act) for act in (revoke_token, *BY_ACCOUNT)),
    *((Caller.by_administrator, act) for act in (log_out, *BY_ACCOUNT, lose_role)),
    *((Caller.by_acting_application, act) for act in (close_account, erase_user, suspend_user, rotate_secret)),
    *((Caller.by_display, act) for act in (revoke_display, close_home, *BY_ACCOUNT)),
    *((Caller.by_member, act) for act in (*MEMBER_ACTS, *BY_ACCOUNT)),
    (Caller.by_application, rotate_secret),
)
"""The kinds of callers, each with every act that ends its credential."""


def name_of(ending: tuple[Authenticate, Act]) -> str:
    authenticate, act = ending
    return f"{authenticate.__name__}-{act.__name__}"
