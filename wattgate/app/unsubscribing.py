"""What the link in every mail leads to: a page that asks, and the one click that mail programs do by themselves."""

from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from wattgate.app.pages import HEADERS, STATIC
from wattgate.errors import NotFound
from wattgate.graphql.resolvers import mails
from wattgate.graphql.runner import Runner
from wattgate.messages.links import UNSUBSCRIBE_PATH, Links
from wattgate.principal import Principal, Role

PAGES = STATIC / "unsubscribe"


def unsubscribing(runner: Runner, links: Links) -> Route:
    """Where people and programs unsubscribe (RFC 8058). Looking changes nothing: scanners follow every link."""

    async def serve(request: Request) -> Response:
        known = links.unsubscribed(request.path_params["token"])
        if known is None:
            return await _page("unknown.html", 404)
        if request.method != "POST":
            return await _page("ask.html")
        application_id, delivery_id = known
        try:
            system = Principal(Role.SYSTEM, application_id=application_id)
            await runner.run(mails.unsubscribe, system, {"delivery_id": delivery_id})
        except NotFound:
            return await _page("unknown.html", 404)
        return await _page("done.html")

    return Route(f"{UNSUBSCRIBE_PATH}/{{token}}", serve, methods=["GET", "POST"])


async def _page(file: str, status: int = 200) -> Response:
    return HTMLResponse(await run_in_threadpool(Path.read_text, PAGES / file), status, HEADERS)
