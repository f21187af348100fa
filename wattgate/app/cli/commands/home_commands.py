"""Commands for homes: create one with all that it needs, list them, show one, and move its household."""

from pathlib import Path
from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.app.cli.record_options import DEFAULT_LIMIT, JsonOption, LimitOption, OptionalApplication

DEFAULT_HOME_NAME = "Home"


@dispatched
def move(
    mpxn: Annotated[str, typer.Argument(metavar="MPXN", help="Number of the meter point.")],
    user: Annotated[str, typer.Option(help="Username or ID of the user who moves in.")],
    application: OptionalApplication = None,
    new_user: Annotated[
        bool, typer.Option("--new-user", help="Create the user. The username is an e-mail address.")
    ] = False,
    moved_in: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When the user moved in, such as 2026-03-01. Default: now."),
    ] = None,
    time_zone: Annotated[
        str | None,
        typer.Option(help="IANA time zone of --moved-in. Default: that of the home before, or UTC without one."),
    ] = None,
    device: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="ID or hardware ID of a device that moves. Repeat it. Default: those that measure the meter point.",
        ),
    ] = None,
    keep_devices: Annotated[bool, typer.Option("--keep-devices", help="Move no device.")] = False,
    home: Annotated[
        str, typer.Option(help="Name of the home of the user that the new resources join. A new name creates one.")
    ] = DEFAULT_HOME_NAME,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what changes hands and what stays. Change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Move a meter point to the user who moves in, with its resources and devices, in one transaction.

    The command lists what changes hands and what stays, and asks for confirmation. The former user keeps the readings
    until the move, and the next one starts without. It asks for the password of a new user on a terminal; otherwise it
    generates one and prints it once.

    Example: wattgate move 2300000000116 --user bob@example.org --new-user --moved-in 2026-03-01
    """


Application = Annotated[str, typer.Option(help="Name or ID of the application. A new name creates one.")]
User = Annotated[str, typer.Option(help="E-mail address of the user who owns the home. A new one creates a user.")]
Name = Annotated[str, typer.Option(help="Name of the home.")]
TimeZone = Annotated[str, typer.Option(help="IANA time zone of the home, such as Europe/London.")]
Electricity = Annotated[
    str, typer.Option(metavar="NUMBER", help="Electricity meter point. In Great Britain, an MPAN of 13 digits.")
]
Gas = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="Gas meter point. In Great Britain, an MPRN of 6 to 10 digits.")
]
Export = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="Meter point of exported electricity, with a number as the electricity has."),
]
Live = Annotated[
    bool, typer.Option("--live", help="Also store the live power and registers that a display sends by MQTT.")
]
UnitRate = Annotated[
    str | None,
    typer.Option(
        metavar="AMOUNT",
        help="Flat price of a kWh of electricity, with VAT, in the major unit of the currency, such as 0.245.",
    ),
]
StandingCharge = Annotated[
    str | None,
    typer.Option(metavar="AMOUNT", help="Standing charge of electricity for a day, with VAT, such as 0.538."),
]
TariffFile = Annotated[
    Path | None,
    typer.Option(
        exists=True, dir_okay=False, help="JSON Lines file of tariffs, instead of --unit-rate and --standing-charge."
    ),
]
Currency = Annotated[
    str | None,
    typer.Option(
        metavar="CODE",
        help="Currency of the tariff and of the costs, such as EUR. Default: that of the country of the time zone.",
    ),
]
Culture = Annotated[
    str | None,
    typer.Option(
        metavar="CULTURE",
        help="Language and region of messages to a new user, such as fr-CA. Default: that of the application. A new "
        "application has that of the country of the time zone, or else of this machine.",
    ),
]


home_app = typer.Typer(no_args_is_help=True, help="Set up and list homes.")


@home_app.command("create")
@dispatched
def home_create(
    application: Application,
    user: User,
    name: Name,
    time_zone: TimeZone,
    electricity: Electricity,
    gas: Gas = None,
    export: Export = None,
    live: Live = False,
    unit_rate: UnitRate = None,
    standing_charge: StandingCharge = None,
    tariff: TariffFile = None,
    currency: Currency = None,
    culture: Culture = None,
    as_json: JsonOption = False,
) -> None:
    """Set up a home: create the schema, application, user, types, resources, tariff, alerts and home that are missing.

    A second run with the same options changes nothing. The command asks for the password of a new user on a terminal;
    otherwise it generates one and prints it once. It prints the IDs of all records and the next commands. If an option
    is wrong or contradicts a stored record, it changes nothing and the exit status is 1.

    Each line of the file of tariffs has the members of the GraphQL input NewTariff without resourceId. Add
    `"classifier": "gas.consumption"` or `"electricity.export"` if it is not for consumed electricity.

    Example: wattgate home create --application "My app" --user ada@example.org --name "My home" --time-zone Europe/London --electricity 2300000000116 --unit-rate 0.245 --standing-charge 0.538
    """  # noqa: E501 (the example is one command)


@home_app.command("import")
@dispatched
def home_import(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Table: CSV with a header, or JSON Lines.")],
    application: OptionalApplication = None,
    time_zone: Annotated[
        str | None, typer.Option(help="IANA time zone of the homes whose line has none, such as Europe/London.")
    ] = None,
    culture: Annotated[
        str | None,
        typer.Option(
            metavar="CULTURE",
            help="Language and region of messages to the new users whose line has none. Default: the application's.",
        ),
    ] = None,
    passwords: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="Give each new user a password, and add it to this CSV file. Default: a new user has no password, and "
            "sets one by mail.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(dir_okay=False, help="CSV file to write with the result of each line.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check each line. Change nothing.")] = False,
) -> None:
    """Set up the homes of a table, with their users, tariffs and devices.

    Each line is a home as `wattgate home create` sets it up. The columns are user, electricity, timeZone, name, person,
    gas, export, live, unitRate, standingCharge, currency, culture, device and deviceType. A JSON line can also have the
    member tariffs, with the objects of a file of tariffs. The application exists already.

    The command reports each line that it refuses and sets up the others. The exit status is 1 if a line was refused.
    After an interruption, run the same command again: it adds what is missing, and changes nothing else.

    Example: wattgate home import homes.csv --application "My app" --time-zone Europe/London --dry-run
    """


@home_app.command("list")
@dispatched
def home_list(
    application: OptionalApplication = None, limit: LimitOption = DEFAULT_LIMIT, as_json: JsonOption = False
) -> None:
    """List the homes of an application, with their owners and resources.

    Example: wattgate home list --json
    """


@home_app.command("show")
@dispatched
def home_show(
    home: Annotated[str, typer.Argument(help="Name or ID of the home.")],
    application: OptionalApplication = None,
    user: Annotated[str | None, typer.Option(help="Username of the owner, if several homes have the name.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a home: its resources, with their IDs, meter points, first and last readings, and tariffs.

    Example: wattgate home show "My home"
    """
