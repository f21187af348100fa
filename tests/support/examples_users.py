"""Examples for users, accounts, profiles and OAuth, with their legacy REST formats."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import uuid4

import pyotp

from tests.support import people
from tests.support.example import NOTHING, Example, by_id, fixed
from tests.support.house import PASSWORD, Tenant
from tests.support.user_jobs import erased, exported
from wattgate.operations.accounts import profiles, user_suspensions
from wattgate.operations.credentials import second_factor, tokens
from wattgate.principal import Principal, Role

OAUTH_NAMES = re.compile("^(client|code[A-Z]|grant|redirect|refresh)")


async def _unverified(tenant: Tenant) -> dict[str, Any]:
    who = await people.registered(tenant)
    return {"username": who["username"], "password": PASSWORD, "applicationId": tenant.application_id}


async def _verified(tenant: Tenant) -> dict[str, Any]:
    who = await people.registered(tenant)
    return {
        "username": who["username"],
        "password": PASSWORD,
        "token": await people.verification_code(tenant, who),
        "applicationId": tenant.application_id,
    }


async def _forgetful(tenant: Tenant) -> dict[str, Any]:
    who = await people.active(tenant)
    return {"username": who["username"], "applicationId": tenant.application_id}


async def _reset(tenant: Tenant) -> dict[str, Any]:
    who = await people.active(tenant)
    return {
        "username": who["username"],
        "token": await people.reset_token(tenant, who),
        "newPassword": "battery staple",
        "applicationId": tenant.application_id,
    }


async def _new_address(tenant: Tenant) -> dict[str, Any]:
    who = await people.active(tenant)
    token = await people.email_change_token(tenant, who, f"{uuid4().hex}@example.org")
    return {"token": token, "applicationId": tenant.application_id}


async def _leaving(tenant: Tenant) -> dict[str, Any]:
    return {"userId": (await people.active(tenant))["userId"]}


async def _suspended(tenant: Tenant) -> dict[str, Any]:
    who = await _leaving(tenant)
    system = Principal(Role.SYSTEM, application_id=tenant.application_id)
    await tenant.gateway.runner.run(user_suspensions.suspend_user, system, {"user_id": who["userId"]})
    return who


async def _erased(tenant: Tenant) -> dict[str, Any]:
    return {"userId": await erased(tenant, (await people.active(tenant))["userId"])}


async def _exported(tenant: Tenant) -> dict[str, Any]:
    await exported(tenant)
    return {"userId": tenant.user_id}


async def _profile(tenant: Tenant) -> dict[str, Any]:
    await tenant.gateway.runner.run(
        profiles.set_account_profile, tenant.account, {"profile_name": "Dash Board", "data": {"tiles": [1, 2]}}
    )
    return {"profileName": "Dash Board"}


async def _session(tenant: Tenant) -> dict[str, Any]:
    await tenant.gateway.runner.run(profiles.update_account_session, tenant.account, {"values": {"page": "today"}})
    return {}


async def _new_directory(tenant: Tenant) -> dict[str, Any]:
    return {"input": {"name": "People", "issuer": f"https://{uuid4().hex}.example", "audiences": ["app"]}}


async def _logged_in(tenant: Tenant) -> tuple[dict[str, str], dict[str, str]]:
    """Return a new account, and the headers of its login."""
    who = await people.active(tenant)
    login = await people.anonymously(tenant, tokens.authenticate, username=who["username"], password=PASSWORD)
    return who, {"token": login.token}


async def _enrolling(tenant: Tenant) -> tuple[dict[str, str], str]:
    """Return the headers of a new account, and the secret of its second factor, which is not confirmed."""
    who, headers = await _logged_in(tenant)
    account = replace(tenant.account, user_id=who["userId"], account_id=who["accountId"])
    enrol = second_factor.enrol_second_factor
    enrolment = await tenant.gateway.runner.run(enrol, account, {"password": PASSWORD})
    return headers, enrolment.secret


async def _renaming(tenant: Tenant) -> tuple[dict[str, str], dict[str, Any]]:
    _, headers = await _logged_in(tenant)
    return headers, {"name": "Grace"}


async def _erasing(tenant: Tenant) -> tuple[dict[str, str], dict[str, Any]]:
    who, headers = await _logged_in(tenant)
    return headers, {"userId": who["userId"], "password": PASSWORD, "everything": True}


async def _changing_password(tenant: Tenant) -> tuple[dict[str, str], dict[str, Any]]:
    """A new password ends the displays and the other tokens of the account."""
    _, headers = await _logged_in(tenant)
    return headers, {"oldPassword": PASSWORD, "newPassword": PASSWORD}


async def _confirming(tenant: Tenant) -> tuple[dict[str, str], dict[str, Any]]:
    headers, secret = await _enrolling(tenant)
    return headers, {"code": pyotp.TOTP(secret).now()}


async def _removing(tenant: Tenant) -> tuple[dict[str, str], dict[str, Any]]:
    headers, secret = await _enrolling(tenant)
    principal = await tenant.gateway.authenticator.authenticate(headers)
    confirm, code = second_factor.confirm_second_factor, pyotp.TOTP(secret).now()
    confirmed = await tenant.gateway.runner.run(confirm, principal, {"code": code})
    return headers, {"password": PASSWORD, "code": confirmed.recovery_codes[0]}


async def _ending_display(tenant: Tenant) -> tuple[dict[str, str], dict[str, Any]]:
    return (await people.paired_display(tenant))[0], {}


async def _display_to_revoke(tenant: Tenant) -> dict[str, Any]:
    return {"displayId": (await people.paired_display(tenant))[1]}


async def _invited(tenant: Tenant) -> dict[str, Any]:
    return {"veId": await tenant.add_home(), "name": "Grace"}


async def _member_to_remove(tenant: Tenant) -> dict[str, Any]:
    ve_id = await tenant.add_home()
    return {"veId": ve_id, "memberId": (await people.invitation(tenant, ve_id)).member.member_id}


async def _another(tenant: Tenant) -> Tenant:
    """Return a new user of the application of a tenant."""
    who = await people.active(tenant)
    return replace(tenant, user_id=who["userId"], account_id=who["accountId"])


async def _invitation_of_another(tenant: Tenant) -> dict[str, Any]:
    owner = await _another(tenant)
    return {"code": (await people.invitation(owner, await owner.add_home())).code}


async def _home_of_another(tenant: Tenant) -> dict[str, Any]:
    owner = await _another(tenant)
    ve_id = await owner.add_home()
    await people.home_member(owner, tenant, ve_id)
    return {"veId": ve_id}


async def _claimed(tenant: Tenant) -> dict[str, Any]:
    started = await people.approved_pairing(tenant)
    return {"deviceCode": started.device_code, "applicationId": tenant.application_id}


async def _answered(tenant: Tenant) -> dict[str, Any]:
    return {"userCode": (await people.started_pairing(tenant)).user_code}


async def _approved(tenant: Tenant) -> dict[str, Any]:
    return {**await _answered(tenant), "veId": tenant.ids["virtual_entity"], "name": "Kitchen"}


FRESH_CALLERS: dict[str, Callable[[Tenant], Awaitable[tuple[dict[str, str], dict[str, Any]]]]] = {
    "erase_my_data": _erasing,
    "change_name": _renaming,
    "change_password": _changing_password,
    "confirm_second_factor": _confirming,
    "remove_second_factor": _removing,
    "end_own_display": _ending_display,
}
"""Operations of a new caller, because a caller can run them once, or because others see their change.

