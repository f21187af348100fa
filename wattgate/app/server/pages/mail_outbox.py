"""The page that shows the mails which `workers/delivery_handlers.py` stored instead of sending them."""

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from wattgate.app.server.pages.pages import page_route
from wattgate.clock import format_iso
from wattgate.db.models import KeptMail
from wattgate.delivery.channels.mail import parse_mail
from wattgate.errors import NotFound
from wattgate.operations.core.runner import Runner
from wattgate.operations.messages import mail
from wattgate.operations.messages.mail import ListedMail
from wattgate.principal import Principal, Role


def outbox_routes(runner: Runner) -> list[BaseRoute]:
    """Return the routes of the outbox page and its data: the list of mails, each mail, and the HTML of a mail.

    DELETE on the list deletes all mails.
    """

    async def list_mails(request: Request) -> Response:
        mails: list[ListedMail] = []
        for application_id in await runner.run(mail.applications_with_mail, Principal(Role.SYSTEM), {}):
            mails += await runner.run(mail.kept_mails, Principal(Role.SYSTEM, application_id=application_id), {})
        newest = sorted(mails, key=lambda listed: listed.mail.created_at, reverse=True)[: mail.MAX_LISTED_MAILS]
        kinds = [listed.kind.name if listed.kind else None for listed in newest]
        summaries = [_mail_summary(listed.mail) for listed in newest]
        return JSONResponse([{**summary, "kind": kind} for summary, kind in zip(summaries, kinds, strict=True)])

    async def delete_mails(request: Request) -> Response:
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise HTTPException(403, "Only the page of the outbox deletes its mails.")
        deleted = 0
        for application_id in await runner.run(mail.applications_with_mail, Principal(Role.SYSTEM), {}):
            system = Principal(Role.SYSTEM, application_id=application_id)
            deleted += await runner.run(mail.purge_kept_mails, system, {})
        return JSONResponse({"deleted": deleted})

    async def show_mail(request: Request) -> Response:
        kept_mail = await _load_mail(runner, request.path_params)
        return JSONResponse({**_mail_summary(kept_mail), **_mail_parts(kept_mail)})

    async def show_html(request: Request) -> Response:
        body = parse_mail((await _load_mail(runner, request.path_params)).content).get_body(("html",))
        if body is None:
            raise HTTPException(404, "This mail has no HTML part.")
        return HTMLResponse(body.get_content())

    mail_path = "/outbox/mails/{application_id}/{delivery_id}"
    return [
        page_route("/outbox", "outbox/index.html"),
        Route("/outbox/mails", list_mails),
        Route("/outbox/mails", delete_mails, methods=["DELETE"]),
        Route(mail_path, show_mail),
        Route(f"{mail_path}/html", show_html),
    ]


async def _load_mail(runner: Runner, path: Mapping[str, Any]) -> KeptMail:
    system = Principal(Role.SYSTEM, application_id=path["application_id"])
    try:
        kept_mail: KeptMail = await runner.run(mail.kept_mail, system, {"delivery_id": path["delivery_id"]})
    except NotFound:
        raise HTTPException(404, "No such mail in the outbox.") from None
    return kept_mail


def _mail_summary(kept_mail: KeptMail) -> dict[str, Any]:
    return {
        "path": f"/outbox/mails/{kept_mail.application_id}/{kept_mail.delivery_id}",
        "to": kept_mail.recipient,
        "subject": kept_mail.subject,
        "at": format_iso(kept_mail.created_at),
    }


def _mail_parts(kept_mail: KeptMail) -> dict[str, Any]:
    message = parse_mail(kept_mail.content)
    text = message.get_body(("plain",))
    return {
        "headers": [[name, str(value)] for name, value in message.items()],
        "text": text.get_content() if text else None,
        "html": message.get_body(("html",)) is not None,
        "source": kept_mail.content.decode(),
        "size": len(kept_mail.content),
    }
