"""The cultures of users: chosen at creation, changed by the account and by the application, and used for templates."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from strawberry import ID

from tests.support import people
from tests.support.house import PASSWORD, House, operation
from tests.support.house import basic as basic_headers
from wattgate.delivery.templates.language.cultures import canonical_culture
from wattgate.enums import Channel
from wattgate.operations.accounts import provisioning
from wattgate.operations.types.messages import alerts as types
from wattgate.operations.types.users.users import UserChange

NO_TAG = "is not a language tag such as en-GB"
UPDATE = (
    "mutation($user: ID!, $input: UserChange!) { updateUser(userId: $user, input: $input) {"
    " ... on User { cultureCode } } }"
)


@pytest.mark.parametrize(
    ("written", "canonical"), [("FR-ca", "fr-CA"), ("zh-hANT-tw", "zh-Hant-TW"), ("DE", "de"), ("es-419", "es-419")]
)
def test_culture_has_one_form(written: str, canonical: str) -> None:
    assert canonical_culture(written) == canonical


async def register(house: House, **more: Any) -> Any:
    username = f"{uuid4().hex}@example.org"
    body = {"name": "Ada", "username": username, "email": username, "password": PASSWORD, **more}
    headers = {"applicationId": house.one.application_id}
    return await house.call("POST", "/register", headers, json=body)


async def test_culture_is_chosen_at_registration(served: House) -> None:
    assert (await register(served, cultureCode="FR-ca")).json()["cultureCode"] == "fr-CA"
    assert (await register(served)).json()["cultureCode"] == "en-GB"
    refused = await register(served, cultureCode="English, please")
    assert refused.status_code == 400
    assert refused.json()["problems"] == [{"path": ["cultureCode"], "message": NO_TAG}]


async def test_culture_is_chosen_when_an_application_adds_a_user(served: House) -> None:
    username = f"{uuid4().hex}@example.org"
    headers = served.one.headers["application"]
    added = await served.call("POST", "/user", headers, json={"username": username, "cultureCode": "de-ch"})
    assert added.json()["cultureCode"] == "de-CH"
    refused = await served.call("POST", "/user", headers, json={"username": f"x{username}", "cultureCode": "d"})
    assert (refused.status_code, refused.json()["problems"][0]["path"]) == (400, ["cultureCode"])


async def test_account_and_application_change_the_culture(served: House) -> None:
    who, other = await people.active(served.one), await people.active(served.one)
    own = {**basic_headers(who["username"], PASSWORD), "applicationId": served.one.application_id}
    path = f"/user/{who['userId']}"
    changed = await served.call("PUT", path, own, json={"cultureCode": "fr-ca"})
    assert (changed.status_code, changed.json()["cultureCode"]) == (200, "fr-CA")
    application = served.one.headers["application"]
    variables = {"user": who["userId"], "input": {"cultureCode": "de"}}
    answer = await served.graphql(UPDATE, application, **variables)
    assert answer["data"]["updateUser"] == {"cultureCode": "de"}
    assert (await served.call("GET", path, own)).json()["cultureCode"] == "de"
    assert (await served.call("PUT", path, application, json={})).json()["cultureCode"] == "de"
    assert (await served.call("PUT", path, application, json={"cultureCode": None})).json()["cultureCode"] == "en-GB"
    assert (await served.call("PUT", path, own, json={"cultureCode": "--"})).status_code == 400
    for headers in (own, served.other.headers["application"]):
        elsewhere = other["userId"] if headers is own else who["userId"]
        refused = await served.call("PUT", f"/user/{elsewhere}", headers, json={"cultureCode": "fr"})
        assert refused.status_code == 404


@pytest.mark.parametrize(("chosen", "shown"), [(None, "en-GB"), ("FR-ca", "fr-CA")])
async def test_users_of_the_command_line_have_a_culture(served: House, chosen: str | None, shown: str) -> None:
    new_user = {"username": f"{uuid4().hex}@example.org", "password": PASSWORD, "culture_code": chosen}
    account = await served.gateway.runner.run(provisioning.create_user, served.one.system, new_user)
    assert (await served.one.run("user", user_id=account.user_id)).culture_code == shown


@pytest.fixture
async def french_reader(served: House) -> AsyncIterator[str]:
    """A user of the first application whose culture is French, with a template of that culture for CM01."""
    who = await people.active(served.one)
    await served.one.run("update_user", user_id=who["userId"], input=UserChange(culture_code="fr-CA"))
    template = types.NewTemplate(
        active=True,
        alert_type_id=ID(served.one.ids["alert_type"]),
        name="Alerte",
        channel_type=Channel.EMAIL,
        culture_code="fr",
        subject="Bonjour",
        html_template="<p>Bonjour</p>",
    )
    added = await served.one.run("add_template", input=template)
    yield who["userId"]
    await served.one.run("update_template", template_id=added.template_id, input=types.TemplateChange(active=False))


async def test_template_follows_the_culture_of_the_user(served: House, french_reader: str) -> None:
    assert await subject_of(served, french_reader) == "Bonjour"
    assert await subject_of(served, french_reader, culture_code="en-GB") != "Bonjour"
    assert await subject_of(served, served.one.user_id) != "Bonjour"


async def subject_of(house: House, user_id: str, **more: Any) -> str:
    alert = types.NewAlert(user_id=ID(user_id), alert_type_id="CM01", channels=[Channel.EMAIL], **more)
    sent = await house.gateway.runner.run(operation("send_alert"), house.one.system, {"input": alert})
    ((notification,),) = await house.one.edge(types.Alert, "notifications", [sent])
    return str(notification.subject)
