"""Checks of a shown page: accessibility with axe, and overflow."""

from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
"""WCAG 2.2 levels A and AA, and best practices."""

LOOKS = ["color-contrast", "link-in-text-block", "target-size"]
"""The rules whose result depends on colours and sizes."""

RUN_AXE = """async (runOnly) => {
  const { violations } = await axe.run({ runOnly, resultTypes: ["violations"] });
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}"""
"""Return only the violations. The whole result has megabytes, most of them about rules that no element breaks."""


async def accessibility_violations(page: Page) -> list[str]:
    """Return the violations of WCAG 2.2 levels A and AA, and of best practices, that axe finds."""
    return await _violations(page, {"type": "tag", "values": TAGS})


async def look_violations(page: Page) -> list[str]:
    """Return the violations of the rules about colours and sizes that axe finds.

    It suffices for the second colour scheme or size of a page whose elements are the same in both.
    """
    return await _violations(page, {"type": "rule", "values": LOOKS})


async def _violations(page: Page, run_only: dict[str, Any]) -> list[str]:
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(Axe().axe_script)
    return list(await page.evaluate(RUN_AXE, run_only))


async def overflow_pixels(page: Page) -> dict[str, Any]:
    """Return by how many pixels the page is larger than the viewport, in each direction."""
    return dict(
        await page.evaluate(
            """() => {
                const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.documentElement;
                return { across: scrollWidth - clientWidth, down: scrollHeight - clientHeight };
            }"""
        )
    )
