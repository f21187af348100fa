"""A package registry on this machine that answers pip, pip-audit and npm: releases, yanks and advisories."""

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Registry:
    """Releases as (name, version), and the texts of those that are yanked or vulnerable."""

    releases: list[tuple[str, str]] = field(default_factory=list)
    yanked: dict[tuple[str, str], str] = field(default_factory=dict)
    vulnerable: dict[tuple[str, str], str] = field(default_factory=dict)
    url: str = ""

    def environment(self) -> dict[str, str]:
        """Return the variables that make the clients ask this registry only."""
        return {
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_EXTRA_INDEX_URL": "",
            "PIP_FIND_LINKS": "",
            "PIP_INDEX_URL": f"{self.url}/simple/",
            "PIP_RETRIES": "0",
            "PIP_AUDIT_OSV_URL": f"{self.url}/osv",
            "PIP_AUDIT_VULNERABILITY_SERVICE": "osv",
            "npm_config_fetch_retries": "0",
            "npm_config_registry": f"{self.url}/npm/",
        }

    def simple_page(self, name: str) -> dict[str, Any]:
        """Return the page of a project in the JSON form of the simple API, with its yanked releases."""
        files: list[dict[str, Any]] = [
            {
                "filename": f"{name}-{version}-py3-none-any.whl",
                "url": f"{self.url}/files/{name}-{version}-py3-none-any.whl",
                "hashes": {},
                "yanked": self.yanked.get((name, version), False),
            }
            for name_of_release, version in self.releases
            if name_of_release == name
        ]
        return {"meta": {"api-version": "1.0"}, "name": name, "files": files}

    def osv(self, query: dict[str, Any]) -> dict[str, Any]:
        """Return the vulnerabilities of a release in the form of OSV."""
        name, version = query["package"]["name"], query["version"]
        advisory = self.vulnerable.get((name, version))
        if advisory is None:
            return {}
        ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.0"}]}]
        affected = [{"package": query["package"], "ranges": ranges, "versions": [version]}]
        return {"vulns": [{"id": advisory, "summary": "It is unsafe.", "affected": affected}]}

    def npm_advisories(self, query: dict[str, list[str]]) -> dict[str, Any]:
        """Return the advisories of these packages in the form of npm's bulk endpoint."""
        return {
            name: [
                {
                    "id": 1,
                    "url": f"https://advisories.example/{self.vulnerable[name, version]}",
                    "title": "It is unsafe",
                    "severity": "high",
                    "vulnerable_versions": f"<={version}",
                }
            ]
            for name, versions in query.items()
            for version in versions
            if (name, version) in self.vulnerable
        }

    def npm_page(self, name: str) -> dict[str, Any]:
        """Return the page of a project of npm with all its releases."""
        versions = {version: {"name": name, "version": version} for (one, version) in self.vulnerable if one == name}
        return {"name": name, "versions": versions, "dist-tags": {"latest": max(versions, default="1.0.0")}}


def wheel(filename: str) -> bytes:
    """Return a wheel without modules."""
    name, version = filename.split("-")[:2]
    folder = f"{name}-{version}.dist-info"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{folder}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{folder}/RECORD", "")
    return content.getvalue()


@contextmanager
def serve_registry(registry: Registry) -> Iterator[Registry]:
    """Serve the registry on a free port of this machine, in a thread."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            folder, _, name = self.path.strip("/").partition("/")
            if folder == "files":
                self.respond(wheel(name), "application/octet-stream")
            elif folder == "simple":
                self.respond(json.dumps(registry.simple_page(name)).encode(), "application/vnd.pypi.simple.v1+json")
            else:
                self.respond(json.dumps(registry.npm_page(name)).encode())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers["content-encoding"] == "gzip":
                body = gzip.decompress(body)
            answer = registry.osv if self.path == "/osv" else registry.npm_advisories
            self.respond(json.dumps(answer(json.loads(body))).encode())

        def respond(self, body: bytes, content_type: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
