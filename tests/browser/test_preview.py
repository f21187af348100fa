"""The template page in a real browser: editing, rendering, publishing and script blocking."""

import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, BrowserContext, Dialog, Locator, Page, expect

from tests.browser.kept_pages import KeptPages, kept_pages
from tests.browser.mail_schemes import SCHEMES_HTML, ColorScheme, expect_schemes
from tests.browser.page_checks import (
    accessibility_violations,
    look_violations,
    overflow_pixels,
    violations_in_both_schemes,
)
from wattgate.app.demo.logins import EDITOR_USERNAME, PASSWORD, USERNAME

pytestmark = pytest.mark.browser

PLAIN_HTML = """<!doctype html><html lang='en'><body><p>Hello {{ recipient.name }}</p><div>{{ alert.reason }}
{{ recipient.unsubscribeUrl | default: "" }} {{ recipient.preferencesUrl | default: "" }}</div></body></html>"""
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


@pytest.fixture(scope="module")
async def kept(browser: Browser, demo_url: str) -> AsyncIterator[KeptPages]:
    async with kept_pages(browser, (1280, 800), base_url=demo_url) as pages:
        yield pages


@pytest.fixture
async def context(kept: KeptPages) -> AsyncIterator[BrowserContext]:
    async with kept.page() as page:
        yield page.context


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
    await expect(page.get_by_test_id("status")).to_have_text("Rendered")


async def add_template(page: Page, name: str, culture: str) -> None:
    """Add a draft of a new template."""
    await page.get_by_test_id("new").click()
    await page.get_by_test_id("name").fill(name)
    await page.get_by_test_id("culture").fill(culture)
    await page.get_by_test_id("html-source").fill(PLAIN_HTML)
    await page.get_by_test_id("save").click()
    await expect(page.get_by_test_id("edit-state")).to_have_text("Draft")


async def publish(page: Page, title: str, words: str) -> None:
    """Publish the content of the page, and confirm it in a dialog with these words."""
    await page.get_by_test_id("publish").click()
    await expect(page.get_by_role("dialog", name=title)).to_contain_text(words)
    await page.get_by_test_id("confirm").click()
    await expect(page.get_by_test_id("notice")).to_contain_text("is published.")


async def choose(page: Page, item: str) -> None:
    """Click on an item of the menu."""
    await page.get_by_test_id("menu").click()
    await page.get_by_test_id(item).click()


async def expect_rows(old: Locator, new: Locator, *, side_by_side: bool) -> None:
    """Expect the new line beside the old one, or below it."""
    left, right = await old.bounding_box(), await new.bounding_box()
    assert left is not None
    assert right is not None
    assert (left["y"] == right["y"]) is side_by_side


async def test_landing_page_links_to_templates(page: Page) -> None:
    await page.goto("/")
    await page.get_by_role("link", name="Templates").click()
    await expect(page.get_by_test_id("login-form")).to_be_visible()


async def test_account_without_permission_sees_error(context: BrowserContext) -> None:
    page = context.pages[0]
    await log_in(page, USERNAME)
    await expect(page.get_by_test_id("login-error")).to_have_text("This account may not read templates.")
    assert await page.evaluate("() => localStorage.length") == 0


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_new_template_links_to_this_gateway(page: Page) -> None:
    await open_editor(page)
    await page.get_by_test_id("new").click()
    await wait_until_rendered(page)
    button = page.frame_locator("iframe").get_by_role("link", name="See it live")
    host = await page.evaluate("() => location.host")
    await expect(button).to_have_attribute("href", f"https://{host}/display")


