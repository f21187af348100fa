"""The GraphQL IDE in a real browser that reaches nothing but the gateway."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, BrowserContext, Page, Request, Route, expect

from tests.browser.ides import DESKTOP, desktop_context, fill_login, log_in, open_ide, run, run_to_end, write
from tests.browser.kept_pages import KeptFiles, KeptPages, kept_pages
from tests.browser.page_checks import accessibility_violations, violations_in_both_schemes
from tests.support.demonstration import demonstration
from tests.support.servers import serving
from wattgate.app.demo import live
from wattgate.app.demo.demo_settings import describe_demonstration
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings
from wattgate.clock import utc_now

pytestmark = pytest.mark.browser

HOMES = "{ viewer { homes { edges { node { homeId name } } } } }"
TWO_OPERATIONS = "query First { viewer { userId } }\n\nquery Second { __typename }"
KEPT = "() => Object.entries(localStorage).filter(([key]) => !key.includes('session')).join()"


@pytest.fixture(scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[str, Settings]]:
    """The base URL of a demonstration, and its settings."""
    settings, _ = await demonstration(tmp_path_factory.mktemp("ide"), timedelta(days=14))
    app = create_app(settings, background=[live.run_meters], demonstration=describe_demonstration())
    async with serving(KeptFiles(app)) as url:
        yield url, settings


@pytest.fixture(scope="module")
async def kept(browser: Browser, demo: tuple[str, Settings]) -> AsyncIterator[KeptPages]:
    async with kept_pages(browser, DESKTOP, base_url=demo[0]) as pages:
        yield pages


@pytest.fixture
async def context(kept: KeptPages) -> AsyncIterator[BrowserContext]:
    async with kept.page() as page:
        yield page.context


@pytest.fixture
async def page(context: BrowserContext) -> AsyncIterator[Page]:
    """A page. After the test, it must have no exceptions, policy violations or requests to other hosts."""
    page = context.pages[0]
    problems: list[str] = []
    failed_by_gateway = "Failed to load resource: the server responded with a status of 4"  # the test expects these
    page.on(
        "console",
        lambda message: (
            problems.append(message.text)
            if message.type == "error" and not message.text.startswith(failed_by_gateway)
            else None
        ),
    )
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(request.url) if _is_foreign(request) else None)
    yield page
    assert problems == []


def _is_foreign(request: Request) -> bool:
    return not request.url.startswith(("http://127.0.0.1:", "data:"))


async def _response_text(page: Page) -> str:
    """Return the text of the response. Its inner text is empty until the browser has laid the part out."""
    return await page.get_by_test_id("response-text").text_content() or ""


async def test_query_is_typed_with_suggestions_and_runs_without_a_network(page: Page) -> None:
    is_typed = asyncio.Event()

    async def hold_schema(route: Route) -> None:
        if "__schema" in (route.request.post_data or ""):
            await is_typed.wait()
        await route.continue_()

    await page.route("**/graphql", hold_schema)
    await open_ide(page)
    await log_in(page)
    area = page.get_by_label("GraphQL document")
    await area.press_sequentially("{ viewe")
    is_typed.set()  # now the suggestions for the typed name appear
    suggestions = page.get_by_test_id("suggestion")
    await expect(suggestions.first).to_contain_text(re.compile(r"^viewerViewer.+"))  # name, type, description
    await page.keyboard.press("Tab")  # inserts the field with its selection, and suggests the fields in it
    await expect(suggestions.first).to_be_visible()
    await page.keyboard.type("unreadA")
    await expect(suggestions.first).to_contain_text("unreadAlerts")
    await page.keyboard.press("Enter")
    await expect(area).to_have_value("{ viewer { unreadAlerts }}")
    await page.keyboard.press("Shift+Alt+KeyF")
    await expect(area).to_have_value("{\n  viewer {\n    unreadAlerts\n  }\n}\n")
    await expect(page.get_by_test_id("cost")).to_have_text(re.compile(r"^cost \d+, [\d,]+ of [\d,]+ left$"))
    await page.keyboard.press("Control+Enter")
    await expect(page.get_by_test_id("response-facts")).to_have_text(
        re.compile(r"^200\d+ ms[\d.]+ k?Bcost \d+, [\d,]+ of [\d,]+ left$")
    )
    await expect(page.get_by_test_id("response-text")).to_contain_text('"unreadAlerts": ')
    # the undo of the browser also covers the changes of the editor
    await area.focus()
    await page.keyboard.press("Control+z")
    await expect(area).to_have_value("{ viewer { unreadAlerts }}")
    await page.reload()
    await expect(area).to_have_value("{ viewer { unreadAlerts }}")
    await expect(page.get_by_test_id("logout")).to_be_visible()


@pytest.mark.long("sizes and side paths of the IDE; a query, its variables and its secrets stay in the short form")
async def test_problems_appear_while_typing_with_their_place_and_correction(page: Page) -> None:
    await open_ide(page)
    await log_in(page)
    problems = page.get_by_test_id("problem")
    await write(page, "{\n  viwer { userId }\n}")
    await expect(problems).to_have_text('2:3 The type "Query" has no field "viwer". Did you mean "viewer"?')
    await expect(page.locator(".query-editor .gutter .wrong")).to_have_text("2")
    await page.get_by_test_id("fix").click()
    await expect(page.get_by_label("GraphQL document")).to_have_value("{\n  viewer { userId }\n}")
    await expect(problems).to_have_count(0)
    await write(page, "{ viewer { userId }")
    await expect(problems).to_have_text('1:1 This "{" is not closed.')
    # only the gateway knows this rule: the dry run reports it, and executes nothing
    await write(page, "{ a: __typename\n  a: viewer { userId } }")
    await expect(problems.first).to_contain_text("conflict")
    await expect(page.get_by_test_id("response")).to_contain_text("Run the operation")
    # a document of another version of the schema
    await write(page, "{ homes2019 { meters { old } } }")
    await run(page)
    await expect(page.get_by_test_id("response-errors")).to_contain_text("homes2019")
    await page.get_by_test_id("error-place").first.click()
    caret = await page.get_by_label("GraphQL document").evaluate("(area) => area.selectionStart")
    assert caret == 2
    # documentation of the name under the mouse
    await write(page, HOMES)
    name = page.locator(".query-editor .colours .field", has_text="name")
    box = await name.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + 5, box["y"] + 8)
    await expect(page.get_by_test_id("hint")).to_contain_text("Home.name")


async def test_variables_and_headers_are_checked_and_sent(page: Page) -> None:
    await open_ide(page)
    await log_in(page)
    await write(page, "query Home($homeId: ID!) { home(homeId: $homeId) { name } }")
    await expect(page.get_by_test_id("variables-problems")).to_have_text('1:1 The operation needs "homeId" (ID!).')
    variables = page.get_by_label("Variables, in JSON")
    await variables.focus()
    await page.keyboard.press("Control+Space")
    await page.keyboard.press("Enter")
    await expect(variables).to_have_value('{\n  "homeId": ""\n}')
    await variables.fill('{"homeID": "1"}')
    await page.get_by_test_id("variables-problems").get_by_test_id("fix").click()
    await expect(variables).to_have_value('{"homeId": "1"}')
    await variables.fill('{"homeId": ')
    await run(page)
    await expect(page.get_by_test_id("response-notice")).to_have_text("The variables are not JSON: Expected a value.")
    await variables.fill('{"homeId": "1"}')
    await page.get_by_test_id("headers-tab").click()
    headers = page.get_by_label("Headers, one in a line")
    await headers.press_sequentially("X-Acc")
    await page.keyboard.press("Tab")
    await expect(headers).to_have_value("X-Access-Purpose: ")
    await headers.fill("X-My-Client: 1.0\nCookie: a=b")
    await run(page)
    await expect(page.get_by_test_id("response-notice")).to_contain_text(
        'Browsers do not let a page send the header "Cookie"'
    )
    await headers.fill("X-My-Client: 1.0")
    async with page.expect_request(lambda request: "dryRun" not in (request.post_data or "")) as sent:
        await run(page)
    received = await (await sent.value).all_headers()
    assert received["x-my-client"] == "1.0"
    assert received["token"]
    await expect(page.get_by_test_id("response-facts")).to_contain_text("200")


@pytest.mark.long("sizes and side paths of the IDE; a query, its variables and its secrets stay in the short form")
async def test_expired_token_says_so_and_keeps_the_document(page: Page, demo: tuple[str, Settings]) -> None:
    await open_ide(page)
    await log_in(page)
    await write(page, HOMES)
    token = await page.evaluate("() => JSON.parse(localStorage.getItem('wattgate.ide.session')).token")
    ended = await page.request.post(
        "/graphql", data={"query": "mutation { deleteToken { __typename } }"}, headers={"token": token}
    )
    assert "errors" not in await ended.json()
    await run(page)
    await expect(page.get_by_test_id("response-notice")).to_contain_text("The session has expired or was ended.")
    await page.get_by_test_id("login-again").click()
    await expect(page.get_by_test_id("login-reason")).to_contain_text("the document stays as it is")
    await fill_login(page)
    await expect(page.get_by_label("GraphQL document")).to_have_value(HOMES)
    await run(page)
    await expect(page.get_by_test_id("response-text")).to_contain_text("12 Alder Road")
    await expect(page.get_by_test_id("response-notice")).to_be_hidden()


async def test_link_opens_a_document_and_never_runs_it(page: Page) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data or "") if request.method == "POST" else None)
    document = "mutation Log { deleteToken { __typename } } # <img src=x onerror=alert(1)>"
    variables = quote('{"a": 1}')
    link = f"/graphql#document={quote(document)}&variables={variables}&headers=token:stolen"
    await open_ide(page, path=link)
    await expect(page.get_by_label("GraphQL document")).to_have_value(document)
    await expect(page.get_by_label("Variables, in JSON")).to_have_value('{\n  "a": 1\n}')
    await expect(page.get_by_test_id("problem").first).to_be_attached()  # of the variables
    assert await page.evaluate("location.hash") == ""
    await expect(page.get_by_label("Headers, one in a line")).to_have_value("")
    assert [body for body in sent if "deleteToken" in body and "dryRun" not in body] == []
    await page.evaluate("(hash) => { location.hash = hash; }", f"document={quote(HOMES)}")
    await expect(page.get_by_test_id("tab")).to_have_count(2)


@pytest.mark.long("sizes and side paths of the IDE; a query, its variables and its secrets stay in the short form")
async def test_two_windows_keep_the_documents_of_both(page: Page, context: BrowserContext) -> None:
    tabs, area = page.get_by_test_id("tab"), page.get_by_label("GraphQL document")
    await open_ide(page)
    await write(page, "query One { viewer { userId } }")
    other = await context.new_page()
    await open_ide(other, path=f"/graphql#document={quote('query Two { __typename }')}")
    await expect(other.get_by_test_id("tab")).to_have_text(["One×", "Two×"])
    await expect(tabs).to_have_text(["One×", "Two×"])
    await expect(area).to_have_value("query One { viewer { userId } }")
    await write(other, "query Three { __typename }")
    await expect(tabs).to_have_text(["One×", "Three×"])
    await write(page, "query Four { __typename }")
    await expect(other.get_by_test_id("tab")).to_have_text(["Four×", "Three×"])
    for window, text in ((page, "query Four { __typename }"), (other, "query Three { __typename }")):
        await window.reload()
        await expect(window.get_by_test_id("tab")).to_have_text(["Four×", "Three×"])
        await expect(window.get_by_label("GraphQL document")).to_have_value(text)
    await other.get_by_test_id("tab").first.press("Delete")
    await expect(tabs).to_have_text(["Three×"])
    await expect(area).to_have_value("query Three { __typename }")
    await other.close()
    # one document more than the bound
    many = [{"text": f"query Q{number} {{ a }}", "operationName": None} for number in range(30)]
    await page.goto("/static/favicon.svg")  # the IDE stores its documents when it is left
    await page.evaluate(
        "(list) => localStorage.setItem('wattgate.ide.documents', JSON.stringify({ list, active: 3 }))", many
    )
    await open_ide(page, path=f"/graphql#document={quote(HOMES)}")
    await expect(tabs).to_have_count(30)
    await expect(page.get_by_test_id("notice")).to_contain_text("Closed the oldest tab, “Q0”: at most 30 documents")


async def test_history_keeps_no_secret_and_a_log_out_clears_it(page: Page) -> None:
    await open_ide(page)
    secret = "never-stored-password"
    await write(
        page, (f'mutation {{ authenticate(username: "x", password: "{secret}") {{ ... on Login {{ token }} }} }}')
    )
    await run_to_end(page)
    await log_in(page)
    for name in ("One", "Two"):
        await write(page, f"query {name} {{ viewer {{ userId }} }}")
        await run_to_end(page)
        await run_to_end(page)
    await page.get_by_test_id("panel-history").click()
    entries = page.get_by_test_id("history-entry")
    await expect(entries).to_have_count(3)
    await expect(entries.first).to_contain_text("Two")
    await expect(entries.last).to_contain_text("secrets left out")
    assert secret not in await page.evaluate(KEPT)
    await page.get_by_test_id("history-search").fill("query one")
    await expect(entries).to_have_count(1)
    await page.get_by_role("button", name="Pin One").click()
    await page.get_by_test_id("history-search").fill("")
    await expect(entries.first).to_contain_text("One")
    await entries.first.click()
    await expect(page.get_by_label("GraphQL document")).to_have_value("query One { viewer { userId } }")
    await page.get_by_label("Variables, in JSON").fill('{"password": "never-stored"}')
    await page.get_by_test_id("logout").click()
    await expect(page.get_by_label("Variables, in JSON")).to_have_value('{"password": ""}')
    await expect(entries).to_have_count(2)  # the one that ran without a log-in, and the pinned one
    await expect(page.get_by_test_id("response")).to_contain_text("Run the operation")
    assert await page.evaluate("() => localStorage.getItem('wattgate.ide.session')") is None


@pytest.mark.long("sizes and side paths of the IDE; a query, its variables and its secrets stay in the short form")
async def test_operation_is_chosen_and_a_subscription_stops(page: Page) -> None:
    await open_ide(page)
    await log_in(page)
    await write(page, TWO_OPERATIONS)
    await page.get_by_test_id("operation").select_option("Second")
    await run(page)
    await expect(page.get_by_test_id("response-text")).to_contain_text('"__typename": "Query"')
    await page.get_by_test_id("new-tab").click()
    await expect(page.get_by_test_id("response")).to_contain_text("Run the operation")
    await write(page, HOMES)
    await run_to_end(page)
    home = re.search(r'"homeId": "([^"]+)"', await _response_text(page))
    assert home is not None
    await write(page, f'subscription Live {{ display(homeId: "{home[1]}") {{ __typename }} }}')
    await run(page)
    await expect(page.get_by_test_id("run")).to_have_text("Stop")
    await expect(page.get_by_test_id("response-text")).to_contain_text("display")
    await run(page)
    await expect(page.get_by_test_id("run")).to_have_text("Run")
    await page.get_by_test_id("tab").first.click()
    await expect(page.get_by_test_id("response-text")).to_contain_text('"__typename": "Query"')


@pytest.mark.long("sizes and side paths of the IDE; a query, its variables and its secrets stay in the short form")
async def test_large_response_is_complete_and_coloured_in_part(page: Page) -> None:
    await open_ide(page)
    await log_in(page)
    await write(page, "{ viewer { homes { edges { node { resources { resourceId classifier } } } } } }")
    await run(page)
    text = page.get_by_test_id("response-text")
    await expect(text).to_contain_text("electricity.consumption")
    found = re.search(r'"resourceId": "([^"]+)",\s+"classifier": "electricity.consumption"', await _response_text(page))
    assert found is not None
    selection = "{ buckets { start end value quality estimated } }"
    arguments = f'range: {{start: "{_days_ago(13)}"}}, period: PT30M'
    series = "\n".join(f"  s{number}: readings({arguments}) {selection}" for number in range(16))
    await write(page, f'{{ resource(resourceId: "{found[1]}") {{\n{series}\n}} }}')
    await run(page)
    await expect(page.get_by_test_id("response-facts")).to_contain_text(re.compile(r"[\d.]+ MB"), timeout=15_000)
    assert await text.evaluate("(pre) => pre.textContent.length") > 1_000_000
    assert await text.evaluate("(pre) => pre.querySelectorAll('span').length") < 6_000
    await page.get_by_test_id("response").evaluate("(body) => { body.scrollTop = body.scrollHeight; }")
    await expect(text.locator(".part").last.locator("span").first).to_be_attached()
    await page.get_by_label("GraphQL document").press("Control+End")


def _days_ago(days: int) -> str:
    return f"{(utc_now() - timedelta(days=days)).date().isoformat()}T00:00:00Z"


@pytest.mark.long("sizes and side paths of the IDE; a query, its variables and its secrets stay in the short form")
async def test_panes_follow_the_keyboard_and_the_screen(page: Page) -> None:
    await open_ide(page)
    splitter = page.get_by_label("Width of the response")
    before = await splitter.get_attribute("aria-valuenow")
    await splitter.press("ArrowRight")
    assert await splitter.get_attribute("aria-valuenow") != before
    tab = page.get_by_test_id("variables-tab")
    await tab.focus()
    await page.keyboard.press("ArrowRight")
    await expect(page.get_by_label("Headers, one in a line")).to_be_visible()
    await page.get_by_label("GraphQL document").focus()
    await page.keyboard.press("Tab")  # leaves the editor: the keyboard is never caught in it
    assert await page.evaluate("() => document.activeElement.tagName") != "TEXTAREA"
    await write(page, "{ wrong }")
    await expect(page.get_by_test_id("problem")).to_be_visible()
    assert await violations_in_both_schemes(page) == []
    await page.get_by_test_id("open-login").click()
    assert await accessibility_violations(page) == []
    await page.get_by_test_id("login-cancel").click()
    await page.set_viewport_size({"width": 390, "height": 844})
    shown = {
        "Document": page.get_by_label("GraphQL document"),
        "Inputs": page.get_by_label("Headers, one in a line"),
        "Response": page.get_by_test_id("response"),
        "Panels": page.get_by_test_id("rail"),
    }
    for name, part in shown.items():
        await page.get_by_role("button", name=name, exact=True).click()
        for other in shown.values():
            await expect(other).to_be_visible(visible=other is part)
        assert await page.evaluate("() => document.documentElement.scrollWidth") == 390
        assert await accessibility_violations(page) == []


@pytest.mark.long("sizes and side paths of the IDE; a query, its variables and its secrets stay in the short form")
async def test_hidden_schema_is_explained_and_operations_run(browser: Browser, demo: tuple[str, Settings]) -> None:
    settings = demo[1].model_copy(update={"environment": "production", "graphql_ide": True})
    async with serving(create_app(settings)) as url:
        context = await desktop_context(browser, url)
        page = await context.new_page()
        await open_ide(page)
        await expect(page.get_by_test_id("schema-note")).to_contain_text("This gateway hides its schema")
        await log_in(page)
        await write(page, HOMES)
        await expect(page.get_by_test_id("problem")).to_have_count(0)
        await run(page)
        await expect(page.get_by_test_id("response-text")).to_contain_text("12 Alder Road")
        await write(page, "{ viwer { userId } }")
        await expect(page.get_by_test_id("problem")).to_contain_text("viwer")  # the gateway says it
        await context.close()