The functions return the headers of the caller, and the variables.
"""


EXAMPLES: dict[str, Example] = {
    "directory": by_id("directory", "directoryId"),
    "directories": NOTHING,
    "add_directory": _new_directory,
    "update_directory": by_id("directory", "directoryId", input={"name": "Everybody", "sessionSeconds": 3_600}),
    "second_factor": NOTHING,
    "enrol_second_factor": fixed(lambda tenant: {"password": PASSWORD}),
    "confirm_second_factor": fixed(lambda tenant: {"code": "000000"}),
    "remove_second_factor": fixed(lambda tenant: {"password": PASSWORD, "code": "000000"}),
    "reset_second_factor": fixed(lambda tenant: {"accountId": tenant.account_id}),
    "start_display_pairing": fixed(lambda tenant: {"applicationId": tenant.application_id, "name": "Wall panel"}),
    "claim_display_pairing": _claimed,
    "check_display_pairing": _answered,
    "approve_display_pairing": _approved,
    "deny_display_pairing": _answered,
    "home_members": by_id("virtual_entity", "veId"),
    "invite_home_member": _invited,
    "remove_member_from_home": _member_to_remove,
    "accept_home_invitation": _invitation_of_another,
    "shared_homes": NOTHING,
    "leave_shared_home": _home_of_another,
    "paired_displays": NOTHING,
    "own_display": NOTHING,
    "end_own_display": NOTHING,
    "rename_paired_display": fixed(lambda tenant: {"displayId": tenant.ids["paired_display"], "name": "Hall"}),
    "revoke_paired_display": _display_to_revoke,
    "register": fixed(
        lambda tenant: {
            "name": "Ada",
            "username": f"{uuid4().hex}@example.org",
            "email": "ada@example.org",
            "password": "long enough",
            "applicationId": tenant.application_id,
        }
    ),
    "request_verification": _unverified,
    "verify_user": _verified,
    "request_password_reset": _forgetful,
    "reset_password": _reset,
    "user_by_username": fixed(lambda tenant: {"username": f" {tenant.username.upper()} "}),
    "user": fixed(lambda tenant: {"userId": tenant.user_id}),
    "add_user": fixed(lambda tenant: {"input": {"username": f"{uuid4().hex}@example.org", "name": "Grace"}}),
    "delete_user": _leaving,
    "suspend_user": _leaving,
    "reopen_user": _suspended,
    "erasure": _erased,
    "export_my_data": _exported,
    "data_export": _exported,
    "data_export_part": _exported,
    "erase_my_data": fixed(lambda tenant: {"userId": tenant.user_id, "everything": True, "password": PASSWORD}),
    "rename_user": fixed(
        lambda tenant: {"userId": tenant.user_id, "username": tenant.username.upper(), "status": "active"}
    ),
    "update_user": fixed(lambda tenant: {"userId": tenant.user_id, "input": {"cultureCode": "en-GB"}}),
    "account_status": fixed(lambda tenant: {"accountId": tenant.account_id}),
    "own_account_status": NOTHING,
    "change_email": fixed(lambda tenant: {"email": "new@example.org"}),
    "confirm_email_change": _new_address,
    "change_name": fixed(lambda tenant: {"name": "Grace"}),
    "change_password": fixed(lambda tenant: {"oldPassword": PASSWORD, "newPassword": PASSWORD}),
    "add_mobile_app_token": fixed(lambda tenant: {"accountId": tenant.account_id, "newToken": "fcm:1"}),
    "remove_mobile_app_token": fixed(lambda tenant: {"accountId": tenant.account_id, "removeToken": "fcm:2"}),
    "mobile_app_tokens": fixed(lambda tenant: {"accountId": tenant.account_id}),
    "web_push": NOTHING,
    "account_profiles": NOTHING,
    "account_profile": _profile,
    "set_account_profile": fixed(lambda tenant: {"profileName": "Settings", "data": {"dark": True, "size": 3}}),
    "account_session": _session,
    "update_account_session": fixed(lambda tenant: {"values": {"page": "history", "filters": {"fuel": "gas"}}}),
    "authorise": people.authorisation,
    "oauth_user": NOTHING,
    "grant_oauth_tokens": people.exchange,
}


def _in_snake_case(arguments: dict[str, Any]) -> dict[str, Any]:
    """Rename OAuth members from camel case to the snake case of RFC 6749."""
    return {
        re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name) if OAUTH_NAMES.match(name) else name: value
        for name, value in arguments.items()
    }


def _tokens(result: list[dict[str, Any]]) -> list[dict[str, Any]]:
    plain = ("tokenId", "userId", "accountId", "createdAt", "expiresAt")
    return [
        {name: item[name] for name in plain}
        | (
            {"authenticationFramework": item["authenticationFramework"], "grant_type": item["grantType"]}
            if item["authenticationFramework"]
            else {}
        )
        for item in result
    ]


REST_ARGUMENTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "POST /accountprofile": lambda arguments: {"profileName": arguments["profileName"], **arguments["data"]},
    "PUT /accountsession": lambda arguments: arguments["values"],
    "POST /auth/oauth": _in_snake_case,
    "POST /auth/oauth/access": _in_snake_case,
    "POST /auth/oauth/device": lambda variables: {"client_id": variables["applicationId"], "name": variables["name"]},
}


def _with_epoch_seconds(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with `exp` in place of `expiresAt`."""
    expires_at = datetime.fromisoformat(result["expiresAt"])
    return {"exp": int(expires_at.timestamp()), **{name: item for name, item in result.items() if name != "expiresAt"}}


