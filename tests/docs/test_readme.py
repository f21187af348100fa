"""The commands, GraphQL documents and scripts of the README, the tutorial and the migration guide run unchanged."""

import asyncio
import contextlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser

from tests.browser import tour
from tests.support import curl

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorials" / "first-query-and-subscription.md"
MIGRATION = ROOT / "docs" / "how-to" / "migrate-rest-client.md"
BASE = "http://127.0.0.1:8000"
LARGEST_PICTURE, SMALLEST_PICTURE = 250_000, 20_000
"""Bounds of a picture of the tour, in bytes. A picture of an empty page is smaller."""

EVENT_STREAM = "text/event-stream"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "requests", "documents"),
    [(README, 3, 0), (TUTORIAL, 5, 3), (MIGRATION, 4, 0)],
    ids=["readme", "tutorial", "migration"],
)
async def test_curl_commands_and_graphql_documents_succeed(
    demo_url: str, page: Path, requests: int, documents: int
) -> None:
    async with httpx.AsyncClient(timeout=20) as client:
        replacements = {BASE: demo_url}
        curl_requests = [request for block in blocks(page, "sh") for request in curl.requests(block)]
        assert len(curl_requests) == requests
        for request in curl_requests:
            request = json.loads(_filled(json.dumps(request), replacements))
            if request["headers"].get("Accept") == EVENT_STREAM:
                assert '"field":"POWER"' in await _first_event(client, request)
            else:
                answer = await client.request(**request)
                assert answer.status_code == 200, answer.text
                assert "errors" not in answer.json()
                replacements |= dict(_found(answer.json()))
        assert set(replacements) == {BASE, "TOKEN", "RESOURCE"}
        assert len(blocks(page, "graphql")) == documents
        for document in blocks(page, "graphql"):
            answer = await client.post(
                f"{demo_url}/graphql",
                json={"query": document, "variables": _variables(page, replacements)},
                headers={"token": replacements["TOKEN"]},
            )
            assert "errors" not in answer.json(), answer.text


async def _first_event(client: httpx.AsyncClient, request: dict[str, Any]) -> str:
    """Return the first payload of a server-sent event stream."""
    async with client.stream(**request) as stream:
        assert stream.status_code == 200
        async for line in stream.aiter_lines():
            if line.startswith("data:"):
                return line
    raise AssertionError("the stream ended without an event")


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def _variables(page: Path, replacements: dict[str, str]) -> dict[str, str]:
    """Return the variables of the page's JSON block."""
    (shown,) = blocks(page, "json")
    return dict(json.loads(_filled(shown, replacements)))


def _found(answer: Any) -> Iterator[tuple[str, str]]:
    """Yield placeholders and their values: the token of a login, and the first electricity resource of a response."""
    if isinstance(answer, dict):
        if "token" in answer:
            yield "TOKEN", answer["token"]
        if answer.get("classifier", "electricity.consumption") == "electricity.consumption" and "resourceId" in answer:
            yield "RESOURCE", answer["resourceId"]
        answer = list(answer.values())
    if isinstance(answer, list):
        for item in reversed(answer):
            yield from _found(item)


async def test_subscription_example_prints_live_readings(demo_url: str, tmp_path: Path) -> None:
    (example,) = blocks(TUTORIAL, "python")
    script = tmp_path / "example.py"
    script.write_text(example.replace("127.0.0.1:8000", demo_url.removeprefix("http://")))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-u", str(script), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        printed = (await asyncio.wait_for(process.stdout.readline(), 60)).decode()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        _, errors = await process.communicate()
    assert "'field': 'POWER'" in printed, errors.decode()


def test_pictures_are_those_that_the_command_of_the_tour_takes() -> None:
    shown = re.findall(r"docs/images/(\w+)\.png", README.read_text())
    assert shown == list(tour.PICTURES)
    assert sorted(shown) == sorted(path.stem for path in tour.FOLDER.iterdir())
    assert [name for name in shown if (tour.FOLDER / f"{name}.png").stat().st_size > LARGEST_PICTURE] == []


@pytest.mark.browser
@pytest.mark.parametrize("name", tour.PICTURES)
async def test_command_of_the_tour_opens_each_page(browser: Browser, demo_url: str, tmp_path: Path, name: str) -> None:
    picture = await tour.take(browser, demo_url, name, tmp_path)
    assert picture.stat().st_size > SMALLEST_PICTURE


def test_linked_files_exist() -> None:
    for page in [README, ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
