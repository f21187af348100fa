"""Tests of enum values: REST takes what it answers, and errors list the values that exist."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.house import House, house

PERIODS = "The values are PT1M, PT5M, PT15M, PT30M, PT1H, P1D, P1W, P1M, P3M, P1Y."


def rule(served: House, **more: Any) -> dict[str, Any]:
    return {
        "name": "Evening",
        "kind": "THRESHOLD",
        "alertTypeId": served.one.ids["alert_type"],
        "channels": ["inbox"],
        "resourceId": served.one.ids["resource"],
        "threshold": str(Decimal("2.5")),
        "windowMinutes": 60,
        **more,
    }


async def test_rule_can_be_sent_back_as_it_was_answered(served: House) -> None:
    headers = served.one.headers["account"]
    added = await served.call("POST", "/alertrule", headers, json=rule(served, function="max"))
    assert added.status_code == 201, added.text
    answered = added.json()
    assert answered["function"] == "max"
    path = f"/alertrule/{answered['ruleId']}"
    changed = await served.call("PUT", path, headers, json={**answered, "name": "Morning"})
    assert (changed.status_code, changed.json()["name"]) == (200, "Morning"), changed.text
    assert {**changed.json(), "name": "Evening", "updatedAt": ""} == {**answered, "updatedAt": ""}
    await served.call("DELETE", path, headers)


async def test_one_enum_value_is_taken_as_a_list(served: House) -> None:
    headers = served.one.headers["account"]
    added = await served.call("POST", "/alertrule", headers, json=rule(served, channels="inbox"))
    assert (added.status_code, added.json()["channels"]) == (201, ["inbox"]), added.text
    await served.call("DELETE", f"/alertrule/{added.json()['ruleId']}", headers)


async def test_rule_takes_the_short_code_of_an_alert_type(served: House) -> None:
    headers = served.one.headers["account"]
    for code in ("CM01", served.one.ids["alert_type"]):
        added = await served.call("POST", "/alertrule", headers, json=rule(served, alertTypeId=code))
        assert added.json()["alertTypeId"] == served.one.ids["alert_type"], added.text
        await served.call("DELETE", f"/alertrule/{added.json()['ruleId']}", headers)
    unknown = await served.call("POST", "/alertrule", headers, json=rule(served, alertTypeId="CM99"))
    assert (unknown.status_code, unknown.json()["problems"][0]["message"]) == (400, "CM99 does not exist")


async def test_rest_error_lists_the_values(served: House) -> None:
    headers = served.one.headers["account"]
    refused = await served.call("POST", "/alertrule", headers, json=rule(served, period="DAY"))
    (problem,) = refused.json()["problems"]
    assert (problem["path"], problem["message"]) == (["period"], f"'DAY' is unknown. {PERIODS}")
    query = {"from": "2026-01-05T00:00:00", "to": "2026-01-06T00:00:00", "period": "DAY", "function": "sum"}
    refused = await served.http.get(
        f"{served.rest}/resource/{served.one.ids['resource']}/readings", params=query, headers=headers
    )
    assert PERIODS in refused.text


@pytest.mark.parametrize(
    ("document", "variables"),
    [
        ("{ viewer { resources { edges { node { readings(range: {}, period: DAY) { unit } } } } } }", {}),
        ('{ viewer { resources { edges { node { readings(range: {}, period: "P1D") { unit } } } } } }', {}),
        (
            "query ($range: TimeRange!, $period: Period!) {"
            " viewer { resources { edges { node { readings(range: $range, period: $period) { unit } } } } } }",
            {"period": "DAY", "range": {}},
        ),
    ],
)
async def test_graphql_error_lists_the_values(tmp_path: Path, document: str, variables: dict[str, Any]) -> None:
    async with house(f"sqlite:///{tmp_path / 'gateway.sqlite3'}", environment="development") as gateway:
        body = await gateway.graphql(document, gateway.one.headers["account"], **variables)
    messages = [error["message"] for error in body["errors"] if "Period" in error["message"]]
    assert [message for message in messages if message.endswith(PERIODS)], body
