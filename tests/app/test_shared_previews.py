"""Links to previews of templates: signed, read-only, without a log-in, for a limited time."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.house import PUBLIC_URL, House, house
from tests.support.refusals import refusal_of, refusals
from tests.support.timed import Clock
from wattgate.delivery.signed_links import MAX_TOKEN_LENGTH, SharedPreview, SignedLinks

SHARE = """mutation ($id: ID!, $version: Int, $hours: Int! = 72) {
  shareTemplatePreview(templateId: $id, version: $version, hours: $hours) {
      ... on SharedTemplatePreview { previewUrl version expiresAt }
      ...Refused } }"""
ARCHIVE = "mutation ($id: ID!) { archiveTemplate(templateId: $id) { ... on Template { templateId } ...Refused } }"
ADD_VERSION = """mutation ($id: ID!) {
  createTemplateVersion(templateId: $id, input: {htmlTemplate: "<p>2</p>"}) {
      ... on TemplateVersion { version } ...Refused } }"""
HTML = "<p>Hello {{ user.name }}</p><script>top.ran = 1</script>"
NOW = datetime(2026, 5, 4, 12, 0, 30, tzinfo=UTC)
LINKS = SignedLinks("https://energy.example/", b"a key")
SHARED = SharedPreview("application", "template", 3, NOW)
ELSEWHERE = {"X-Forwarded-For": "203.0.113.9"}
LIMIT = 20
"""Requests from one address in a minute."""

EXPENSIVE = "{% for a in (1..99) %}{% for b in (1..99) %}{{ a | money: 'EUR' }}{{ b | kwh }}{% endfor %}{% endfor %}"
"""A template that takes more than 30 ms of a processor on every machine."""


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory, clock: Clock) -> AsyncIterator[House]:
    url = f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('shared')}/w.db"
    async with house(url, clock=clock, address_shared_previews=LIMIT, trusted_proxies=["127.0.0.1"]) as served:
        yield served


async def add_draft(gateway: House, name: str, **more: Any) -> str:
    body = {"name": name, "htmlTemplate": HTML, "subject": "Dear <{{ user.name }}>", **more}
    path = f"/template/{gateway.one.ids['alert_type']}/email/en-GB"
    added = await gateway.call("POST", path, gateway.one.headers["application"], json=body)
    assert added.status_code == 200, added.text
    return str(added.json()["templateId"])


async def share(gateway: House, template_id: str, **variables: Any) -> dict[str, Any]:
    """Share a template and return the answer. Its URL has the address at which the gateway is served."""
    answer = await gateway.graphql(SHARE, gateway.one.headers["administrator"], id=template_id, **variables)
    assert not refusals(answer), answer
    shared = dict(answer["data"]["shareTemplatePreview"])
    assert shared["previewUrl"].startswith(f"{PUBLIC_URL}/preview/shared/")
    return {**shared, "previewUrl": shared["previewUrl"].replace(PUBLIC_URL, gateway.url)}


async def test_link_shows_one_version_without_credentials_and_scripts(gateway: House) -> None:
    template_id = await add_draft(gateway, "A <b>name</b>")
    shared = await share(gateway, template_id)
    page = await gateway.http.get(shared["previewUrl"])
    assert page.status_code == 200
    assert "A &lt;b&gt;name&lt;/b&gt;" in page.text
    assert "version 1" in page.text
    policy = page.headers["content-security-policy"]
    assert "script-src" not in policy
    assert "default-src 'none'" in policy
    mail = await gateway.http.get(f"{shared['previewUrl']}/html")
    assert "<p>Hello " in mail.text
    assert mail.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    for response in (page, mail):
        assert response.headers["referrer-policy"] == "no-referrer"
        assert "noindex" in response.headers["x-robots-tag"]
        assert response.headers["cache-control"] == "no-store"
    assert (await gateway.http.post(shared["previewUrl"])).status_code == 405
    await gateway.graphql(ADD_VERSION, gateway.one.headers["application"], id=template_id)
    assert "<p>Hello " in (await gateway.http.get(f"{shared['previewUrl']}/html")).text
    assert (await share(gateway, template_id))["version"] == 2


async def test_rest_shares_a_preview_too(gateway: House) -> None:
    template_id = await add_draft(gateway, "Shared by REST")
    path, headers = f"/template/{template_id}/share", gateway.one.headers["application"]
    answer = await gateway.call("POST", path, headers, json={"version": 1, "hours": 1})
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"previewUrl", "version", "expiresAt"}
    assert (await gateway.call("POST", path, headers, json={"version": 9})).status_code == 404
    assert (await gateway.call("POST", path, gateway.one.headers["account"], json={})).status_code == 403


@pytest.mark.parametrize("hours", [0, -1, 721])
async def test_lifetime_of_a_link_is_bounded(gateway: House, hours: int) -> None:
    variables = {"id": gateway.one.ids["template"], "hours": hours}
    answer = await gateway.graphql(SHARE, gateway.one.headers["administrator"], **variables)
    assert refusal_of(answer)["code"] == "BAD_INPUT"


async def test_link_ends_at_its_expiry(gateway: House, clock: Clock) -> None:
    shared = await share(gateway, await add_draft(gateway, "Expires"), hours=1)
    start = clock.now
    try:
        for passed, status in ((timedelta(minutes=59), 200), (timedelta(hours=1), 410)):
            clock.now = start + passed
            assert (await gateway.http.get(shared["previewUrl"])).status_code == status
            assert (await gateway.http.get(f"{shared['previewUrl']}/html")).status_code == status
    finally:
        clock.now = start


async def test_link_ends_when_its_template_is_archived(gateway: House) -> None:
    template_id = await add_draft(gateway, "Archived")
    shared = await share(gateway, template_id)
    await gateway.graphql(ARCHIVE, gateway.one.headers["administrator"], id=template_id)
    assert (await gateway.http.get(shared["previewUrl"])).status_code == 410
    answer = await gateway.graphql(SHARE, gateway.one.headers["administrator"], id=template_id)
    assert refusal_of(answer)["code"] == "CONFLICT"


async def test_links_are_limited_for_each_address(gateway: House) -> None:
    """A link of an archived template renders nothing. The time of a rendering would count too, see below."""
    template_id = await add_draft(gateway, "Limited")
    shared = await share(gateway, template_id)
    await gateway.graphql(ARCHIVE, gateway.one.headers["administrator"], id=template_id)
    responses = [await gateway.http.get(shared["previewUrl"], headers=ELSEWHERE) for _ in range(LIMIT + 1)]
    assert [response.status_code for response in responses[:LIMIT]] == [410] * LIMIT
    assert responses[-1].status_code == 429
    assert int(responses[-1].headers["retry-after"]) >= 1
    assert "Too many requests" in responses[-1].text


async def test_links_pay_for_the_work_of_the_renderer(gateway: House) -> None:
    shared = await share(gateway, await add_draft(gateway, "Expensive", htmlTemplate=EXPENSIVE))
    visitor = {"X-Forwarded-For": "203.0.113.10"}
    statuses = [(await gateway.http.get(shared["previewUrl"], headers=visitor)).status_code for _ in range(LIMIT // 2)]
    assert statuses[0] == 200
    assert statuses[-1] == 429
    assert statuses == sorted(statuses)
    small = await share(gateway, await add_draft(gateway, "Small"))
    assert (await gateway.http.get(small["previewUrl"], headers=visitor)).status_code == 429
    other = {"X-Forwarded-For": "203.0.113.11"}
    assert (await gateway.http.get(shared["previewUrl"], headers=other)).status_code == 200


async def test_link_of_a_template_without_a_result_pays_too(gateway: House) -> None:
    shared = await share(gateway, await add_draft(gateway, "Too expensive", htmlTemplate=EXPENSIVE + EXPENSIVE))
    visitor = {"X-Forwarded-For": "203.0.113.12"}
    statuses = [(await gateway.http.get(shared["previewUrl"], headers=visitor)).status_code for _ in range(LIMIT // 2)]
    assert statuses[0] != 429
    assert statuses[-1] == 429


async def test_links_at_once_are_refused_after_the_work_of_the_first_ones(gateway: House) -> None:
    shared = await share(gateway, await add_draft(gateway, "At once", htmlTemplate=EXPENSIVE))
    visitor = {"X-Forwarded-For": "203.0.113.13"}
    requests = (gateway.http.get(shared["previewUrl"], headers=visitor) for _ in range(LIMIT // 2))
    statuses = {response.status_code for response in await asyncio.gather(*requests)}
    assert 429 in statuses  # each had its attempt before the first rendering
    assert statuses <= {200, 429}


def test_token_names_what_it_shows() -> None:
    url = LINKS.shared_preview_url(SHARED)
    assert url.startswith("https://energy.example/preview/shared/")
    assert LINKS.parse_shared_preview_token(url.rpartition("/")[2]) == SHARED


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token.replace("template", "another"),
        lambda token: token.replace("application", "another"),
        lambda token: token.replace(".3.", ".4."),
        lambda token: token.replace(str(int(NOW.timestamp())), str(int(NOW.timestamp()) + 60)),
        lambda token: token[:-1],
        lambda token: token.rpartition(".")[0],
        lambda token: token.replace(".3.", ".03."),
        lambda token: token.replace(".3.", ".-3."),
        lambda token: token.replace(".3.", ".³."),
        lambda token: "a" * (MAX_TOKEN_LENGTH + 1),
        lambda token: f"a.b.1.{'9' * 40}.x",
        lambda token: LINKS.unsubscribe_url("application", "template.3").rpartition("/")[2],
        lambda token: SignedLinks("", b"other key").shared_preview_url(SHARED).rpartition("/")[2],
    ],
)
def test_changed_token_shows_nothing(change: Any) -> None:
    token = LINKS.shared_preview_url(SHARED).rpartition("/")[2]
    assert LINKS.parse_shared_preview_token(change(token)) is None


async def test_unknown_link_has_a_page(gateway: House) -> None:
    for path in ("/preview/shared/nothing", "/preview/shared/nothing/html"):
        response = await gateway.http.get(path)
        assert (response.status_code, "not valid" in response.text) == (404, True)
