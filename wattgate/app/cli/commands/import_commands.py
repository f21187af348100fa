"""Commands that import files: readings, tariffs, and the registry of the meter network."""

from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.energy.meters.unit_conversion import DEFAULT_CALORIFIC_VALUE, DEFAULT_VOLUME_CORRECTION
from wattgate.enums import DateOrder, Epoch, Times


class Unit(Enum):
    """The units of values that an import converts."""

    WH = "Wh"
    KWH = "kWh"
    MWH = "MWh"
    W = "W"
    KW = "kW"
    M3 = "m3"


class DecimalMark(Enum):
    """The decimal marks of numbers."""

    POINT = "point"
    COMMA = "comma"


class ThousandsMark(Enum):
    """The marks between thousands."""

    COMMA = "comma"
    POINT = "point"
    SPACE = "space"
    APOSTROPHE = "apostrophe"


class Delimiter(Enum):
    """The characters between cells."""

    COMMA = "comma"
    SEMICOLON = "semicolon"
    TAB = "tab"
    PIPE = "pipe"


network_app = typer.Typer(no_args_is_help=True, help="Fill the registry of the meter network.")


tariff_app = typer.Typer(no_args_is_help=True, help="Import tariffs and prices.")


readings_app = typer.Typer(no_args_is_help=True, help="Inspect files of readings, and import them.")


JsonLinesArgument = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="JSON Lines file: one JSON object in each line.")
]


ApplicationOption = Annotated[str, typer.Option(help="Name or ID of the application that owns the resources.")]


ResourceOption = Annotated[str | None, typer.Option(help="Resource ID for all lines, if the file has no resourceId.")]


HomeOption = Annotated[str | None, typer.Option(help="Name or ID of the home whose readings the file has.")]


HomeApplicationOption = Annotated[
    str | None,
    typer.Option(
        help="Name or ID of the application that owns the resources. Required without --home. With --home, that of the "
        "application of the home, if homes have the same name."
    ),
]


HomeUserOption = Annotated[
    str | None, typer.Option(help="Username or user ID of the owner of the home, if homes have the same name.")
]


TimeZoneOption = Annotated[
    str | None,
    typer.Option(
        help="IANA time zone of local times. Default: that of the file profile or of the home, or UTC without --home."
    ),
]


UnitOption = Annotated[
    Unit | None,
    typer.Option(
        help="Unit of all values, which are converted. kW and W are mean power. Default: that of the file profile, or "
        "those of the fields.",
        case_sensitive=False,
    ),
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


ProfileOption = Annotated[
    str | None,
    typer.Option(help="Name of a file profile, or path of a TOML file. `readings inspect` says which one fits."),
]


DecimalOption = Annotated[DecimalMark | None, typer.Option(help="Decimal mark of numbers, instead of the profile's.")]


ThousandsOption = Annotated[ThousandsMark | None, typer.Option(help="Mark between thousands. Default: none.")]


DelimiterOption = Annotated[Delimiter | None, typer.Option(help="Character between cells, instead of the profile's.")]


DateOrderOption = Annotated[
    DateOrder | None, typer.Option("--date-order", help="Order of day, month and year, as in 02/03/2026.")
]


TimesOption = Annotated[Times | None, typer.Option(help="Whether a time is the start or the end of its interval.")]


IntervalOption = Annotated[
    str | None,
    typer.Option(help="Interval of the readings as ISO 8601, such as PT30M, if the file does not say it."),
]


EncodingOption = Annotated[
    str | None, typer.Option(help="Encoding of the text, such as cp1252. A byte order mark in the file wins.")
]


EpochOption = Annotated[
    Epoch | None, typer.Option(help="Whether seconds since 1970 in a Green Button file count UTC or local time.")
]


ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE=NAME",
        help="Name of a column in the header. ROLE is value, start, end, time, date, clock, at, quality, unit, source, "
        "meter_point, classifier, resource_id or field. An empty NAME leaves a column out. Can be repeated.",
    ),
]


SourceOption = Annotated[
    str | None, typer.Option(help="Meter, stream or series to read, if the file has several of one kind.")
]


CombineOption = Annotated[
    bool, typer.Option("--combine", help="Add readings of finer intervals than those that the field stores.")
]


RoundOption = Annotated[
    bool,
    typer.Option("--round", help="Round values to the decimal places of the field. Default: longer ones are refused."),
]


@readings_app.command("inspect")
@dispatched
def readings_inspect(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="File of readings in any form.")],
    time_zone: Annotated[str, typer.Option(help="IANA time zone of local times.")] = "UTC",
    profile: ProfileOption = None,
) -> None:
    """Show what a file of readings looks like, and the command that imports it.

    The command reads the start of the file: its encoding, delimiter, header, marks of numbers, order of dates, interval
    and unit. It tries each file profile. It asks about each fact that the file does not decide: the option then has its
    choices, such as `--times start|end`. With --profile, it tries this profile alone and says what it refuses. The exit
    status is 1 if no profile fits.

    Example: wattgate readings inspect meter.csv --time-zone Europe/London
    """


