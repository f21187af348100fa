"""The log-in of the display in a real browser, on an own gateway: its application, its errors and its sessions."""

import re
from collections.abc import AsyncIterator

import pyotp
import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.browser.displays import WITHOUT_WORKER
from tests.browser.kept_pages import KeptPages, kept_pages
from tests.browser.page_checks import accessibility_violations, layout_problems
from tests.support import people
from tests.support.house import PASSWORD, House, house
from tests.support.servers import ON_SQLITE_ONLY, Databases

pytestmark = [pytest.mark.browser, ON_SQLITE_ONLY]

FAILED_ATTEMPTS = 5
"""The number of wrong passwords without a wait."""


@pytest.fixture(scope="module")
async def own(databases: Databases) -> AsyncIterator[House]:
    """A gateway with two applications, of which a setting names none."""
    async with databases() as url, house(url) as opened:
        yield opened


@pytest.fixture(scope="module")
async def kept(browser: Browser, own: House) -> AsyncIterator[KeptPages]:
    async with kept_pages(browser, (390, 844), base_url=own.url, **WITHOUT_WORKER) as pages:
        yield pages


@pytest.fixture
async def context(kept: KeptPages) -> AsyncIterator[BrowserContext]:
    async with kept.page() as page:
        yield page.context


async def log_in(page: Page, username: str, password: str = PASSWORD) -> None:
    await page.get_by_test_id("username").fill(username)
    await page.get_by_test_id("password").fill(password)
    await page.get_by_test_id("login").click()


async def stored_keys(page: Page) -> list[str]:
    keys = await page.evaluate("() => Object.keys(localStorage)")
    return sorted(key for key in keys if "session" in key)


async def test_browser_that_cannot_run_the_script_says_so(browser: Browser, own: House) -> None:
    """Without JavaScript, and with a script that the browser cannot parse. Other browsers do not show the line."""
    paths = ("/display", "/pair", "/preview", "/add-data", "/your-data", "/register")
    for script in (None, "let new = this is {", ""):
        context = await browser.new_context(base_url=own.url, java_script_enabled=script is not None, **WITHOUT_WORKER)
        if script:
            await context.route("**/static/shared/dom.js", lambda route: route.fulfill(body="let new = this is {"))
        page = await context.new_page()
        for path in paths:
            await page.goto(f"{path}?application={own.one.application_id}")
            notice = page.get_by_test_id("start-notice")
            await (expect(notice).to_have_count(0) if script == "" else expect(notice).to_be_visible())
        await context.close()


@pytest.mark.long("side paths of the log-in; the second factor and the sizes of its pages stay in the short form")
async def test_user_chooses_the_application_and_a_log_out_keeps_it(page: Page, own: House) -> None:
    await page.goto("/display")
    await expect(page.get_by_test_id("login-notice")).to_contain_text("This gateway serves several applications.")
    await expect(page.get_by_test_id("login-form")).to_be_hidden()
    await page.get_by_test_id("application-id").fill(own.other.application_id)
    await page.get_by_test_id("choose-application").click()
    await expect(page).to_have_url(re.compile(rf"/display\?application={own.other.application_id}$"))
    for _ in range(2):
        await log_in(page, own.other.username)
        await expect(page.locator(".display-view")).to_be_visible()
        await page.reload()
        await expect(page.locator(".display-view")).to_be_visible()
        await page.get_by_test_id("logout").click()
        await expect(page.get_by_test_id("login-form")).to_be_visible()
        await page.reload()
    await log_in(page, own.one.username)
    await expect(page.get_by_test_id("login-error")).to_have_text("The username or the password is wrong.")


@pytest.mark.parametrize("path", ["display", "preview"])
async def test_log_in_asks_for_the_code_of_a_second_factor(page: Page, own: House, path: str) -> None:
    who = await people.active(own.one)
    named, body = {"applicationId": own.one.application_id}, {"username": who["username"], "password": PASSWORD}
    token = {"token": (await own.call("POST", "/auth", named, json=body)).json()["token"]}
    secret = (await own.call("POST", "/account/secondfactor", token, json={"password": PASSWORD})).json()["secret"]
    code = {"code": pyotp.TOTP(secret).now()}
    recovery = (await own.call("PUT", "/account/secondfactor", token, json=code)).json()["recoveryCodes"]
    await page.goto(f"/{path}?application={own.one.application_id}")
    await expect(page.get_by_test_id("code")).to_be_hidden()
    await log_in(page, who["username"])
    await expect(page.get_by_test_id("login-error")).to_have_text("Enter the code of your app, or a recovery code.")
    await expect(page.get_by_test_id("code")).to_be_focused()
    assert await accessibility_violations(page) == []
    await page.get_by_test_id("code").fill("000000")
    await page.get_by_test_id("login").click()
    await expect(page.get_by_test_id("login-error")).to_contain_text("The code is wrong")
    await page.get_by_test_id("code").fill(recovery[0])
    await page.get_by_test_id("login").click()
    if path == "preview":  # the log-in has succeeded, and the page then refuses accounts that edit no templates
        await expect(page.get_by_test_id("login-error")).to_have_text("This account may not read templates.")
    else:
        await expect(page.get_by_test_id("login-form")).to_be_hidden()


