"""Log-ins of the browser tests without the form, which has tests of its own."""

import json
from datetime import datetime

from playwright.async_api import Page

from wattgate.app.demo import logins
from wattgate.app.demo.seed import APPLICATION_ID
from wattgate.clock import to_ms, utc_now

DISPLAY, EDITOR, IDE = "wattgate.session", "wattgate.preview.session", "wattgate.ide.session"
"""The keys under which pages store their sessions."""

LOG_IN = """mutation ($applicationId: ID!, $username: String!, $password: String!) {
  authenticate(applicationId: $applicationId, username: $username, password: $password) {
    ... on Login {
      token expiresAt accountId applicationId
    }
  }
}"""

EMPTY_PAGE = "/static/favicon.svg"
"""A file of the gateway that runs no script."""


async def start_session(page: Page, username: str = logins.USERNAME, key: str = DISPLAY) -> None:
    """Log in to the demonstration, and store the session in the browser of the page as its form does."""
    variables = {"applicationId": APPLICATION_ID, "username": username, "password": logins.PASSWORD}
    answer = await page.request.post("/graphql", data={"query": LOG_IN, "variables": variables})
    login = (await answer.json())["data"]["authenticate"]
    session = {
        "token": login["token"],
        "since": to_ms(utc_now()),
        "expires": to_ms(datetime.fromisoformat(login["expiresAt"])),
        "account": f"{login['applicationId']} {login['accountId']}",
    }
    await page.goto(EMPTY_PAGE)
    await page.evaluate("([key, session]) => localStorage.setItem(key, session)", [key, json.dumps(session)])
