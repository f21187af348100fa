"""The content system: cultures, versions, terms in force, prompts and actions of users."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rest_compat.test_spec import assert_record_matches
from tests.support.house import House
from wattgate.db.queries.content import culture_chain, parse_version


@pytest.mark.parametrize(("asked", "nearest"), [("fr-CA", "fr"), ("fr", "fr"), ("FR-fr", "fr"), ("es-ES", "default")])
async def test_a_culture_falls_back_to_its_language_and_then_to_the_default(
    served: House, asked: str, nearest: str
) -> None:
    document = "query ($id: ID!, $c: String!) { content(contentId: $id) { inLanguage(cultureCode: $c) { data } } }"
    told = await served.graphql(document, served.one.headers["account"], id=served.one.ids["content"], c=asked)
    assert told["data"]["content"]["inLanguage"]["data"] == {"in": nearest}
    params = {"cultureCode": asked, "contentId": served.one.ids["content"]}
    (found,) = (await served.call("GET", "/languagecontent", served.one.headers["account"], params=params)).json()
    assert found["cultureCode"] == nearest


def test_cultures_are_tried_nearest_first() -> None:
    assert culture_chain("fr_CA") == ["fr-ca", "fr", "default"]
    assert culture_chain("default") == ["default"]


@pytest.mark.parametrize(
    ("version", "found"),
    [("1.0.0", True), ("1.0", True), ("1.10", True), ("0.9.9", False), ("latest", False), ("", False)],
)
async def test_an_app_is_given_what_holds_for_its_version(served: House, version: str, found: bool) -> None:
    params = {"reference": "app", "version": version}
    told = (await served.call("GET", "/faq", served.one.headers["application"], params=params)).json()
    assert (served.one.ids["faq"] in [one["faqId"] for one in told]) is found


async def test_the_newest_version_comes_first_by_number_and_not_by_text(served: House) -> None:
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
    told = (await served.call("GET", "/faq", headers, params={"reference": "order"})).json()
    assert [one["version"] for one in told] == ["1.10", "1.9", "1.2.1"]


async def test_a_version_that_is_not_dotted_numbers_is_refused(served: House) -> None:
    body = {"reference": "x", "version": "one", "minimumVersion": "1.x", "country": "GB", "data": []}
    answer = await served.call("POST", "/faq", served.one.headers["application"], json=body)
    assert answer.json()["error"] == "incorrect elements -version -minimumVersion"


@given(st.lists(st.integers(0, 99), min_size=1, max_size=4), st.lists(st.integers(0, 99), min_size=1, max_size=4))
def test_dotted_versions_compare_as_numbers(one: list[int], other: list[int]) -> None:
    longest = max(len(one), len(other))
    padded = [(numbers + [0] * longest)[:longest] for numbers in (one, other)]
    texts = [".".join(map(str, numbers)) for numbers in (one, other)]
    compared = [parse_version(text) or () for text in texts]
    assert (compared[0] < compared[1]) == (padded[0] < padded[1])
    assert (compared[0] == compared[1]) == (padded[0] == padded[1])


async def test_of_each_reference_the_newest_terms_that_have_begun_are_in_force(served: House) -> None:
    headers = served.one.headers["application"]
    for version, begins in (("1", "2024-01-01"), ("2", "2025-06-01"), ("3", "2999-01-01")):
        body = {"reference": "newsletter", "version": version, "validFrom": f"{begins}T00:00:00Z"}
        assert (await served.call("POST", "/termsconditions", headers, json=body)).status_code == 200
    params = {"reference": "newsletter"}
    (one,) = (await served.call("GET", "/termsconditions/current", headers, params=params)).json()
    assert one["version"] == "2"


async def test_an_answer_to_terms_is_kept_as_it_is_written(served: House) -> None:
    body = {"tcId": served.one.ids["terms_conditions"], "data": {"dataAccess": {"valid": True}}, "reference": "x"}
    added = await served.call("POST", "/termsconditionsuser", served.one.headers["acting"], json=body)
    assert_record_matches(added.json(), "### Terms and conditions user response")
    assert added.json()["data"] == body["data"]
    path = f"/termsconditionsuser/{added.json()['tcUserId']}"
    assert (await served.call("GET", path, served.one.headers["acting"])).json() == added.json()
    assert (await served.call("GET", path, served.one.headers["account"])).status_code == 401  # Basic only


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
async def test_a_reference_to_an_unknown_or_another_tenants_record_is_refused(
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
        if answer.status_code == 403:  # what an acting application may not write, the application itself may
            answer = await served.call("POST", path, served.one.headers["application"], json={**body, name: id_})
        assert (answer.status_code, answer.json()["error"]) == (400, f"incorrect elements -{name}")


async def test_what_users_did_is_theirs(served: House) -> None:
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


async def test_a_null_where_a_value_must_be_is_refused(served: House) -> None:
    path = f"/content/{served.one.ids['content']}"
    answer = await served.call("PUT", path, served.one.headers["application"], json={"name": None, "active": None})
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -name -active")
