"""The pictures of the tour in README.md: pages of the demonstration in a browser. `make tour` takes them.

Homes of the demonstration are where it is midday, so that the pictures show the same at each time of the day. The
tariffs of the demonstration keep their time zone, so pictures of about midday in London show the night at night.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

from playwright.async_api import Browser, Page, Route, ViewportSize, expect

from tests.browser import displays, ides, sessions
from tests.support.chromium import started_chromium
from tests.support.demonstration import demonstration
from tests.support.servers import serving
from wattgate.app.demo import live, logins
from wattgate.app.demo.demo_settings import describe_demonstration
from wattgate.app.server.factory import create_app

FOLDER = Path(__file__).parents[2] / "docs" / "images"
HISTORY = timedelta(days=60)
"""The history of the homes: the whole month, and eight days beside the week before.

The demonstration has an outage 23 days ago, so this month may be complete up to it only.
"""

DESKTOP: ViewportSize = {"width": 1200, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 780}

USUAL_ADDRESS = "http://127.0.0.1:8000"
"""The address that `make run` prints. Pages that show their own address are opened there."""

QUERY = """query Homes {
  viewer {
    homes(first: 2) {
      edges {
        node {
          name
          resources {
            classifier
            current { value unit at }
          }
        }
      }
    }
  }
}
"""


async def show_display(page: Page) -> None:
    """Show the display of a home with live power."""
    await displays.open_display(page)
    await expect(page.get_by_test_id("connection")).to_have_text("Live")


async def show_history_on_phone(page: Page) -> None:
    """Show the costs of eight days on a phone."""
    await page.set_viewport_size(PHONE)
    await show_display(page)
    await displays.show_page(page, "history")


async def show_query(page: Page) -> None:
    """Show a query in the IDE with its response."""
    await sessions.start_session(page, key=sessions.IDE)
    await ides.open_ide(page)
    await ides.write(page, QUERY)
    await ides.run_to_end(page)


async def show_template(page: Page) -> None:
    """Show the template of a mail beside the mail that it makes."""
    await sessions.start_session(page, logins.EDITOR_USERNAME, sessions.EDITOR)
    await page.goto("/preview")
    await expect(page.get_by_test_id("status")).to_have_text("Rendered")


async def show_reference(page: Page) -> None:
    """Show a request of the REST reference with its response."""
    document = await (await page.request.get("/api/v0-1/openapi.json")).json()
    operation_id = document["paths"]["/virtualentity"]["get"]["operationId"]
    await page.goto(f"{USUAL_ADDRESS}/api/v0-1/docs#{operation_id}")
    card = page.locator(f"#{operation_id}")
    await card.get_by_test_id("send").click()
    await page.get_by_test_id("demonstration-login").first.click()
    await expect(card.get_by_test_id("status")).to_have_text("200 OK")
    await card.evaluate("card => card.scrollIntoView()")


PICTURES: dict[str, Callable[[Page], Awaitable[None]]] = {
    "display": show_display,
    "phone": show_history_on_phone,
    "ide": show_query,
    "reference": show_reference,
    "templates": show_template,
}
"""The pictures in the order of the tour: the name of the file, and the function that opens the page."""


async def _forward(url: str, route: Route) -> None:
    """Send a request for the usual address of the demonstration to the gateway."""
    response = await route.fetch(url=route.request.url.replace(USUAL_ADDRESS, url, 1))
    await route.fulfill(response=response)


async def take(browser: Browser, url: str, name: str, folder: Path) -> Path:
    """Take a picture, and return its file."""
    context = await browser.new_context(
        base_url=url, viewport=DESKTOP, color_scheme="light", reduced_motion="reduce", **displays.WITHOUT_WORKER
    )
    await context.route(f"{USUAL_ADDRESS}/**", partial(_forward, url))
    page = await context.new_page()
    await PICTURES[name](page)
    await page.evaluate("() => document.fonts.ready")
    file = folder / f"{name}.png"
    await page.screenshot(path=file, animations="disabled")
    await context.close()
    return file


async def take_all(folder: Path) -> None:
    """Take each picture, and print the size of its file."""
    with tempfile.TemporaryDirectory() as data:
        settings, _ = await demonstration(Path(data), HISTORY, at_midday=True)
        application = create_app(settings, demonstration=describe_demonstration(), background=[live.run_meters])
        async with serving(application) as url, started_chromium() as browser:
            for name in PICTURES:
                file = await take(browser, url, name, folder)
                print(f"{file.relative_to(FOLDER.parents[1])}: {file.stat().st_size // 1000} kB")  # noqa: T201


if __name__ == "__main__":
    asyncio.run(take_all(FOLDER))