async def test_edits_are_rendered_immediately(page: Page) -> None:
    await open_editor(page)
    mail = page.frame_locator("iframe")
    await expect(mail.get_by_role("heading")).to_have_text("A limit is reached")
    await page.get_by_test_id("subject").fill("Hello {{ recipient.name }}")
    await page.get_by_test_id("preheader").fill("A word before")
    await page.get_by_test_id("html-source").fill(PLAIN_HTML)
    await expect(mail.locator("body > p")).to_have_text("Hello Robin Demo")
    await expect(page.get_by_test_id("rendered-subject")).to_have_text("Hello Robin Demo")
    await expect(page.get_by_test_id("rendered-preheader")).to_have_text("A word before")
    await expect(page.get_by_test_id("verdict")).to_have_text("Ready to send")
    await page.get_by_role("radio", name="Text", exact=True).last.check(force=True)
    await expect(page.get_by_test_id("plain")).to_contain_text("Hello Robin Demo")


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
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
    await page.get_by_test_id("data-from").select_option(index=3)
    await expect(shown).to_have_text("Hello 8.41")
    await expect(data).to_have_value(re.compile('"value": 8.412'))
    await page.get_by_test_id("data-from").select_option(label="Samples of the variables")
    await expect(data).not_to_have_value(re.compile('"value": 8.412'))


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_variable_of_the_alert_type_is_inserted_on_click(page: Page) -> None:
    await open_editor(page)
    await page.get_by_test_id("subject").fill("At ")
    await page.get_by_test_id("variables").click()
    variable = page.get_by_test_id("variable").filter(has_text="home.name")
    await expect(variable).to_contain_text("For example")
    assert await violations_in_both_schemes(page) == []
    await variable.press("Enter")
    await expect(page.get_by_test_id("subject")).to_have_value("At {{ home.name }}")
    await expect(page.get_by_test_id("subject")).to_be_focused()
    await page.keyboard.press("Control+z")
    await expect(page.get_by_test_id("subject")).to_have_value("At ")
    await expect(page.get_by_test_id("edit-state")).to_have_text("Unsaved changes")


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_names_of_variables_are_completed_while_typing(page: Page) -> None:
    await open_editor(page)
    source, options = page.get_by_test_id("html-source"), page.get_by_test_id("completion")
    await source.fill("")
    await source.press_sequentially("<p>{{ home.n")
    await expect(options.first).to_have_text("home.name")
    assert await accessibility_violations(page) == []
    await page.keyboard.press("Enter")
    await expect(source).to_have_value("<p>{{ home.name }}")
    await source.press_sequentially(" {{ rec")
    links = ["recipient.unsubscribeUrl", "recipient.preferencesUrl"]
    await expect(options).to_have_text(["recipient.name", "recipient.culture", *links])
    await page.keyboard.press("ArrowUp")
    await expect(options.last).to_have_attribute("aria-selected", "true")
    await options.first.click()
    await expect(source).to_have_value("<p>{{ home.name }} {{ recipient.name }}")
    await source.press_sequentially(" {{ rec")
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("completions")).to_be_hidden()
    await page.keyboard.press("Tab")  # without the list, Tab leaves the source
    await expect(source).not_to_be_focused()
    await expect(source).to_have_value("<p>{{ home.name }} {{ recipient.name }} {{ rec")


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
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


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_culture_without_template_falls_back_along_chain(page: Page) -> None:
    await open_editor(page)
    await page.get_by_test_id("culture").fill("de-AT")
    await page.get_by_role("radio", name="Cultures").check(force=True)
    await expect(page.get_by_test_id("cultures-tried").locator("li")).to_have_text(["de-AT", "de", "en-GB"])
    await expect(page.get_by_test_id("selected-template")).to_contain_text("in en-GB")
    await expect(page.get_by_test_id("coverage").locator("li")).to_contain_text(
        ["en-GB: High consumption", "fr: Forte consommation"]
    )


@pytest.mark.long("sizes of the preview; publishing, drafts and refusals stay in the short form")
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


@pytest.mark.parametrize("host", ["light", "dark"])
async def test_clients_state_their_colour_scheme_whatever_that_of_the_browser_is(page: Page, host: ColorScheme) -> None:
    await page.emulate_media(color_scheme=host)
    await open_editor(page)
    await page.get_by_test_id("html-source").fill(SCHEMES_HTML)
    await expect_schemes(page, page.frame_locator("iframe").locator("i"))


