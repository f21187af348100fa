"""Users, their one-time codes, and OAuth clients, created through the runner."""

from typing import Any
from uuid import uuid4

from sqlmodel import col

from wattgate.db.models import AccountMail, Delivery
from wattgate.db.rows.rows import Rows
from wattgate.delivery.account_mails import CONFIRM_EMAIL, RESET, VERIFY
from wattgate.operations.accounts import accounts, oauth, registration, users
from wattgate.operations.homes import home_members, paired_displays
from wattgate.operations.messages import mail
from wattgate.operations.types.users.users import NewUser
from wattgate.principal import Permission, Principal, Role
from wattgate.requests.client import CURRENT_CLIENT, Client

PASSWORD = "correct horse"
REDIRECT = "https://client.example/back"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
"""The example of RFC 7636, appendix B."""


async def anonymously(tenant: Any, operation: Any, **arguments: Any) -> Any:
    """Run an operation for the tenant's application without credentials."""
    anonymous = Principal(Role.ANONYMOUS, application_id=tenant.application_id)
    return await tenant.gateway.runner.run(operation, anonymous, arguments)


async def registered(tenant: Any) -> dict[str, str]:
    """Register a user with PASSWORD, not yet verified. Return the username and IDs."""
    username = f"{uuid4().hex}@example.org"
    created = await anonymously(
        tenant, registration.register, name="Ada", username=username, email=username, password=PASSWORD
    )
    return {"username": username, "userId": created.user_id, "accountId": created.applications[0].account_id}


async def active(tenant: Any) -> dict[str, str]:
    """Add a user with PASSWORD who can log in. Return the username and IDs."""
    username = f"{uuid4().hex}@example.org"
    created = await tenant.gateway.runner.run(
        users.add_user,
        tenant.system,
        {"input": NewUser(username=username, email=username, password=PASSWORD)},
    )
    return {"username": username, "userId": created.user_id, "accountId": created.applications[0].account_id}


async def verification_code(tenant: Any, who: dict[str, str]) -> str:
    """Request a verification code and return the newest one. Shortly after the registration, this is the code of it."""
    await anonymously(tenant, registration.request_verification, username=who["username"], password=PASSWORD)
    return await newest_code(tenant, who["accountId"], VERIFY)


async def reset_token(tenant: Any, who: dict[str, str]) -> str:
    """Request a password reset token and return it."""
    await anonymously(tenant, registration.request_password_reset, username=who["username"])
    return await newest_code(tenant, who["accountId"], RESET)


async def email_change_token(tenant: Any, who: dict[str, str], email: str) -> str:
    """Request a new e-mail address for an account and return the code that is sent to it."""
    account = Principal(
        Role.ACCOUNT, application_id=tenant.application_id, user_id=who["userId"], account_id=who["accountId"]
    )
    await tenant.gateway.runner.run(accounts.change_email, account, {"email": email})
    return await newest_code(tenant, who["accountId"], CONFIRM_EMAIL)


async def account_mails(tenant: Any, account_id: str) -> list[AccountMail]:
    """Return the mails of the gateway itself to an account, oldest first."""
    of_account = col(AccountMail.account_id) == account_id
    return list(await read(tenant, lambda rows: rows.all(AccountMail, of_account, order_by=[AccountMail.created_at])))


async def newest_code(tenant: Any, account_id: str, short_code: str) -> str:
    """Return the code in the newest mail of a kind to an account, which waits for its delivery."""

    async def find(rows: Rows) -> str:
        where = col(AccountMail.account_id) == account_id, col(AccountMail.name) == short_code
        mail = await rows.first(AccountMail, *where, order_by=[col(AccountMail.created_at).desc()])
        assert mail is not None
        return rows.decrypt(AccountMail, mail, "secret")

    return str(await read(tenant, find))


async def waiting_secrets(tenant: Any) -> list[str]:
    """Return the encrypted codes of all mails of an application."""
    mails = await read(tenant, lambda rows: rows.all(AccountMail, col(AccountMail.secret).is_not(None)))
    return [mail.secret for mail in mails]


async def unsubscribe_address(tenant: Any, address: str) -> None:
    """Unsubscribe an address by the link in the newest mail to it."""
    delivery = await read(
        tenant,
        lambda rows: rows.first(Delivery, Delivery.address == address, order_by=[col(Delivery.created_at).desc()]),
    )
    system = Principal(Role.SYSTEM, application_id=tenant.application_id)
    await tenant.gateway.runner.run(mail.unsubscribe, system, {"delivery_id": delivery.delivery_id})


