"""Draw the PNG icons of the home display from their SVG drawings, with Chromium.

Usage: python tools/draw_icons.py. Run it after a change of a drawing, and commit the results.
"""

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parents[1] / "wattgate" / "app" / "static" / "display" / "icons"
SIZES = (192, 512)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Draw each icon in each size."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for name in ("icon", "maskable"):
            drawing = (FOLDER / f"{name}.svg").read_text()
            for size in SIZES:
                page = browser.new_page(viewport={"width": size, "height": size})
                page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block }}</style>{drawing}")
                page.screenshot(path=FOLDER / f"{name}-{size}.png", omit_background=True)
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
