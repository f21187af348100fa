"""Legacy formats of users, accounts, tokens, profiles and sessions."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, GatewayError, ProblemPath, Unauthenticated, UnsupportedMediaType
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.operations.credentials.login import WeakPassword
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult
from wattgate.rest_compat.wire import accounts as wire
from wattgate.rest_compat.wire.shapes import ListOf

OAUTH_NAMES = (
    "client_id",
    "client_secret",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "device_code",
    "grant_type",
    "redirect_uri",
    "refresh_token",
)
"""Members whose names RFC 6749, RFC 7636 and RFC 8628 define."""

OAUTH_REQUEST_PATHS: Mapping[ProblemPath, ProblemPath] = {(to_camel_case(name),): (name,) for name in OAUTH_NAMES}


def _parse_oauth_arguments(request: LegacyRequest) -> RawArguments:
    """Convert the body; members of the OAuth standards change from snake case to camel case."""
    members = request.body_members.items()
    return RawArguments({to_camel_case(name) if name in OAUTH_NAMES else name: value for name, value in members})


OAUTH_ERRORS: Mapping[type[GatewayError], str] = MappingProxyType(
    {BadInput: "invalid_request", UnsupportedMediaType: "invalid_request", Unauthenticated: "invalid_client"}
)
"""The codes of RFC 6749, section 5.2, by the class of the error."""


def _transform_oauth_error(error: GatewayError, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of RFC 6749, section 5.2: `error` is a code, and `error_description` is the message."""
    usual = OAUTH_ERRORS.get(type(error), "temporarily_unavailable")
    return {**body, "error": error.reason or usual, "error_description": body["error"]}


def _transform_new_password_error(error: GatewayError, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body with the error text that legacy clients know for a weak new password."""
    return {**body, "error": "weak new password"} if isinstance(error, WeakPassword) else body


def _oauth_tokens_body(result: RestResult) -> dict[str, Any]:
    """Return the tokens. The refresh token is repeated as `refresh_type`, which legacy clients read.

    A display has no refresh token.
    """
    granted = result.result
    refresh = {"refresh_token": granted.refresh_token, "refresh_type": granted.refresh_token}
    return {
        "token_type": granted.token_type,
        "access_token": granted.access_token,
        "expires_in": granted.expires_in,
        **(refresh if granted.refresh_token else {}),
        "scope": granted.scope,
    }


def _parse_device_arguments(request: LegacyRequest) -> RawArguments:
    """Convert the body: `client_id` is the ID of the application. A display has no choice of scopes."""
    names = {"client_id": "applicationId"}
    members = request.body_members.items()
    return RawArguments({names.get(name, name): value for name, value in members if name != "scope"})


def _device_body(result: RestResult) -> dict[str, Any]:
    """Return the response of RFC 8628, section 3.2, and the modules of the QR code."""
    started = result.result
    return {
        "device_code": started.device_code,
        "user_code": started.user_code,
        "verification_uri": started.verification_uri,
        "verification_uri_complete": started.verification_uri_complete,
        "expires_in": started.expires_in,
        "interval": started.interval,
        "qr_code": started.qr_code,
    }


def _tokens_body(result: RestResult) -> list[dict[str, Any]]:
    """Return the tokens; only OAuth tokens have `authenticationFramework` and `grant_type`."""
    listed = []
    for token in result.rendered:
        grant_type, framework = token.pop("grantType"), token.pop("authenticationFramework")
        oauth = {"authenticationFramework": framework, "grant_type": grant_type} if framework else {}
        listed.append({**token, **oauth})
    return listed


def _closed_account_body(result: RestResult) -> dict[str, Any]:
    return {"valid": True, **{name: result.rendered[name] for name in ("accountId", "userId", "status")}}


def _parse_profile_arguments(request: LegacyRequest) -> RawArguments:
    """Convert the body: `profileName` is the name of the profile, and all other members are its data."""
    body = dict(request.body_members)
    name = {"profileName": body.pop("profileName")} if "profileName" in body else {}
    return RawArguments({**name, "data": body})


def _saved_profile_body(result: RestResult) -> dict[str, Any]:
    return {"status": "OK", "profileName": result.result.profile_name, "devUserId": result.result.user_id}


def _profile_body(result: RestResult) -> dict[str, Any]:
    return {**result.result.data, "profileName": result.result.profile_name}


ACCOUNT_FORMATS: Mapping[str, LegacyFormat] = {
    "POST /auth": LegacyFormat(rejection_members={"valid": False}),
    "DELETE /auth/deleteToken": LegacyFormat(rejection_members={"valid": False}),
    "GET /auth/token": LegacyFormat(
        render_body=_tokens_body, response=ListOf(wire.TOKEN), response_example=wire.TOKENS_EXAMPLE
    ),
    "POST /auth/oauth": LegacyFormat(
        parse_arguments=_parse_oauth_arguments,
        request_paths=OAUTH_REQUEST_PATHS,
        rejection_members={"valid": False},
        body_example=wire.AUTHORISATION_EXAMPLE,
    ),
    "POST /auth/oauth/access": LegacyFormat(
        parse_arguments=_parse_oauth_arguments,
        request_paths=OAUTH_REQUEST_PATHS,
        render_body=_oauth_tokens_body,
        response=wire.OAUTH_TOKENS,
        accepts_form=True,
        transform_error=_transform_oauth_error,
        body_example=wire.TOKEN_EXCHANGE_EXAMPLE,
        response_example=wire.OAUTH_TOKENS_EXAMPLE,
    ),
    "POST /auth/oauth/device": LegacyFormat(
        parse_arguments=_parse_device_arguments,
        request_paths={("applicationId",): ("client_id",)},
        render_body=_device_body,
        response=wire.DEVICE_CODES,
        accepts_form=True,
        transform_error=_transform_oauth_error,
    ),
    "POST /account/changepassword": LegacyFormat(transform_error=_transform_new_password_error),
    "PUT /user/resetpassword": LegacyFormat(transform_error=_transform_new_password_error),
    "DELETE /account/{accountId}": LegacyFormat(
        render_body=_closed_account_body, response=wire.ClosedAccount, response_example=wire.CLOSED_ACCOUNT_EXAMPLE
    ),
    "DELETE /user/{userId}": LegacyFormat(
        render_body=lambda result: {"valid": True},
        response=wire.DeletedUser,
        response_example=wire.DELETED_USER_EXAMPLE,
    ),
    "POST /accountprofile": LegacyFormat(
        parse_arguments=_parse_profile_arguments,
        render_body=_saved_profile_body,
        body=wire.PROFILE_TO_SAVE,
        response=wire.SavedProfile,
        body_example=wire.PROFILE_EXAMPLE,
        response_example=wire.SAVED_PROFILE_EXAMPLE,
    ),
    "GET /accountprofile/{profileName}": LegacyFormat(
        render_body=_profile_body, response=wire.PROFILE, response_example=wire.PROFILE_EXAMPLE
    ),
    "GET /accountsession": LegacyFormat(
        render_body=lambda result: result.result.data, response=wire.SESSION, response_example=wire.SESSION_EXAMPLE
    ),
    "PUT /accountsession": LegacyFormat(
        parse_arguments=lambda request: RawArguments({"values": request.body}),
        request_paths={("values",): ()},
        render_body=lambda result: result.result.data,
        body=wire.SESSION,
        response=wire.SESSION,
        body_example=wire.SESSION_EXAMPLE,
        response_example=wire.SESSION_EXAMPLE,
    ),
}
