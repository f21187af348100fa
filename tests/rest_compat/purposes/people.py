"""Purposes of users, accounts, their tokens, consents, profiles and sessions."""

from typing import Any
from uuid import uuid4

from tests.rest_compat.purposes.walk import Headers, Person, Walk, nodes
from tests.support.openid import chosen_provider, new_directory
from tests.support.people import CHALLENGE, PASSWORD, REDIRECT, VERIFIER, newest_code, oauth_client
from wattgate.delivery.account_mails import CONFIRM_EMAIL, RESET, VERIFY

NEW_PASSWORD = "battery staple"
TOKEN_STATUS = "{ tokenStatus { valid accountId } }"
LOG_IN = """mutation ($a: ID!, $u: String!, $p: String!) {
    authenticate(applicationId: $a, username: $u, password: $p) { ... on Login { token accountId } ...Refused } }"""
FIND = "query ($u: String!) { findUser(by: {username: $u}) { userId status } }"


async def log_in(walk: Walk, username: str, password: str = PASSWORD) -> Headers:
    """Return the headers of a token from GraphQL."""
    login = await walk.graphql(LOG_IN, {}, a=walk.tenant.application_id, u=username, p=password)
    return {"token": login["token"]}


async def login_code(walk: Walk, username: str, password: str) -> str:
    """Return the code of the error of a refused login."""
    return await walk.code(LOG_IN, {}, a=walk.tenant.application_id, u=username, p=password)


async def account_of(walk: Walk, account_id: str) -> Any:
    return await walk.node("Account", account_id, "name email username status", walk.application)


async def walk_registration(walk: Walk) -> None:
    application_id = walk.tenant.application_id
    email = f"{uuid4().hex}@example.org"
    who = {"username": email, "password": PASSWORD, "applicationId": application_id}
    with walk.purpose("/register", "user self registers"):
        await walk.rest("POST", "/register", {}, json={**who, "name": "Ada", "email": email})
        user = await walk.graphql(FIND, walk.application, u=email)
        accounts = await walk.rest("GET", "/account", {**walk.application, "userId": user["userId"]})
        assert [account["username"] for account in accounts] == [email]
        assert await login_code(walk, email, PASSWORD) == "UNAUTHENTICATED", "the address is not verified"
    account_id = accounts[0]["accountId"]
    with walk.purpose("/user/verify", "generate"):
        await walk.rest("POST", "/user/verify", {}, json=who)
        code = await newest_code(walk.tenant, account_id, VERIFY)
        assert code
    with walk.purpose("/user/verify", "verify a user verification token"):
        await walk.rest("PUT", "/user/verify", {}, json={**who, "token": code})
        assert await walk.graphql(TOKEN_STATUS, await log_in(walk, email)) == {"valid": True, "accountId": account_id}
    with walk.purpose("/user/resetpassword", "generate a password reset token"):
        await walk.rest("POST", "/user/resetpassword", {}, json={"username": email, "applicationId": application_id})
        code = await newest_code(walk.tenant, account_id, RESET)
        assert code
    with walk.purpose("/user/resetpassword", "reset a password"):
        body = {"username": email, "token": code, "newPassword": NEW_PASSWORD, "applicationId": application_id}
        await walk.rest("PUT", "/user/resetpassword", {}, json=body)
        assert await login_code(walk, email, PASSWORD) == "UNAUTHENTICATED"
        assert await log_in(walk, email, NEW_PASSWORD)


