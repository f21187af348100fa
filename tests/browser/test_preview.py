"""The template page in a real browser: editing, rendering, publishing and script blocking."""

import re
from collections.abc import AsyncIterator
from typing import Literal

import pytest
from playwright.async_api import Browser, BrowserContext, Dialog, Page, expect

from tests.browser.test_display import accessibility_violations, overflow_pixels
from wattgate.app.demo.logins import EDITOR_USERNAME, PASSWORD, USERNAME

pytestmark = pytest.mark.browser

PLAIN_HTML = "<!doctype html><html lang='en'><body><p>Hello {{ recipient.name }}</p></body></html>"
HOSTILE_HTML = """<!doctype html>
<html lang="en"><body>
<script>new Image().src = "https://127.0.0.1:1/ran"; top.ran = "script"</script>
<img src="https://127.0.0.1:1/none.png" alt="" onerror="this.src = 'https://127.0.0.1:1/ran'">
<svg onload="top.ran = 'svg'"></svg>
<iframe srcdoc="<script>top.ran = 'frame'</script>"></iframe>
<a href="javascript:top.ran='link'">press</a>
<form action="/graphql"><button>send</button></form>
<meta http-equiv="refresh" content="0;url=https://127.0.0.1:1/away">
<p>{{ recipient.name }}</p>
</body></html>"""


@pytest.fixture
async def context(browser: Browser, demo_url: str) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(base_url=demo_url, viewport={"width": 1280, "height": 800})
    yield context
    await context.close()


async def log_in(page: Page, username: str = EDITOR_USERNAME) -> None:
    await page.goto("/preview")
    await page.get_by_test_id("username").fill(username)
    await page.get_by_test_id("password").fill(PASSWORD)
    await page.get_by_test_id("login").click()


async def open_editor(page: Page) -> None:
    """Log in, and wait until the first template is rendered."""
    await log_in(page)
    await wait_until_rendered(page)


async def wait_until_rendered(page: Page) -> None:
    """Wait until the page shows the current source, rendered with its sample data."""
    await expect(page.get_by_test_id("status")).to_have_text("Up to date")


async def test_landing_page_links_to_templates(page: Page) -> None:
    await page.goto("/")
    await page.get_by_role("link", name="Templates").click()
    await expect(page.get_by_test_id("login-form")).to_be_visible()


async def test_account_without_permission_sees_error(context: BrowserContext) -> None:
    page = await context.new_page()
    await log_in(page, USERNAME)
    await expect(page.get_by_test_id("login-error")).to_have_text("This account may not read templates.")
    assert await page.evaluate("() => localStorage.length") == 0


async def test_edits_are_rendered_immediately(page: Page) -> None:
    await open_editor(page)
    mail = page.frame_locator("iframe")
    await expect(mail.get_by_role("heading")).to_have_text("More energy than usual")
    await page.get_by_test_id("subject").fill("Hello {{ recipient.name }}")
    await page.get_by_test_id("preheader").fill("A word before")
    await page.get_by_test_id("html-source").fill(PLAIN_HTML)
    await expect(mail.locator("body > p")).to_have_text("Hello Robin Demo")
    await expect(page.get_by_test_id("rendered-subject")).to_have_text("Hello Robin Demo")
    await expect(page.get_by_test_id("rendered-preheader")).to_have_text("A word before")
    await expect(page.get_by_test_id("verdict")).to_have_text("Ready to send")
    await page.get_by_role("radio", name="Text", exact=True).last.check(force=True)
    await expect(page.get_by_test_id("plain")).to_contain_text("Hello Robin Demo")


async def test_sample_data_is_generated_entered_or_of_an_alert(page: Page) -> None:
    await open_editor(page)
    await page.get_by_test_id("html-source").fill(PLAIN_HTML.replace("recipient.name", "value"))
    await wait_until_rendered(page)
    await page.get_by_role("radio", name="Sample data").check(force=True)
    data = page.get_by_test_id("data-source")
    await expect(data).to_have_value(re.compile('"value": '))
    shown = page.frame_locator("iframe").locator("body > p")
    await data.fill('{"value": 77}')
    await expect(shown).to_have_text("Hello 77")
    await expect(page.get_by_test_id("data-from").locator("option:checked")).to_have_text("As entered here")
    await data.fill('{"value": ')
    await expect(page.get_by_test_id("status")).to_have_text("The sample data is not JSON")
    await page.get_by_test_id("data-from").select_option(index=2)
    await expect(shown).to_have_text("Hello 8.41")
    await expect(data).to_have_value(re.compile('"value": 8.412'))


