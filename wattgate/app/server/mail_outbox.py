"""The outbox of the demonstration: mails are kept in the database instead of sent, and a page shows them."""

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from wattgate.app.server.pages import HEADERS, page
from wattgate.clock import iso
from wattgate.db.models import KeptMail
from wattgate.delivery.channels.channel import Outcome, Outgoing, Refused, Sent
from wattgate.delivery.channels.mail import Letterhead, read, write
from wattgate.errors import NotFound
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import mail
from wattgate.principal import Principal, Role

MAIL_HEADERS = {
    **HEADERS,
    "Content-Security-Policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; font-src https: data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
}
"""What a mail's HTML may do in a browser: have styles and pictures. No script runs."""


class OutboxChannel:
    """Keeps mails instead of sending them."""

    def __init__(self, runner: Runner, head: Letterhead) -> None:
        self._runner = runner
        self._head = head

    async def send(self, outgoing: Outgoing) -> Outcome:
        """Keep a mail as it would have been sent."""
        made = write(outgoing, self._head)
        if isinstance(made, Refused):
            return made
        letter, written = made
        kept = {
            "delivery_id": outgoing.delivery_id,
            "recipient": letter.recipient.address,
            "subject": letter.subject,
            "content": written,
        }
        await self._runner.run(mail.keep_mail, Principal(Role.SYSTEM, application_id=outgoing.application_id), kept)
        return Sent("kept in the outbox")


def outbox_pages(runner: Runner) -> list[BaseRoute]:
    """The page of the outbox, and what it loads: the list, each mail, and its HTML by itself."""

    async def listed(request: Request) -> Response:
        found: list[KeptMail] = []
        for application_id in await runner.run(mail.applications_with_mail, Principal(Role.SYSTEM), {}):
            found += await runner.run(mail.kept_mails, Principal(Role.SYSTEM, application_id=application_id), {})
        newest = sorted(found, key=lambda one: one.created_at, reverse=True)[: mail.SHOWN]
        return JSONResponse([_summary(one) for one in newest], headers=HEADERS)

    async def shown(request: Request) -> Response:
        kept = await _find(runner, request.path_params)
        return JSONResponse({**_summary(kept), **_parts(kept)}, headers=HEADERS)

    async def html(request: Request) -> Response:
        body = read((await _find(runner, request.path_params)).content).get_body(("html",))
        if body is None:
            raise HTTPException(404, "this mail has no HTML")
        return HTMLResponse(body.get_content(), headers=MAIL_HEADERS)

    one = "/outbox/mails/{application_id}/{delivery_id}"
    return [
        page("/outbox", "outbox/index.html"),
        Route("/outbox/mails", listed),
        Route(one, shown),
        Route(f"{one}/html", html),
    ]


async def _find(runner: Runner, path: Mapping[str, Any]) -> KeptMail:
    system = Principal(Role.SYSTEM, application_id=path["application_id"])
    try:
        found: KeptMail = await runner.run(mail.kept_mail, system, {"delivery_id": path["delivery_id"]})
    except NotFound:
        raise HTTPException(404, "there is no such mail") from None
    return found


def _summary(kept: KeptMail) -> dict[str, Any]:
    return {
        "path": f"/outbox/mails/{kept.application_id}/{kept.delivery_id}",
        "to": kept.recipient,
        "subject": kept.subject,
        "at": iso(kept.created_at),
    }


def _parts(kept: KeptMail) -> dict[str, Any]:
    message = read(kept.content)
    text = message.get_body(("plain",))
    return {
        "headers": [[name, str(value)] for name, value in message.items()],
        "text": text.get_content() if text else None,
        "html": message.get_body(("html",)) is not None,
        "source": kept.content.decode(),
        "size": len(kept.content),
    }