async def walk_tokens(walk: Walk) -> None:
    person = await walk.person()
    with walk.purpose("/auth", "authenticate an account"):
        body = {"username": person.username, "password": PASSWORD, "applicationId": walk.tenant.application_id}
        token = {"token": (await walk.rest("POST", "/auth", {}, json=body))["token"]}
        assert await walk.graphql(TOKEN_STATUS, token) == {"valid": True, "accountId": person.account_id}
    with walk.purpose("/auth/newToken", "generate a new token for an account"):
        newer = {"token": (await walk.rest("GET", "/auth/newToken", token))["token"]}
        assert newer != token
        assert await walk.graphql(TOKEN_STATUS, newer) == {"valid": True, "accountId": person.account_id}
    with walk.purpose("/auth/token", "list active valid tokens of a user"):
        listed = [each["tokenId"] for each in await walk.rest("GET", "/auth/token", token)]
        assert sorted(listed) == sorted(each["tokenId"] for each in await walk.query("tokens", token))
        assert len(listed) == 3, "of the two logins and of the new token"
    with walk.purpose("/auth", "check whether a user token is valid"):
        assert (await walk.rest("GET", "/auth", newer))["valid"] is True
        await walk.graphql("mutation { deleteToken { ...Refused } }", newer)
        assert await walk.refused("GET", "/auth", newer) == 401
    with walk.purpose("/auth/token/{tokenId}", "delete a token"):
        left = [each["tokenId"] for each in await walk.query("tokens", person.token)]
        other = await log_in(walk, person.username)
        (added,) = {each["tokenId"] for each in await walk.query("tokens", person.token)} - set(left)
        await walk.rest("DELETE", f"/auth/token/{added}", person.token)
        assert [each["tokenId"] for each in await walk.query("tokens", person.token)] == left
        assert await walk.code(TOKEN_STATUS, other) == "UNAUTHENTICATED"
    with walk.purpose("/auth/deleteToken", "delete a token"):
        await walk.rest("DELETE", "/auth/deleteToken", token)
        assert await walk.code(TOKEN_STATUS, token) == "UNAUTHENTICATED"


async def walk_oauth(walk: Walk) -> None:
    person, client = await walk.person(), await oauth_client(walk.tenant)
    with walk.purpose("/auth/oauth", "authenticate a user and generate an OAuth 2.0 authorization code"):
        request = {
            "username": person.username,
            "password": PASSWORD,
            "applicationId": walk.tenant.application_id,
            "client_id": client["clientId"],
            "redirect_uri": REDIRECT,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "scope": "read",
        }
        code = (await walk.rest("POST", "/auth/oauth", {}, json=request))["code"]
        grant = """mutation ($c: String!, $s: String!, $k: String!, $v: String!, $r: String!) {
            grantOauthTokens(clientId: $c, clientSecret: $s, grantType: "authorization_code", code: $k,
                codeVerifier: $v, redirectUri: $r) { ... on OAuthTokens { accessToken } ...Refused } }"""
        values = {"c": client["clientId"], "s": client["clientSecret"], "v": VERIFIER, "r": REDIRECT}
        by_code = {"token": (await walk.graphql(grant, {}, k=code, **values))["accessToken"]}
        assert (await walk.rest("GET", "/auth/oauth", by_code))["userId"] == person.user_id
    with walk.purpose("/auth/oauth/access", "exchange an authorization code for an access token"):
        exchange = {
            "grant_type": "authorization_code",
            "client_id": client["clientId"],
            "client_secret": client["clientSecret"],
            "code": (await walk.rest("POST", "/auth/oauth", {}, json=request))["code"],
            "code_verifier": VERIFIER,
            "redirect_uri": REDIRECT,
        }
        token = {"token": (await walk.rest("POST", "/auth/oauth/access", {}, json=exchange))["access_token"]}
        assert await walk.graphql("{ oauthUser { userId } }", token) == {"userId": person.user_id}
    with walk.purpose("/auth/oauth", "check and validate an OAuth access token"):
        assert (await walk.rest("GET", "/auth/oauth", token))["userId"] == person.user_id
        await walk.graphql("mutation { deleteToken { ...Refused } }", token)
        assert await walk.refused("GET", "/auth/oauth", token) == 401


async def walk_accounts(walk: Walk) -> None:
    person, app = await walk.person(), walk.application
    with walk.purpose("/account", "add an account to an existing user"):
        body = {"username": f"{uuid4().hex}@example.org", "userId": person.user_id, "password": PASSWORD}
        second = (await walk.rest("POST", "/account", app, json=body))["accountId"]
        assert (await account_of(walk, second))["username"] == body["username"]
        assert await walk.graphql(TOKEN_STATUS, await log_in(walk, body["username"])) == {
            "valid": True,
            "accountId": second,
        }
    with walk.purpose("/account/{accountId}", "get"):
        mutation = "mutation ($i: NewAccount!) { createAccount(input: $i) { ... on Account { accountId } ...Refused } }"
        new = {"username": f"{uuid4().hex}@example.org", "userId": person.user_id, "password": PASSWORD}
        third = (await walk.graphql(mutation, app, i=new))["accountId"]
        assert (await walk.rest("GET", f"/account/{third}", app))["username"] == new["username"]
    with walk.purpose("/account", "list accounts of the application"):
        listed = {account["accountId"] for account in await walk.rest("GET", "/account", app)}
        everyone = await walk.graphql("{ application { accounts(first: 100) { edges { node { accountId } } } } }", app)
        assert listed == {account["accountId"] for account in nodes(everyone["accounts"])}
        assert {person.account_id, second, third} <= listed
    with walk.purpose("/account/{accountId}", "update metadata"):
        await walk.rest("PUT", f"/account/{second}", app, json={"name": "Grace"})
        assert (await account_of(walk, second))["name"] == "Grace"
    with walk.purpose("/account/{accountId}", "delete an account"):
        await walk.rest("DELETE", f"/account/{second}", app)
        assert await login_code(walk, body["username"], PASSWORD) == "UNAUTHENTICATED"