async def test_finding_selects_its_source(page: Page) -> None:
    await open_editor(page)
    await page.get_by_test_id("subject").fill("A subject")
    source = page.get_by_test_id("html-source")
    image = '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'
    await source.fill(f'<html lang="en">\n<body>\n{image}\n</body></html>')
    finding = page.get_by_role("button", name="an image has no alt")
    await expect(finding).to_contain_text("HTML, line 3")
    await page.get_by_role("radio", name="Sample data").check(force=True)
    await finding.press("Enter")
    await expect(source).to_be_focused()
    selected = await source.evaluate("(one) => one.value.slice(one.selectionStart, one.selectionEnd)")
    assert selected == image
    await expect(page.get_by_test_id("verdict")).to_contain_text("1 error")


async def test_culture_without_template_falls_back_along_chain(page: Page) -> None:
    await open_editor(page)
    await page.get_by_test_id("culture").fill("de-AT")
    await page.get_by_role("radio", name="Cultures").check(force=True)
    await expect(page.get_by_test_id("cultures-tried").locator("li")).to_have_text(["de-AT", "de", "en-GB"])
    await expect(page.get_by_test_id("selected-template")).to_contain_text("in en-GB")
    await expect(page.get_by_test_id("coverage").locator("li")).to_contain_text(
        ["en-GB: High consumption", "fr-FR: Forte consommation"]
    )


async def test_mail_is_shown_at_widths_and_in_emulated_dark_mode(page: Page) -> None:
    await open_editor(page)
    frame = page.get_by_test_id("mail")
    for width in (320, 375, 600):
        await page.get_by_role("radio", name=f"{width} pixels").check(force=True)
        assert await frame.evaluate("(one) => one.getBoundingClientRect().width") == width
    sheet = page.frame_locator("iframe").locator(".sheet")
    backgrounds = set()
    for dark in ("none", "partial", "full"):
        await page.get_by_test_id("dark").select_option(dark)
        await expect(sheet).to_be_visible()
        backgrounds.add(await sheet.evaluate("(one) => getComputedStyle(one).backgroundColor"))
    assert len(backgrounds) == 2  # full inversion is a CSS filter of the frame, so it does not change the colour


async def test_template_cannot_run_scripts(context: BrowserContext) -> None:
    page = await context.new_page()
    await open_editor(page)
    requested_urls: list[str] = []
    console_messages: list[str] = []
    page.on("request", lambda request: requested_urls.append(request.url))
    page.on("console", lambda message: console_messages.append(message.text))
    await page.get_by_test_id("new").click()
    await wait_until_rendered(page)
    await page.get_by_role("radio", name="Sample data").check(force=True)
    await page.get_by_test_id("data-source").fill('{"recipient": {"name": "<img src=x onerror=top.ran=1>"}}')
    await page.get_by_role("radio", name="HTML").check(force=True)
    for subject in ("<img src=x onerror=top.ran=1>", "<script>top.ran=1</script>"):
        await page.get_by_test_id("subject").fill(subject)
        await page.get_by_test_id("html-source").fill(HOSTILE_HTML)
        await expect(page.get_by_test_id("rendered-subject")).to_have_text(subject)
        for dark in ("light", "partial", "full"):
            await page.get_by_test_id("dark").select_option(dark)
            await expect(page.frame_locator("iframe").first.locator("p")).to_have_text("<img src=x onerror=top.ran=1>")
    await page.frame_locator("iframe").first.get_by_text("press").click()
    await page.frame_locator("iframe").first.get_by_text("send").click()
    await page.get_by_role("radio", name="Cultures").check(force=True)
    assert await page.evaluate("() => window.ran") is None
    assert await page.title() == "Templates · wattgate"
    assert page.url.endswith("/preview")
    assert not [url for url in requested_urls if url.endswith(("/away", "/ran"))]
    assert any("Blocked script execution" in text for text in console_messages)
    assert await page.get_by_test_id("mail").get_attribute("sandbox") == ""


