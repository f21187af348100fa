"""The REST reference sends requests: log-in, confirmation, responses, errors, and a gateway that is down."""

import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, Locator, Page, Route, expect

from tests.browser.kept_pages import KeptFiles, KeptPages, kept_pages
from tests.support.demonstration import demonstration
from tests.support.servers import serving
from wattgate.app.demo import logins, seed
from wattgate.app.demo.demo_settings import describe_demonstration
from wattgate.app.server.factory import create_app

pytestmark = pytest.mark.browser

DOCS_PATH = "/api/v0-1/docs"
DOCUMENT_PATH = "/api/v0-1/openapi.json"


@pytest.fixture(scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The base URL of a demonstration of which the tests may change records."""
    settings, _ = await demonstration(tmp_path_factory.mktemp("reference"), timedelta(days=1))
    async with serving(KeptFiles(create_app(settings, demonstration=describe_demonstration()))) as url:
        yield url


@pytest.fixture(scope="module")
async def kept(browser: Browser, demo: str) -> AsyncIterator[KeptPages]:
    async with kept_pages(browser, (1280, 800), base_url=demo) as pages:
        yield pages


@pytest.fixture
async def context(kept: KeptPages) -> AsyncIterator[BrowserContext]:
    async with kept.page() as page:
        yield page.context


@pytest.fixture
async def page(context: BrowserContext) -> AsyncIterator[Page]:
    """A page. After the test, it must have no exceptions. The browser logs each response with an error on purpose."""
    page = context.pages[0]
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert errors == []


async def open_card(page: Page, method: str, path: str) -> Locator:
    """Open the card of an operation and return it."""
    document = await (await page.request.get(DOCUMENT_PATH)).json()
    operation_id = document["paths"][path][method.lower()]["operationId"]
    await page.goto(f"{DOCS_PATH}#{operation_id}")
    card = page.locator(f"#{operation_id}")
    await expect(card).to_have_attribute("open", "")
    return card


async def log_in(page: Page) -> None:
    """Log in to the demonstration by one click."""
    await page.get_by_test_id("demonstration-login").first.click()
    await expect(page.get_by_test_id("login-dialog")).to_be_hidden()


async def test_request_waits_for_log_in_and_shows_its_response(page: Page) -> None:
    card = await open_card(page, "GET", "/virtualentity")
    await expect(card.get_by_test_id("sender")).to_have_text("Log in to send this request.")
    await card.get_by_test_id("send").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("demonstration-login").first).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(card.get_by_test_id("status")).to_have_text("200 OK")
    headers = card.get_by_test_id("response-headers")
    await expect(headers).to_contain_text("GraphQL operation")
    await expect(headers).to_contain_text("viewer.homes")
    await expect(headers).to_contain_text("Budget left")
    await expect(headers).to_contain_text("Trace ID")
    body = card.get_by_label("Response body", exact=True)
    homes = json.loads(await body.inner_text())
    assert homes[0]["name"]
    await expect(body.locator(".key").first).to_be_visible()
    await expect(card.get_by_test_id("sender")).to_have_text(f"As {next(iter(describe_demonstration().logins))}.")
    await expect(card.get_by_test_id("code")).to_contain_text("$WATTGATE_TOKEN")
    token = await page.evaluate("() => JSON.parse(localStorage['wattgate.reference.session']).token")
    await card.get_by_test_id("reveal-secrets").check()
    await expect(card.get_by_test_id("code")).to_contain_text(token)
    await page.get_by_test_id("account").click()
    await expect(card.get_by_test_id("sender")).to_have_text("Log in to send this request.")
    assert await page.evaluate("() => Object.keys(localStorage).filter((key) => /session|username/.test(key))") == []


async def test_form_names_what_is_missing_and_errors_lead_to_their_explanation(page: Page) -> None:
    card = await open_card(page, "GET", "/resource/{resourceId}/readings")
    await card.get_by_test_id("send").click()
    await expect(card.get_by_test_id("field-problem").first).to_have_text("Enter resourceId.")
    await expect(card.get_by_test_id("field-resourceId")).to_be_focused()
    await page.keyboard.type("nope' \"$x/..")
    await page.keyboard.press("Enter")
    await log_in(page)
    error = card.get_by_test_id("response-error")
    await expect(card.get_by_test_id("status")).to_contain_text("404")
    await expect(error).to_contain_text("NOT_FOUND")
    await expect(error).to_contain_text("The application of the caller has no such record.")
    await error.get_by_role("link", name="About NOT_FOUND").click()
    await expect(page).to_have_url(re.compile("/errors#NOT_FOUND$"))
    await expect(page.locator("#NOT_FOUND")).to_be_in_viewport()


async def test_change_is_sent_only_after_a_confirmation(page: Page) -> None:
    card = await open_card(page, "PUT", "/virtualentity/{veId}")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method) if "/virtualentity/" in request.url else None)
    await card.get_by_test_id("field-veId").fill("a-home")
    await card.get_by_test_id("send").click()
    await log_in(page)
    dialog = page.get_by_test_id("confirm-dialog")
    await expect(dialog).to_contain_text("PUT /api/v0-1/virtualentity/a-home")
    await expect(dialog).to_contain_text("It changes real data of this gateway.")
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    assert sent == []
    await card.get_by_test_id("send").click()
    await page.get_by_test_id("confirm").click()
    await expect(card.get_by_test_id("status")).to_be_visible()
    assert sent == ["PUT"]


async def test_body_has_fields_and_hides_its_secrets_in_code(page: Page) -> None:
    card = await open_card(page, "POST", "/auth")
    await expect(card.get_by_test_id("sender")).to_have_text("No credential is sent.")
    username, password = next(iter(describe_demonstration().logins)), logins.PASSWORD
    await card.get_by_test_id("field-username").fill(username)
    await card.get_by_test_id("field-password").fill(password)
    await expect(card.get_by_test_id("field-applicationId").first).to_have_value(seed.APPLICATION_ID)
    await expect(card.get_by_test_id("code")).to_contain_text("YOUR_SECRET")
    await expect(card.get_by_test_id("code")).not_to_contain_text(password)
    await card.get_by_test_id("toggle-body").click()
    text = json.loads(await card.get_by_test_id("body").input_value())
    assert (text["username"], text["password"]) == (username, password)
    await card.get_by_test_id("body").fill("{")
    await card.get_by_test_id("send").click()
    await expect(card.get_by_test_id("body-problem")).to_contain_text("The body is not JSON")
    await expect(card.get_by_test_id("body")).to_be_focused()
    await card.get_by_test_id("body").fill(json.dumps({"username": username, "password": password}))
    await card.get_by_test_id("send").click()
    await page.get_by_test_id("confirm").click()
    await expect(card.get_by_test_id("status")).to_have_text("200 OK")


@pytest.mark.long("side paths of a request; log-in, confirmation, forms and responses stay in the short form")
async def test_expired_token_says_so_and_offers_log_in(page: Page) -> None:
    card = await open_card(page, "GET", "/virtualentity")
    await card.get_by_test_id("open-login").click()
    await page.get_by_text("Use a token").click()
    await page.get_by_test_id("token").fill("expired")
    await page.get_by_test_id("use-token").click()
    await expect(card.get_by_test_id("sender")).to_have_text("As a pasted token.")
    await card.get_by_test_id("send").click()
    await expect(card.get_by_test_id("status")).to_contain_text("401")
    await expect(card.get_by_test_id("expired")).to_contain_text("The gateway does not accept the token.")
    await page.get_by_test_id("log-in-again").click()
    await log_in(page)
    await expect(card.get_by_test_id("status")).to_have_text("200 OK")
    await expect(card.get_by_test_id("expired")).to_be_hidden()


@pytest.mark.long("side paths of a request; log-in, confirmation and forms stay in the short form")
async def test_id_is_chosen_and_binary_response_is_a_download(page: Page, tmp_path: Path) -> None:
    card = await open_card(page, "GET", "/resource/{resourceId}/readings")
    await expect(card.get_by_test_id("find-resourceId")).to_be_hidden()
    await card.get_by_test_id("open-login").click()
    await log_in(page)
    await card.get_by_test_id("find-resourceId").click()
    await card.get_by_test_id("choice-resourceId").select_option(index=1)
    await expect(card.get_by_test_id("field-resourceId")).to_have_value(re.compile("^[0-9a-f-]{36}$"))
    await card.get_by_test_id("accept").select_option(index=1)
    await expect(card.get_by_test_id("code")).to_contain_text("--output response.arrows")
    await card.get_by_test_id("send").click()
    async with page.expect_download() as download:
        await card.get_by_test_id("download").click()
    saved = await download.value
    assert saved.suggested_filename == "response.arrows"
    await saved.save_as(tmp_path / "saved")
    assert (tmp_path / "saved").stat().st_size > 0


@pytest.mark.long("side paths of a request; log-in, confirmation, forms and responses stay in the short form")
async def test_request_can_be_stopped_and_a_gateway_that_is_down_is_named(page: Page, context: BrowserContext) -> None:
    card = await open_card(page, "GET", "/virtualentity")

    async def hold(route: Route) -> None:
        """Never answer."""

    await page.route("**/api/v0-1/virtualentity", hold)
    await card.get_by_test_id("send").click()
    await log_in(page)
    await expect(card.get_by_test_id("stop")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(card.get_by_test_id("no-response")).to_have_text("You stopped the request.")
    await expect(card.get_by_test_id("send")).to_be_enabled()
    await page.unroute("**/api/v0-1/virtualentity")
    await context.set_offline(True)
    await card.get_by_test_id("send").click()
    await expect(card.get_by_test_id("no-response")).to_contain_text("Check that the gateway runs")
    await context.set_offline(False)
    await card.get_by_test_id("send").click()
    await expect(card.get_by_test_id("status")).to_have_text("200 OK")


@pytest.mark.long("side paths of a request; log-in, confirmation and forms stay in the short form")
async def test_graphql_twin_opens_in_the_ide_and_does_not_run(page: Page) -> None:
    card = await open_card(page, "GET", "/resource/{resourceId}/readings")
    link = card.get_by_test_id("open-in-ide")
    await page.goto(str(await link.get_attribute("href")))
    await expect(page.get_by_test_id("editor").locator("textarea")).to_have_value(re.compile(r"^query Readings\("))
    await expect(page.get_by_test_id("variables").locator("textarea")).to_have_value(re.compile('"resourceId"'))
    await expect(page.get_by_test_id("response")).to_contain_text("Run the operation")


@pytest.mark.long("side paths of a request; log-in, confirmation, forms and responses stay in the short form")
async def test_credential_of_an_application_is_sent_and_forgotten(page: Page) -> None:
    card = await open_card(page, "GET", "/resourcetype/{resourceTypeId}/appresource")
    await card.get_by_test_id("field-resourceTypeId").fill("x")
    await card.get_by_test_id("send").click()
    await page.get_by_test_id("demonstration-login").first.click()
    # a token is not enough for this operation
    await expect(page.get_by_test_id("login-error")).to_contain_text("Give the credential of an application.")
    await page.get_by_text("Use the credential of an application").click()
    await page.get_by_test_id("application-name").fill("app")
    await page.get_by_test_id("application-secret").fill("wrong ü")
    await page.get_by_test_id("acting-user").fill("someone")
    async with page.expect_request("**/appresource") as sent:
        await page.get_by_test_id("use-application").click()
    headers = await (await sent.value).all_headers()
    assert headers["authorization"].startswith("Basic ")
    assert headers["userid"] == "someone"
    await expect(card.get_by_test_id("status")).to_contain_text("401")
    await expect(card.get_by_test_id("code")).to_contain_text('-u "$WATTGATE_USERNAME:$WATTGATE_PASSWORD"')
    await page.reload()
    await expect(card.get_by_test_id("sender")).to_have_text("Log in to send this request.")