@pytest.mark.long("side paths of the log-in; the second factor and the sizes of its pages stay in the short form")
async def test_sessions_of_two_applications_are_kept_apart(context: BrowserContext, own: House) -> None:
    pages: list[Page] = []
    for tenant in (own.one, own.other):
        page = await context.new_page()
        await page.goto(f"/display?application={tenant.application_id}")
        await log_in(page, tenant.username)
        await expect(page.locator(".display-view")).to_be_visible()
        pages.append(page)
    one, other = (f"wattgate.session.{tenant.application_id}" for tenant in (own.one, own.other))
    assert await stored_keys(pages[0]) == sorted([one, other])
    await pages[1].get_by_test_id("logout").click()
    await expect(pages[1].get_by_test_id("login-form")).to_be_visible()
    await pages[0].reload()
    await expect(pages[0].locator(".display-view")).to_be_visible()
    assert await stored_keys(pages[0]) == [one]


@pytest.mark.long("side paths of the log-in; the second factor and the sizes of its pages stay in the short form")
async def test_address_that_names_no_application_uses_no_session(page: Page, own: House) -> None:
    await page.goto(f"/display?application={own.one.application_id}")
    await log_in(page, own.one.username)
    await expect(page.locator(".display-view")).to_be_visible()
    await page.goto("/display?application=mine")
    await expect(page.get_by_test_id("login-notice")).to_contain_text("“mine” is not an application ID.")
    await expect(page.locator(".display-view")).to_be_hidden()
    await page.get_by_test_id("application-id").fill(own.one.application_id)
    await page.get_by_test_id("choose-application").click()
    await expect(page.locator(".display-view")).to_be_visible()


@pytest.mark.long("side paths of the log-in; the second factor and the sizes of its pages stay in the short form")
async def test_empty_fields_are_named_without_a_request(page: Page, own: House) -> None:
    await page.goto(f"/display?application={own.one.application_id}")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for username, password, field in (("   ", PASSWORD, "username"), (own.one.username, "", "password")):
        await log_in(page, username, password)
        await expect(page.get_by_test_id("login-error")).to_have_text(f"Enter your {field}.")
        await expect(page.get_by_test_id(field)).to_have_attribute("aria-invalid", "true")
        await expect(page.get_by_test_id(field)).to_be_focused()
    assert [url for url in requests if url.endswith("/graphql")] == []
    await log_in(page, own.one.username)
    await expect(page.locator(".display-view")).to_be_visible()


@pytest.mark.long("side paths of the log-in; the second factor and the sizes of its pages stay in the short form")
async def test_wait_after_wrong_passwords_is_shown_for_known_and_unknown_names(
    context: BrowserContext, own: House
) -> None:
    texts = []
    for username in ("nobody@one.example", "admin@one.example"):
        page = await context.new_page()
        await page.goto(f"/display?application={own.one.application_id}")
        error = page.get_by_test_id("login-error")
        for attempt in range(FAILED_ATTEMPTS + 1):
            async with page.expect_response(re.compile(r"/graphql$")):
                await log_in(page, username, f"wrong {attempt}")
            await expect(error).to_be_visible()
            if attempt < FAILED_ATTEMPTS:
                await expect(error).to_have_text("The username or the password is wrong.")
        texts.append(re.sub(r"\d+ seconds?", "some seconds", await error.inner_text()))
    assert texts == ["Too many attempts to log in. Try again in some seconds."] * 2


async def test_unreachable_gateway_is_reported(context: BrowserContext, own: House) -> None:
    page = context.pages[0]
    await page.goto(f"/display?application={own.one.application_id}")
    await context.set_offline(True)
    await log_in(page, own.one.username)
    await expect(page.get_by_test_id("login-error")).to_have_text(
        "The gateway cannot be reached. Check the connection and try again."
    )
    await context.set_offline(False)


async def test_editor_of_templates_finds_its_application_in_the_same_way(page: Page, own: House) -> None:
    await page.goto("/preview")
    await page.get_by_test_id("application-id").fill(own.other.application_id.upper())
    await page.get_by_test_id("choose-application").click()
    await log_in(page, "admin@other.example")
    await expect(page.locator(".editor-view")).to_be_visible()
    assert await stored_keys(page) == [f"wattgate.preview.session.{own.other.application_id}"]


@pytest.mark.long("every page at every size; the log-in stays in the short form")
async def test_pages_fit_the_screen_and_are_accessible(page: Page, own: House, subtests: pytest.Subtests) -> None:
    for path in ("/", "/display", "/display?application=mine", f"/display?application={own.one.application_id}"):
        with subtests.test(path):
            await page.goto(path)
            await expect(page.locator("h1:visible").first).to_be_visible()
            assert await layout_problems(page) == []
