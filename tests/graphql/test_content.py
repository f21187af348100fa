"""The content system: cultures, versions, terms in force, prompts and actions of users."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rest_compat.test_spec import assert_record_matches
from tests.support.house import House
from wattgate.db.queries.content import culture_chain, parse_version
from wattgate.operations.vocabulary.node import encode_global_id


@pytest.mark.parametrize(("culture", "nearest"), [("fr-CA", "fr"), ("fr", "fr"), ("FR-fr", "fr"), ("es-ES", "default")])
async def test_culture_falls_back_to_its_language_and_then_to_the_default(
    served: House, culture: str, nearest: str
) -> None:
    document = """query ($id: ID!, $c: String!) {
      node(id: $id) { ... on Content { inLanguage(cultureCode: $c) { data } } } }"""
    global_id = encode_global_id("Content", served.one.ids["content"])
    response = await served.graphql(document, served.one.headers["account"], id=global_id, c=culture)
    assert response["data"]["node"]["inLanguage"]["data"] == {"in": nearest}
    params = {"cultureCode": culture, "contentId": served.one.ids["content"]}
    (content,) = (await served.call("GET", "/languagecontent", served.one.headers["account"], params=params)).json()
    assert content["cultureCode"] == nearest


def test_culture_chain_starts_with_the_nearest() -> None:
    assert culture_chain("fr_CA") == ["fr-ca", "fr", "default"]
    assert culture_chain("default") == ["default"]


@pytest.mark.parametrize(
    ("version", "listed"),
    [("1.0.0", True), ("1.0", True), ("1.10", True), ("0.9.9", False), ("latest", False), ("", False)],
)
async def test_faq_is_listed_only_for_app_versions_from_its_minimum(served: House, version: str, listed: bool) -> None:
    params = {"reference": "app", "version": version}
    faqs = (await served.call("GET", "/faq", served.one.headers["application"], params=params)).json()
    assert (served.one.ids["faq"] in [faq["faqId"] for faq in faqs]) is listed


async def test_faqs_are_sorted_by_version_number_not_text(served: House) -> None:
    headers = served.one.headers["application"]
    for version in ("1.9", "1.10", "1.2.1"):
        body: dict[str, Any] = {
            "reference": "order",
            "version": version,
            "minimumVersion": "1",
            "country": "GB",
            "data": [],
        }
        assert (await served.call("POST", "/faq", headers, json=body)).status_code == 200
    faqs = (await served.call("GET", "/faq", headers, params={"reference": "order"})).json()
    assert [faq["version"] for faq in faqs] == ["1.10", "1.9", "1.2.1"]


async def test_version_that_is_not_dotted_numbers_is_rejected(served: House) -> None:
    body = {"reference": "x", "version": "one", "minimumVersion": "1.x", "country": "GB", "data": []}
    answer = await served.call("POST", "/faq", served.one.headers["application"], json=body)
    assert answer.json()["error"] == "incorrect elements -version -minimumVersion"


@pytest.mark.parametrize("digits", [19, 5_000])
def test_version_with_too_many_digits_is_none(digits: int) -> None:
    assert parse_version("1." + digits * "9") is None
    assert parse_version("1." + 18 * "9") == (1, 10**18 - 1)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=4), st.lists(st.integers(0, 99), min_size=1, max_size=4))
def test_dotted_versions_compare_as_numbers(first: list[int], second: list[int]) -> None:
    length = max(len(first), len(second))
    padded = [(numbers + [0] * length)[:length] for numbers in (first, second)]
    texts = [".".join(map(str, numbers)) for numbers in (first, second)]
    compared = [parse_version(text) or () for text in texts]
    assert (compared[0] < compared[1]) == (padded[0] < padded[1])
    assert (compared[0] == compared[1]) == (padded[0] == padded[1])


async def test_newest_started_terms_of_each_reference_are_in_force(served: House) -> None:
    headers = served.one.headers["application"]
    for version, begins in (("1", "2024-01-01"), ("2", "2025-06-01"), ("3", "2999-01-01")):
        body = {"reference": "newsletter", "version": version, "validFrom": f"{begins}T00:00:00Z"}
        assert (await served.call("POST", "/termsconditions", headers, json=body)).status_code == 200
    params = {"reference": "newsletter"}
    (terms,) = (await served.call("GET", "/termsconditions/current", headers, params=params)).json()
    assert terms["version"] == "2"


async def test_response_to_terms_is_stored_unchanged(served: House) -> None:
    body = {"tcId": served.one.ids["terms_conditions"], "data": {"dataAccess": {"valid": True}}, "reference": "x"}
    added = await served.call("POST", "/termsconditionsuser", served.one.headers["acting"], json=body)
    assert_record_matches(added.json(), "### Terms and conditions user response")
    assert added.json()["data"] == body["data"]
    path = f"/termsconditionsuser/{added.json()['tcUserId']}"
    assert (await served.call("GET", path, served.one.headers["acting"])).json() == added.json()
    assert (await served.call("GET", path, served.one.headers["account"])).status_code == 403  # Basic only


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/prompt", {"promptTypeId": "unknown", "name": "x"}),
        ("/promptuser", {"promptId": "unknown"}),
        ("/useraction", {"userActionTypeId": "unknown"}),
        ("/languagecontent", {"contentId": "unknown", "cultureCode": "en"}),
        ("/termsconditionsuser", {"tcId": "unknown", "data": {"dataAccess": {"valid": True}}}),
        (
            "/template",
            {"alertTypeId": "unknown", "name": "x", "channelType": "email", "cultureCode": "x", "htmlTemplate": ""},
        ),
    ],
)
async def test_reference_to_an_unknown_or_another_tenants_record_is_rejected(
    served: House, path: str, body: dict[str, Any]
) -> None:
    name = next(name for name, value in body.items() if value == "unknown")
    kinds = {
        "promptTypeId": "prompt_type",
        "promptId": "prompt",
        "userActionTypeId": "user_action_type",
        "contentId": "content",
        "tcId": "terms_conditions",
        "alertTypeId": "alert_type",
    }
    for id_ in ("unknown", served.other.ids[kinds[name]]):
        answer = await served.call("POST", path, served.one.headers["acting"], json={**body, name: id_})
        if answer.status_code == 403:  # only the application itself may write this
            answer = await served.call("POST", path, served.one.headers["application"], json={**body, name: id_})
        assert (answer.status_code, answer.json()["error"]) == (400, f"incorrect elements -{name}")


async def test_users_see_only_their_own_responses(served: House) -> None:
    for path in ("/useraction", "/promptuser", "/termsconditionsuser"):
        mine = (await served.call("GET", path, served.one.headers["account"])).json()
        assert mine
        assert {record["userId"] for record in mine} == {served.one.user_id}
    without_user = await served.call(
        "POST",
        "/useraction",
        served.one.headers["application"],
        json={"userActionTypeId": served.one.ids["user_action_type"]},
    )
    assert (without_user.status_code, without_user.json()["error"]) == (400, "missing elements -userId")


async def test_null_for_a_required_value_is_rejected(served: House) -> None:
    path = f"/content/{served.one.ids['content']}"
    answer = await served.call("PUT", path, served.one.headers["application"], json={"name": None, "active": None})
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -name -active")
