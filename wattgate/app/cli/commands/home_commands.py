"""Commands for homes: create one with all that it needs, list them, and show one."""

from typing import Annotated

import typer

from wattgate.app.cli.commands import home_options as options
from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.app.cli.record_options import DEFAULT_LIMIT, JsonOption, LimitOption, OptionalApplication
from wattgate.energy.costs.currency import CURRENCY

home_app = typer.Typer(no_args_is_help=True, help="Set up and list homes.")


@home_app.command("create")
@dispatched
def home_create(
    application: options.Application,
    user: options.User,
    name: options.Name,
    time_zone: options.TimeZone,
    electricity: options.Electricity,
    gas: options.Gas = None,
    export: options.Export = None,
    live: options.Live = False,
    unit_rate: options.UnitRate = None,
    standing_charge: options.StandingCharge = None,
    tariff: options.TariffFile = None,
    currency: options.Currency = CURRENCY,
    as_json: JsonOption = False,
) -> None:
    """Set up a home: create the database schema, application, user, types, resources, tariff and home that are missing.

    A second run with the same options changes nothing. The command asks for the password of a new user on a terminal;
    otherwise it generates one and prints it once. It prints the IDs of all records and the next commands. If an option
    is wrong or contradicts a stored record, it changes nothing and the exit status is 1.

    Each line of the file of tariffs has the members of the GraphQL input NewTariff without resourceId. Add
    `"classifier": "gas.consumption"` or `"electricity.export"` if it is not for consumed electricity.

    Example: wattgate home create --application "My app" --user ada@example.org --name "My home" --time-zone Europe/London --electricity 2300000000116 --unit-rate 24.5 --standing-charge 53.8
    """  # noqa: E501 (the example is one command)


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
