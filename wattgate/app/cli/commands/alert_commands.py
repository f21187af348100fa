"""Commands for the alert rules of a home."""

from enum import Enum
from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.app.cli.record_options import JsonOption


class Meter(Enum):
    """The meters of a home that a rule can be about."""

    ELECTRICITY = "electricity"
    GAS = "gas"
    EXPORT = "export"


class BudgetPeriod(Enum):
    """The periods of a budget."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class AlertChannel(Enum):
    """The channels of the alerts of a rule."""

    INBOX = "inbox"
    EMAIL = "email"
    PUSH = "push"


DEFAULT_HOURS = 24

alert_app = typer.Typer(no_args_is_help=True, help="Add and list the alert rules of a home.")

HomeName = Annotated[str, typer.Option(help="Name or ID of the home.")]
HomeApplication = Annotated[str | None, typer.Option(help="Application of the home, if homes have the same name.")]
HomeUser = Annotated[str | None, typer.Option(help="Username of the owner, if homes have the same name.")]


@alert_app.command("add")
@dispatched
def alert_add(
    home: HomeName,
    above: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="Alert above this energy in --hours, in the unit of the meter.")
    ] = None,
    hours: Annotated[int, typer.Option(min=1, max=744, help="Time window of --above.")] = DEFAULT_HOURS,
    power: Annotated[
        str | None, typer.Option(metavar="KW", help="Alert above this mean live power in 10 minutes, in kW.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT", help="Alert if the energy of the --period will exceed this at the current pace."
        ),
    ] = None,
    spend: Annotated[
        str | None,
        typer.Option(metavar="POUNDS", help="Alert if the cost of the --period will exceed this at the current pace."),
    ] = None,
    period: Annotated[BudgetPeriod, typer.Option(help="Period of --budget or --spend.")] = BudgetPeriod.MONTH,
    no_readings: Annotated[
        int | None, typer.Option(min=1, max=744, metavar="HOURS", help="Alert if no reading arrives for these hours.")
    ] = None,
    meter: Annotated[Meter, typer.Option(help="Meter that the rule is about.")] = Meter.ELECTRICITY,
    channel: Annotated[
        list[AlertChannel] | None, typer.Option(help="Channel of the alerts. Repeat it. Default: inbox and email.")
    ] = None,
    test_mail: Annotated[bool, typer.Option("--test-mail", help="Also send an alert now, to see its mail.")] = False,
    application: HomeApplication = None,
    user: HomeUser = None,
    as_json: JsonOption = False,
) -> None:
    """Add an alert rule to a home, for its owner. Name exactly one condition.

    The rule evaluates readings from now on. The command prints how often it would have fired in the last 30 days, and
    where its mails go. If the home has the rule, the command turns it on. A second run with the same options changes
    nothing.

    Example: wattgate alert add --home "My home" --above 15
    """


@alert_app.command("list")
@dispatched
def alert_list(
    home: HomeName, application: HomeApplication = None, user: HomeUser = None, as_json: JsonOption = False
) -> None:
    """List the alert rules of the owner of a home.

    Example: wattgate alert list --home "My home"
    """
