"""Carry out the commands for the audit log."""

import orjson
import typer

from wattgate.app.cli.consoles import err, out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import with_current_gateway
from wattgate.app.server.components import Components
from wattgate.app.settings import Settings
from wattgate.clock import format_iso
from wattgate.db.audit_chain import ChainCheck
from wattgate.db.models import AuditEntry
from wattgate.operations.accounts import audit
from wattgate.principal import Principal, Role


def audit_export(*, application: str, after: int) -> None:
    """Print the entries of an application as JSON, one on each line, oldest first."""

    async def print_entries(gateway: Components) -> None:
        system, last = Principal(Role.SYSTEM, application_id=application), after
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
        applications = [application] if application else await run(audit.audited_applications, _SYSTEM, {})
        return {
            application_id: await run(audit.check_audit_log, Principal(Role.SYSTEM, application_id=application_id), {})
            for application_id in applications
        }

    checks = run_async(with_current_gateway(Settings(), check))
    for application_id, result in checks.items():
        for problem in result.problems:
            err.print(f"{application_id}: {problem}", soft_wrap=True, markup=False)
        if not result.problems:
            out.print(f"{application_id}: {result.entries} entries, no problem", soft_wrap=True, markup=False)
    if any(result.problems for result in checks.values()):
        raise typer.Exit(1)


_SYSTEM = Principal(Role.SYSTEM)


def _to_json(entry: AuditEntry) -> dict[str, object]:
    names = [name for name in AuditEntry.model_fields if name != "created_at"]
    return {**{name: getattr(entry, name) for name in names}, "created_at": format_iso(entry.created_at)}