async def read(tenant: Any, query: Any) -> Any:
    """Return the result of a query of rows of an application."""
    system = Principal(Role.SYSTEM, application_id=tenant.application_id)
    return await tenant.gateway.runner.read(system, Permission.SYSTEM, query)


async def oauth_client(tenant: Any, **more: Any) -> dict[str, str]:
    """Create an OAuth client with the scopes `read` and `write`. Return its ID and secret."""
    created = await tenant.gateway.runner.run(
        oauth.create_oauth_client,
        tenant.system,
        {"name": "Client", "redirect_uris": [REDIRECT], "scope": "read write", **more},
    )
    return {"clientId": created.client_id, "clientSecret": created.secret}


async def authorisation(tenant: Any, scope: str = "read write") -> dict[str, Any]:
    """Return the arguments of `authorise` for a new user and a new client."""
    who, client = await active(tenant), await oauth_client(tenant)
    return {
        "applicationId": tenant.application_id,
        "username": who["username"],
        "password": PASSWORD,
        "clientId": client["clientId"],
        "redirectUri": REDIRECT,
        "codeChallenge": CHALLENGE,
        "codeChallengeMethod": "S256",
        "scope": scope,
        "state": "as it was",
    }


async def exchange(tenant: Any, scope: str = "read write") -> dict[str, Any]:
    """Return the arguments of a token request with the authorization code of a new user."""
    who, client = await active(tenant), await oauth_client(tenant)
    created = await anonymously(
        tenant,
        oauth.authorise,
        username=who["username"],
        password=PASSWORD,
        client_id=client["clientId"],
        redirect_uri=REDIRECT,
        code_challenge=CHALLENGE,
        scope=scope,
    )
    return {
        **client,
        "grantType": "authorization_code",
        "code": created.code,
        "codeVerifier": VERIFIER,
        "redirectUri": REDIRECT,
    }


async def oauth_headers(tenant: Any) -> dict[str, str]:
    """Return the headers of an OAuth client with every scope for a new user."""
    request = await exchange(tenant)
    tokens = await anonymously(
        tenant,
        oauth.grant_oauth_tokens,
        client_id=request["clientId"],
        client_secret=request["clientSecret"],
        grant_type=request["grantType"],
        code=request["code"],
        code_verifier=request["codeVerifier"],
        redirect_uri=request["redirectUri"],
    )
    return {"token": tokens.access_token}


async def started_pairing(tenant: Any) -> Any:
    """Start to pair a display. The gateway has an address, as in a request."""
    reset = CURRENT_CLIENT.set(Client(origin="http://gateway.example"))
    try:
        return await anonymously(tenant, paired_displays.start_display_pairing, name="Wall panel")
    finally:
        CURRENT_CLIENT.reset(reset)


async def approved_pairing(tenant: Any, ve_id: str | None = None) -> Any:
    """Start to pair a display, and approve it for a home of the tenant's account."""
    started = await started_pairing(tenant)
    arguments = {"user_code": started.user_code, "ve_id": ve_id or tenant.ids["virtual_entity"], "name": "Kitchen"}
    await tenant.gateway.runner.run(paired_displays.approve_display_pairing, tenant.account, arguments)
    return started


async def paired_display(tenant: Any, ve_id: str | None = None) -> tuple[dict[str, str], str]:
    """Pair a display with a home of the tenant's account. Return the headers of the display, and its ID."""
    started = await approved_pairing(tenant, ve_id)
    claimed = await anonymously(tenant, paired_displays.claim_display_pairing, device_code=started.device_code)
    return {"token": claimed.token}, claimed.display.display_id


async def invitation(tenant: Any, ve_id: str | None = None) -> Any:
    """Invite a person to a home of the tenant's account. Return the invitation with its code."""
    arguments = {"ve_id": ve_id or tenant.ids["virtual_entity"], "name": "Grace"}
    return await tenant.gateway.runner.run(home_members.invite_home_member, tenant.account, arguments)


async def home_member(tenant: Any, member: Any, ve_id: str | None = None) -> str:
    """Let the account of another tenant accept an invitation to a home. Return the ID of the access."""
    code = (await invitation(tenant, ve_id)).code
    accepted = await tenant.gateway.runner.run(home_members.accept_home_invitation, member.account, {"code": code})
    return str(accepted.member_id)
