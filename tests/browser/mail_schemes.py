"""The colour scheme that a mail sees in each emulated client of the preview and of the outbox."""

from typing import Literal

from playwright.async_api import Locator, Page, expect

ColorScheme = Literal["light", "dark"]

SCHEMES_HTML = """<!doctype html>
<html lang="en"><head><title>x</title><style>
:root { color-scheme: light dark }
i { color: rgb(1, 1, 1); outline-color: light-dark(rgb(1, 1, 1), rgb(2, 2, 2)) }
@media (prefers-color-scheme: dark) { i { color: rgb(2, 2, 2) !important } }
[data-ogsc] i { text-decoration-color: rgb(3, 3, 3) }
</style><style media="(prefers-color-scheme: light)">i { border-left-color: rgb(1, 1, 1) }</style>
<style media="(prefers-color-scheme: dark)">i { border-left-color: rgb(2, 2, 2) }</style></head>
<body><i>x</i></body></html>"""
"""A mail that shows the scheme in several colours of its text."""

LIGHT, DARK = "rgb(1, 1, 1)", "rgb(2, 2, 2)"

EXPECTED = {"light": LIGHT, "none": DARK, "partial": DARK, "full": LIGHT}
"""The colour of the mail in each client."""


async def expect_schemes(page: Page, text: Locator) -> None:
    """Expect that the shown mail sees the scheme of each client."""
    for client, colour in EXPECTED.items():
        await page.get_by_test_id("dark").select_option(client)
        for name in ("color", "outline-color", "border-left-color"):
            await expect(text).to_have_css(name, colour)
    await page.get_by_test_id("dark").select_option("partial")
    await expect(text).to_have_css("text-decoration-color", "rgb(3, 3, 3)")
