"""Registration, verification and reset of a password in a real browser, with the mails of a real mail server."""

import re
from collections.abc import AsyncIterator
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.browser.displays import WITHOUT_WORKER
from tests.browser.kept_pages import KeptPages, kept_pages
from tests.browser.page_checks import layout_problems
from tests.delivery.mail.test_account_mails import Mailed, code_of, link_of, serve_with_mails
from tests.support.house import PASSWORD
from tests.support.servers import ON_SQLITE_ONLY, Databases
from tests.support.smtp import ReceivedMail
from wattgate.app.server.pages.page_routes import ACCOUNT_PAGES

pytestmark = [pytest.mark.browser, ON_SQLITE_ONLY]

NEW_PASSWORD = "battery staple"


@pytest.fixture(scope="module")
async def mailed(databases: Databases) -> AsyncIterator[Mailed]:
    async with serve_with_mails(databases) as opened:
        yield opened


@pytest.fixture(scope="module")
async def kept(browser: Browser, mailed: Mailed) -> AsyncIterator[KeptPages]:
    async with kept_pages(browser, (390, 844), base_url=mailed.house.url, **WITHOUT_WORKER) as pages:
        yield pages


@pytest.fixture
async def context(kept: KeptPages) -> AsyncIterator[BrowserContext]:
    async with kept.page() as page:
        yield page.context


def path_of(mail: ReceivedMail) -> str:
    """Return the link of a mail without the address of the gateway."""
    link = urlsplit(link_of(mail))
    return link._replace(scheme="", netloc="").geturl()


async def log_in(page: Page, username: str, password: str) -> None:
    await page.get_by_test_id("username").fill(username)
    await page.get_by_test_id("password").fill(password)
    await page.get_by_test_id("login").click()


async def test_register_verify_forget_reset_and_log_in(page: Page, mailed: Mailed) -> None:
    username = f"{uuid4().hex}@example.org"
    await page.goto(f"/display?application={mailed.house.one.application_id}")
    await page.get_by_test_id("to-register").click()
    await page.get_by_test_id("name").fill("Ada")
    await page.get_by_test_id("email").fill(username)
    await page.get_by_test_id("password").fill(PASSWORD)
    await page.get_by_test_id("register").click()
    await expect(page).to_have_url(re.compile("/verify"))
    await expect(page.get_by_test_id("username")).to_have_value(username)

    (mail,) = await mailed.mails(username)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    await page.goto("about:blank")
    await page.goto(path_of(mail))
    await expect(page.get_by_test_id("code")).to_have_value(code_of(mail))
    assert "code" not in page.url
    await page.get_by_test_id("password").fill(PASSWORD)
    await page.get_by_test_id("confirm").click()
    await expect(page.get_by_test_id("done")).to_be_visible()
    await page.get_by_test_id("to-login").click()
    await log_in(page, username, PASSWORD)
    await expect(page.locator(".display-view")).to_be_visible()
    await page.get_by_test_id("logout").click()

    await page.get_by_test_id("forgot").click()
    await page.get_by_test_id("username").fill(username)
    await page.get_by_test_id("request").click()
    await expect(page.get_by_test_id("sent")).to_be_visible()
    *_, mail = await mailed.mails(username, 2)
    await page.goto("about:blank")
    await page.goto(path_of(mail))
    await page.get_by_test_id("new-password").fill(NEW_PASSWORD)
    await page.get_by_test_id("confirm").click()
    await expect(page.get_by_test_id("done")).to_be_visible()
    await page.get_by_test_id("to-login").click()
    await log_in(page, username, NEW_PASSWORD)
    await expect(page.locator(".display-view")).to_be_visible()
    assert [url for url in requests if "code=" in url.partition("#")[0]] == []


async def test_code_can_be_entered_instead_of_the_link(page: Page, mailed: Mailed) -> None:
    username = await mailed.register()
    (mail,) = await mailed.mails(username)
    await page.goto(f"/verify?application={mailed.house.one.application_id}")
    await page.get_by_test_id("username").fill(username)
    await page.get_by_test_id("password").fill(PASSWORD)
    await page.get_by_test_id("confirm").click()
    await expect(page.get_by_test_id("error")).to_have_text("Fill in all fields.")
    await page.get_by_test_id("resend").click()
    await expect(page.get_by_test_id("sent")).to_be_visible()
    for code, shown in ((f"9{code_of(mail)}", "error"), (code_of(mail), "done")):
        await page.get_by_test_id("code").fill(code)
        await page.get_by_test_id("confirm").click()
        await expect(page.get_by_test_id(shown)).to_be_visible()


async def test_reset_with_a_wrong_code_or_weak_password_says_what_to_do(page: Page, mailed: Mailed) -> None:
    await page.goto(f"/reset?application={mailed.house.one.application_id}#username=nobody&code=made-up")
    error = page.locator("#reset").get_by_test_id("error")
    for password, message in (("short", "The new password is too weak."), (NEW_PASSWORD, "The token is wrong")):
        await page.get_by_test_id("new-password").fill(password)
        await page.get_by_test_id("confirm").click()
        await expect(error).to_contain_text(message)


@pytest.mark.long("a side path; the whole path of an account stays in the short form")
async def test_page_of_a_gateway_with_several_applications_asks_for_one(page: Page, mailed: Mailed) -> None:
    await page.goto("/reset")
    await expect(page.get_by_test_id("login-notice")).to_contain_text("This gateway serves several applications.")
    await expect(page.get_by_test_id("request-form")).to_be_hidden()


@pytest.mark.long("every page at every size; the whole path of an account stays in the short form")
async def test_pages_fit_the_screen_and_are_accessible(page: Page, mailed: Mailed, subtests: pytest.Subtests) -> None:
    assert ACCOUNT_PAGES
    for path in ACCOUNT_PAGES:
        with subtests.test(path):
            await page.goto(f"{path}?application={mailed.house.one.application_id}#username=ada&code=1")
            await expect(page.locator("h1:visible").first).to_be_visible()
            assert await layout_problems(page) == []


async def test_no_form_can_be_sent_before_its_script_runs(browser: Browser, mailed: Mailed) -> None:
    """The browser would send it to the page itself, with the password."""
    context = await browser.new_context(base_url=mailed.house.url, java_script_enabled=False)
    page = await context.new_page()
    for path in ("/register", "/verify", "/reset", "/confirm-email"):
        await page.goto(f"{path}?application={mailed.house.one.application_id}")
        disabled = [await button.is_disabled() for button in await page.locator("form button[data-testid]").all()]
        assert disabled, path
        assert all(disabled), path
    await context.close()