async def test_template_cannot_run_scripts(context: BrowserContext) -> None:
    page = context.pages[0]
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
            # The preview of the text before this one has several paragraphs.
            paragraph = page.frame_locator("iframe").first.locator("p").first
            await expect(paragraph).to_have_text("<img src=x onerror=top.ran=1>")
    await page.frame_locator("iframe").first.get_by_text("press").click()
    await page.frame_locator("iframe").first.get_by_text("send").click()
    await page.get_by_role("radio", name="Cultures").check(force=True)
    assert await page.evaluate("() => window.ran") is None
    assert await page.title() == "Templates · wattgate"
    assert page.url.endswith("/preview")
    assert not [url for url in requested_urls if url.endswith(("/away", "/ran"))]
    assert any("Blocked script execution" in text for text in console_messages)
    assert await page.get_by_test_id("mail").get_attribute("sandbox") == ""


async def test_template_is_a_draft_until_it_is_published_and_each_step_can_be_undone(page: Page) -> None:
    await open_editor(page)
    await add_template(page, "Of a test", "cy")
    versions = page.get_by_test_id("versions").locator("option")
    state = page.get_by_test_id("edit-state")
    await expect(versions).to_have_text(["Version 1, draft"])
    await expect(state).to_have_text("Draft")
    await publish(page, "Publish version 1?", "No version is published now.")
    await expect(versions).to_have_text(["Version 1, published"])
    await expect(state).to_have_text("Published")
    await expect(page.get_by_test_id("publish")).to_be_disabled()
    await page.get_by_test_id("undo").click()
    await expect(versions).to_have_text(["Version 1"])
    await publish(page, "Publish version 1?", "No version is published now.")
    await page.get_by_test_id("subject").fill("A second subject")
    await expect(state).to_have_text("Unsaved changes")
    await page.get_by_test_id("save").click()
    await expect(versions).to_have_text(["Version 2, draft", "Version 1, published"])
    await publish(page, "Publish version 2?", "It changes the subject.")
    await expect(versions).to_have_text(["Version 2, published", "Version 1"])
    await page.get_by_test_id("undo").click()
    await expect(versions).to_have_text(["Version 2", "Version 1, published"])
    await publish(page, "Publish version 2?", "From then on it is sent instead of version 1.")
    await choose(page, "roll-back")
    await expect(page.get_by_role("dialog", name="Roll back to version 1?")).to_contain_text("instead of version 2")
    await page.get_by_test_id("confirm").click()
    await expect(versions).to_have_text(["Version 2", "Version 1, published"])
    await page.get_by_test_id("undo").click()
    await expect(versions).to_have_text(["Version 2, published", "Version 1"])
    await page.get_by_test_id("versions").select_option(label="Version 1")
    await expect(page.get_by_test_id("subject")).to_have_value(
        '{{ alert.name }}: {{ home.name | default: "your home" }}'
    )


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_cancelled_confirmation_publishes_nothing(page: Page) -> None:
    await open_editor(page)
    await add_template(page, "Cancelled", "gd")
    for key in ("Escape", "Enter"):
        await page.get_by_test_id("publish").click()
        await page.get_by_test_id("cancel").focus()
        await page.keyboard.press(key)
        await expect(page.get_by_test_id("confirmation")).to_be_hidden()
    await expect(page.get_by_test_id("versions").locator("option")).to_have_text(["Version 1, draft"])


