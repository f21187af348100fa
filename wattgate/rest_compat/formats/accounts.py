"""The user system, as the legacy interface has it."""

from collections.abc import Mapping
from typing import Any

from wattgate.enums import camel
from wattgate.errors import BadInput, GatewayError, Path, Unauthenticated
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.formats.legacy_format import Shape
from wattgate.rest_compat.legacy_request import Answer, Exchange

OAUTH_NAMES = (
    "client_id",
    "client_secret",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "grant_type",
    "redirect_uri",
    "refresh_token",
)
"""The members whose names RFC 6749 and RFC 7636 give."""

OAUTH_PLACES: Mapping[Path, Path] = {(camel(name),): (name,) for name in OAUTH_NAMES}


def _oauth_given(exchange: Exchange) -> RawArguments:
    """The members of the body, those of the standards under their own names."""
    members = exchange.members.items()
    return RawArguments({camel(name) if name in OAUTH_NAMES else name: value for name, value in members})


def _oauth_error(error: GatewayError, body: dict[str, Any]) -> dict[str, Any]:
    """RFC 6749, section 5.2: `error` is a code of the standard, and the words stand beside it."""
    usual = {BadInput: "invalid_request", Unauthenticated: "invalid_client"}.get(type(error), "temporarily_unavailable")
    return {**body, "error": error.reason or usual, "error_description": body["error"]}


def _oauth_tokens(answer: Answer) -> dict[str, Any]:
    """The refresh token stands under the standard's name and under the one that legacy clients know."""
    granted = answer.result
    return {
        "token_type": granted.token_type,
        "access_token": granted.access_token,
        "expires_in": granted.expires_in,
        "refresh_token": granted.refresh_token,
        "refresh_type": granted.refresh_token,
        "scope": granted.scope,
    }


def _tokens(answer: Answer) -> list[dict[str, Any]]:
    """What only OAuth tokens have is left out of the others."""
    listed = []
    for told in answer.told:
        grant_type, framework = told.pop("grantType"), told.pop("authenticationFramework")
        oauth = {"authenticationFramework": framework, "grant_type": grant_type} if framework else {}
        listed.append({**told, **oauth})
    return listed


def _closed(answer: Answer) -> dict[str, Any]:
    return {"valid": True, **{name: answer.told[name] for name in ("accountId", "userId", "status")}}


def _profile_given(exchange: Exchange) -> RawArguments:
    """The body is the object to keep; its member profileName says under which name."""
    body = dict(exchange.members)
    name = {"profileName": body.pop("profileName")} if "profileName" in body else {}
    return RawArguments({**name, "data": body})


def _profile_kept(answer: Answer) -> dict[str, Any]:
    return {"status": "OK", "profileName": answer.result.profile_name, "devUserId": answer.result.user_id}


def _profile(answer: Answer) -> dict[str, Any]:
    return {**answer.result.data, "profileName": answer.result.profile_name}


IDENTITY: Mapping[str, Shape] = {
    "POST /auth": Shape(refused={"valid": False}),
    "DELETE /auth/deleteToken": Shape(refused={"valid": False}),
    "GET /auth/token": Shape(body=_tokens),
    "POST /auth/oauth": Shape(given=_oauth_given, places=OAUTH_PLACES, refused={"valid": False}),
    "POST /auth/oauth/access": Shape(
        given=_oauth_given, places=OAUTH_PLACES, body=_oauth_tokens, form=True, error=_oauth_error
    ),
    "DELETE /account/{accountId}": Shape(body=_closed),
    "DELETE /user/{userId}": Shape(body=lambda answer: {"valid": True}),
    "POST /accountprofile": Shape(given=_profile_given, body=_profile_kept),
    "GET /accountprofile/{profileName}": Shape(body=_profile),
    "GET /accountsession": Shape(body=lambda answer: answer.result.data),
    "PUT /accountsession": Shape(
        given=lambda exchange: RawArguments({"values": exchange.body}),
        places={("values",): ()},
        body=lambda answer: answer.result.data,
    ),
}
