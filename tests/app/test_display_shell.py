"""The manifest and the worker of /display, without a browser."""

import json
import re
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.datastructures import QueryParams

from wattgate.app.server.pages.page_routes import (
    MANIFEST_PATH,
    MAX_PARAMETER_CHARACTERS,
    WORKER_PATH,
    display_shell_routes,
    manifest_for,
    shell_files,
    shell_version,
)
from wattgate.app.server.pages.pages import STATIC_DIRECTORY

DISPLAY = STATIC_DIRECTORY / "display"
IMPORT = re.compile(r'^import [^;]*?"(\.[^"]+)";', re.MULTILINE)
STYLE_URL = re.compile(r'url\("(?!data:)([^"]+)"\)')
PAGE_LINK = re.compile(r'(?:href|src)="/static/([^"]+)"')


async def get(path: str) -> httpx.Response:
    transport = httpx.ASGITransport(Starlette(routes=list(display_shell_routes())))
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway.example") as http:
        return await http.get(path)


def files_of_the_page() -> set[Path]:
    """Return the files that the page loads: what it links to, and what these import."""
    linked = PAGE_LINK.findall((DISPLAY / "index.html").read_text())
    waiting, found = [STATIC_DIRECTORY / path for path in linked], set[Path]()
    while waiting:
        file = waiting.pop().resolve()
        if file in found:
            continue
        found.add(file)
        pattern = {".js": IMPORT, ".css": STYLE_URL}.get(file.suffix)
        if pattern:
            waiting += [file.parent / path for path in pattern.findall(file.read_text())]
    return found


def test_shell_has_each_file_that_the_page_loads() -> None:
    loaded = {f"/static/{file.relative_to(STATIC_DIRECTORY).as_posix()}" for file in files_of_the_page()}
    assert len(loaded) > 40
    assert loaded <= set(shell_files())


def test_shell_has_only_files_that_exist_and_not_the_worker() -> None:
    assert all((STATIC_DIRECTORY / path.removeprefix("/static/")).is_file() for path in shell_files())
    assert "/static/display/worker.js" not in shell_files()
    assert not any(path.endswith(".html") for path in shell_files())


async def test_worker_has_the_version_and_may_control_the_page() -> None:
    answer = await get(WORKER_PATH)
    assert answer.headers["service-worker-allowed"] == "/display"
    assert answer.headers["content-type"].startswith("text/javascript")
    first, _, script = answer.text.partition("\n")
    shell = json.loads(first.removeprefix("self.SHELL = ").removesuffix(";"))
    assert shell == {"version": shell_version(), "files": [*shell_files()]}
    assert script == (DISPLAY / "worker.js").read_text()


async def test_manifest_names_icons_that_exist() -> None:
    answer = await get(MANIFEST_PATH)
    assert answer.headers["content-type"] == "application/manifest+json"
    manifest = answer.json()
    assert manifest["start_url"] == manifest["scope"] == "/display"
    icons = {(icon["purpose"], icon["sizes"]) for icon in manifest["icons"]}
    assert icons == {(purpose, size) for purpose in ("any", "maskable") for size in ("any", "192x192", "512x512")}
    assert {icon["src"] for icon in manifest["icons"]} <= set(shell_files())


def test_manifest_keeps_only_the_parameters_of_the_display() -> None:
    query = QueryParams("application=a&home=The+Attic&span=days&theme=dark&lang=fr&token=secret&home=" + "x" * 101)
    assert MAX_PARAMETER_CHARACTERS == 100
    kept = "application=a&home=The+Attic&span=days&theme=dark&lang=fr"
    assert manifest_for({"start_url": "/"}, query)["start_url"] == f"/display?{kept}"
    assert manifest_for({"start_url": "/"}, QueryParams("token=secret"))["start_url"] == "/display"
    breaking = QueryParams('home="}%0d%0a<script>')
    assert manifest_for({}, breaking)["start_url"] == "/display?home=%22%7D%0D%0A%3Cscript%3E"