async def walk_own_account(walk: Walk) -> None:
    person = await walk.person()
    with walk.purpose("/account/email", "change a user's e-mail"):
        email = f"{uuid4().hex}@example.org"
        await walk.rest("POST", "/account/email", person.token, json={"email": email, "password": PASSWORD})
        assert (await account_of(walk, person.account_id))["email"] == person.username, "it is not confirmed"
        code = await newest_code(walk.tenant, person.account_id, CONFIRM_EMAIL)
        confirm = "mutation ($t: String!, $a: ID!) { confirmEmailChange(token: $t, applicationId: $a) { ...Refused } }"
        await walk.graphql(confirm, {}, t=code, a=walk.tenant.application_id)
        assert (await walk.rest("GET", f"/account/{person.account_id}", walk.application))["email"] == email
    with walk.purpose("/account/name", "change a user's name"):
        await walk.rest("POST", "/account/name", person.token, json={"name": "Grace"})
        assert (await account_of(walk, person.account_id))["name"] == "Grace"
    with walk.purpose("/account/changepassword", "change a user's password"):
        passwords = {"oldPassword": PASSWORD, "newPassword": NEW_PASSWORD}
        await walk.rest("POST", "/account/changepassword", person.token, json=passwords)
        assert await login_code(walk, person.username, PASSWORD) == "UNAUTHENTICATED"
        token = await log_in(walk, person.username, NEW_PASSWORD)
    path, asked = f"/account/{person.account_id}/mobileapptoken", "/account/{accountId}/mobileapptoken"
    with walk.purpose(asked, "add"):
        for number in ("fcm:1", "fcm:2"):
            await walk.rest("POST", path, token, json={"newToken": number})
        tokens = await walk.query("mobile_app_tokens", token, accountId=person.account_id)
        assert {each["token"] for each in tokens} == {"fcm:1", "fcm:2"}
    with walk.purpose(asked, "remove a mobile app token"):
        await walk.rest("PUT", path, token, json={"removeToken": "fcm:1"})
        left = await walk.query("mobile_app_tokens", token, accountId=person.account_id)
        assert [each["token"] for each in left] == ["fcm:2"]


async def walk_account_status(walk: Walk) -> None:
    """Ask for the status of an account, and of one of a directory whose tokens end."""
    person, administrator = await walk.person(), walk.tenant.headers["administrator"]
    path, of_account = f"/account/{person.account_id}/status", "/account/{accountId}/status"
    with walk.purpose("/account/status", "verify account status from a JWT"):
        status = await walk.rest("GET", "/account/status", person.token)
        assert (status["accountId"], status["status"]) == (person.account_id, "active")
        assert status == await walk.query("own_account_status", person.token)
    with walk.purpose(of_account, "status of an account"):
        assert (await walk.rest("GET", path, administrator))["status"] == "active"
        delete = "mutation ($a: ID!) { closeAccount(accountId: $a) { ... on Account { status } ...Refused } }"
        await walk.graphql(delete, walk.application, a=person.account_id)
        changed = await walk.rest("GET", path, administrator)
        assert (changed["status"], changed["active"]) == ("inactive", False)
    with walk.purpose(of_account, "needs administrative application-level credentials"):
        other = await walk.person()
        assert await walk.refused("GET", f"/account/{other.account_id}/status", other.token) == 403
        query = "query ($a: ID!) { accountStatus(accountId: $a) { status } }"
        assert await walk.code(query, other.token, a=other.account_id) == "FORBIDDEN"
        assert await walk.graphql(query, administrator, a=other.account_id) == {"status": "ACTIVE"}
    async with chosen_provider() as provider:
        await _walk_directory(walk, provider, administrator)


