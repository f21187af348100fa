"""The contents of the demonstration, by GraphQL and REST, for each of its log-ins and on each engine."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.demonstration import demonstration
from tests.support.refusals import refusals, with_refusals
from tests.support.servers import Databases, serving
from tests.support.socket import socket
from wattgate.app.cli.actions.gateway.demonstration import print_demo
from wattgate.app.demo import live, seed
from wattgate.app.demo.alerts import RULE_LIMIT, RULE_NAME
from wattgate.app.demo.flexibility import EVENT_NAME
from wattgate.app.demo.logins import EDITOR_USERNAME, LOGINS, NEIGHBOUR_USERNAME, PASSWORD, USERNAME
from wattgate.app.demo.seed import FORMER_METER_POINT
from wattgate.app.demo.tariffs import priced_until
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings
from wattgate.clock import format_iso, utc_now

APPLICATION = (seed.APPLICATION_USERNAME, seed.APPLICATION_SECRET)
HOMES_OF = {login.username: {home.name for home in seed.HOMES if home.owner == login.username} for login in LOGINS}


@dataclass
class Demo:
    """A served demonstration, with the token of each log-in."""

    url: str
    settings: Settings
    tokens: dict[str, str]

    async def graphql(self, username: str, query: str, **variables: Any) -> Any:
        headers = {"token": self.tokens[username]}
        async with httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30) as client:
            answer = (
                await client.post("/graphql", json={"query": with_refusals(query), "variables": variables})
            ).json()
        assert not refusals(answer), answer
        return answer["data"]

    async def rest(self, username: str | None, path: str, **parameters: str) -> Any:
        """Return the response to a GET request of a log-in, or of the application if it is None."""
        headers = {} if username is None else {"token": self.tokens[username]}
        auth = APPLICATION if username is None else None
        async with httpx.AsyncClient(base_url=self.url, headers=headers, auth=auth, timeout=30) as client:
            answer = await client.get(f"{self.settings.base_path}{path}", params=parameters)
        assert answer.status_code == 200, (path, answer.text)
        return answer.json()


@pytest.fixture(scope="module")
async def demo(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    """The demonstration with three days of history and live meters, on each engine."""
    async with databases() as url:
        settings, _ = await demonstration(tmp_path_factory.mktemp("contents"), timedelta(days=3), url)
        async with serving(create_app(settings, background=[live.run_meters])) as served:
            yield Demo(served, settings, {login.username: await _log_in(served, login.username) for login in LOGINS})


async def _log_in(url: str, username: str) -> str:
    document = """mutation ($application: ID!, $username: String!, $password: String!) {
      authenticate(applicationId: $application, username: $username, password: $password) {
          ... on Login { token } ...Refused }
    }"""
    variables = {"application": seed.APPLICATION_ID, "username": username, "password": PASSWORD}
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        answer = (await client.post("/graphql", json={"query": with_refusals(document), "variables": variables})).json()
    return str(answer["data"]["authenticate"]["token"])


def nodes_of(connection: dict[str, Any]) -> list[Any]:
    return [edge["node"] for edge in connection["edges"]]


async def homes_of(demo: Demo, username: str, document: str, **variables: Any) -> list[Any]:
    """Return the homes of a document that selects `viewer { homes }`."""
    return nodes_of((await demo.graphql(username, document, **variables))["viewer"]["homes"])


async def test_every_account_is_printed_as_a_login(demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    print_demo(demo.settings, 12_345)
    printed = capsys.readouterr().out
    usernames = {account["username"] for account in await demo.rest(None, "/account")}
    assert usernames == {login.username for login in LOGINS}
    assert len(usernames) == 3
    for login in LOGINS:
        assert any(login.username in line and login.shows in line for line in printed.splitlines()), printed
    assert PASSWORD in printed


def test_readme_lists_every_login() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    listed = [line.split("`")[1] for line in readme.splitlines() if line.startswith("| `") and "@" in line]
    assert listed == [login.username for login in LOGINS]
    assert f"`{PASSWORD}`" in readme


@pytest.mark.parametrize("username", [login.username for login in LOGINS])
async def test_each_login_sees_its_homes_and_nothing_is_withheld(demo: Demo, username: str) -> None:
    document = """{ viewer { homes { edges { node { name resources {
      resourceId classifier lastTime noCurrentReason current { value unit } freshness { state }
    } } } } } }"""
    homes = await homes_of(demo, username, document)
    assert {home["name"] for home in homes} == HOMES_OF[username]
    for resource in (resource for home in homes for resource in home["resources"]):
        if not resource["classifier"].endswith(".cost"):
            assert resource["current"]["value"] is not None, resource
    by_rest = await demo.rest(username, "/virtualentity")
    assert {home["name"] for home in by_rest} == HOMES_OF[username]
    for resource in (resource for home in by_rest for resource in home["resources"]):
        await demo.rest(username, f"/resource/{resource['resourceId']}/current")


async def test_editor_sees_templates_and_no_home_and_no_live_power(demo: Demo) -> None:
    document = """{
      viewer { homes { edges { node { homeId } } } resources { edges { node { resourceId } } }
        devices { edges { node { deviceId } } } accounts { edges { node { username } } }
        alertRules { ruleId } consents { edges { node { meterPointNumber } } } alerts { edges { node { data } } } }
      application { templates { edges { node { cultureCode } } } } }"""
    data = await demo.graphql(EDITOR_USERNAME, document)
    viewer = data["viewer"]
    assert len(viewer["alerts"]["edges"]) == 1
    del viewer["alerts"]
    assert nodes_of(viewer.pop("accounts")) == [{"username": EDITOR_USERNAME}]
    empty: dict[str, Any] = {"edges": []}
    lists = dict.fromkeys(("homes", "resources", "devices", "consents"), empty)
    assert viewer == {**lists, "alertRules": []}
    assert {template["cultureCode"] for template in nodes_of(data["application"]["templates"])} == {"en-GB", "fr"}
    for path in ("/virtualentity", "/resource", "/device", "/alertrule", "/user/verification/status"):
        answer = await demo.rest(EDITOR_USERNAME, path)
        assert not (answer if isinstance(answer, list) else answer.get("data", answer.get("mpxns", []))), (path, answer)
    homes = await demo.rest(None, "/virtualentity")
    foreign = [resource["resourceId"] for home in homes for resource in home["resources"]]
    async with httpx.AsyncClient(base_url=demo.url, headers={"token": demo.tokens[EDITOR_USERNAME]}) as client:
        for resource_id in foreign:
            answer = await client.get(f"{demo.settings.base_path}/resource/{resource_id}/current")
            assert answer.status_code == 404
    async with socket(demo.url) as client_socket:
        await client_socket.init(token=demo.tokens[EDITOR_USERNAME])
        subscriptions = [
            f'readings(resourceIds: ["{foreign[0]}"]) {{ value }}',
            f'display(homeId: "{homes[0]["veId"]}") {{ at }}',
        ]
        for number, selection in enumerate(subscriptions):
            await client_socket.subscribe(f"subscription {{ {selection} }}", str(number))
            answer = await client_socket.hear()
            errors = answer["payload"] if answer["type"] == "error" else answer["payload"]["errors"]
            assert [error["extensions"]["code"] for error in errors] == ["NOT_FOUND"], answer


CONSENTS = "{ viewer { consents { edges { node { meterPointNumber state verified } } } } }"


async def test_consents_are_valid_but_one_that_was_withdrawn(demo: Demo) -> None:
    consents = nodes_of((await demo.graphql(USERNAME, CONSENTS))["viewer"]["consents"])
    points = {point for home in seed.HOMES if home.owner == USERNAME for point in home.meter_points}
    states = {consent["meterPointNumber"]: consent["state"] for consent in consents}
    assert states == {**dict.fromkeys(points, "VALID"), FORMER_METER_POINT: "REVOKED"}
    document = f'{{ consentChanges(meterPointNumber: "{FORMER_METER_POINT}") {{ kind }} }}'
    assert (await demo.graphql(USERNAME, document))["consentChanges"] == [
        {"kind": "GRANT"},
        {"kind": "REVOCATION"},
    ]
    assert FORMER_METER_POINT in str(await demo.rest(USERNAME, "/user/verification/status"))
    assert await demo.rest(USERNAME, f"/user/verification/status/mpxn/{FORMER_METER_POINT}/revocation")


async def test_withdrawn_consent_withholds_the_readings_of_its_resource(demo: Demo) -> None:
    document = "{ viewer { resources { edges { node { resourceId meterPointNumber classifier label } } } } }"
    resources = nodes_of((await demo.graphql(USERNAME, document))["viewer"]["resources"])
    (former,) = [resource for resource in resources if resource["meterPointNumber"] == FORMER_METER_POINT]
    assert {resource["classifier"]: resource["label"] for resource in resources} == {
        series.classifier: series.label for series in seed.RESOURCES
    }
    headers = {"token": demo.tokens[USERNAME]}
    async with httpx.AsyncClient(base_url=demo.url, headers=headers) as client:
        answer = await client.get(f"{demo.settings.base_path}/resource/{former['resourceId']}/current")
    assert (answer.status_code, "consent" in answer.text.lower()) == (403, True)


async def test_user_can_join_the_open_event_that_the_neighbour_has_joined(demo: Demo) -> None:
    document = """{ viewer {
      flexibilityEvents {
        edges { node { flexibilityEventId name state startsAt endsAt reward { amount currency per } } } }
      flexibilityEnrolments { meterPointNumber } flexibilityParticipations { edges { node { event { name } } } } } }"""
    data = (await demo.graphql(USERNAME, document))["viewer"]
    (event,) = nodes_of(data["flexibilityEvents"])
    assert (event["name"], event["state"]) == (EVENT_NAME, "OPEN")
    assert format_iso(utc_now()) < event["startsAt"] < event["endsAt"]
    assert [enrolment["meterPointNumber"] for enrolment in data["flexibilityEnrolments"]] == [
        seed.HOMES[0].meter_points[0]
    ]
    assert nodes_of(data["flexibilityParticipations"]) == []
    assert len(await demo.rest(None, "/dfs/user")) == 2
    assert len(await demo.rest(NEIGHBOUR_USERNAME, "/dfs/event/user")) == 1
    assert len(await demo.rest(None, f"/dfs/event/{event['flexibilityEventId']}/user")) == 1
    join = (
        "mutation ($event: ID!) { joinFlexibilityEvent(flexibilityEventId: $event) {"
        " ... on FlexibilityParticipations { items { meterPointNumber } } ...Refused } }"
    )
    joined = await demo.graphql(USERNAME, join, event=event["flexibilityEventId"])
    assert joined["joinFlexibilityEvent"]["items"] == data["flexibilityEnrolments"]


CONTENT = {
    "/faq": "faqs { reference }",
    "/content": "application { contents { edges { node { reference } } } }",
    "/languagecontent": """application {
      contents { edges { node { translations { edges { node { cultureCode } } } } } } }""",
    "/termsconditions": "application { termsConditions { edges { node { reference } } } }",
    "/termsconditions/current": "application { termsConditionsInForce { reference } }",
    "/dfs/termsconditions": 'application { termsConditionsInForce(reference: "dfs") { reference } }',
    "/termsconditionsuser": "viewer { termsConditionsUsers { edges { node { reference } } } }",
    "/supportdetails": "application { supportDetails { edges { node { reference } } } }",
    "/prompttype": "application { promptTypes { edges { node { name } } } }",
    "/prompt": "application { prompts { edges { node { name } } } }",
    "/promptuser": "viewer { promptUsers { edges { node { status } } } }",
    "/useractiontype": "application { userActionTypes { edges { node { name } } } }",
    "/useraction": "viewer { userActions { edges { node { data } } } }",
    "/alerttype": "application { alertTypes { name } }",
    "/alertrule": "viewer { alertRules { name } }",
    "/alert/user": "viewer { alerts { edges { node { alertId } } } }",
    "/vetype": "application { homeTypes { edges { node { name } } } }",
    "/resourcetype": "application { resourceTypes { edges { node { name } } } }",
    "/devicetype": "application { deviceTypes { edges { node { description } } } }",
    "/device": "viewer { devices { edges { node { deviceId } } } }",
}


async def test_graphql_and_rest_show_the_same_content(demo: Demo, subtests: pytest.Subtests) -> None:
    for path, selection in CONTENT.items():
        with subtests.test(path):
            (records,) = (await demo.graphql(USERNAME, f"{{ {selection} }}")).values()
            if selection.startswith(("viewer", "application")):
                (records,) = records.values()
            if isinstance(records, dict):
                records = nodes_of(records)
            if path == "/languagecontent":
                records = [translation for content in records for translation in nodes_of(content["translations"])]
            # published clients read the questions with the credential of the application
            by_rest = await demo.rest(None if path == "/faq" else USERNAME, path)
            assert len(by_rest) == len(records) > 0


async def test_page_has_a_translation_and_terms_have_an_answer(demo: Demo) -> None:
    document = """{ application {
        contents { edges { node { reference inLanguage(cultureCode: "fr-CA") { cultureCode data } } } }
        termsConditionsInForce { reference title } }
      viewer { termsConditionsUsers { edges { node { accepted termsConditions { reference } } } } } }"""
    data = await demo.graphql(USERNAME, document)
    contents = {content["reference"]: content for content in nodes_of(data["application"]["contents"])}
    assert contents["welcome"]["inLanguage"]["data"]["title"] == "Bienvenue"
    in_force = {terms["reference"] for terms in data["application"]["termsConditionsInForce"]}
    accepted = {answer["termsConditions"]["reference"] for answer in nodes_of(data["viewer"]["termsConditionsUsers"])}
    assert in_force == accepted == {"app", "dfs"}


async def test_rule_has_raised_an_alert_with_its_template(demo: Demo) -> None:
    document = """{ viewer { alertRules { ruleId name active firedAt backTest(days: 2) { count } } unreadAlerts
      alerts { edges { node { data notifications { channel subject text log { stage } } } } } } }"""
    data = (await demo.graphql(USERNAME, document))["viewer"]
    (rule,), (alert,) = data["alertRules"], nodes_of(data["alerts"])
    assert (rule["name"], rule["active"], data["unreadAlerts"]) == (RULE_NAME, True, 1)
    assert rule["firedAt"] is not None
    assert rule["backTest"]["count"] >= 1
    assert (alert["data"]["ruleId"], alert["data"]["rule"]) == (rule["ruleId"], RULE_NAME)
    assert alert["data"]["value"] > RULE_LIMIT
    mail = next(notification for notification in alert["notifications"] if notification["channel"] == "EMAIL")
    used = Decimal(str(alert["data"]["value"])).quantize(Decimal("0.01"), ROUND_HALF_UP)
    assert mail["subject"] == f"12 Alder Road: {used} kWh, limit 5.00 kWh"
    assert "The limit of your rule is 5.00 kWh." in " ".join(mail["text"].split())
    assert "Template Not Used" not in {entry["stage"] for entry in mail["log"]}
    (kept,) = await _kept_mails(demo)
    assert mail["subject"] in str(kept)


async def _kept_mails(demo: Demo) -> list[Any]:
    """Return the mails of the outbox, once the delivery worker has kept one."""
    async with httpx.AsyncClient(base_url=demo.url) as client, asyncio.timeout(60):
        while True:
            mails = (await client.get("/outbox/mails")).json()
            if mails:
                return list(mails)
            await asyncio.sleep(0.05)


async def test_dynamic_tariff_has_the_prices_of_today_and_after_16_of_tomorrow(demo: Demo) -> None:
    document = """query ($range: TimeRange!) { viewer { homes { edges { node { name resources {
      classifier currentRates { rate { amount } } tariff { kind prices(range: $range) { at rate } }
    } } } } } }"""
    before = utc_now()
    range_ = {"start": format_iso(before - timedelta(days=1)), "end": format_iso(before + timedelta(days=9))}
    homes = await homes_of(demo, NEIGHBOUR_USERNAME, document, range=range_)
    mill = next(home for home in homes if home["name"] == "Flat 5, Mill Court")
    electricity = next(one for one in mill["resources"] if one["classifier"] == "electricity.consumption")
    assert electricity["tariff"]["kind"] == "DYNAMIC"
    assert electricity["currentRates"]["rate"] is not None
    last = electricity["tariff"]["prices"][-1]["at"]
    ends = {priced_until(before - timedelta(minutes=10)), priced_until(utc_now())}  # the hour may pass meanwhile
    assert last in {format_iso(end - timedelta(minutes=30)) for end in ends}


async def test_home_without_a_tariff_has_readings_and_the_reason_for_no_cost(demo: Demo) -> None:
    document = """query ($range: TimeRange!) { viewer { homes { edges { node { name resources {
      resourceId classifier
      tariff { name } cost(range: $range) { total { amount } } noCostReason(range: $range)
      readings(range: $range, period: P1D) { total }
    } } } } } }"""
    now = utc_now()
    range_ = {"start": format_iso(now - timedelta(days=2)), "end": format_iso(now)}
    homes = await homes_of(demo, NEIGHBOUR_USERNAME, document, range=range_)
    studio = next(home for home in homes if home["name"] == "Garden Studio")
    electricity = next(one for one in studio["resources"] if one["classifier"] == "electricity.consumption")
    assert (electricity["tariff"], electricity["cost"], electricity["noCostReason"]) == (None, None, "NO_TARIFF")
    assert electricity["readings"]["total"] > 0
    cost = next(one for one in studio["resources"] if one["classifier"] == "electricity.consumption.cost")
    answer = await demo.rest(
        NEIGHBOUR_USERNAME,
        f"/resource/{cost['resourceId']}/readings",
        **{"from": range_["start"][:19], "to": range_["end"][:19], "period": "P1D", "function": "sum", "nulls": "1"},
    )
    assert {value for _, value in answer["data"]} == {None}
    assert [entry["reason"] for entry in answer["noValue"]] == ["NO_TARIFF"]
