"""Parts that tests of the IDE share: a demonstration, a page without any other network, and steps of a user."""

from playwright.async_api import Browser, BrowserContext, Page, expect

from wattgate.app.demo import logins

DESKTOP = (1360, 820)
"""The width and height of a desktop."""


async def desktop_context(browser: Browser, url: str, **options: object) -> BrowserContext:
    """Return a context with the size of a desktop. Its pages reach nothing but the gateway, as all of the tests."""
    width, height = DESKTOP
    return await browser.new_context(base_url=url, **{"viewport": {"width": width, "height": height}, **options})  # type: ignore[arg-type]


async def open_ide(page: Page, *, path: str = "/graphql") -> None:
    """Open the IDE, and wait until it knows the schema or why it does not."""
    await page.goto(path)
    await expect(page.get_by_test_id("run")).to_be_visible()


async def log_in(page: Page, username: str = logins.USERNAME, password: str = logins.PASSWORD) -> None:
    """Log in with the form of the dialog."""
    await page.get_by_test_id("open-login").click()
    await fill_login(page, username, password)


async def fill_login(page: Page, username: str = logins.USERNAME, password: str = logins.PASSWORD) -> None:
    await page.get_by_test_id("username").fill(username)
    await page.get_by_test_id("password").fill(password)
    await page.get_by_test_id("login").click()
    await expect(page.get_by_test_id("logout")).to_be_visible()


async def write(page: Page, text: str) -> None:
    """Replace the document."""
    await page.get_by_label("GraphQL document").fill(text)


async def run(page: Page) -> None:
    await page.get_by_test_id("run").click()


async def run_to_end(page: Page) -> None:
    """Run a query or mutation, and wait for its response. A click before it would stop the run."""
    async with page.expect_response(lambda response: "dryRun" not in (response.request.post_data or "dryRun")):
        await run(page)
    await expect(page.get_by_test_id("run")).to_have_text("Run")