async def _walk_directory(walk: Walk, provider: Any, administrator: Headers) -> None:
    directory = new_directory(provider.issuer, accountRule="CREATE")
    mutation = (
        "mutation ($i: NewDirectory!) { createDirectory(input: $i) { ... on Directory { directoryId } ...Refused } }"
    )
    directory_id = (await walk.graphql(mutation, walk.application, i=directory))["directoryId"]
    presented = provider.sign(sub=uuid4().hex, name="Ada")
    body = {"directoryId": directory_id, "directoryToken": presented}
    headers = {"applicationId": walk.tenant.application_id}
    token = {"token": (await walk.rest("POST", "/auth", headers, json=body))["token"]}
    account_id = (await walk.graphql(TOKEN_STATUS, token))["accountId"]
    clause = "confirms authentication against an external directory service when one is used"
    with walk.purpose("/account/{accountId}/status", clause):
        status = await walk.rest("GET", f"/account/{account_id}/status", administrator)
        assert (status["directoryId"], status["directory"]["valid"]) == (directory_id, True)
        assert status == await walk.query("account_status", administrator, accountId=account_id)
    clause = "for external directory accounts, establishes whether the token to that service is still valid"
    with walk.purpose("/account/status", clause):
        assert (await walk.rest("GET", "/account/status", token))["directory"]["valid"] is True
        change = (
            "mutation ($d: ID!, $i: DirectoryChange!) { updateDirectory(directoryId: $d, input: $i) {"
            " ... on Directory { active } ...Refused } }"
        )
        await walk.graphql(change, walk.application, d=directory_id, i={"audiences": ["another app"]})
        assert (await walk.rest("GET", "/account/status", token))["directory"]["valid"] is False


async def walk_users(walk: Walk) -> None:
    app = walk.application
    with walk.purpose("/user", "create a user"):
        username = f"{uuid4().hex}@example.org"
        body = {"username": username, "name": "Grace", "password": PASSWORD}
        user_id = (await walk.rest("POST", "/user", app, json=body))["userId"]
        assert await walk.graphql(FIND, app, u=username) == {"userId": user_id, "status": "ACTIVE"}
    add = "mutation ($i: NewUser!) { createUser(input: $i) { ... on User { userId } ...Refused } }"
    name = f"{uuid4().hex}@example.org"
    other = (await walk.graphql(add, app, i={"username": name, "password": PASSWORD}))["userId"]
    with walk.purpose("/user", "find a user by username"):
        assert (await walk.rest("GET", "/user", app, params={"username": name}))["userId"] == other
    with walk.purpose("/user/{userId}", "find a user"):
        found = await walk.rest("GET", f"/user/{other}", app)
        assert found == await walk.query("user", app, userId=other)
    with walk.purpose("/user/{userId}/username", "change a username"):
        renamed = f"{uuid4().hex}@example.org"
        await walk.rest("PUT", f"/user/{other}/username", app, json={"username": renamed, "status": "active"})
        assert (await walk.graphql(FIND, app, u=renamed))["userId"] == other
        assert await log_in(walk, renamed)
    with walk.purpose("/user/{userId}", "delete a user"):
        await walk.rest("DELETE", f"/user/{other}", app)
        deleted = await walk.query("user", app, userId=other)
        assert (deleted["status"], deleted["active"]) == ("inactive", False)
        assert [each["active"] for each in deleted["applications"]] == [False], "all accounts of the user"
        assert (await walk.query("erasure", app, userId=other))["userId"] == other
        assert await login_code(walk, renamed, PASSWORD) == "UNAUTHENTICATED"