@readings_app.command("profiles")
@dispatched
def readings_profiles(
    name: Annotated[str | None, typer.Argument(help="Name of a profile, whose file is printed.")] = None,
) -> None:
    """List the file profiles, or print the file of one.

    Example: wattgate readings profiles octopus
    """


@readings_app.command("import")
@dispatched
def readings_import(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="File of readings.")],
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
    profile: ProfileOption = None,
    decimal: DecimalOption = None,
    thousands: ThousandsOption = None,
    delimiter: DelimiterOption = None,
    date_order: DateOrderOption = None,
    times: TimesOption = None,
    interval: IntervalOption = None,
    encoding: EncodingOption = None,
    epoch: EpochOption = None,
    column: ColumnOption = None,
    source: SourceOption = None,
    combine: CombineOption = False,
    round_values: RoundOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what the import would do. Store nothing.")] = False,
    refused: RefusedFileOption = None,
) -> None:
    """Record the readings of a file of any size.

    --profile says what the file looks like; single options override it. Without a profile, the file is CSV with the
    columns value; at (UTC, or with an offset) or localTime; resourceId; field; quality. With --home, also mpxn and
    classifier, or none of them if the home has only one matching resource.

    A reading replaces the stored one of the same resource, field and instant. The command reports each line that it
    rejects and records the others. If the file can mean two things, the command asks, and records nothing. The exit
    status is 1 if a line was rejected. After an interruption, the same command continues.

    Example: wattgate readings import readings.csv --home "My home" --electricity --unit Wh
    """


@tariff_app.command("import")
@dispatched
def tariff_import(
    file: JsonLinesArgument,
    application: ApplicationOption,
    resource: ResourceOption = None,
    currency: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="Currency of the lines that have no `currency`, such as EUR. Without it, each tariff needs its own, "
            "and a price has that of its tariff.",
        ),
    ] = None,
    refused: RefusedFileOption = None,
) -> None:
    """Set tariffs, and prices of dynamic tariffs, from a JSON Lines file of any size.

    A line with `kind` is a tariff, with the members of the GraphQL input NewTariff. A line with at, rate and resourceId
    is the price of one period of the tariff. Rates are in the major unit of the currency, such as 0.245 for 24.5 pence.
    The command reports each line that it rejects and sets the others. The exit status is 1 if a line was rejected.

    Example: wattgate tariff import tariffs.jsonl --application APPLICATION
    """


PriceSourceOption = Annotated[
    str,
    typer.Option(help="Name of a price source, or path of a TOML file with one. `tariff sources` lists the names."),
]


PriceHomeOption = Annotated[str, typer.Option(help="Name or ID of the home whose tariff gets the prices.")]


PriceParameterOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Parameter of the price source. A value that begins with @ names a file with the value, such as a token.",
    ),
]


PriceApplicationOption = Annotated[
    str | None, typer.Option(help="Name or ID of the application of the home, if homes have the same name.")
]


PriceGasOption = Annotated[bool, typer.Option("--gas", help="Price the gas of the home, and not its electricity.")]


PriceExportOption = Annotated[
    bool, typer.Option("--export", help="Price the exported electricity of the home, and not the consumed one.")
]


PriceDryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what the prices are. Store nothing.")]


@tariff_app.command("prices")
@dispatched
def tariff_prices(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="File with an answer of the source.")],
    source: PriceSourceOption,
    home: PriceHomeOption,
    parameter: PriceParameterOption = None,
    application: PriceApplicationOption = None,
    user: HomeUserOption = None,
    gas: PriceGasOption = False,
    export: PriceExportOption = False,
    dry_run: PriceDryRunOption = False,
) -> None:
    """Set prices of a home's dynamic tariff from a file with an answer of a price source.

    The command says which time the prices cover, and where they have gaps. A price replaces the stored one of the same
    time. One that lasts longer than those of the tariff becomes several. Two prices for one time are both refused. The
    exit status is 1 if a price was refused.

    Example: wattgate tariff prices rates.json --source octopus --home "My home"
    """


@tariff_app.command("fetch")
@dispatched
def tariff_fetch(
    source: PriceSourceOption,
    home: PriceHomeOption,
    parameter: PriceParameterOption = None,
    from_: Annotated[
        datetime | None,
        typer.Option("--from", formats=["%Y-%m-%d"], help="First day, in the time zone of the home. Default: today."),
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=366, help="Number of days.")] = 2,
    application: PriceApplicationOption = None,
    user: HomeUserOption = None,
    gas: PriceGasOption = False,
    export: PriceExportOption = False,
    dry_run: PriceDryRunOption = False,
) -> None:
    """Ask a price source for the prices of some days, and set them as `tariff prices` does.

    Requests pause as the source demands. Run the command once a day, after the market has published its prices.

    Example: wattgate tariff fetch --source awattar --home "My home"
    """


@tariff_app.command("sources")
@dispatched
def tariff_sources(
    name: Annotated[str | None, typer.Argument(help="Name of a source whose file is printed.")] = None,
) -> None:
    """List the price sources, or print the TOML file of one, as an example for a source of your own.

    Example: wattgate tariff sources awattar
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
