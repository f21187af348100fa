"""What README.md shows is run: its examples, its settings table, its commands."""

import asyncio
import contextlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import curl
from wattgate.app.settings import Settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BASE = "http://127.0.0.1:8000"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


async def test_the_curl_commands_and_graphql_documents_answer(demo_url: str) -> None:
    async with httpx.AsyncClient(timeout=20) as client:
        filled = {BASE: demo_url}
        for block in blocks("sh"):
            for request in curl.requests(block):
                request = json.loads(_filled(json.dumps(request), filled))
                answer = await client.request(**request)
                assert answer.status_code == 200, answer.text
                assert "errors" not in answer.json()
                filled |= _found(answer.json())
        assert set(filled) == {BASE, "TOKEN", "RESOURCE"}
        variables = {
            "resourceId": filled["RESOURCE"],
            "start": "2026-11-02T00:00:00Z",
            "end": "2026-11-09T00:00:00Z",
        }
        for document in blocks("graphql"):
            answer = await client.post(
                f"{demo_url}/graphql",
                json={"query": document, "variables": variables},
                headers={"token": filled["TOKEN"]},
            )
            assert "errors" not in answer.json(), answer.text


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def _found(answer: Any) -> dict[str, str]:
    """The token of a log-in, or the first resource of the first home."""
    if isinstance(answer, dict) and "token" in answer:
        return {"TOKEN": answer["token"]}
    if isinstance(answer, list) and answer:
        return {"RESOURCE": answer[0]["resources"][0]["resourceId"]}
    return {}


async def test_the_subscription_prints_live_readings(demo_url: str, tmp_path: Path) -> None:
    (example,) = blocks("python")
    script = tmp_path / "example.py"
    script.write_text(example.replace("127.0.0.1:8000", demo_url.removeprefix("http://")))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-u", str(script), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        printed = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        _, told = await process.communicate()
    assert "'field': 'POWER'" in printed, told.decode()


@pytest.mark.parametrize("name", Settings.model_fields)
def test_the_settings_table_has_every_setting_with_its_default(name: str) -> None:
    field = Settings.model_fields[name]
    default = json.dumps(field.default) if isinstance(field.default, list) else field.default
    assert f"| `WATTGATE_{name.upper()}` | `{default}` | {field.description} |" in README


def test_the_settings_table_has_no_setting_that_there_is_not() -> None:
    named = re.findall(r"^\| `WATTGATE_(\w+)`", README, re.MULTILINE)
    assert [name.lower() for name in named] == list(Settings.model_fields)


def test_the_files_that_the_documents_link_to_exist() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
