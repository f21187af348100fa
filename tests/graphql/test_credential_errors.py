"""Tests of missing and wrong credentials: which header is meant, and 401 only if a new log-in helps."""

import pytest

from tests.support.house import House, basic

TOKEN_OR_BASIC = "Send a token in the header token or in Authorization: Bearer, or a username and password"


WRONG = [
    ({}, 401, TOKEN_OR_BASIC),
    ({"token": "unknown"}, 401, "The token is unknown, revoked or expired. Log in again."),
    ({"Authorization": "Bearer unknown"}, 401, "The token is unknown, revoked or expired. Log in again."),
    ({"Authorization": "Digest a"}, 401, "The header Authorization has an unknown scheme. Send Bearer"),
    ({"Authorization": "Bearer"}, 401, "The header Authorization has no token. Send Bearer with a token"),
    ({"Authorization": "Basic ?"}, 401, "The username or the password in the header Authorization is wrong."),
    (basic("nobody", "wrong"), 401, "also need the header applicationId"),
]


@pytest.mark.parametrize(("headers", "status", "text"), WRONG)
async def test_error_names_the_header_that_is_missing_or_wrong(
    served: House, headers: dict[str, str], status: int, text: str
) -> None:
    rest = await served.call("GET", "/resource", headers)
    graphql = await served.graphql("{ viewer { resources { edges { node { resourceId } } } } }", headers)
    assert (rest.status_code, rest.json()["code"]) == (status, "UNAUTHENTICATED")
    assert text in rest.json()["error"]
    assert graphql["errors"][0]["message"] == rest.json()["error"]


async def test_error_names_the_header_applicationid_of_another_application(served: House) -> None:
    headers = served.one.headers["account"] | {"applicationId": served.other.application_id}
    answer = await served.call("GET", "/resource", headers)
    assert answer.status_code == 401
    assert "another application than that of the header applicationId" in answer.json()["error"]


async def test_wrong_password_and_unknown_name_have_the_same_error(served: House) -> None:
    application = {"applicationId": served.one.application_id}
    answers = [
        await served.call("GET", "/resource", basic(name, "wrong") | application)
        for name in (served.one.username, "nobody@one.example")
    ]
    assert [answer.status_code for answer in answers] == [401, 401]
    assert answers[0].json()["error"] == answers[1].json()["error"]
    assert "applicationId" not in answers[0].json()["error"]


async def test_unknown_user_in_the_header_is_forbidden_and_needs_no_new_login(served: House) -> None:
    headers = served.one.headers["application"] | {"userId": served.other.user_id}
    answer = await served.call("GET", "/resource", headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
    assert answer.json()["error"] == "The header userId names no user of the application. Correct it, or leave it out."


async def test_credentials_of_another_scheme_are_forbidden_and_need_no_new_login(served: House) -> None:
    token = await served.call("GET", "/faq", served.one.headers["account"])
    assert (token.status_code, token.json()["code"]) == (403, "FORBIDDEN")
    assert token.json()["error"] == "This path accepts only a username and password in Authorization: Basic."
    basic_credentials = await served.call("GET", "/webhook/unknown", served.one.headers["application"])
    assert (basic_credentials.status_code, basic_credentials.json()["code"]) == (403, "FORBIDDEN")
    assert "a token in the header token" in basic_credentials.json()["error"]
    missing = await served.call("GET", "/faq", {})
    assert (missing.status_code, missing.json()["code"]) == (401, "UNAUTHENTICATED")
    assert "This path needs a username and password in Authorization: Basic." in missing.json()["error"]
