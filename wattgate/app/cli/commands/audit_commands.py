"""Commands for the audit log of administrative acts."""

from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched

audit_app = typer.Typer(no_args_is_help=True, help="Export and check the audit log of administrative acts.")


@audit_app.command("export")
@dispatched
def audit_export(
    application: Annotated[str, typer.Option(help="ID of the application.")],
    after: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Sequence number of the last entry that you have.")
    ] = 0,
) -> None:
    """Print the entries of an application as JSON, one on each line, oldest first.

    Example: wattgate audit export --application APPLICATION > audit.jsonl
    """


@audit_app.command("verify")
@dispatched
def audit_verify(
    application: Annotated[str | None, typer.Option(help="ID of the application. The default is all of them.")] = None,
) -> None:
    """Check that no entry was changed, removed or moved. The exit status is 1 if one was.

    Example: wattgate audit verify --application APPLICATION
    """
