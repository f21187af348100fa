"""No page breaks its content security policy, and the policies block what they shall block."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Error, Page, expect

from tests.browser.kept_pages import KeptFiles
from tests.support.demonstration import demonstration
from tests.support.servers import serving
from tests.support.short_form import sample
from wattgate.app.demo.demo_settings import DEMO_LINK_KEY
from wattgate.app.server.factory import create_app
from wattgate.app.server.gate.response_headers import BASE, HEADER_POLICIES, HTML_POLICIES, MAIL_PAGE, PAGE
from wattgate.delivery.signed_links import SignedLinks

pytestmark = pytest.mark.browser

PAGES = sorted(path for path, policy in {**HEADER_POLICIES, **HTML_POLICIES}.items() if policy in (PAGE, MAIL_PAGE))

COLLECT_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation",
  (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""

INLINE_SCRIPT = """() => {
  const script = document.createElement("script");
  script.textContent = "window.inlineScriptRan = true";
  document.head.append(script);
  return new Promise((resolve) => setTimeout(() => resolve(window.inlineScriptRan === true), 0));
}"""


@pytest.fixture(scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[str, str]]:
    """The base URLs of a demonstration and of its REST interface."""
    settings, _ = await demonstration(tmp_path_factory.mktemp("policies"), timedelta(days=1))
    async with serving(KeptFiles(create_app(settings))) as url:
        yield url, settings.base_path


@pytest.fixture
async def context(browser: Browser, demo: tuple[str, str]) -> AsyncIterator[BrowserContext]:
    opened = await browser.new_context(base_url=demo[0])
    await opened.add_init_script(COLLECT_VIOLATIONS)
    yield opened
    await opened.close()


def _path(path: str, base_path: str) -> str:
    token = SignedLinks("http://x", DEMO_LINK_KEY.get_secret_value().encode()).unsubscribe_url("a", "d")
    return path.replace(BASE, base_path).replace("{token}", token.rpartition("/")[2])


async def _violations(page: Page) -> Any:
    return await page.evaluate("() => window.violations")


async def test_pages_keep_their_policy_and_run_no_inline_script(
    context: BrowserContext, demo: tuple[str, str], subtests: pytest.Subtests
) -> None:
    page = await context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    for path in sample(PAGES):
        with subtests.test(path):
            errors.clear()
            response = await page.goto(_path(path, demo[1]), wait_until="load")
            assert response is not None
            assert response.status == 200
            await expect(page.locator("h1, h2, h3").first).to_be_attached()
            assert await _violations(page) == []
            assert errors == []
            assert await page.evaluate(INLINE_SCRIPT) is False
            assert any(violation.startswith("script-src") for violation in await _violations(page))


async def test_no_site_may_show_a_page_in_a_frame(context: BrowserContext, demo: tuple[str, str]) -> None:
    page = await context.new_page()
    await page.goto("/preview/shared/nothing", wait_until="load")  # a page that may have frames of the gateway
    async with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        await page.evaluate(
            "() => { document.body.append(Object.assign(document.createElement('iframe'), { src: '/display' })); }"
        )


async def test_browser_of_the_tests_reaches_no_other_host(page: Page, demo: tuple[str, str]) -> None:
    other = demo[0].replace("127.0.0.1", "127.0.0.2")
    for address in (other, "http://gateway.example/"):
        with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
            await page.goto(address)
