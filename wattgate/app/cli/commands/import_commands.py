"""Commands that import files: readings, tariffs, and the registry of the meter network."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.energy.meters.unit_conversion import DEFAULT_CALORIFIC_VALUE, DEFAULT_VOLUME_CORRECTION


class Unit(Enum):
    """The units of values that an import converts."""

    WH = "Wh"
    KWH = "kWh"
    M3 = "m3"


network_app = typer.Typer(no_args_is_help=True, help="Fill the registry of the meter network.")


tariff_app = typer.Typer(no_args_is_help=True, help="Import tariffs and prices.")


readings_app = typer.Typer(no_args_is_help=True, help="Import readings.")


JsonLinesArgument = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="JSON Lines file: one JSON object in each line.")
]


ApplicationOption = Annotated[str, typer.Option(help="ID of the application that owns the resources.")]


ResourceOption = Annotated[str | None, typer.Option(help="Resource ID for all lines, if the file has no resourceId.")]


HomeOption = Annotated[str | None, typer.Option(help="Name or ID of the home whose readings the file has.")]


HomeApplicationOption = Annotated[
    str | None,
    typer.Option(
        help="ID of the application that owns the resources. Required without --home. With --home, the ID or name of "
        "the application of the home, if homes have the same name."
    ),
]


HomeUserOption = Annotated[
    str | None, typer.Option(help="Username or user ID of the owner of the home, if homes have the same name.")
]


TimeZoneOption = Annotated[
    str | None,
    typer.Option(help="IANA time zone of the column localTime. Default: that of the home, or UTC without --home."),
]


UnitOption = Annotated[
    Unit | None,
    typer.Option(help="Unit of all values, which are converted. Default: those of the fields.", case_sensitive=False),
]


CalorificValueOption = Annotated[
    float | None,
    typer.Option(min=10, max=150, help=f"Energy of gas in MJ/m3, to convert m3. Default: {DEFAULT_CALORIFIC_VALUE}."),
]


VolumeCorrectionOption = Annotated[
    float | None,
    typer.Option(
        min=0.5,
        max=2,
        help=f"Factor that corrects a volume of gas, to convert m3. Default: {DEFAULT_VOLUME_CORRECTION}.",
    ),
]


RefusedFileOption = Annotated[
    Path | None, typer.Option(help="File to write every rejected line number and its reason to.")
]


@readings_app.command("import")
@dispatched
def readings_import(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV file with a header line.")],
    home: HomeOption = None,
    application: HomeApplicationOption = None,
    user: HomeUserOption = None,
    resource: ResourceOption = None,
    electricity: Annotated[bool, typer.Option("--electricity", help="Use the electricity of the home.")] = False,
    gas: Annotated[bool, typer.Option("--gas", help="Use the gas of the home.")] = False,
    export: Annotated[bool, typer.Option("--export", help="Use the exported electricity of the home.")] = False,
    time_zone: TimeZoneOption = None,
    unit: UnitOption = None,
    calorific_value: CalorificValueOption = None,
    volume_correction: VolumeCorrectionOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what the import would do. Store nothing.")] = False,
    refused: RefusedFileOption = None,
) -> None:
    """Record the readings of a CSV file of any size.

    Columns: value; at (UTC, or with an offset) or localTime; resourceId; field; quality. With --home, also mpxn and
    classifier, or none of them if the home has only one matching resource. A reading replaces the stored one of the
    same resource, field and instant. The command reports each line that it rejects and records the others. The exit
    status is 1 if a line was rejected.

    Example: wattgate readings import readings.csv --home "My home" --electricity --unit Wh
    """


@tariff_app.command("import")
@dispatched
def tariff_import(
    file: JsonLinesArgument,
    application: ApplicationOption,
    resource: ResourceOption = None,
    refused: RefusedFileOption = None,
) -> None:
    """Set tariffs, and prices of dynamic tariffs, from a JSON Lines file of any size.

    A line with `kind` is a tariff, with the members of the GraphQL input NewTariff. A line with at, rate and resourceId
    is the price of one half hour. The command reports each line that it rejects and sets the others. The exit status is
    1 if a line was rejected.

    Example: wattgate tariff import tariffs.jsonl --application APPLICATION
    """


@network_app.command("import")
@dispatched
def network_import(file: JsonLinesArgument, refused: RefusedFileOption = None) -> None:
    """Fill the registry of the meter network from a JSON Lines file of any size.

    Each line has a `kind`: meterPoint (mpxn, postcode, smetsVersion, eligible), device (eui, mpxn, deviceType,
    manufacturer, model, firmwareVersion, status, commissionedAt), reading (mpxn, classifier, at, value, quality) or
    register (mpxn, classifier, at, value, unit). A line replaces the stored record of the same key. The command reports
    each line that it rejects and stores the others. The exit status is 1 if a line was rejected.

    Example: wattgate network import network.jsonl
    """
