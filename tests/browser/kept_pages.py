"""Pages that tests use one after another: each keeps its process, its compiled scripts and the files it has loaded.

A new page of a new context costs about twice as much processor time.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from playwright.async_api import Browser, Error, Page, ViewportSize
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.browser.sessions import EMPTY_PAGE

CLEAR_STORAGE = "() => { localStorage.clear(); sessionStorage.clear(); }"

LASTING = ("add_init_script", "route_web_socket")
"""Changes that a page does not undo. A test with one of them opens a page in its own context.

So does a test with a clock, unless all tests that use the pages set it.
"""


class KeptPages:
    """Lends pages of contexts with the same options. Each test gets a page as a new one: nothing stored or replaced."""

    def __init__(self, browser: Browser, viewport: ViewportSize, **options: Any) -> None:
        self._browser, self._viewport = browser, viewport
        self._options: Mapping[str, Any] = {"reduced_motion": "reduce", **options, "viewport": viewport}
        self._idle: list[Page] = []

    @asynccontextmanager
    async def page(self) -> AsyncIterator[Page]:
        """Yield a page that no other test uses."""
        page = self._idle.pop() if self._idle else await self._open()
        listeners = _listeners_of(page)
        yield page
        try:
            await self._clean(page, listeners)
        except Error:  # such as a gateway that is down
            await page.context.close()
        else:
            self._idle.append(page)

    async def close(self) -> None:
        """Close the pages that no test uses."""
        while self._idle:
            await self._idle.pop().context.close()

    async def _open(self) -> Page:
        context = await self._browser.new_context(**self._options)
        page = await context.new_page()
        for name in LASTING:
            setattr(page, name, _refuse)
        return page

    async def _clean(self, page: Page, listeners: set[tuple[str, Any]]) -> None:
        context = page.context
        for other in context.pages:
            if other is not page:
                await other.close()
        for event, listener in _listeners_of(page) - listeners:
            page._impl_obj.remove_listener(event, listener)
        await page.unroute_all(behavior="ignoreErrors")
        await context.unroute_all(behavior="ignoreErrors")
        await context.set_offline(False)
        await page.goto(EMPTY_PAGE)
        await page.evaluate(CLEAR_STORAGE)
        await context.clear_cookies()
        await page.set_viewport_size(self._viewport)
        await page.emulate_media(media="null", color_scheme="null", reduced_motion="null", forced_colors="null")
        await page.mouse.move(0, 0)


class KeptFiles:
    """A layer before a gateway. The browser may use a file of a page again without asking whether it has changed."""

    def __init__(self, gateway: ASGIApp) -> None:
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_kept(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                headers = [header for header in message["headers"] if header[0] != b"cache-control"]
                message = {**message, "headers": [*headers, (b"cache-control", b"max-age=600")]}
            await send(message)

        is_file = scope["type"] == "http" and scope["path"].startswith("/static/")
        await self._gateway(scope, receive, send_kept if is_file else send)


@asynccontextmanager
async def kept_pages(browser: Browser, viewport: tuple[int, int], **options: Any) -> AsyncIterator[KeptPages]:
    """Yield pages with a size and further options of their contexts, and close them at the end."""
    async with AsyncExitStack() as stack:
        pages = KeptPages(browser, {"width": viewport[0], "height": viewport[1]}, **options)
        stack.push_async_callback(pages.close)
        yield pages


def _listeners_of(page: Page) -> set[tuple[str, Any]]:
    events = page._impl_obj
    return {(event, listener) for event in events.event_names() for listener in events.listeners(event)}


def _refuse(*_: Any, **__: Any) -> None:
    raise AssertionError("A page that other tests use keeps this for ever: open one in a context of its own.")