def _login(result: dict[str, Any]) -> dict[str, Any]:
    empty = {"userGroups": [], "functionalGroupAccounts": [], "isTempAuth": False}
    return {**_with_epoch_seconds(result), **empty}


REST_RESULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "POST /auth": _login,
    "GET /auth": _with_epoch_seconds,
    "GET /auth/newToken": _with_epoch_seconds,
    "POST /auth/oauth": _with_epoch_seconds,
    "GET /auth/token": _tokens,  # type: ignore[dict-item]
    "DELETE /user/{userId}": lambda result: {"valid": True},
    "GET /user/{userId}/export.zip application/zip": lambda result: {"content": result["content"]},
    "POST /accountprofile": lambda result: {
        "status": "OK",
        "profileName": result["profileName"],
        "devUserId": result["userId"],
    },
    "GET /accountprofile/{profileName}": lambda result: {**result["data"], "profileName": result["profileName"]},
    "GET /accountsession": lambda result: result["data"],
    "PUT /accountsession": lambda result: result["data"],
    "POST /auth/oauth/device": lambda result: {
        "device_code": result["deviceCode"],
        "user_code": result["userCode"],
        "verification_uri": result["verificationUri"],
        "verification_uri_complete": result["verificationUriComplete"],
        "expires_in": result["expiresIn"],
        "interval": result["interval"],
        "qr_code": result["qrCode"],
    },
    "POST /auth/oauth/access": lambda result: {
        "token_type": "bearer",
        "access_token": "*",
        "expires_in": 604800,
        "refresh_token": "*",
        "refresh_type": "*",
        "scope": result["scope"],
    },
}
