"""Users, their one-time codes, and OAuth clients, created through the runner."""

import re
from typing import Any
from uuid import uuid4

from sqlmodel import col

from wattgate.db.models import AccountMail
from wattgate.graphql.resolvers import accounts, oauth, registration, users
from wattgate.graphql.services.email_changes import CONFIRM_EMAIL
from wattgate.graphql.types.users import NewUser
from wattgate.principal import Permission, Principal, Role
from wattgate.realtime import topics

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


async def sent(tenant: Any, who: dict[str, str], operation: Any, **arguments: Any) -> str:
    """Run an operation and return the one-time code that it sends to the user."""
    async with tenant.gateway.hub.open_queue([topics.one_time_codes(who["userId"])]) as feed:
        await anonymously(tenant, operation, username=who["username"], **arguments)
        assert feed.pending_count == 1
        return str((await feed.get()).payload.code)


async def verification_code(tenant: Any, who: dict[str, str]) -> str:
    return await sent(tenant, who, registration.request_verification, password=PASSWORD)


async def reset_token(tenant: Any, who: dict[str, str]) -> str:
    return await sent(tenant, who, registration.request_password_reset)


async def email_change_token(tenant: Any, who: dict[str, str], email: str) -> str:
    """Request a new e-mail address for an account and return the code that is sent to it."""
    account = Principal(
        Role.ACCOUNT, application_id=tenant.application_id, user_id=who["userId"], account_id=who["accountId"]
    )
    await tenant.gateway.runner.run(accounts.change_email, account, {"email": email})
    return await newest_email_code(tenant, who["accountId"])


async def newest_email_code(tenant: Any, account_id: str) -> str:
    """Return the code in the newest mail that asks to confirm an address of an account."""
    system = Principal(Role.SYSTEM, application_id=tenant.application_id)
    mails = await tenant.gateway.runner.read(
        system,
        Permission.SYSTEM,
        lambda rows: rows.all(
            AccountMail,
            col(AccountMail.account_id) == account_id,
            col(AccountMail.name) == CONFIRM_EMAIL.name,
            order_by=[col(AccountMail.created_at).desc()],
        ),
    )
    found = re.search(r"^[\w-]{43}$", mails[0].text, re.MULTILINE)
    assert found is not None
    return found[0]


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
