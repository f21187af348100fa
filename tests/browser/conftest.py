"""Fixtures of the browser tests."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import BrowserContext, Page


@pytest.fixture
async def page(context: BrowserContext) -> AsyncIterator[Page]:
    """A page. After the test, it must have no console errors, exceptions or content security policy violations."""
    page = context.pages[0] if context.pages else await context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert errors == []
