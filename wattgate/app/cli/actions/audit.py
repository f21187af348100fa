"""Carry out the commands for the audit log."""

import orjson
import typer

from wattgate.app.cli.consoles import err, out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import system_of, with_current_gateway
from wattgate.app.server.components import Components
from wattgate.app.settings import Settings
from wattgate.clock import format_iso
from wattgate.db.audit_chain import ChainCheck
from wattgate.db.models import AuditEntry
from wattgate.errors import NotFound
from wattgate.operations.accounts import audit
from wattgate.principal import Principal, Role


def audit_export(*, application: str, after: int) -> None:
    """Print the entries of an application as JSON, one on each line, oldest first."""

    async def print_entries(gateway: Components) -> None:
        system, last = await system_of(gateway.runner, application), after
        while True:
            arguments = {"first": audit.MAX_ENTRIES, "after": last}
            entries: list[AuditEntry] = await gateway.runner.run(audit.audit_log, system, arguments)
            for entry in entries:
                typer.echo(orjson.dumps(_to_json(entry)).decode())
            if len(entries) < audit.MAX_ENTRIES:
                return
            last = entries[-1].sequence

    run_async(with_current_gateway(Settings(), print_entries))


def audit_verify(*, application: str | None) -> None:
    """Check that no entry was changed, removed or moved. The exit status is 1 if one was."""

    async def check(gateway: Components) -> dict[str, ChainCheck]:
        run = gateway.runner.run
        known = {one.application_id for one in await gateway.runner.list_applications()}
        if application is not None:
            selected = {str((await system_of(gateway.runner, application)).application_id)}
        else:
            selected = known | set(await run(audit.audited_applications, _SYSTEM, {}))
        return {
            application_id: await run(audit.check_audit_log, Principal(Role.SYSTEM, application_id=application_id), {})
            for application_id in sorted(selected)
        }

    checks = run_async(with_current_gateway(Settings(), check))
    if not checks:
        raise NotFound("The database has no application, so nothing was checked. List them with `wattgate app list`.")
    for application_id, result in checks.items():
        for problem in _problems_of(result):
            err.print(f"{application_id}: {problem}", soft_wrap=True, markup=False)
        if not _problems_of(result):
            out.print(f"{application_id}: {result.entries} entries, no problem", soft_wrap=True, markup=False)
    if any(map(_problems_of, checks.values())):
        raise typer.Exit(1)


_SYSTEM = Principal(Role.SYSTEM)


def _problems_of(result: ChainCheck) -> list[str]:
    """Return the problems of a log. The creation of an application is an entry, so each application has one."""
    return result.problems if result.entries or result.problems else ["there are no entries, so nothing was checked"]


def _to_json(entry: AuditEntry) -> dict[str, object]:
    names = [name for name in AuditEntry.model_fields if name != "created_at"]
    return {**{name: getattr(entry, name) for name in names}, "created_at": format_iso(entry.created_at)}
