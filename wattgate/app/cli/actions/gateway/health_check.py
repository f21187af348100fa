"""Carry out `wattgate check-health`. It imports neither settings nor database, because it runs every few seconds."""

from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection, InvalidURL
from urllib.parse import urlsplit

import typer

from wattgate.app.cli.consoles import err, out
from wattgate.app.setting_sources import read_setting

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", "8000"
"""The defaults of WATTGATE_HOST and WATTGATE_PORT."""

LOOPBACK_OF = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 (addresses to replace)
"""The address to ask if the gateway listens on all addresses."""

MAX_REASON_BYTES = 500
"""Bytes of an answer that the message repeats."""

STATUS_OK = 200


def check_health(*, url: str | None, ready: bool, timeout: float) -> None:
    """Ask a gateway whether it is healthy. Exit with status 1 if it is not."""
    path = "/readyz" if ready else "/healthz"
    base_url = url or _url_of_settings()
    try:
        status, body = _get(base_url, path, timeout)
    except (OSError, HTTPException) as error:
        _fail(
            f"{base_url}{path} does not answer: {error or type(error).__name__}. Start the gateway, or correct --url."
        )
    if status != STATUS_OK:
        _fail(f"{base_url}{path} answers with status {status}: {body}")
    out.print(body, markup=False, highlight=False)


def _get(base_url: str, path: str, timeout: float) -> tuple[int, str]:
    """Return the status and the start of the answer."""
    try:
        parts = urlsplit(base_url)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        scheme, host, port = "", None, None
    if scheme not in ("http", "https") or host is None:
        raise typer.BadParameter(f"{base_url} is not an address such as http://127.0.0.1:8000", param_hint="--url")
    try:
        connection = (HTTPSConnection if scheme == "https" else HTTPConnection)(host, port, timeout=timeout)
        with closing(connection):
            connection.request("GET", parts.path.rstrip("/") + path)
            answer = connection.getresponse()
            return answer.status, answer.read(MAX_REASON_BYTES).decode(errors="replace")
    except InvalidURL:
        raise typer.BadParameter(f"{base_url} has characters that an address cannot have", param_hint="--url") from None


def _url_of_settings() -> str:
    """Return the address at which the settings let a gateway listen."""
    host, port = read_setting("HOST", DEFAULT_HOST), read_setting("PORT", DEFAULT_PORT)
    if port == "0":
        raise typer.BadParameter("WATTGATE_PORT is 0, which means any free port. Pass --url.", param_hint="--url")
    address = LOOPBACK_OF.get(host, host)
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _fail(reason: str) -> None:
    err.print(reason, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(1)
