"""Commands of the gateway itself: serve, worker, demo, checks, watch, routes, schema, db and oauth-client."""

from pathlib import Path
from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import CommandGroup, dispatched
from wattgate.enums import Audience

app = typer.Typer(cls=CommandGroup, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
db_app = typer.Typer(
    no_args_is_help=True, help="Upgrade and back up the database, and repeat erasures and moves after a restore."
)
oauth_app = typer.Typer(no_args_is_help=True, help="Manage OAuth 2.0 clients.")


@app.command()
@dispatched
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as a list of JSON objects.")] = False,
) -> None:
    """Check the settings and each server that they name, and print what to do.

    The checks cover the database with its schema, keys, partitions and disk, the list of erasures, the application of
    the log-in pages, the providers of directories, Redis, MQTT broker, mail server, certificates and clocks. All checks
    run, even after one has failed. The exit status is 1 if a check fails, and 2 for an invalid setting. Each line
    begins with ok, warning or ERROR. The command creates no file.

    Example: wattgate doctor
    """


@app.command("check-health")
@dispatched
def check_health(
    url: Annotated[
        str | None,
        typer.Option(help="Address of the gateway. If not set, the one of WATTGATE_HOST and WATTGATE_PORT."),
    ] = None,
    ready: Annotated[bool, typer.Option("--ready", help="Ask /readyz instead of /healthz.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, max=300, help="Seconds to wait for the gateway.")] = 3.0,
) -> None:
    """Ask a running gateway whether it is healthy: the HEALTHCHECK of a container image.

    The exit status is 0 if /healthz answers with status 200, else 1. With --ready, the command asks /readyz, which also
    needs the database. A worker has no port: its service manager watches the process.

    Example: wattgate check-health
    """


@app.command()
@dispatched
def watch(
    resources: Annotated[list[str], typer.Argument(metavar="RESOURCE...", help="IDs of the resources to watch.")],
    url: Annotated[str, typer.Option(envvar="WATTGATE_URL", help="Address of the gateway.")] = "http://127.0.0.1:8000",
    token: Annotated[str | None, typer.Option(envvar="WATTGATE_TOKEN", help="Token of a login.")] = None,
    user: Annotated[
        str | None,
        typer.Option(
            envvar="WATTGATE_USER", help="Username. The command asks for the password unless WATTGATE_PASSWORD is set."
        ),
    ] = None,
    application: Annotated[
        str | None, typer.Option(envvar="WATTGATE_APPLICATION", help="ID of the application that owns the account.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each reading as one line of JSON.")] = False,
) -> None:
    """Print live readings until Ctrl+C: time, resource, field, value, unit and age.

    Pass either --token or --user. After a lost connection, the command resumes where it stopped. It reports the state
    of the connection on standard error.

    Example: wattgate watch RESOURCE --user ada@example.org --application APPLICATION
    """


@app.command("serve")
@dispatched
def serve_gateway(
    workers: Annotated[int, typer.Option(min=1, max=64, help="Number of processes. More than one needs Redis.")] = 1,
) -> None:
    """Serve the gateway on WATTGATE_HOST and WATTGATE_PORT until SIGTERM or SIGINT.

    Run `wattgate db upgrade` first: the database must have the schema of this version. The exit status is 0 after a
    complete drain, 1 if the drain was cut short or the gateway cannot start, and 2 if the settings are invalid.

    Example: wattgate serve --workers 4
    """


@app.command("serve-one", hidden=True)
@dispatched
def serve_one(channel_fd: int, worker_index: int) -> None:
    """Serve as one of several workers that `wattgate serve --workers` started.

    CHANNEL_FD is the file descriptor of the socket to the launcher. Only worker 0 connects to the MQTT broker, because
    a broker accepts only one connection for each client ID.
    """


@app.command("worker")
@dispatched
def worker() -> None:
    """Deliver mail, pushes and webhooks until SIGTERM or SIGINT.

    Run any number of workers, on any machine that reaches the database. Set WATTGATE_DELIVER=false for the gateways if
    only workers are to deliver.

    Example: wattgate worker
    """


@app.command()
@dispatched
def demo() -> None:
    """Serve a demonstration with simulated homes and print its logins.

    The logins show tariffs of all kinds and none, consents, an alert rule with its alert, a flexibility event, content,
    and the templates of alerts. The demonstration keeps its database in the folder .wattgate/ and uses it again at the
    next start. Delete the folder to start from the beginning.

    Example: wattgate demo
    """


@db_app.command("upgrade")
@dispatched
def db_upgrade() -> None:
    """Create or upgrade the database schema to the one of this version.

    Example: wattgate db upgrade
    """


@db_app.command("backup")
@dispatched
def db_backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new file.", dir_okay=False)],
) -> None:
    """Copy the SQLite database into a new file while gateways use it.

    The copy has all changes that were committed before the command started. The command checks the copy. It does not
    copy the keys of the stored secrets. Back up PostgreSQL with pg_dump or pg_basebackup.

    Example: wattgate db backup backup.sqlite3
    """


@db_app.command("apply-erasures")
@dispatched
def db_apply_erasures(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="A copy of the list, which the command also adds to that of WATTGATE_ERASURE_LIST. The default is the "
            "latter.",
        ),
    ] = None,
) -> None:
    """Erase the users and repeat the moves again that a restored backup has taken back.

    The command reads the list of erasures, which is outside the database. It erases each listed user that the database
    still has, and gives each tenancy the state that the list has: when a household moved in and out at a meter point.
    This is the last step of a restore: until then, gateways and workers do not start. You can repeat it.

    Example: wattgate db apply-erasures
    """


@db_app.command("export-erasures")
@dispatched
def db_export_erasures() -> None:
    """Print a signed list of all erasures and tenancies of the database, in the form of WATTGATE_ERASURE_LIST.

    Use it for a copy if gateways share no folder, or to write a list again that was lost.

    Example: wattgate db export-erasures > erasures.copy
    """


@oauth_app.command("create")
@dispatched
def oauth_client_create(
    application: Annotated[str, typer.Argument(help="Name or ID of the application whose users may grant access.")],
    name: Annotated[str, typer.Argument(help="Name of the client, as users see it.")],
    redirect_uri: Annotated[
        list[str], typer.Option(help="Redirect URI for authorization codes. Repeat the option for several.")
    ],
    scope: Annotated[
        str, typer.Option(help="Largest scope that the client may request: read, write, or both as one text.")
    ] = "read",
    public: Annotated[
        bool, typer.Option(help="Register a public client, such as a phone or browser app, which cannot keep a secret.")
    ] = False,
) -> None:
    """Register an OAuth client and print its credential. The secret is shown only once.

    Example: wattgate oauth-client create APPLICATION "Energy advice" --redirect-uri https://advice.example/callback
    """


@app.command("routes")
@dispatched
def print_routes() -> None:
    """Print every operation: REST method and path, GraphQL field, required permission and scheme.

    Example: wattgate routes
    """


@app.command("schema")
@dispatched
def print_schema(
    audience: Annotated[
        Audience | None,
        typer.Option(help="Print only what callers of this kind may use: the types of an app, for example."),
    ] = None,
) -> None:
    """Print the GraphQL schema as SDL.

    Example: wattgate schema --audience app > schema.app.graphql
    """
