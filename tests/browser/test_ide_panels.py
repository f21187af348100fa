"""The panels of the IDE in a real browser: explorer, guides, live subscriptions, costs, copies, trusted documents."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, WebSocketRoute, expect

from tests.browser.controlled_homes import FIRST_HOME, ControlledHomes, controlled_homes
from tests.browser.ides import DESKTOP, desktop_context
from tests.browser.kept_pages import KeptPages, kept_pages
from tests.browser.page_checks import accessibility_violations
from tests.support.command import wattgate
from wattgate.app.demo.logins import NEIGHBOUR_USERNAME, USERNAME
from wattgate.app.demo.seed import APPLICATION_ID

pytestmark = pytest.mark.browser

SOCKET_PATH = re.compile(r"/graphql$")
LIVE = """subscription Live($ids: [ID!]!, $since: String) {
  readings(resourceIds: $ids, since: $since) { value unit field }
}"""
RECONNECT_MS = 40_000


@pytest.fixture(scope="module")
async def homes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlledHomes]:
    async with controlled_homes(tmp_path_factory.mktemp("ide")) as controlled:
        yield controlled


CLIPBOARD = ["clipboard-read", "clipboard-write"]


@pytest.fixture(scope="module")
async def kept(browser: Browser, homes: ControlledHomes) -> AsyncIterator[KeptPages]:
    async with kept_pages(browser, DESKTOP, base_url=homes.url, permissions=CLIPBOARD) as pages:
        yield pages


@pytest.fixture
async def page(kept: KeptPages) -> AsyncIterator[Page]:
    async with kept.page() as lent, without_errors(lent):
        yield lent


@pytest.fixture
async def own_page(browser: Browser, homes: ControlledHomes) -> AsyncIterator[Page]:
    """A page of one test, which may intercept WebSockets."""
    context = await desktop_context(browser, homes.url)
    page = await context.new_page()
    async with without_errors(page):
        yield page
    await context.close()


@asynccontextmanager
async def without_errors(opened: Page) -> AsyncIterator[None]:
    """Check that a page has no exceptions or content security policy violations."""
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda message: errors.append(message.text) if "Content Security" in message.text else None)
    yield
    assert errors == []


async def open_ide(page: Page, document: str = "", *, log_in: bool = True, **variables: Any) -> None:
    """Open the IDE with a document, and log in with one click."""
    await page.goto("/graphql")
    await expect(page.get_by_test_id("run")).to_be_visible()
    if log_in:
        await page.get_by_test_id("open-login").click()
        await choose_log_in(page)
    if document:
        await set_document(page, document, **variables)


async def choose_log_in(page: Page, username: str = USERNAME) -> None:
    button = page.locator(f'[data-testid="demo-login"][data-username="{username}"]')
    await button.click()
    await expect(button).to_be_hidden()  # the response has closed the dialog, also if an account was logged in before
    await expect(page.get_by_test_id("logout")).to_be_visible()


async def set_document(page: Page, document: str, **variables: Any) -> None:
    await page.get_by_test_id("editor").locator("textarea").fill(document)
    if variables:
        await page.get_by_test_id("variables").locator("textarea").fill(json.dumps(variables))


async def token_of(page: Page) -> str:
    token: str = await page.evaluate("() => JSON.parse(localStorage.getItem('wattgate.ide.session')).token")
    return token


def bodies_sent(page: Page) -> list[str]:
    """Return a list that gets the body of each POST request of the page."""
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data or "") if request.method == "POST" else None)
    return sent


HOME_PATH = "viewer.homes.edges.node"
"""The path of a home in the explorer."""


def editor(page: Page) -> Any:
    return page.get_by_test_id("editor").locator("textarea")


def variables_of(page: Page) -> Any:
    return page.get_by_test_id("variables").locator("textarea")


def shown(watts: int) -> re.Pattern[str]:
    """Return a pattern for the text of the chart with this newest value, also if it is the only one."""
    return re.compile(rf": {watts} W( now)?,")


async def open_panel(page: Page, panel: str) -> None:
    button = page.get_by_test_id(f"panel-{panel}")
    if await button.get_attribute("aria-pressed") != "true":
        await button.click()


@pytest.mark.long("sizes and side paths of the panels; guides, charts and their subscriptions stay in the short form")
async def test_explorer_composes_query_that_runs(page: Page) -> None:
    await open_ide(page)
    await open_panel(page, "explorer")
    await page.locator('[data-expand="viewer"]').click()
    homes_box = page.locator('[data-path="viewer.homes"]')
    await homes_box.focus()
    await page.keyboard.press("Space")
    await expect(editor(page)).to_have_value(
        re.compile(r"^query Viewer \{\s+viewer \{\s+homes\(first: 10\) \{\s+edges \{\s+node \{\s+homeId\s+name\s")
    )
    await expect(homes_box).to_be_focused()
    await page.locator('[data-expand="viewer.homes"]').click()
    await expect(page.get_by_test_id("field-cost")).to_have_text(re.compile(r"^Costs \d+ units"))
    for path in ("viewer.homes.edges", HOME_PATH, f"{HOME_PATH}.resources"):
        await page.locator(f'[data-expand="{path}"]').click()
    await page.locator(f'[data-path="{HOME_PATH}.resources.readings"]').check()
    await expect(editor(page)).to_have_value(re.compile(r"readings\(range: \$range, period: \$period\)"))
    await expect(variables_of(page)).to_have_value(re.compile(r'"period": "P1D"'))
    await page.get_by_test_id("run").click()
    await expect(page.get_by_test_id("response")).to_contain_text("12 Alder Road")
    await expect(page.get_by_test_id("response")).not_to_contain_text("errors")
    await page.locator(f'[data-path="{HOME_PATH}.resources.readings"]').uncheck()
    await expect(variables_of(page)).to_have_value("")
    await expect(editor(page)).not_to_have_value(re.compile(r"resources|\$"))


@pytest.mark.long("sizes and side paths of the panels; guides, charts and their subscriptions stay in the short form")
async def test_explorer_follows_text_and_keeps_it(page: Page) -> None:
    await open_ide(page, "# mine\n{ viewer { userId # why\n } }", log_in=False)
    await open_panel(page, "explorer")
    await page.locator('[data-expand="viewer"]').click()
    await expect(page.locator('[data-path="viewer.userId"]')).to_be_checked()
    await page.locator('[data-path="viewer.unreadAlerts"]').check()
    await expect(editor(page)).to_have_value("# mine\n{ viewer { userId unreadAlerts # why\n } }")
    await editor(page).press("Control+z")
    await expect(page.locator('[data-path="viewer.unreadAlerts"]')).not_to_be_checked()
    await editor(page).fill("{ viewer { accountId")
    await page.locator('[data-path="viewer.userId"]').click()
    await expect(page.get_by_test_id("notice")).to_have_text("Correct the syntax of the document first.")
    await expect(editor(page)).to_have_value("{ viewer { accountId")
    await expect(page.locator('[data-path="viewer.userId"]')).not_to_be_checked()
    await page.get_by_role("button", name="Close Explorer").click()
    await expect(page.get_by_test_id("panel-explorer")).to_be_focused()


@pytest.mark.long("sizes and side paths of the panels; guides, charts and their subscriptions stay in the short form")
async def test_search_leads_to_types_and_root_fields(page: Page) -> None:
    await open_ide(page, log_in=False)
    await open_panel(page, "explorer")
    await page.get_by_test_id("schema-search").fill("FreshnessState")
    await page.get_by_test_id("hit").get_by_text("FreshnessState", exact=True).click()
    await expect(page.get_by_test_id("type-page")).to_contain_text("OFFLINE")
    await page.locator('[data-type="Freshness"]').first.click()
    await expect(page.get_by_test_id("type-page").get_by_role("heading", level=3)).to_have_text("type Freshness")
    await page.get_by_test_id("back").click()
    await page.get_by_test_id("back").click()
    await page.get_by_test_id("schema-search").fill("subscription.display")
    await page.get_by_test_id("hit").get_by_text("Subscription.display", exact=True).click()
    await expect(page.locator('[data-path="display"]')).to_be_focused()
    await expect(page.get_by_test_id("root-subscription")).to_have_attribute("aria-pressed", "true")


async def test_guide_opens_with_own_values_and_runs(page: Page) -> None:
    await open_ide(page)
    await open_panel(page, "guides")
    await page.get_by_test_id("guide-search").fill("week")
    await page.locator('[data-testid="guide"][data-name="Week"]').click()
    await expect(variables_of(page)).to_have_value(re.compile(r'"resourceId": "[0-9a-f-]{36}"'))
    await page.get_by_test_id("run").click()
    await expect(page.get_by_test_id("response")).to_contain_text('"unit": "kWh"')
    await page.get_by_test_id("guide-search").fill("claim code")
    await page.locator('[data-testid="guide"][data-name="createDevice"]').first.click()
    await expect(page.get_by_test_id("notice")).to_have_text(re.compile("^Before you run it, fill in: .*hardwareId"))


async def test_subscription_draws_chart_pauses_and_resumes_after_lost_link(page: Page, homes: ControlledHomes) -> None:
    await open_ide(page, LIVE, ids=[homes.meters[FIRST_HOME]], since=None)
    await open_panel(page, "live")
    await page.get_by_test_id("stream-run").click()
    await expect(page.get_by_test_id("stream-state")).to_have_text("Live")
    for watts in (100, 300):
        await homes.send_power(watts)
        await expect(page.get_by_test_id("chart-text")).to_contain_text(shown(watts))
    await expect(page.locator(".stream-chart svg")).to_have_attribute(
        "aria-label", re.compile("POWER: 300 W now, from ")
    )
    await page.get_by_test_id("pause").click()
    await homes.send_power(350)
    await expect(page.get_by_test_id("stream-state")).to_have_text("Live, paused: 1 new")
    await expect(page.get_by_test_id("chart-text")).to_contain_text(shown(300))
    await page.get_by_test_id("pause").click()
    await expect(page.get_by_test_id("chart-text")).to_contain_text(shown(350))
    await homes.relay.cut()
    await expect(page.get_by_test_id("stream-state")).to_have_attribute("data-state", "reconnecting")
    await expect(page.get_by_test_id("stream-reason")).to_contain_text("(1006)")
    await homes.send_power(420)
    await homes.relay.open()
    await expect(page.get_by_test_id("chart-text")).to_contain_text(shown(420), timeout=RECONNECT_MS)
    await expect(page.get_by_test_id("stream-facts")).to_contain_text("Nothing was lost")
    await page.get_by_test_id("stream-run").click()
    await expect(page.get_by_test_id("stream-state")).to_have_text("Stopped")
    await homes.send_power(480)
    await page.get_by_test_id("resume").click()
    await expect(page.get_by_test_id("chart-text")).to_contain_text(shown(480))
    await expect(page.get_by_test_id("stream-facts")).to_contain_text("Nothing was lost")
    await expect(page.get_by_test_id("payloads")).to_contain_text("420")
    await page.get_by_test_id("logout").click()
    await expect(page.get_by_test_id("payloads").locator("li")).to_have_count(0)


@pytest.mark.long("sizes and side paths of the panels; guides, charts and credentials stay in the short form")
async def test_resume_runs_nothing_but_the_subscription_of_the_panel(page: Page, homes: ControlledHomes) -> None:
    sent = bodies_sent(page)
    await open_ide(page, LIVE, ids=[homes.meters[FIRST_HOME]], since=None)
    await open_panel(page, "live")
    await page.get_by_test_id("run").click()
    state, facts = page.get_by_test_id("stream-state"), page.get_by_test_id("response-facts")
    await expect(state).to_have_text("Live")
    await expect(facts).to_have_text("Live")
    await homes.send_power(610)
    await expect(page.get_by_test_id("response-text")).to_contain_text("610")
    await page.get_by_test_id("run").click()
    await expect(state).to_have_text("Stopped")
    await expect(facts).to_have_text("Stopped.")
    await page.get_by_test_id("new-tab").click()
    await set_document(page, "mutation End { deleteToken { __typename } }")
    await homes.send_power(620)
    await page.get_by_test_id("resume").click()
    await expect(page.get_by_test_id("chart-text")).to_contain_text(shown(620))
    await expect(page.get_by_test_id("stream-facts")).to_contain_text("Nothing was lost")
    await expect(page.get_by_test_id("response")).to_contain_text("Run the operation")
    assert [body for body in sent if "deleteToken" in body and "dryRun" not in body] == []
    await page.get_by_test_id("tab").first.click()
    await expect(page.get_by_test_id("response-text")).to_contain_text("620")
    await expect(facts).to_have_text("Live")
    # the tab of a document ends what it runs
    await page.get_by_test_id("tab").first.press("Delete")
    await expect(state).to_have_text("Stopped")
    await expect(page.get_by_test_id("run")).to_have_text("Run")
    await expect(page.get_by_test_id("resume")).to_be_hidden()
    await expect(page.get_by_test_id("response")).to_contain_text("Run the operation")


@pytest.mark.long("sizes and side paths of the panels; guides, charts and their subscriptions stay in the short form")
async def test_subscription_keeps_the_account_with_which_it_began(own_page: Page, homes: ControlledHomes) -> None:
    frames: list[str | bytes] = []
    routes: list[WebSocketRoute] = []

    def connect(route: WebSocketRoute) -> None:
        server = route.connect_to_server()
        routes.append(route)

        def forward(frame: str | bytes) -> None:
            frames.append(frame)
            server.send(frame)

        route.on_message(forward)

    await own_page.route_web_socket(SOCKET_PATH, connect)
    await open_ide(own_page, LIVE, ids=[homes.meters[FIRST_HOME]], since=None)
    await open_panel(own_page, "live")
    await own_page.get_by_test_id("run").click()
    state = own_page.get_by_test_id("stream-state")
    await expect(state).to_have_text("Live")
    token = await token_of(own_page)
    await routes[0].close(code=4403)
    await expect(state).to_have_attribute("data-state", "expired")
    await choose_log_in(own_page, NEIGHBOUR_USERNAME)
    await expect(state).to_have_attribute("data-state", "failed")
    await expect(own_page.get_by_test_id("stream-reason")).to_contain_text("Another account has logged in")
    await expect(own_page.get_by_test_id("payloads").locator("li")).to_have_count(0)
    await expect(own_page.get_by_test_id("run")).to_have_text("Run")
    assert len(routes) == 1
    # credentials in the headers of the document stay as they are after a log-in
    await own_page.get_by_test_id("logout").click()
    await own_page.get_by_test_id("headers-tab").click()
    await own_page.get_by_test_id("headers").locator("textarea").fill(f"token: {token}")
    await own_page.get_by_test_id("run").click()
    await expect(state).to_have_text("Live")
    await own_page.get_by_test_id("open-login").click()
    await choose_log_in(own_page, NEIGHBOUR_USERNAME)
    other = await token_of(own_page)
    await homes.send_power(640)
    await expect(own_page.get_by_test_id("chart-text")).to_contain_text(shown(640))
    assert len(routes) == 2
    assert [frame for frame in frames if other in str(frame)] == []


@pytest.mark.long("sizes and side paths of the panels; guides, charts and their subscriptions stay in the short form")
async def test_expired_token_is_renewed_without_loss(own_page: Page, homes: ControlledHomes) -> None:
    routes: list[WebSocketRoute] = []

    def connect(route: WebSocketRoute) -> None:
        route.connect_to_server()
        routes.append(route)

    await own_page.route_web_socket(SOCKET_PATH, connect)
    await open_ide(own_page, LIVE, ids=[homes.meters[FIRST_HOME]], since=None)
    await open_panel(own_page, "live")
    await own_page.get_by_test_id("run").click()
    await expect(own_page.get_by_test_id("stream-state")).to_have_text("Live")
    # which account has logged in is known without a request, so that a refused one does not end the subscription
    others: list[str] = []

    async def refuse(route: Route) -> None:
        if "mutation LogIn" in (body := route.request.post_data or ""):
            await route.fallback()
        else:
            others.append(body)
            await route.fulfill(status=429, headers={"Retry-After": "60"})

    await own_page.route("**/graphql", refuse)
    routes[0].send(json.dumps({"type": "ping", "payload": {"expired": True, "graceSeconds": 25}}))
    await expect(own_page.get_by_test_id("login-reason")).to_have_text(
        "The token of the running subscription has expired."
    )
    await choose_log_in(own_page)
    await homes.send_power(510)
    await expect(own_page.get_by_test_id("chart-text")).to_contain_text(shown(510))
    assert len(routes) == 1
    await routes[0].close(code=4403)
    await expect(own_page.get_by_test_id("stream-state")).to_have_attribute("data-state", "expired")
    await expect(own_page.get_by_test_id("stream-reason")).to_contain_text("4403 FORBIDDEN")
    await homes.send_power(520)
    await choose_log_in(own_page)
    await expect(own_page.get_by_test_id("chart-text")).to_contain_text(shown(520), timeout=RECONNECT_MS)
    await expect(own_page.get_by_test_id("stream-facts")).to_contain_text("Nothing was lost")
    assert [body for body in others if "dryRun" not in body] == []


@pytest.mark.long("sizes and side paths of the panels; guides, charts and their subscriptions stay in the short form")
async def test_wrong_token_and_rejected_subscription_say_why(page: Page) -> None:
    await open_ide(page, LIVE, log_in=False, ids=["unknown"], since=None)
    await page.get_by_test_id("headers-tab").click()
    await page.get_by_test_id("headers").locator("textarea").fill("token: forged")
    await open_panel(page, "live")
    await page.get_by_test_id("run").click()
    await expect(page.get_by_test_id("stream-state")).to_have_attribute("data-state", "failed")
    await expect(page.get_by_test_id("stream-reason")).to_contain_text("write new credentials under Headers")
    await page.get_by_test_id("headers").locator("textarea").fill("")
    await page.get_by_test_id("open-login").click()
    await choose_log_in(page)
    await page.get_by_test_id("run").click()
    await expect(page.get_by_test_id("stream-reason")).to_contain_text("NOT_FOUND")


@pytest.mark.long("sizes and side paths of the panels; guides, charts and their subscriptions stay in the short form")
async def test_cost_and_budget_follow_typing(page: Page) -> None:
    await open_ide(page, "{ viewer { homes { edges { node { name } } } } }", log_in=False)
    await open_panel(page, "cost")
    await expect(page.get_by_test_id("cost-units")).to_have_text(re.compile(r"^\d+ units for one run$"))
    await expect(page.get_by_test_id("anonymous")).to_contain_text("Not logged in")
    first = await page.get_by_test_id("cost-units").inner_text()
    await page.get_by_test_id("open-login").click()
    await choose_log_in(page)
    await expect(page.get_by_test_id("anonymous")).to_have_count(0)
    await expect(page.get_by_test_id("budget")).to_contain_text("units left")
    await editor(page).fill("{ viewer { homes { edges { node { name resources { name } } } } } }")
    await expect(page.get_by_test_id("cost-units")).not_to_have_text(first)
    await expect(page.get_by_test_id("polling").locator("tbody tr")).to_have_count(3)
    await expect(page.get_by_test_id("polling")).to_contain_text("%")
    await editor(page).fill("subscription { alerts { alertId } }")
    await expect(page.get_by_test_id("cost-units")).to_contain_text("to begin")


async def test_application_credentials_act_for_one_document(page: Page) -> None:
    await open_ide(page, "{ tokenStatus { applicationId } }")
    await page.get_by_test_id("logout").click()
    await page.get_by_test_id("open-login").click()
    await page.get_by_test_id("application-details").locator("summary").click()
    await page.get_by_label("Secret").fill("wrong'secret")
    await page.get_by_label("User that it acts for").fill("somebody")
    await page.get_by_test_id("use-application").click()
    await page.get_by_test_id("headers-tab").click()
    headers = page.get_by_test_id("headers").locator("textarea")
    await expect(headers).to_have_value(re.compile(r"^authorization: Basic \S+\nuserId: somebody$"))
    await page.get_by_test_id("run").click()
    await expect(page.get_by_test_id("response-pane")).to_contain_text("401")
    await open_copy(page)
    await expect(page.get_by_test_id("code-block")).to_contain_text(f"-u '{APPLICATION_ID}:'\"$SECRET\"")
    assert "secret" not in await page.get_by_test_id("code-block").inner_text()


async def open_copy(page: Page) -> None:
    await page.get_by_test_id("more").locator("summary").click()
    await page.get_by_test_id("action-copy-as").click()


@pytest.mark.long("sizes and side paths of the panels; guides, charts and credentials stay in the short form")
async def test_operation_is_copied_as_code(page: Page) -> None:
    await open_ide(
        page, "query A { ...H }\nquery B { resourceCounts { count } }\nfragment H on Query { viewer { userId } }"
    )
    await open_copy(page)
    await expect(page.get_by_test_id("code-block")).to_contain_text("$TOKEN")
    await page.get_by_test_id("snippet-curl").press("ArrowLeft")
    await expect(page.get_by_test_id("snippet-apollo")).to_be_focused()
    await expect(page.get_by_test_id("code-block")).to_contain_text("gql`query A { ...H }\n\nfragment H on Query")
    await page.get_by_test_id("copy-code").click()
    copied = await page.evaluate("() => navigator.clipboard.readText()")
    assert "ApolloClient" in copied
    assert "query B" not in copied
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("copy-dialog")).to_have_count(0)


@pytest.mark.long("sizes and side paths of the panels; guides, charts and their subscriptions stay in the short form")
async def test_trusted_document_is_registered_with_shown_commands(
    page: Page, homes: ControlledHomes, tmp_path: Path
) -> None:
    await open_ide(page, "query Trusted {\n  viewer { userId }\n}\n")
    await page.get_by_test_id("more").locator("summary").click()
    await page.get_by_test_id("action-trust").click()
    await page.get_by_test_id("check-trust").click()
    await expect(page.get_by_test_id("trust-status")).to_contain_text("no document is registered")
    async with page.expect_download() as downloading:
        await page.get_by_test_id("save-document").click()
    download = await downloading.value
    assert download.suggested_filename == "Trusted.graphql"
    file = tmp_path / download.suggested_filename
    await download.save_as(file)
    commands = (await page.get_by_test_id("code-block").first.inner_text()).strip().split("\n")
    for command in commands:
        program, *words = command.replace("Trusted.graphql", str(file)).split()
        assert program == "wattgate"
        completed = await wattgate(homes.database_url, *words)
        assert completed.returncode == 0, completed.stderr
    await page.get_by_test_id("check-trust").click()
    await expect(page.get_by_test_id("trust-status")).to_contain_text("Yes")


@pytest.mark.long("sizes and side paths of the panels; guides, charts and their subscriptions stay in the short form")
async def test_panels_fit_a_phone(browser: Browser, homes: ControlledHomes) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True}
    context = await desktop_context(browser, homes.url, **phone)
    page = await context.new_page()
    await open_ide(page, "{ viewer { homes { edges { node { name } } } } }")
    await page.get_by_role("button", name="Panels").click()
    for panel in ("explorer", "guides", "live", "cost"):
        await open_panel(page, panel)
        section = page.locator(".panel-section:visible .panel-body")
        await expect(section).to_be_visible()
        assert await section.evaluate("(body) => body.scrollWidth - body.clientWidth") == 0
        assert await page.evaluate("() => document.documentElement.scrollWidth") == 390
        assert await accessibility_violations(page) == []
    await context.close()