async def walk_consents(walk: Walk) -> None:
    person, root = await walk.person(), "/user/verification/status"
    verify = (
        "mutation ($m: MeterPointNumber!) { verifyMeterPoint(meterPointNumber: $m) {"
        " ... on MeterPointConsent { state } ...Refused } }"
    )
    first, second = (str(uuid4().int)[:13] for _ in range(2))
    for number in (first, second):
        await walk.graphql(verify, person.acting, m=number)
    points = {"meterPoints": [{"mpxn": first}, {"mpxn": second}]}
    with walk.purpose(root, "retrieve a user's meter points' consent and verification"):
        listed = (await walk.rest("GET", root, person.acting))["meterPointVerification"]
        assert {(each["mpxn"], each["state"]) for each in listed} == {(first, "valid"), (second, "valid")}
    with walk.purpose(f"{root}/mpxns/revocation", "revoke consent for several meter points"):
        await walk.rest("POST", f"{root}/mpxns/revocation", person.acting, json=points)
        assert await _states(walk, person) == {first: "REVOKED", second: "REVOKED"}
    with walk.purpose(f"{root}/mpxns/renewal", "renew consent for several meter points"):
        await walk.rest("POST", f"{root}/mpxns/renewal", person.acting, json=points)
        assert await _states(walk, person) == {first: "VALID", second: "VALID"}
    one = f"{root}/mpxn/{{mpxn}}"
    with walk.purpose(f"{one}/revocation", "make a meter point consent revocation"):
        await walk.rest("POST", f"{root}/mpxn/{first}/revocation", person.acting)
        assert await _states(walk, person) == {first: "REVOKED", second: "VALID"}
    with walk.purpose(f"{one}/renewal", "make a meter point consent renewal"):
        await walk.rest("POST", f"{root}/mpxn/{first}/renewal", person.acting)
        assert await _states(walk, person) == {first: "VALID", second: "VALID"}
    for kind in ("renewal", "revocation"):
        with walk.purpose(f"{one}/{kind}", "get"):
            changes = await walk.query("consent_changes", person.acting, mpxn=first, kind=kind.upper())
            answer = await walk.rest("GET", f"{root}/mpxn/{first}/{kind}", person.acting)
            made = answer["meterPointRenewals" if kind == "renewal" else "meterPointRevocations"]
            key = f"meterPointVerification{kind.title()}Id"
            assert {each[key] for each in made} == {each["changeId"] for each in changes}
            assert len(made) >= 2


async def _states(walk: Walk, person: Person) -> dict[str, str]:
    query = "{ viewer { consents { edges { node { meterPointNumber state } } } } }"
    consents = nodes((await walk.graphql(query, person.acting))["consents"])
    return {each["meterPointNumber"]: each["state"] for each in consents}


async def walk_profiles(walk: Walk) -> None:
    person = await walk.person()
    with walk.purpose("/accountprofile", "create a profile"):
        await walk.rest("POST", "/accountprofile", person.token, json={"profileName": "Dash", "tiles": [1, 2]})
        profile = await walk.query("account_profile", person.token, profileName="Dash")
        assert profile["data"] == {"tiles": [1, 2]}
    mutation = (
        "mutation ($n: String!, $d: JSON!) { setAccountProfile(profileName: $n, data: $d) {"
        " ... on AccountProfile { profileName } ...Refused } }"
    )
    await walk.graphql(mutation, person.token, n="Settings", d={"dark": True})
    with walk.purpose("/accountprofile/{profileName}", "find a profile"):
        found = await walk.rest("GET", "/accountprofile/Settings", person.token)
        assert found == {"profileName": "Settings", "dark": True}
    with walk.purpose("/accountprofile", "list profiles of an account"):
        listed = await walk.rest("GET", "/accountprofile", person.token)
        assert listed == await walk.query("account_profiles", person.token)
        assert set(listed["profileNames"]) == {"Dash", "Settings"}
    with walk.purpose("/accountsession", "update the session of an account"):
        await walk.rest("PUT", "/accountsession", person.token, json={"page": "today"})
        assert (await walk.query("account_session", person.token))["data"] == {"page": "today"}
    with walk.purpose("/accountsession", "get"):
        change = (
            "mutation ($v: JSON!) { updateAccountSession(values: $v) { ... on AccountSession { data } ...Refused } }"
        )
        await walk.graphql(change, person.token, v={"fuel": "gas"})
        assert await walk.rest("GET", "/accountsession", person.token) == {"page": "today", "fuel": "gas"}


JOURNEYS = (
    walk_registration,
    walk_tokens,
    walk_oauth,
    walk_accounts,
    walk_own_account,
    walk_account_status,
    walk_users,
    walk_consents,
    walk_profiles,
)