async def test_template_can_be_saved_published_and_rolled_back(page: Page) -> None:
    await open_editor(page)
    await page.get_by_test_id("new").click()
    await page.get_by_test_id("name").fill("Of a test")
    await page.get_by_test_id("culture").fill("cy")
    await page.get_by_test_id("html-source").fill(PLAIN_HTML)
    await page.get_by_test_id("save").click()
    versions = page.get_by_test_id("versions").locator("option")
    await expect(versions).to_have_text(["Version 1, published"])
    await page.get_by_test_id("subject").fill("A second subject")
    await page.get_by_test_id("save").click()
    await expect(versions).to_have_text(["Version 2, draft", "Version 1, published"])
    await page.get_by_test_id("publish").click()
    await expect(versions).to_have_text(["Version 2, published", "Version 1"])
    await page.get_by_test_id("roll-back").click()
    await expect(versions).to_have_text(["Version 2", "Version 1, published"])
    await page.get_by_test_id("versions").select_option(label="Version 1, published")
    await expect(page.get_by_test_id("subject")).to_have_value(
        '{{ alert.name }}: {{ home.name | default: "your home" }}'
    )


async def test_test_mail_is_sent_to_outbox(page: Page) -> None:
    await open_editor(page)
    await page.get_by_test_id("subject").fill("Hello {{ recipient.name }}")
    await page.get_by_test_id("send-test").click()
    dialog = page.get_by_role("dialog", name="Send a test")
    await dialog.get_by_label("To").fill("somebody@elsewhere.example")
    await dialog.get_by_role("button", name="Send").click()
    status = page.get_by_test_id("test-status")
    await expect(status).to_have_text(
        "somebody@elsewhere.example may not receive test mails. Add it to WATTGATE_TEST_ADDRESSES."
    )
    await dialog.get_by_label("To").fill("tester@wattgate.example")
    await page.keyboard.press("Enter")
    await expect(status).to_have_text("Sent to tester@wattgate.example")
    assert await accessibility_violations(page) == []
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await page.get_by_test_id("send-test").click()
    await expect(dialog.get_by_label("To")).to_have_value("tester@wattgate.example")
    outbox = await page.context.new_page()
    await outbox.goto("/outbox")
    await expect(outbox.get_by_test_id("mail").first).to_contain_text("[TEST] Hello Robin Demo")


async def test_unsaved_changes_require_confirmation(page: Page) -> None:
    await open_editor(page)
    selected = await page.get_by_test_id("templates").input_value()
    await page.get_by_test_id("subject").fill("Not saved")
    dialogs: list[str] = []

    async def dismiss_dialog(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        await dialog.dismiss()

    page.once("dialog", dismiss_dialog)
    await page.get_by_test_id("templates").select_option(index=1)
    await expect(page.get_by_test_id("subject")).to_have_value("Not saved")
    assert await page.get_by_test_id("templates").input_value() == selected
    assert dialogs == ["Your changes are not saved. Discard them?"]
    page.once("dialog", lambda dialog: dialog.accept())
    await page.get_by_test_id("new").click()
    await expect(page.get_by_test_id("subject")).not_to_have_value("Not saved")
    await wait_until_rendered(page)
    await page.get_by_test_id("templates").select_option(index=1)
    assert len(dialogs) == 1  # without changes, the page shows no dialog


async def test_empty_text_is_generated_from_html(page: Page) -> None:
    await open_editor(page)
    await page.get_by_role("radio", name="Text", exact=True).first.check(force=True)
    await page.get_by_test_id("text-source").fill("A text for {{ recipient.name }}")
    await page.get_by_role("radio", name="Text", exact=True).last.check(force=True)
    await expect(page.get_by_test_id("plain")).to_have_text("A text for Robin Demo")
    await page.get_by_test_id("text-source").fill("")
    await expect(page.get_by_test_id("plain")).to_contain_text("More energy than usual")


async def test_keyboard_reaches_all_controls(page: Page) -> None:
    await open_editor(page)
    await page.get_by_test_id("templates").focus()
    focused = "() => document.activeElement.dataset.testid ?? document.activeElement.name"
    reached = []
    for _ in range(19):
        reached.append(await page.evaluate(focused))
        await page.keyboard.press("Tab")
    actions = ["save", "publish", "roll-back", "send-test"]
    expected = ["templates", "new", "versions", *actions, "logout", "culture", "subject"]
    assert reached[: len(expected)] == expected
    assert {"html-source", "view", "width", "dark"} <= set(reached)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_preview_has_no_accessibility_violations(page: Page, scheme: Literal["light", "dark"]) -> None:
    await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    await open_editor(page)
    for width, height in ((1280, 800), (390, 844)):
        await page.set_viewport_size({"width": width, "height": height})
        assert (await overflow_pixels(page))["across"] == 0
        for view in ("Text", "Cultures", "Mail"):
            await page.get_by_role("radio", name=view, exact=True).last.check(force=True)
            assert await accessibility_violations(page) == []