async def test_template_with_errors_cannot_be_published(page: Page) -> None:
    await open_editor(page)
    await page.get_by_test_id("html-source").fill("<p><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='></p>")
    await expect(page.get_by_test_id("verdict")).to_contain_text("1 error")
    await page.get_by_test_id("publish").click()
    await expect(page.get_by_test_id("confirmation")).to_contain_text("The report has an error. Correct it first.")
    await expect(page.get_by_test_id("confirm")).to_be_disabled()


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_archived_template_is_hidden_and_can_be_restored(page: Page) -> None:
    await open_editor(page)
    await add_template(page, "Retired", "ga")
    await publish(page, "Publish version 1?", "")
    await choose(page, "archive")
    await page.get_by_test_id("confirm").click()
    await expect(page.get_by_test_id("edit-state")).to_have_text("Archived")
    for button in ("save", "publish"):
        await expect(page.get_by_test_id(button)).to_be_disabled()
    await page.get_by_test_id("undo").click()
    await expect(page.get_by_test_id("edit-state")).to_have_text("Published")
    await choose(page, "archive")
    await page.get_by_test_id("confirm").click()
    await expect(page.get_by_test_id("edit-state")).to_have_text("Archived")
    templates = page.get_by_test_id("templates")
    await templates.select_option(index=0)
    await expect(templates).not_to_contain_text("Retired")
    await page.get_by_test_id("menu").click()
    await page.get_by_test_id("show-archived").check()
    await page.keyboard.press("Escape")
    await templates.select_option(label="Retired · email · ga · archived")
    await choose(page, "restore")
    await expect(page.get_by_test_id("edit-state")).to_have_text("Former version")


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_second_template_for_the_same_alerts_has_a_warning(page: Page) -> None:
    await open_editor(page)
    await add_template(page, "First", "kw")
    await publish(page, "Publish version 1?", "")
    warning = page.get_by_test_id("duplicate")
    await expect(warning).to_be_hidden()
    await page.get_by_test_id("new").click()
    await page.get_by_test_id("culture").fill("kw")
    await expect(warning).to_contain_text("“First” is published for the same alerts, channel and culture.")
    await add_template(page, "Second", "kw")
    await publish(page, "Publish version 1?", "")
    await expect(warning).to_contain_text("Alerts use this template, because it is newer.")
    await page.get_by_test_id("templates").select_option(label="First · email · kw · not used")
    await expect(warning).to_contain_text("Alerts use it, because it is newer, so that this template is not sent.")
    await expect(page.get_by_test_id("edit-state")).to_have_text("Published, not used")


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_versions_and_unsaved_changes_can_be_compared(page: Page) -> None:
    await open_editor(page)
    source = page.get_by_test_id("html-source")
    await source.fill((await source.input_value()).replace("A limit is reached", "A limit was reached"))
    await choose(page, "compare")
    dialog = page.get_by_role("dialog", name="Compare versions")
    changed = dialog.locator("tr.changed")
    await expect(changed.first.locator("del.part")).to_have_text("is")
    await expect(changed.first.locator("ins.part")).to_have_text("was")
    await expect(page.get_by_test_id("compare-to").locator("option:checked")).to_have_text("Unsaved changes")
    old, new = changed.first.locator(".code.left"), changed.first.locator(".code.right")
    await expect_rows(old, new, side_by_side=True)
    assert await accessibility_violations(page) == []
    await page.set_viewport_size({"width": 390, "height": 844})
    await expect_rows(old, new, side_by_side=False)
    assert await accessibility_violations(page) == []
    await page.get_by_test_id("compare-to").select_option(label="Version 1, published")
    await expect(dialog).to_contain_text("There are no differences.")


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_preview_is_shared_by_a_link_without_log_in(page: Page, browser: Browser, demo_url: str) -> None:
    await open_editor(page)
    await choose(page, "share")
    await page.get_by_test_id("share-hours").select_option(label="1 day")
    await page.get_by_test_id("share-create").click()
    await expect(page.get_by_test_id("share-status")).to_contain_text("Everybody who has the link")
    link = await page.get_by_test_id("share-link").input_value()
    context = await browser.new_context(base_url=demo_url, viewport={"width": 390, "height": 844})
    visitor = await context.new_page()
    await visitor.goto(link[link.index("/preview/shared/") :])
    await expect(visitor.get_by_role("heading", name="High consumption")).to_be_visible()
    await expect(visitor.frame_locator("iframe").get_by_role("heading")).to_have_text("A limit is reached")
    assert (await overflow_pixels(visitor))["across"] == 0
    assert await violations_in_both_schemes(visitor) == []
    frame = visitor.locator("iframe")
    for name, width in (("320", 320), ("600", 600)):
        await visitor.get_by_role("radio", name=name).check(force=True)
        assert await frame.evaluate("(one) => one.getBoundingClientRect().width") == width
    await context.close()


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_source_is_highlighted_under_the_letters_that_are_typed(page: Page) -> None:
    await open_editor(page)
    source = page.get_by_test_id("html-source")
    await source.fill("<p class='a'>\n" + "<b>{{ name }}</b>\n" * 80)
    colours = page.locator('.source[data-part="html"] .colours')
    await expect(colours).to_have_text(await source.input_value())
    await expect(colours.locator(".variable").first).to_have_text("{{ name }}")
    await source.evaluate("(one) => { one.scrollTop = 500; one.dispatchEvent(new Event('scroll')); }")
    positions = "(one) => [one.scrollTop, getComputedStyle(one).fontSize, getComputedStyle(one).lineHeight]"
    assert await source.evaluate(positions) == await colours.evaluate(positions)


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
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


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_unsaved_changes_require_confirmation(page: Page) -> None:
    await open_editor(page)
    selected = await page.get_by_test_id("templates").input_value()
    await expect(page.get_by_test_id("edit-state")).to_have_text("Published")
    await expect(page.get_by_test_id("save")).to_be_disabled()
    await page.get_by_test_id("subject").fill("Not saved")
    await expect(page.get_by_test_id("edit-state")).to_have_text("Unsaved changes")
    dialog = page.get_by_role("dialog", name="Discard your changes?")
    await page.get_by_test_id("templates").select_option(index=1)
    assert await accessibility_violations(page) == []
    await dialog.get_by_role("button", name="Keep editing").click()
    await expect(page.get_by_test_id("subject")).to_have_value("Not saved")
    await expect(page.get_by_test_id("templates")).to_have_value(selected)
    await page.get_by_test_id("templates").select_option(index=1)
    await dialog.get_by_role("button", name="Discard changes").click()
    await expect(page.get_by_test_id("subject")).to_have_value(re.compile("Votre logement"))
    await wait_until_rendered(page)
    await page.get_by_test_id("templates").select_option(index=0)  # without changes, the page does not ask
    await expect(page.get_by_test_id("edit-state")).to_have_text("Published")
    await expect(page.get_by_test_id("subject")).not_to_have_value("Not saved")


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_unsaved_changes_survive_a_reload(page: Page) -> None:
    await open_editor(page)
    saved = await page.get_by_test_id("subject").input_value()
    await page.get_by_test_id("subject").fill("Not saved")
    asked: list[str] = []

    async def accept_dialog(dialog: Dialog) -> None:
        asked.append(dialog.type)
        await dialog.accept()

    page.on("dialog", accept_dialog)
    await page.reload()
    await wait_until_rendered(page)
    assert asked == ["beforeunload"]
    await expect(page.get_by_test_id("subject")).to_have_value("Not saved")
    await expect(page.get_by_test_id("edit-state")).to_have_text("Unsaved changes")
    await expect(page.get_by_test_id("notice")).to_contain_text("are restored. They are not saved yet.")
    await page.get_by_role("button", name="Discard").click()
    await expect(page.get_by_test_id("subject")).to_have_value(saved)
    await expect(page.get_by_test_id("edit-state")).to_have_text("Published")


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_empty_text_is_generated_from_html(page: Page) -> None:
    await open_editor(page)
    await page.get_by_role("radio", name="Text", exact=True).first.check(force=True)
    await page.get_by_test_id("text-source").fill("A text for {{ recipient.name }}")
    await page.get_by_role("radio", name="Text", exact=True).last.check(force=True)
    await expect(page.get_by_test_id("plain")).to_have_text("A text for Robin Demo")
    await page.get_by_test_id("text-source").fill("")
    await expect(page.get_by_test_id("plain")).to_contain_text("A limit is reached")


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_keyboard_reaches_all_controls(page: Page) -> None:
    await open_editor(page)
    await page.get_by_test_id("templates").focus()
    focused = "() => document.activeElement.dataset.testid ?? document.activeElement.name"
    reached = []
    for _ in range(19):
        reached.append(await page.evaluate(focused))
        await page.keyboard.press("Tab")
    expected = ["templates", "new", "versions", "send-test", "menu", "logout", "culture", "subject"]
    assert reached[: len(expected)] == expected
    assert {"html-source", "view", "width", "dark"} <= set(reached)


