"""The shell of /display: the manifest that makes it installable, and the worker that shows it without a network."""

import hashlib
import json
from functools import cache
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from wattgate.app.server.pages.constant_answers import ConstantAnswer
from wattgate.app.server.pages.login_application import APPLICATION_PARAMETERS
from wattgate.app.server.pages.pages import STATIC_DIRECTORY, constant_route

PAGE_PATH = "/display"
WORKER_PATH = "/display/worker.js"
MANIFEST_PATH = "/display/manifest.webmanifest"

KEPT_PARAMETERS = (*APPLICATION_PARAMETERS, "name", "home", "span", "theme", "lang")
"""Parameters of the page's address that the installed page keeps."""

MAX_PARAMETER_CHARACTERS = 100
"""Longer values of these parameters are left out of the manifest."""

SHELL_FOLDERS = ("display", "shared")
SHELL_SUFFIXES = {".css", ".js", ".png", ".svg", ".woff2"}

_WORKER = STATIC_DIRECTORY / "display" / "worker.js"


@cache
def shell_files() -> tuple[str, ...]:
    """Return the paths of the files that the page loads, as their addresses have them. They are read once."""
    files = (file for folder in SHELL_FOLDERS for file in (STATIC_DIRECTORY / folder).rglob("*"))
    kept = sorted(file for file in files if file.suffix in SHELL_SUFFIXES and file != _WORKER)
    return "/static/favicon.svg", *(f"/static/{file.relative_to(STATIC_DIRECTORY).as_posix()}" for file in kept)


@cache
def shell_version() -> str:
    """Return a digest of the page and all its files. It is the same on each gateway of one version."""
    digest = hashlib.sha256()
    templates = [f"/static/{file.relative_to(STATIC_DIRECTORY).as_posix()}" for file in _templates()]
    for path in [*shell_files(), *templates]:
        content = (STATIC_DIRECTORY / path.removeprefix("/static/")).read_bytes()
        digest.update(f"{path} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


def display_shell_routes() -> list[Route]:
    """Return the routes of the worker and of the manifest."""
    shell = json.dumps({"version": shell_version(), "files": shell_files()})
    worker = f"self.SHELL = {shell};\n{_WORKER.read_text()}"
    manifest = json.loads((STATIC_DIRECTORY / "display" / "manifest.json").read_text())

    worker_answer = ConstantAnswer(worker.encode(), "text/javascript", {"Service-Worker-Allowed": PAGE_PATH})

    async def serve_manifest(request: Request) -> Response:
        content = json.dumps(manifest_for(manifest, request.query_params))
        return Response(content, media_type="application/manifest+json")

    return [constant_route(WORKER_PATH, worker_answer), Route(MANIFEST_PATH, serve_manifest)]


def manifest_for(manifest: dict[str, Any], query: QueryParams) -> dict[str, Any]:
    """Return the manifest of a page with these parameters. The installed page starts with the same ones."""
    kept = [
        (name, value)
        for name, value in query.multi_items()
        if name in KEPT_PARAMETERS and len(value) <= MAX_PARAMETER_CHARACTERS
    ]
    return {**manifest, "start_url": f"{PAGE_PATH}?{urlencode(kept)}" if kept else PAGE_PATH}


def _templates() -> list[Any]:
    """Return the HTML that the gateway builds the page of."""
    return [STATIC_DIRECTORY / "display" / "index.html", *sorted((STATIC_DIRECTORY / "shared").glob("*.html"))]
