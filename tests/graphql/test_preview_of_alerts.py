"""The preview of a template is the mail that its alerts send, in each culture and state of publication."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest
from babel import Locale
from babel.localedata import locale_identifiers

from tests.support.house import House
from tests.support.refusals import refusal_of, refusals
from wattgate.delivery.templates.language.cultures import culture_fallbacks


def cultures_of_each_form() -> list[str]:
    """Return one culture of each form of numbers, of each form of times, and of each direction of text.

    Babel knows a thousand cultures, with some twenty forms of numbers.
    """
    found = dict[object, str]()
    for code in sorted(locale_identifiers()):
        locale = Locale.parse(code)
        numbers = locale.default_numbering_system
        symbols = locale.number_symbols.get(numbers, {})
        for form in (
            (numbers, symbols.get("decimal"), symbols.get("group"), locale.text_direction),
            locale.time_formats["short"].pattern,
        ):
            found.setdefault(form, code.replace("_", "-"))
    return sorted(set(found.values()))


CULTURES_AT_ONCE = 10

A_DOZEN = (
    "ar-AE",
    "de-DE",
    "en-GB",
    "en-US",
    "fa-IR",
    "fr-CA",
    "he-IL",
    "hi-IN",
    "ja-JP",
    "pl-PL",
    "pt-BR",
    "zh-Hant-TW",
)

HTML = (
    "<style>p { color: red } p:hover { color: blue }</style><p>{{ value | quantity: unit }}, {{ when | at }}</p>"
    "<p>{{ cost | money }} {{ share | percent }} {{ recipient.culture }} {{ recipient.name }} {{ when }} {{ cost }}</p>"
)
SUBJECT = "{{ value | quantity: unit }} {{ when | at: 'date' }}"
DATA = {"value": 8.412, "unit": "kWh", "when": "2026-11-27T08:05:00Z", "cost": "1234.5", "share": 12.5}

ADD_ALERT_TYPE = """mutation ($code: String!) {
  createAlertType(input: {systemAlertTypeId: $code, name: "Use", variables: [
    {name: "value", type: NUMBER}, {name: "unit", type: TEXT}, {name: "when", type: INSTANT}
    {name: "cost", type: MONEY, unit: "GBP"}, {name: "share", type: PERCENTAGE}
  ]}) { ... on AlertType { alertTypeId } ...Refused }
}"""
SEND = """mutation ($user: ID!, $type: String!, $culture: String, $data: JSON!) {
  sendAlert(input: {userId: $user, alertTypeId: $type, channels: [EMAIL], cultureCode: $culture, data: $data}) {
    ... on Alert {
      alertId notifications { subject html text }
    }
    ...Refused
  }
}"""
PREVIEW = """query ($input: TemplateToPreview!) { previewTemplate(input: $input) { subject html text } }"""
ADD = """mutation ($input: NewTemplate!) {
  createTemplate(input: $input) { ... on Template { templateId } ...Refused } }"""
ADD_VERSION = """mutation ($id: ID!, $html: String!) {
  createTemplateVersion(templateId: $id, input: {htmlTemplate: $html}) { ... on TemplateVersion { version } ...Refused }
}"""
PUBLISH = """mutation ($id: ID!, $version: Int!) {
  publishTemplate(templateId: $id, version: $version) { ... on Template { templateId } ...Refused }
}"""
WITHDRAW = """mutation ($id: ID!) { updateTemplate(templateId: $id, input: {active: false}) {
    ... on Template { templateId }
    ...Refused } }"""
ARCHIVE = """mutation ($id: ID!) { archiveTemplate(templateId: $id) { ... on Template { templateId } ...Refused } }"""

Mail = dict[str, str]


class Alerts:
    """An alert type of its own, its alerts, and the previews of its templates."""

    def __init__(self, house: House, alert_type_id: str) -> None:
        self.house, self.alert_type_id = house, alert_type_id

    async def ask(self, document: str, **variables: Any) -> Any:
        ((_, value),) = (await self.data(document, variables)).items()
        return value

    async def send(self, culture: str | None) -> tuple[str, Mail]:
        """Send an alert by mail. Return its id and the content of the mail."""
        user = self.house.one.user_id
        sent = await self.ask(SEND, user=user, type=self.alert_type_id, culture=culture, data=DATA)
        (mail,) = sent["notifications"]
        return sent["alertId"], mail

    async def add(self, culture: str, html: str = HTML) -> str:
        """Add a draft of a template."""
        template = {"name": culture, "channelType": "EMAIL", "cultureCode": culture, "subject": SUBJECT}
        added = await self.ask(ADD, input={**template, "alertTypeId": self.alert_type_id, "htmlTemplate": html})
        return str(added["templateId"])

    async def preview(self, **input: Any) -> Mail:
        return dict(await self.ask(PREVIEW, input=input))

    async def preview_unsaved(self, culture: str, alert_id: str) -> Mail:
        """Return the preview of a new template for a culture, as the page requests it."""
        content = {"subject": SUBJECT, "preheader": "", "html": HTML, "text": None, "channelType": "EMAIL"}
        return await self.preview(
            alertTypeId=self.alert_type_id, cultureCode=culture, alertId=alert_id, templateId=None, **content
        )

    async def preview_all(self, cultures: Sequence[str], alert_id: str) -> dict[str, Mail]:
        """Return the previews of a new template for each culture."""
        inputs = {
            f"i{number}": {
                **{"alertTypeId": self.alert_type_id, "alertId": alert_id, "cultureCode": culture},
                **{"subject": SUBJECT, "preheader": "", "html": HTML, "text": None},
            }
            for number, culture in enumerate(cultures)
        }
        fields = " ".join(f"{name}: previewTemplate(input: ${name}) {{ subject html text }}" for name in inputs)
        data = await self.data(
            f"query ({' '.join(f'${name}: TemplateToPreview!' for name in inputs)}) {{ {fields} }}", inputs
        )
        return {culture: data[name] for culture, name in zip(cultures, inputs, strict=True)}

    async def send_all(self, cultures: Sequence[str], template_id: str) -> dict[str, Mail]:
        """Give a template each culture in turn, and send an alert in it. Return the contents of the mails."""
        fields = " ".join(
            f'u{number}: updateTemplate(templateId: $id, input: {{cultureCode: "{culture}"}}) {{'
            f" ... on Template {{ templateId }} ...Refused }} "
            f"a{number}: sendAlert(input: {{userId: $user, alertTypeId: $type, channels: [EMAIL], data: $data, "
            f'cultureCode: "{culture}"}}) {{ ... on Alert {{ notifications {{ subject html text }} }} ...Refused }}'
            for number, culture in enumerate(cultures)
        )
        head = "mutation ($id: ID!, $user: ID!, $type: String!, $data: JSON!)"
        user, type_ = self.house.one.user_id, self.alert_type_id
        data = await self.data(f"{head} {{ {fields} }}", {"id": template_id, "user": user, "type": type_, "data": DATA})
        return {culture: data[f"a{number}"]["notifications"][0] for number, culture in enumerate(cultures)}

    async def data(self, document: str, variables: dict[str, Any]) -> dict[str, Any]:
        answer = await self.house.graphql(document, self.house.one.headers["application"], **variables)
        assert not refusals(answer), answer
        return dict(answer["data"])


@pytest.fixture
async def alerts(served: House) -> Alerts:
    answer = await served.graphql(ADD_ALERT_TYPE, served.one.headers["application"], code=uuid4().hex[:20])
    return Alerts(served, answer["data"]["createAlertType"]["alertTypeId"])


async def different_previews(alerts: Alerts, culture: str) -> list[str]:
    """Return in which states the preview of a template for a culture is not the mail of an alert in this culture."""
    alert_id, _ = await alerts.send(culture)
    previews = {"unsaved": await alerts.preview_unsaved(culture, alert_id)}
    template_id = await alerts.add(culture)
    previews["draft"] = await alerts.preview(templateId=template_id, alertId=alert_id)
    await alerts.ask(PUBLISH, id=template_id, version=1)
    _, mail = await alerts.send(culture)
    await alerts.ask(ARCHIVE, id=template_id)
    return [f"{culture}, {state}" for state, preview in previews.items() if preview != mail]


async def test_previews_are_the_mails_of_alerts_in_a_dozen_cultures(alerts: Alerts) -> None:
    await alerts.ask(PUBLISH, id=await alerts.add("en-GB", "<p>A published text</p>"), version=1)
    assert [line for culture in A_DOZEN for line in await different_previews(alerts, culture)] == []


@pytest.mark.long("forms of numbers and times of all cultures; a dozen cultures stay in the short form")
async def test_previews_are_the_mails_of_alerts_in_each_form_of_numbers_and_times(alerts: Alerts) -> None:
    """One template moves from culture to culture, because a thousand templates of one alert type take long."""
    template_id = await alerts.add("en-GB")
    await alerts.ask(PUBLISH, id=template_id, version=1)
    alert_id, _ = await alerts.send("en-GB")
    found = []
    cultures = cultures_of_each_form()
    for start in range(0, len(cultures), CULTURES_AT_ONCE):
        some = cultures[start : start + CULTURES_AT_ONCE]
        previews = await alerts.preview_all(some, alert_id)
        mails = await alerts.send_all(some, template_id)
        found += [culture for culture in some if previews[culture] != mails[culture]]
    assert found == []


async def test_previews_are_the_mails_of_alerts_in_each_state_of_publication(alerts: Alerts) -> None:
    alert_id, _ = await alerts.send("pl-PL")
    template_id = await alerts.add("pl-PL")
    previews = [await alerts.preview(templateId=template_id, alertId=alert_id)]
    await alerts.ask(PUBLISH, id=template_id, version=1)
    alert_id, mail = await alerts.send("pl-PL")
    previews.append(await alerts.preview(templateId=template_id, alertId=alert_id))
    await alerts.ask(ADD_VERSION, id=template_id, html="<p>Drugi {{ value | quantity: unit }}</p>")
    previews.append(await alerts.preview(templateId=template_id, alertId=alert_id))
    later = await alerts.preview(templateId=template_id, alertId=alert_id, version=2)
    await alerts.ask(PUBLISH, id=template_id, version=2)
    _, second_mail = await alerts.send("pl-PL")
    previews.append(await alerts.preview(templateId=template_id, alertId=alert_id, version=1))
    await alerts.ask(WITHDRAW, id=template_id)
    withdrawn = await alerts.preview(templateId=template_id, alertId=alert_id)
    await alerts.ask(ARCHIVE, id=template_id)
    archived = await alerts.preview(templateId=template_id, alertId=alert_id)
    assert [preview == mail for preview in previews] == [True] * len(previews)
    assert [later, withdrawn, archived] == [second_mail] * 3
    assert "Drugi 8,41 kWh" in second_mail["text"]


async def test_preview_for_a_reader_of_another_region_is_the_mail_that_falls_back(alerts: Alerts) -> None:
    template_id = await alerts.add("pt")
    await alerts.ask(PUBLISH, id=template_id, version=1)
    for culture in ("pt-BR", "pt-PT", "pt-AO"):
        assert "pt" in culture_fallbacks(culture)
        alert_id, mail = await alerts.send(culture)
        assert await alerts.preview(templateId=template_id, alertId=alert_id) == mail
        assert await alerts.preview(templateId=template_id, alertId=alert_id, cultureCode=culture) == mail


async def test_unknown_version_is_not_found(alerts: Alerts) -> None:
    template_id = await alerts.add("pl")
    answer = await alerts.house.graphql(
        PREVIEW, alerts.house.one.headers["application"], input={"templateId": template_id, "version": 7}
    )
    assert refusal_of(answer)["code"] == "NOT_FOUND"