@pytest.mark.long("states of the template editor; publishing, drafts and refusals stay in the short form")
async def test_preview_has_no_accessibility_violations(page: Page) -> None:
    """The views have the same elements and colours at both sizes."""
    await open_editor(page)
    for size, violations in (((1280, 800), violations_in_both_schemes), ((390, 844), look_violations)):
        await page.set_viewport_size({"width": size[0], "height": size[1]})
        assert (await overflow_pixels(page))["across"] == 0
        for view in ("Text", "Cultures", "Mail"):
            await page.get_by_role("radio", name=view, exact=True).last.check(force=True)
            assert await violations(page) == []


async def test_translation_starts_from_the_text_of_the_other_culture_and_templates_are_renamed(page: Page) -> None:
    await open_editor(page)
    await add_template(page, "Budget", "en-IE")
    await choose(page, "rename")
    await page.get_by_test_id("new-name").fill("Budget of the month")
    assert await accessibility_violations(page, "dialog.confirmation") == []
    await page.get_by_test_id("confirm").click()
    await expect(page.get_by_test_id("notice")).to_contain_text("is called “Budget of the month”")
    await expect(page.get_by_test_id("templates").locator("option:checked")).to_contain_text("Budget of the month")
    await choose(page, "translate")
    await expect(page.get_by_test_id("html-source")).to_have_value(PLAIN_HTML)
    await expect(page.get_by_test_id("culture")).to_be_focused()
    await expect(page.get_by_test_id("name")).to_have_value("Budget of the month")
    await page.get_by_test_id("culture").fill("ga-IE")
    await page.get_by_test_id("subject").fill("ערב טוב {{ recipient.name }}")
    await expect(page.get_by_test_id("rendered-subject")).to_have_text("ערב טוב Ada Lovelace")
    await expect(page.get_by_test_id("rendered-subject")).to_have_css("direction", "rtl")
    await page.get_by_test_id("save").click()
    await expect(page.get_by_test_id("edit-state")).to_have_text("Draft")
    await expect(page.get_by_test_id("templates").locator("option:checked")).to_contain_text("ga-IE")


async def test_mail_is_shown_without_images_and_its_links_are_tried(page: Page) -> None:
    await open_editor(page)
    pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
    html = PLAIN_HTML.replace("<p>", f"<img src='{pixel}' alt='A bar'><p style='background:url({pixel})'>")
    await page.get_by_test_id("html-source").fill(html)
    image, text = page.frame_locator("iframe").locator("img"), page.frame_locator("iframe").locator("p")
    await expect(image).to_have_attribute("src", pixel)
    await page.get_by_test_id("images").uncheck()
    await expect(image).not_to_have_attribute("src", pixel)
    await expect(image).to_have_attribute("alt", "A bar")
    await expect(text).to_have_css("background-image", "none")
    await page.get_by_test_id("images").check()
    await expect(image).to_have_attribute("src", pixel)
    await page.get_by_test_id("html-source").fill(html.replace("<p ", "<a href='https://127.0.0.1/'>A</a><p "))
    await page.get_by_role("button", name="Try links and images").click()
    await expect(page.get_by_role("button", name="0 of 1 addresses of links and images answer")).to_be_visible()
